drop table spendings;
drop table transcripts;
alter table contents drop column media;
