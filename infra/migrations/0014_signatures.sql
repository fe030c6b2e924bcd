-- What texts have in common, how a duplicate was found, and who takes an original's place; since when an entry's content
-- is gone; what a batch under an idempotency key made.
-- depends: 0001_house

-- MinHash of a text (siftline.ingest.duplicates.signature); a version is compared with its own only. analysed is the signature of
-- the text that was last sent to its analysis: what differs little from it is not sent again.
create table content_signatures (
  content_id uuid primary key references contents on delete cascade,
  version smallint not null,
  hashes smallint[] not null,
  bands integer[] not null,
  analysed smallint[],
  analysed_words integer,
  analysed_at timestamptz
);
-- Not by way of a pending list, which every look-up would read through.
create index content_signatures_bands on content_signatures using gin (bands) with (fastupdate = off);

-- Nothing is known of how often a band occurs, so that with a limit a scan of the whole table would be guessed cheaper.
create function contents_alike(wanted integer[], of_version smallint, at_most integer)
returns table (content_id uuid, hashes smallint[]) language sql stable rows 5 set enable_seqscan = off as $$
  select signed.content_id, signed.hashes from content_signatures as signed
  where signed.bands && wanted and signed.version = of_version limit at_most
$$;

alter table contents add column duplicate_kind text check (duplicate_kind in ('exact', 'near', 'url'));
update contents set duplicate_kind = case when contents.content_sha256 = original.content_sha256 then 'exact' else 'url' end
from contents as original where original.id = contents.duplicate_of;
create index contents_duplicates on contents (duplicate_of) where duplicate_of is not null;

-- An original that fails or goes leaves its place to the oldest of its duplicates: all the others point to that one.
create function contents_heir() returns trigger language plpgsql as $$
declare
  heir uuid;
  heir_kind text;
begin
  select id, duplicate_kind into heir, heir_kind from contents
  where duplicate_of = old.id and (tg_op = 'DELETE' or status <> 'FAILED')
  order by status = 'FAILED', first_seen_at, id limit 1;
  if heir is null then
    return null;
  end if;
  update contents set duplicate_of = nullif(heir, id), duplicate_kind = case when id <> heir then duplicate_kind end
  where duplicate_of = old.id;
  if tg_op = 'UPDATE' then
    update contents set duplicate_of = heir, duplicate_kind = heir_kind where id = old.id;
  end if;
  return null;
end
$$;
-- Triggers fire in the order of their names: these before the foreign key's own (RI_…), which would cut the links.
create trigger "Contents_heir_of_deleted" after delete on contents for each row execute function contents_heir();
create trigger "Contents_heir_of_failed" after update of status on contents
  for each row when (new.status = 'FAILED' and old.status <> 'FAILED') execute function contents_heir();

-- What was never analysed, and contents of the very same text that were: what was found there holds here. A short text
-- is the same only under the same title.
create view analysed_twins as
select mine.id as content_id, twin.id as twin_id, twin.first_seen_at
from contents as mine join contents as twin on twin.content_sha256 = mine.content_sha256 and twin.id <> mine.id
where mine.topics is null and twin.topics is not null and twin.status = 'READY'
  and twin.notice_code is distinct from 'no_credit'
  -- A reading begins with the title: the same words under another one are read anew.
  and mine.title is not distinct from twin.title;

-- Whoever deleted it, a retention rule or its last holder: who followed the feed before is not given it again.
alter table source_entries add column gone_at timestamptz;
create function source_entries_gone() returns trigger language plpgsql as $$
begin
  new.gone_at := case when new.content_id is null then now() end;
  return new;
end
$$;
create trigger source_entries_gone before update of content_id on source_entries
  for each row when (new.content_id is distinct from old.content_id) execute function source_entries_gone();

-- What a batch made, in the order of its entries, without those that were refused; item_id is the first of them.
alter table idempotency_keys add column item_ids uuid[];
