alter table jobs drop constraint jobs_payload_is_an_object;
