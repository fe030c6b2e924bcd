-- What a content claims as its date and is not used, and why: it is undated then, and counts from when it was first seen.
-- depends: 0039_no_status_index

-- undated_code: date_unreadable, date_ambiguous or date_implausible (siftline.text.instants); only where published_at is null.
alter table contents add column undated_code text, add column undated_claim text;

-- Whoever writes it: no instant that nothing can have been published at stands as such, and none that programs cannot hold
-- (infinity, before year 1, after 9999) gets into a column that is sorted by and reckoned with.
create function contents_undated() returns trigger language plpgsql as $$
begin
  if new.published_at < '1900-01-03 00:00+00' or new.published_at >= '2200-01-01 00:00+00' then
    new.undated_code := 'date_implausible';
    new.undated_claim := left(new.published_at::text, 100);
    new.published_at := null;
  end if;
  if new.first_seen_at < '0001-01-01 00:00+00' or new.first_seen_at >= '9999-12-31 00:00+00' then
    new.first_seen_at := now();
  end if;
  new.sort_at := least(new.published_at, new.first_seen_at);
  return new;
end
$$;
create trigger contents_undated before insert or update of published_at, first_seen_at, sort_at on contents
  for each row when (new.published_at < '1900-01-03 00:00+00' or new.published_at >= '2200-01-01 00:00+00'
    or new.sort_at < '0001-01-01 00:00+00' or new.sort_at >= '9999-12-31 00:00+00'
    or new.first_seen_at < '0001-01-01 00:00+00' or new.first_seen_at >= '9999-12-31 00:00+00')
  execute function contents_undated();

-- As before (0020_scores), and for any instant: what is as old or as new as infinity cannot be subtracted.
create or replace function item_rank(
  score double precision, sort_at timestamptz, at timestamptz, weight double precision, half_life_s double precision
) returns double precision language sql immutable parallel safe as $$
  select (1 - weight) * score + weight * power(0.5::float8,
    least(greatest((extract(epoch from at) - extract(epoch from sort_at))::float8, 0) / half_life_s, 1000))
$$;
