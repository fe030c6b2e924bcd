-- How many requests one owner's hosts have in work at once, of each queue; what waits for credit says nothing else less.
-- depends: 0001_house 0012_politeness

-- Besides hosts and domains, scope may now be 'domain queue': the requests of a queue to a registrable domain.
-- in_work: who holds one of its places, and since when (seconds of the epoch); a place comes back after a while by itself.
alter table fetch_hosts add column in_work jsonb not null default '{}';
-- For how long a place was held lately, in seconds: when it pays to ask again.
alter table fetch_hosts add column held_s double precision;

-- What a reading said of its page, while notice_code says that its analysis waits for credit.
alter table contents add column reading_notice_code text;
