drop index jobs_origin;
alter table jobs add constraint jobs_origin_message_id_key unique (origin_message_id);
