-- What a feed tells of another site's page stands in for it, for who follows the feed, where the page cannot be read.
-- depends: 0049_addresses

alter table source_entries add column told jsonb;
comment on column source_entries.told is
  'what else the feed says of a page that is not its own to describe: {"html", "description", "author", "image_url"}';
