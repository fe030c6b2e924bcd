alter table contents drop column reading_notice_code;
alter table fetch_hosts drop column held_s;
alter table fetch_hosts drop column in_work;
