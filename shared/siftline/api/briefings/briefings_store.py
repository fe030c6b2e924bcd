"""The caller's briefings, editions and mail addresses in PostgreSQL.

Every statement takes their owner or a link's token.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from pydantic import BaseModel, Field

from siftline.api.http import callers_store
from siftline.api.http.paging import Cursor, behind
from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class BriefingRow:
    """A briefing; ``state`` is that of its live job."""

    id: UUID
    name: str
    frequency: str
    weekday: int
    at: time
    time_zone: str
    own_time_zone: bool
    interests: str
    stories_max: int
    on_empty: str
    channel: str
    destination: str | None
    stopped_code: str | None
    enabled: bool
    status: str
    state: str | None
    error_code: str | None
    error_detail: str | None
    next_due_at: datetime | None
    last_edition_id: UUID | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class EditionRow:
    """An edition without its renderings; deliveries are objects of their columns."""

    id: UUID
    briefing_id: UUID
    name: str
    period: str
    made_at: datetime
    window_from: datetime
    window_until: datetime
    stories: int
    read_token: str
    deliveries: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A briefing as its link shows it."""

    name: str
    stopped_code: str | None


class MailAddress(BaseModel):
    """An email address you added."""

    id: UUID
    address: str = Field(examples=["reader@example.org"])
    asked_at: datetime | None = Field(description="When its owner was last asked to confirm it; at most once a day")
    confirmed_at: datetime | None = Field(description="When its owner confirmed it; nothing is sent to it before")
    suppressed: str | None = Field(description="`bounced` or `complained`: nothing is sent to it any more")


@dataclass(frozen=True, slots=True)
class AskedAddress:
    """An address whose owner was asked."""

    address: str
    confirmed: bool


_COLUMNS = """
select b.id, b.name, b.frequency, b.weekday, b.at, coalesce(b.time_zone, u.time_zone) as time_zone,
  b.time_zone is not null as own_time_zone, b.interests, b.stories_max, b.on_empty, b.channel, b.destination,
  b.stopped_code, b.enabled, b.status,
  (select jobs.state from jobs where jobs.job_type = 'run_briefing' and jobs.subject_id = b.id
    and jobs.state in ('pending', 'processing')) as state,
  b.error_code, b.error_detail, b.next_due_at,
  (select e.id from editions e where e.briefing_id = b.id order by e.window_until desc, e.id desc limit 1)
    as last_edition_id,
  b.created_at, b.updated_at
from briefings b join users u on u.id = b.user_id
where b.user_id = %(user_id)s
"""

_LIST = _COLUMNS + " order by b.created_at, b.id"
_ONE = _COLUMNS + " and b.id = %(id)s"

_COUNT = "select count(*) from briefings where user_id = %(user_id)s"

_ADD = """
insert into briefings (id, user_id, name, frequency, weekday, at, time_zone, interests, stories_max, on_empty, channel,
  destination, signing_key, unsubscribe_token, enabled, rhythm_since)
values (%(id)s, %(user_id)s, %(name)s, %(frequency)s, %(weekday)s, %(at)s, %(time_zone)s, %(interests)s,
  %(stories_max)s, %(on_empty)s, %(channel)s, %(destination)s, %(signing_key)s, %(unsubscribe_token)s, %(enabled)s,
  now())
"""

# What moves the time begins a rhythm of its own; what was due before is not missed. So does what was off.
_CHANGE = """
update briefings set
  name = coalesce(%(name)s, name), frequency = coalesce(%(frequency)s, frequency),
  weekday = coalesce(%(weekday)s, weekday), at = coalesce(%(at)s, at),
  time_zone = case when %(sets_zone)s then %(time_zone)s else time_zone end,
  interests = coalesce(%(interests)s, interests), stories_max = coalesce(%(stories_max)s, stories_max),
  on_empty = coalesce(%(on_empty)s, on_empty),
  channel = case when %(sets_delivery)s then %(channel)s else channel end,
  destination = case when %(sets_delivery)s then %(destination)s else destination end,
  signing_key = case when %(sets_delivery)s then %(signing_key)s else signing_key end,
  stopped_code = case when %(sets_delivery)s then null else stopped_code end,
  rhythm_since = case when %(moves)s or (%(enabled)s and not enabled) then now() else rhythm_since end,
  next_due_at = case when %(moves)s or (%(enabled)s and not enabled) then null else next_due_at end,
  enabled = coalesce(%(enabled)s, enabled), updated_at = now()
where id = %(id)s and user_id = %(user_id)s
"""

_CHANGEABLE = (
    *("name", "frequency", "weekday", "at", "time_zone", "interests", "stories_max", "on_empty"),
    *("channel", "destination", "signing_key", "enabled"),
)

