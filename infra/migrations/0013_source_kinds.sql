-- What a source of one kind has of its own, and which feed a site's address led to.
-- depends: 0001_house

-- By kind: {"selector": "article h2 a"} for web, {"format": "atom"} for reddit.
alter table sources add column options jsonb not null default '{}';
-- Polled instead of url, which is a page that names it.
alter table sources add column feed_url text;
-- The feeds among which somebody has to choose: [{"url": …, "title": …, "media_type": …}].
alter table sources add column candidates jsonb not null default '[]';
