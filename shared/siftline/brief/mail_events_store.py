"""What the mail provider told, and the addresses to which nothing is sent any more, in PostgreSQL."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from psycopg.rows import scalar_row
from psycopg.types.json import Jsonb

from siftline.kit.db import Connection
from siftline.kit.ids import new_id

_KEEP = "insert into mail_events (id, event) values (%(id)s, %(event)s)"
_LOAD = "select event from mail_events where id = %(id)s"
_FORGET = "delete from mail_events where id = %(id)s"
# A complaint weighs more than a bounce, whichever came first.
_SUPPRESS = """
insert into mail_suppressions (address, reason, detail)
select distinct on (address) address, %(reason)s, %(detail)s from unnest(%(addresses)b::text[]) as told (address)
order by address
on conflict (address) do update set reason = excluded.reason, detail = excluded.detail
where excluded.reason = 'complained' and mail_suppressions.reason <> 'complained'
"""
_STOP = """
with theirs as (
  select id from briefings
  where channel = 'email' and lower(destination) = any(%(addresses)b::text[]) and stopped_code is null
  order by id for no key update)
update briefings set stopped_code = %(reason)s, updated_at = now() from theirs where briefings.id = theirs.id
"""
_NOTE = """
with told as (
  select id from deliveries where provider_id = %(provider_id)s and error_code is distinct from %(code)s
  order by id for no key update)
update deliveries set error_code = %(code)s, error_detail = %(detail)s,
  state = case when %(code)s = 'rejected' then 'failed' else state end
from told where deliveries.id = told.id
"""
_HARM = frozenset({"bounced", "complained", "rejected"})


def keep(connection: Connection, event: Mapping[str, Any]) -> UUID:
    """Keep an event until it is worked off; returns its id."""
    event_id = new_id()
    connection.execute(_KEEP, {"id": event_id, "event": Jsonb(event)})
    return event_id


def load(connection: Connection, event_id: UUID) -> Mapping[str, Any] | None:
    """Return a kept event."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        found: Mapping[str, Any] | None = cursor.execute(_LOAD, {"id": event_id}).fetchone()
    return found


def forget(connection: Connection, event_id: UUID) -> None:
    """Delete an event that was worked off: it holds addresses."""
    connection.execute(_FORGET, {"id": event_id})


def suppress(connection: Connection, addresses: Sequence[str], reason: str, detail: str) -> None:
    """Send nothing more to these addresses (lower case), and stop the briefings that are mailed there."""
    values = {"addresses": list(addresses), "reason": reason, "detail": detail}
    connection.execute(_SUPPRESS, values)
    connection.execute(_STOP, values)


def note(connection: Connection, provider_id: str, code: str, detail: str) -> None:
    """Write on the delivery of a mail what became of it; of what needs no care, nothing."""
    if code in _HARM:
        connection.execute(_NOTE, {"provider_id": provider_id, "code": code, "detail": detail})
