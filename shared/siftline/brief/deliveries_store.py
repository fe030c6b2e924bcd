"""Deliveries of editions in PostgreSQL: what one is to be, and what became of it, by the mail provider's events too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, scalar_row
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

_STOP_MAILED = """
with theirs as (
  select id from briefings
  where channel = 'email' and lower(destination) = any(%(addresses)b::text[]) and stopped_code is null
  order by id for no key update)
update briefings set stopped_code = %(reason)s, updated_at = now() from theirs where briefings.id = theirs.id
"""

_NOTE_EVENT = """
with told as (
  select id from deliveries where provider_id = %(provider_id)s and error_code is distinct from %(code)s
  order by id for no key update)
update deliveries set error_code = %(code)s, error_detail = %(detail)s,
  state = case when %(code)s = 'rejected' then 'failed' else state end
from told where deliveries.id = told.id
"""

_HARM = frozenset({"bounced", "complained", "rejected"})


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery in hand, locked until the transaction ends, with all that decides whether it may go."""

    id: UUID
    edition_id: UUID
    briefing_id: UUID
    user_id: UUID
    channel: str
    destination: str
    state: str
    unanswered: int
    document: Mapping[str, Any]
    html: str = field(repr=False)
    plain: str = field(repr=False)
    made_at: datetime
    unsubscribe_token: str = field(repr=False)
    signing_key: str | None = field(repr=False)
    stopped_code: str | None
    suppressed: str | None
    """Why nothing is mailed to this address any more."""
    confirmed: bool
    """Whether the user has shown that the address is theirs."""


_HOLD = """
select d.id, d.edition_id, e.briefing_id, d.user_id, d.channel, d.destination, d.state, d.unanswered, e.document,
  e.html, e.plain, e.made_at, b.unsubscribe_token, b.signing_key, b.stopped_code,
  (select s.reason from mail_suppressions s where s.address = lower(%(address)s)) as suppressed,
  exists (select from mail_addresses m where m.user_id = d.user_id and m.address = lower(%(address)s)
    and m.confirmed_at is not null) as confirmed
from deliveries d join editions e on e.id = d.edition_id join briefings b on b.id = e.briefing_id
where d.id = %(id)s for update of d
"""
_DESTINATION = "select channel, destination from deliveries where id = %(id)s"
_BEGIN = "update deliveries set begun = begun + 1, unanswered = unanswered + 1, state = 'pending' where id = %(id)s"
_ANSWERED = "update deliveries set unanswered = unanswered - 1 where id = %(id)s and unanswered > 0"
_SENT = """
update deliveries set state = 'sent', unanswered = greatest(unanswered - 1, 0), provider_id = %(provider_id)s,
  sent_at = now(), error_code = null, error_detail = null
where id = %(id)s
"""
_SETTLE = """
update deliveries set state = %(state)s, error_code = %(code)s, error_detail = %(detail)s where id = %(id)s
"""
_NOTE = """
update deliveries set error_code = %(code)s, error_detail = %(detail)s,
  state = case when not %(last)s then state when unanswered > 0 then 'unconfirmed' else 'failed' end
where id = %(id)s and state = 'pending'
"""
_STOP = """
update briefings set stopped_code = %(code)s, updated_at = now()
from deliveries d join editions e on e.id = d.edition_id
where d.id = %(id)s and briefings.id = e.briefing_id and briefings.stopped_code is null
"""


def destination(connection: Connection, delivery_id: UUID) -> tuple[str, str] | None:
    """Return a delivery's channel and destination."""
    return connection.execute(_DESTINATION, {"id": delivery_id}).fetchone()


def hold(connection: Connection, delivery_id: UUID, address: str) -> Delivery | None:
    """Return a delivery and keep others from it until the transaction ends; ``address`` is where it is mailed to."""
    with connection.cursor(row_factory=class_row(Delivery)) as cursor:
        return cursor.execute(_HOLD, {"id": delivery_id, "address": address}).fetchone()


def begin(connection: Connection, delivery_id: UUID) -> None:
    """Count that sending begins: until an answer is written down, it counts as unanswered."""
    connection.execute(_BEGIN, {"id": delivery_id})


def answered(connection: Connection, delivery_id: UUID) -> None:
    """Write down that the far side surely did not take it."""
    connection.execute(_ANSWERED, {"id": delivery_id})


def sent(connection: Connection, delivery_id: UUID, provider_id: str | None) -> None:
    """Write down that the far side took it, under this id of its own."""
    connection.execute(_SENT, {"id": delivery_id, "provider_id": provider_id})


def settle(connection: Connection, delivery_id: UUID, state: str, code: str, detail: str) -> None:
    """Say why a delivery is not sent, or not sent again."""
    connection.execute(_SETTLE, {"id": delivery_id, "state": state, "code": code, "detail": detail})


def note_failure(connection: Connection, delivery_id: UUID, code: str, detail: str, *, last: bool) -> None:
    """Say what went wrong with a try; after the ``last`` one the delivery is over.

    It has then failed, or, where a try had no answer, nobody knows.
    """
    connection.execute(_NOTE, {"id": delivery_id, "code": code, "detail": detail, "last": last})


def stop(connection: Connection, delivery_id: UUID, code: str) -> None:
    """Stop the briefing of a delivery: editions are still made, and none is delivered."""
    connection.execute(_STOP, {"id": delivery_id, "code": code})


def keep_event(connection: Connection, event: Mapping[str, Any]) -> UUID:
    """Keep an event until it is worked off; returns its id."""
    event_id = new_id()
    connection.execute(_KEEP, {"id": event_id, "event": Jsonb(event)})
    return event_id


def load_event(connection: Connection, event_id: UUID) -> Mapping[str, Any] | None:
    """Return a kept event."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        found: Mapping[str, Any] | None = cursor.execute(_LOAD, {"id": event_id}).fetchone()
    return found


def forget_event(connection: Connection, event_id: UUID) -> None:
    """Delete an event that was worked off: it holds addresses."""
    connection.execute(_FORGET, {"id": event_id})


def suppress(connection: Connection, addresses: Sequence[str], reason: str, detail: str) -> None:
    """Send nothing more to these addresses (lower case), and stop the briefings that are mailed there."""
    values = {"addresses": list(addresses), "reason": reason, "detail": detail}
    connection.execute(_SUPPRESS, values)
    connection.execute(_STOP_MAILED, values)


def note_event(connection: Connection, provider_id: str, code: str, detail: str) -> None:
    """Write on the delivery of a mail what became of it; of what needs no care, nothing."""
    if code in _HARM:
        connection.execute(_NOTE_EVENT, {"provider_id": provider_id, "code": code, "detail": detail})
