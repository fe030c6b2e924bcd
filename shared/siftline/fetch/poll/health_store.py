"""A source and its health in PostgreSQL: what to ask with, how the last poll went, when the next one is."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from siftline.contracts import FetchSource, Message
from siftline.fetch.poll.next_poll import Plan, Rhythm
from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class Source:
    """What a poll has to know of its source."""

    id: UUID
    kind: str
    url: str
    title: str | None
    site_url: str | None
    etag: str | None
    last_modified: str | None
    body_sha256: bytes | None
    health: str
    first_import: str | None
    imported_at: datetime | None
    last_full_at: datetime | None
    options: dict[str, Any] = field(default_factory=dict)
    """What sources of its kind have of their own: ``selector`` of web, ``atom_until`` of reddit."""
    feed_url: str | None = None
    """The feed that discovery found at ``url``, which is a page."""
    adopted_url: str | None = None
    """Where permanent redirects that held have led; polled instead of the two others."""
    resolved_url: str | None = None
    """Where the last poll's permanent redirects led."""
    resolved_since: datetime | None = None
    resolved_polls: int = 0
    """Polls in a row that led there."""
    refresh_minutes: int = 60
    """The interval in force."""
    wished_minutes: int | None = None
    """The most frequent wish of its subscribers."""
    refresh_min_minutes: int | None = None
    refresh_max_minutes: int | None = None
    rhythm: dict[str, Any] = field(default_factory=dict)
    """What the last whole feed said of its rhythm (``siftline.fetch.poll.next_poll``)."""
    asks_pages: bool = False
    """Whether pages that it brought are asked for again, as long as it lists them."""
    typed_origin: str | None = None
    """The origin of this machine that a follower typed (``siftline.net.urls``)."""

    @property
    def polled_url(self) -> str:
        """Where a poll asks."""
        return self.adopted_url or self.feed_url or self.url


@dataclass(frozen=True, slots=True)
class Moved:
    """Where permanent redirects led, for how long and how many polls; and what is polled directly from now on."""

    resolved_url: str | None = None
    resolved_since: datetime | None = None
    resolved_polls: int = 0
    adopted_url: str | None = None


@dataclass(frozen=True, slots=True)
class Polled:
    """What a successful poll says about the source itself. Validators are kept byte for byte."""

    source_id: UUID
    etag: str | None
    last_modified: str | None
    moved: Moved
    plan: Plan
    """When it is asked next."""
    rhythm: Rhythm
    wished_minutes: int | None
    """The wish that the plan was made for; where it is another one by now, that counts."""
    before_full_at: datetime | None
    """When the whole feed had come last, as the poll began; where this is otherwise by now, it was asked for again."""
    full: bool
    """Whether the body came; a 304 has none."""
    imported: bool = False
    body_sha256: bytes | None = None
    title: str | None = None
    site_url: str | None = None
    skipped: int = 0
    options: Mapping[str, Any] | None = None
    """What to keep instead of the source's options, where they changed."""


_LOAD = """
select id, kind, url, title, site_url, etag, last_modified, body_sha256, health, first_import, imported_at,
  last_full_at, case when jsonb_typeof(options) = 'object' then options else '{}' end as options,
  feed_url, adopted_url, resolved_url, resolved_since, resolved_polls, refresh_minutes,
  wished_minutes, refresh_min_minutes, refresh_max_minutes,
  case when jsonb_typeof(rhythm) = 'object' then rhythm else '{}' end as rhythm, typed_origin,
  exists (select from page_asks where page_asks.source_id = sources.id) as asks_pages
from sources where id = %(source_id)s
"""

# An address that answers like this has gone: the one that it had redirected to for good is asked instead. What may be
# an outage counts so when the whole poll has failed by it.
_LOST = ["not_found", "gone", "not_a_feed", "no_feed_found", "several_feeds"]
_LOST_AT_LAST = ["dns_failed", "tls_failed", "connection_failed", "timed_out", "forbidden", "unauthorized"]
# A new address that answers like this was no move: the one that was given is asked again.
_ASTRAY = ["not_found", "gone", "dns_failed", "not_a_feed"]

_POLLED = """
update sources set
  etag = %(etag)s, last_modified = %(last_modified)s,
  body_sha256 = case when last_full_at is distinct from %(before_full_at)s then null
    else coalesce(%(body_sha256)s, body_sha256) end,
  title = coalesce(%(title)s, title), site_url = coalesce(%(site_url)s, site_url),
  resolved_url = %(resolved_url)s, resolved_since = %(resolved_since)s, resolved_polls = %(resolved_polls)s,
  adopted_url = %(adopted_url)s,
  imported_at = case when %(imported)s then coalesce(imported_at, now()) else imported_at end,
  candidates = '[]', options = coalesce(%(options)s::jsonb, options),
  skipped_entries = case when %(body_sha256)s::bytea is null then skipped_entries else %(skipped)s end,
  fetch_status = 'IDLE', health = case health when 'inactive' then health else 'active' end,
  consecutive_failures = 0, last_error_code = null, last_error_detail = null,
  last_fetch_at = now(), last_success_at = now(),
  last_full_at = case when last_full_at is distinct from %(before_full_at)s then null
    when %(full)s then now() else last_full_at end,
  rhythm = %(rhythm)s, fresh_until = now() + %(fresh)s, next_fetch_reason = %(reason)s,
  refresh_minutes = case when wished_minutes is distinct from %(wished)s then refresh_minutes else %(every)s end,
  next_fetch_at = now() + case when wished_minutes is distinct from %(wished)s
    then greatest(%(fresh)s, refresh_minutes * interval '1 minute') else %(wait)s end,
  updated_at = now()
where id = %(source_id)s
"""

