comment on column sources.granular_topics is null;
drop index source_entries_newest;
