-- What came in before with an instant that nothing can have been published at, the zeros of computers' clocks among them,
-- counts from when it was first seen. Few rows are written, and only these are held.
-- depends: 0044_undated

update contents set published_at = null, sort_at = first_seen_at, undated_code = 'date_implausible',
  undated_claim = left(published_at::text, 100)
where published_at < '1900-01-03 00:00+00' or published_at >= '2200-01-01 00:00+00'
  or (published_at > '1903-12-31 00:00+00' and published_at < '1904-01-02 00:00+00')
  or (published_at > '1969-12-31 00:00+00' and published_at < '1970-01-02 00:00+00')
  or (published_at > '1979-12-31 00:00+00' and published_at < '1980-01-02 00:00+00')
  or (published_at > '1980-01-05 00:00+00' and published_at < '1980-01-07 00:00+00')
  or published_at = '2038-01-19 03:14:07+00';

update stories set first_at = counted.first_at, last_at = counted.last_at
from (
  select s.story_id, min(c.sort_at) as first_at, max(c.sort_at) as last_at
  from story_items s join contents c on c.id = s.content_id
  where s.story_id in (select id from stories where first_at < '1980-01-08 00:00+00' or last_at >= '2200-01-01 00:00+00')
  group by s.story_id) as counted
where stories.id = counted.story_id;
