-- What a source mostly writes about is learnt from the newest of its contents (siftline.analyze.topics.habits_store).
-- depends: 0001_house

create index source_entries_newest on source_entries (source_id, first_seen_at desc);

comment on column sources.granular_topics is
  'what its newest contents were about, [{"topic", "score"}], the score being a share; from public texts alone';