# A poll is one job, whose tries come after short waits or when the server asks for it: it failed when the job did, so
# one outage counts once. The wait doubles with every failed poll, up to a day.
_FAILED = """
with before as (
  select id, refresh_minutes, ended, failures,
    least(power(2, least(greatest(failures - 1, 0), 12)) * refresh_minutes, greatest(1440, refresh_minutes))
      * interval '1 minute' as backoff,
    not lost and coalesce(adopted_url is not null and %(code)s = any(%(astray)s), false) as astray, lost
  from sources
  cross join lateral (
    select exists (select from jobs where jobs.id = %(job_id)s and jobs.state = 'failed') as ended) as poll
  cross join lateral (select least(consecutive_failures, 1000000) + poll.ended::int as failures) as counted
  cross join lateral (select coalesce(resolved_url <> coalesce(adopted_url, feed_url, url) and resolved_url <> %(at)s
    and (%(code)s = any(%(lost)s) or (poll.ended and %(code)s = any(%(lost_at_last)s))), false) as lost) as moved
  where id = %(source_id)s
)
update sources set
  consecutive_failures = before.failures,
  health = case when health = 'inactive' or (%(gone)s and not before.astray and not before.lost) then 'inactive'
    when before.failures >= %(degraded_at)s or %(degraded)s then 'degraded' else health end,
  last_fetch_at = now(), last_error_code = %(code)s, last_error_detail = %(detail)s,
  next_fetch_at = now() + case when not before.lost then greatest(before.backoff, %(wait)s) else interval '0' end,
  adopted_url = case when before.lost then resolved_url when not before.astray then adopted_url end,
  resolved_url = case when not before.astray then resolved_url end,
  resolved_since = case when not before.astray then resolved_since end,
  resolved_polls = case when before.astray then 0 else resolved_polls end,
  etag = case when not before.astray then etag end,
  last_modified = case when not before.astray then last_modified end,
  next_fetch_reason = case
    when before.lost then 'its address fails: trying the address it had moved to'
    when before.astray then 'the address it had moved to fails: trying the original address'
    when %(gone)s then 'the server says the feed is gone for good'
    when %(wait)s > before.backoff then 'the server asked us to wait until then'
    when not before.ended then 'retry after a failed attempt'
    when before.failures = 1 then 'after a failed poll'
    else format('after %%s failed polls in a row', before.failures) end,
  updated_at = now()
from before where sources.id = before.id
"""

_IDLE = "update sources set fetch_status = 'IDLE', updated_at = now() where id = %(source_id)s"


def load_source(connection: Connection, source_id: UUID) -> Source | None:
    """Return a source, or ``None`` when there is none of this id."""
    with connection.cursor(row_factory=class_row(Source)) as cursor:
        return cursor.execute(_LOAD, {"source_id": source_id}).fetchone()


def subject(connection: Connection, message: Message) -> UUID | None:
    """Return the source that a message without a job means, or ``None`` when there is none of this id."""
    if not isinstance(message, FetchSource):
        return None
    return message.source_id if load_source(connection, message.source_id) else None


def polled(connection: Connection, poll: Polled) -> None:
    """Write a poll's success: the source is healthy, whatever it was before, unless it was switched off."""
    values = {
        **asdict(poll),
        **asdict(poll.moved),
        "rhythm": Jsonb(poll.rhythm.stored()),
        "wait": poll.plan.wait,
        "fresh": poll.plan.fresh,
        "every": poll.plan.every_minutes,
        "reason": poll.plan.reason,
        "wished": poll.wished_minutes,
        "options": None if poll.options is None else Jsonb(dict(poll.options)),
    }
    connection.execute(_POLLED, values)


def failed(
    connection: Connection,
    source_id: UUID,
    *,
    job_id: UUID,
    code: str,
    detail: str,
    at: str | None,
    wait_s: float,
    degraded_at: int,
) -> None:
    """Write a failed try: why it failed; and once the poll's job ``job_id`` failed by it, one failure more.

    ``gone`` ends the polling; ``too_large`` degrades the source at once, for waiting does not mend it. Where the source
    was polled at an address that redirects had led to and that has nothing, it is polled where it was before. Where it
    fails ``at`` an address before the one that permanent redirects had led to, that one is polled from now on.
    """
    connection.execute(
        _FAILED,
        {
            "source_id": source_id,
            "code": code,
            "detail": detail,
            "job_id": job_id,
            "wait": timedelta(seconds=wait_s),
            "degraded_at": degraded_at,
            "gone": code == "gone",
            "degraded": code == "too_large",
            "at": at,
            "lost": _LOST,
            "lost_at_last": _LOST_AT_LAST,
            "astray": _ASTRAY,
        },
    )


def idle(connection: Connection, source_id: UUID) -> None:
    """Note that nothing is under way."""
    connection.execute(_IDLE, {"source_id": source_id})
