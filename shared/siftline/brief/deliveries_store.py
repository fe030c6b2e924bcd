"""Deliveries of editions in PostgreSQL: what one is to be, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class Held:
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
    html: str
    plain: str
    made_at: datetime
    unsubscribe_token: str
    signing_key: str | None
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


def hold(connection: Connection, delivery_id: UUID, address: str) -> Held | None:
    """Return a delivery and keep others from it until the transaction ends; ``address`` is where it is mailed to."""
    with connection.cursor(row_factory=class_row(Held)) as cursor:
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