_FORGET_LIKENESS = """
delete from briefing_likeness where briefing_id = %(id)s and content_id in (
  select content_id from briefing_likeness where briefing_id = %(id)s order by content_id for update)
"""
_DELETE = "delete from briefings where id = %(id)s and user_id = %(user_id)s returning id"
_LIVE_DELIVERIES = """
select deliveries.id from deliveries join editions on editions.id = deliveries.edition_id
where editions.briefing_id = %(id)s and editions.user_id = %(user_id)s and deliveries.state = 'pending'
"""
_SUBSCRIBED = "select name, stopped_code from briefings where unsubscribe_token = %(token)s"
_STOP_BY_LINK = """
update briefings set stopped_code = coalesce(stopped_code, 'unsubscribed'), updated_at = now()
where unsubscribe_token = %(token)s returning name
"""
_ASK = "update briefings set asked_at = now() where id = %(id)s and user_id = %(user_id)s returning id"

_EDITION = """
select e.id, e.briefing_id,
  coalesce(e.document -> 'briefing' ->> 'name', (select b.name from briefings b where b.id = e.briefing_id)) as name,
  e.period_key as period, e.made_at,
  e.window_from, e.window_until, e.stories, e.read_token,
  coalesce((select jsonb_agg(jsonb_build_object('channel', d.channel, 'destination', d.destination, 'state', d.state,
    'error_code', d.error_code, 'error_detail', d.error_detail, 'sent_at', d.sent_at) order by d.created_at)
    from deliveries d where d.edition_id = e.id), '[]') as deliveries
from editions e
where e.user_id = %(user_id)s
"""
_EDITIONS = (
    _EDITION
    + """
  and (%(briefing_id)s::uuid is null or e.briefing_id = %(briefing_id)s)
  and (%(after_at)s::timestamptz is null or (e.made_at, e.id) < (%(after_at)s, %(after_id)s::uuid))
order by e.made_at desc, e.id desc limit %(limit)s
"""
)
_ONE_EDITION = _EDITION + " and e.id = %(id)s"
_RENDERINGS = {
    form: f"select {form} from editions where id = %(id)s and user_id = %(user_id)s"  # noqa: S608  -- a name of ours
    for form in ("document", "html", "plain")
}
_PAGE = "select html from editions where read_token = %(token)s"
_LIVE = "revoked_at is null and (expires_at is null or expires_at > now())"
_PAGE_BY_TOKEN = f"""
select html, read_token from editions e
where id = %(id)s and (
  exists (select from access_tokens t where t.id = %(token_id)s and t.user_id = e.user_id and 'read' = any(t.scopes)
    and {_LIVE})
  or exists (select from feed_tokens t where t.id = %(token_id)s and t.user_id = e.user_id
    and (t.kind is null or t.kind = 'editions') and {_LIVE}))
"""  # noqa: S608  -- constants of ours

_ADDRESSES = """
select id, address, asked_at, confirmed_at,
  (select reason from mail_suppressions where mail_suppressions.address = mail_addresses.address) as suppressed
from mail_addresses where user_id = %(user_id)s order by address
"""
_DELETE_ADDRESS = "delete from mail_addresses where id = %(id)s and user_id = %(user_id)s returning id"
_FIND_ADDRESS = "select address, confirmed_at is not null as confirmed from mail_addresses where token = %(token)s"
_CONFIRM_ADDRESS = """
update mail_addresses set confirmed_at = coalesce(confirmed_at, now()) where token = %(token)s returning address
"""


def list_briefings(connection: Connection, user_id: UUID) -> Sequence[BriefingRow]:
    """Return the user's briefings, oldest first."""
    with connection.cursor(row_factory=class_row(BriefingRow)) as cursor:
        return cursor.execute(_LIST, {"user_id": user_id}).fetchall()


def find_briefing(connection: Connection, user_id: UUID, briefing_id: UUID) -> BriefingRow | None:
    """Return the user's briefing."""
    with connection.cursor(row_factory=class_row(BriefingRow)) as cursor:
        return cursor.execute(_ONE, {"user_id": user_id, "id": briefing_id}).fetchone()


def add_briefing(connection: Connection, user_id: UUID, values: Mapping[str, Any], *, at_most: int) -> bool:
    """Add a briefing; ``False`` where the user has ``at_most`` already. Two at once take turns."""
    callers_store.hold(connection, user_id, "briefings")
    [(count,)] = connection.execute(_COUNT, {"user_id": user_id}).fetchall()
    if count >= at_most:
        return False
    connection.execute(_ADD, {"user_id": user_id, **values})
    return True


