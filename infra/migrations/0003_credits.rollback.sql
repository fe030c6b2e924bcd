drop index contents_without_credit;
update contents set notice_code = null where notice_code = 'no_credit';
drop view content_payers;
drop table credit_entries;
alter table users drop column credits;
