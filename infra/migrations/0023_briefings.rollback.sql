drop table mail_suppressions, deliveries, edition_items, editions;
drop trigger briefings_follow_zone on users;
drop function briefings_follow_zone;
drop table briefings;
drop trigger contents_ready on contents;
drop function contents_ready;
alter table contents drop column ready_at;
