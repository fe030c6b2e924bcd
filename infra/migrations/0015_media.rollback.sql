drop table spendings;
alter table contents drop column media;
