-- Contents that were deleted and whose points are still to be removed from Qdrant: an outbox, filled where they go.
-- depends: 0001_house

create table unindexed (
  content_id uuid primary key,
  deleted_at timestamptz not null default now()
);

create function unindexed_of_contents() returns trigger language plpgsql as $$
begin
  insert into unindexed (content_id) select id from gone on conflict (content_id) do nothing;
  return null;
end
$$;
create trigger contents_unindexed after delete on contents
  referencing old table as gone for each statement execute function unindexed_of_contents();
