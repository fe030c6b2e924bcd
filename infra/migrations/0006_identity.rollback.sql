alter table source_entries drop column exact_sha256;
alter table source_entries drop column url_key;
drop table item_tombstones;
