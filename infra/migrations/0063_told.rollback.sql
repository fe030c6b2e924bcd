alter table source_entries drop column told;
