-- Only a message that came without a job leaves its id on one; every other job wrote an empty entry at every arrow.
-- depends: 0001_house

alter table jobs drop constraint jobs_origin_message_id_key;
create unique index jobs_origin on jobs (origin_message_id) where origin_message_id is not null;