def change_briefing(connection: Connection, user_id: UUID, briefing_id: UUID, changes: Mapping[str, Any]) -> None:
    """Change those columns that are given; with ``time_zone`` or ``channel`` among them these may become null."""
    values = {name: changes.get(name) for name in _CHANGEABLE}
    moves = bool({"frequency", "weekday", "at", "time_zone"} & changes.keys())
    if "interests" in changes:  # what was compared with others says nothing about these
        connection.execute(_FORGET_LIKENESS, {"id": briefing_id})
    sets = {"sets_zone": "time_zone" in changes, "sets_delivery": "channel" in changes, "moves": moves}
    connection.execute(_CHANGE, {"id": briefing_id, "user_id": user_id, **values, **sets})


def live_deliveries(connection: Connection, user_id: UUID, briefing_id: UUID) -> Sequence[UUID]:
    """Return the deliveries of a briefing's editions that are not over."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_LIVE_DELIVERIES, {"id": briefing_id, "user_id": user_id}).fetchall()


def delete_briefing(connection: Connection, user_id: UUID, briefing_id: UUID) -> bool:
    """Delete a briefing with its editions; says whether it was there."""
    return connection.execute(_DELETE, {"id": briefing_id, "user_id": user_id}).fetchone() is not None


def ask(connection: Connection, user_id: UUID, briefing_id: UUID) -> bool:
    """Note that an edition is wanted out of turn; ``False`` if the briefing is not the user's."""
    return connection.execute(_ASK, {"id": briefing_id, "user_id": user_id}).fetchone() is not None


def find_subscribed(connection: Connection, token: str) -> Subscribed | None:
    """Return the briefing of a token."""
    with connection.cursor(row_factory=class_row(Subscribed)) as cursor:
        return cursor.execute(_SUBSCRIBED, {"token": token}).fetchone()


def stop_by_link(connection: Connection, token: str) -> str | None:
    """Stop the delivery of a token's briefing and return its name."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        name: str | None = cursor.execute(_STOP_BY_LINK, {"token": token}).fetchone()
    return name


def list_editions(
    connection: Connection, user_id: UUID, briefing_id: UUID | None, after: Cursor | None, limit: int
) -> Sequence[EditionRow]:
    """Return the user's editions, newest first, beginning behind ``after``."""
    values = {
        "user_id": user_id,
        "briefing_id": briefing_id,
        **behind(after),
        "limit": limit,
    }
    with connection.cursor(row_factory=class_row(EditionRow)) as cursor:
        return cursor.execute(_EDITIONS, values).fetchall()


def find_edition(connection: Connection, user_id: UUID, edition_id: UUID) -> EditionRow | None:
    """Return the user's edition."""
    with connection.cursor(row_factory=class_row(EditionRow)) as cursor:
        return cursor.execute(_ONE_EDITION, {"user_id": user_id, "id": edition_id}).fetchone()


def rendering(connection: Connection, user_id: UUID, edition_id: UUID, form: str) -> Any:
    """Return one of an edition's forms, ``document``, ``html`` or ``plain``; ``None`` if it is not the user's."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_RENDERINGS[form], {"id": edition_id, "user_id": user_id}).fetchone()


def edition_page(connection: Connection, token: str) -> str | None:
    """Return the page of the edition that a link as it was sent opens."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        html: str | None = cursor.execute(_PAGE, {"token": token}).fetchone()
    return html


def edition_page_by_token(connection: Connection, edition_id: UUID, token_id: UUID) -> tuple[str, str] | None:
    """Return an edition's page and its secret, if this is a live token of its owner's that may read it."""
    return connection.execute(_PAGE_BY_TOKEN, {"id": edition_id, "token_id": token_id}).fetchone()


def list_addresses(connection: Connection, user_id: UUID) -> list[MailAddress]:
    """Return all of a user's addresses, by address."""
    with connection.cursor(row_factory=class_row(MailAddress)) as cursor:
        return cursor.execute(_ADDRESSES, {"user_id": user_id}).fetchall()


def delete_address(connection: Connection, user_id: UUID, address_id: UUID) -> bool:
    """Delete an address; says whether it was this user's."""
    return connection.execute(_DELETE_ADDRESS, {"id": address_id, "user_id": user_id}).fetchone() is not None


def find_asked_address(connection: Connection, token: str) -> AskedAddress | None:
    """Return the address of a token."""
    with connection.cursor(row_factory=class_row(AskedAddress)) as cursor:
        return cursor.execute(_FIND_ADDRESS, {"token": token}).fetchone()


def confirm_address(connection: Connection, token: str) -> str | None:
    """Write down that the owner of a token's address said yes; returns the address."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        address: str | None = cursor.execute(_CONFIRM_ADDRESS, {"token": token}).fetchone()
    return address
