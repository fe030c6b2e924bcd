drop table provider_pauses;
drop table llm_replies;
drop table spending_days;
alter table spendings drop column tokens_out;
alter table spendings drop column tokens_in;
alter table spendings drop column model;
alter table spendings drop column job_id;
alter table spendings drop column user_id;
