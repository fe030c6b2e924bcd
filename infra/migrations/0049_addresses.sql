-- Addresses know where they come from: which origin of this machine was typed, and how each user spells what they hold.
-- depends: 0001_house 0006_identity 0013_source_kinds

alter table sources add column typed_origin text;
comment on column sources.typed_origin is
  'scheme, host and port of this machine that a follower typed: its polls, and pages of it there, reach no other';
alter table contents add column typed_origin text;
comment on column contents.typed_origin is 'as that of sources, of who saved it or of the source that brought it';

-- Shared rows have the address that all may see; null where the user's own is that one.
alter table items add column url text;
alter table subscriptions add column url text;
-- What a feed said of a page of another site is for its followers alone, as long as the page says nothing itself.
alter table items add column told_title text;
alter table items add column told_at timestamptz;
alter table source_entries add column told_title text;
alter table source_entries add column told_at timestamptz;
comment on column items.told_title is 'what the feed that brought it calls it, where that may not speak for its page';
comment on column items.told_at is 'when that feed says that it was published';

update sources set typed_origin = substring(url from '^https?://[^/?#]+')
where url ~ '^https?://(localhost|127\.|\[::1\])[^/?#]*:[0-9]+([/?#]|$)';
update contents set typed_origin = substring(url from '^https?://[^/?#]+')
where url ~ '^https?://(localhost|127\.|\[::1\])[^/?#]*:[0-9]+([/?#]|$)'
  and exists (select from items where items.content_id = contents.id and items.saved);

-- What was saved until now stands as its first holder spelt it: theirs alone from now on.
create temporary table cleaned as
select id, url, regexp_replace(regexp_replace(
    regexp_replace(regexp_replace(url, '#([^!/].*)?$', ''), ':~:.*$', ''),
    '(?<=[?&])(amp;)?((utm_|mtm_|hsa_|at_custom|bsft_|iterable|mindbox-)[^&#]*|(gclid|gclsrc|dclid|gbraid|wbraid|fbclid'
    || '|igshid|igsh|msclkid|yclid|ysclid|twclid|ttclid|li_fat_id|mc_cid|mc_eid|_hsenc|_hsmi|mkt_tok|oly_anon_id'
    || '|oly_enc_id|vero_id|ml_subscriber|ml_subscriber_hash|__s|_kx|_ke|ck_subscriber_id|vgo_ee|elqtrackid|sfmc_id'
    || '|dm_i|phpsessid|jsessionid)(=[^&#]*)?)(&|(?=#)|$)', '', 'gi'),
  '[?&]+(?=#|$)', '') as clean
from contents where url ~ '[#?]';
delete from cleaned where clean = url;
update items set url = cleaned.url
from cleaned
where items.content_id = cleaned.id and items.id = (
  select first.id from items as first where first.content_id = cleaned.id and first.saved
  order by first.created_at, first.id limit 1);
update contents set url = cleaned.clean from cleaned where contents.id = cleaned.id;
drop table cleaned;
