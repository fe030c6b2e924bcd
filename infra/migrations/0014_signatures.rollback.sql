drop trigger source_entries_gone on source_entries;
drop function source_entries_gone();
alter table source_entries drop column gone_at;
drop trigger "Contents_heir_of_failed" on contents;
drop trigger "Contents_heir_of_deleted" on contents;
drop function contents_heir();
drop index contents_duplicates;
alter table contents drop column duplicate_kind;
drop table content_signatures;
