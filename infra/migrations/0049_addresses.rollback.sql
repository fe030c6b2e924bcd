alter table source_entries drop column told_at;
alter table source_entries drop column told_title;
alter table items drop column told_at;
alter table items drop column told_title;
alter table subscriptions drop column url;
alter table items drop column url;
alter table contents drop column typed_origin;
alter table sources drop column typed_origin;
