"""Mail addresses that users gave, and whether their owners said yes, in PostgreSQL."""

from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import class_row

from siftline.kit.db import Connection

_EXISTS = "select id from mail_addresses where id = %(id)s"
# One at a time for each address: two users' wishes at once must not become two mails.
_ONE_BY_ONE = (
    "select pg_advisory_xact_lock(hashtextextended('mail:' || address, 0)) from mail_addresses where id = %(id)s"
)
_CLAIM = """
update mail_addresses asked set asked_at = now()
where asked.id = %(id)s and asked.confirmed_at is null
  and not exists (select from mail_suppressions where mail_suppressions.address = asked.address)
  and not exists (select from mail_addresses other
    where other.address = asked.address and other.asked_at > now() - interval '1 day')
returning asked.address, asked.token
"""
_GIVE_BACK = "update mail_addresses set asked_at = null where id = %(id)s"


@dataclass(frozen=True, slots=True)
class Asked:
    """Whom to ask, and the token of the link."""

    address: str
    token: str


def exists(connection: Connection, address_id: UUID) -> bool:
    """Say whether there is such an address."""
    return connection.execute(_EXISTS, {"id": address_id}).fetchone() is not None


def claim(connection: Connection, address_id: UUID) -> Asked | None:
    """Take the turn to ask an address's owner: once a day, whoever wants to mail there, and never once it is said."""
    connection.execute(_ONE_BY_ONE, {"id": address_id})
    with connection.cursor(row_factory=class_row(Asked)) as cursor:
        return cursor.execute(_CLAIM, {"id": address_id}).fetchone()


def give_back(connection: Connection, address_id: UUID) -> None:
    """Give the turn back: the question was surely not sent."""
    connection.execute(_GIVE_BACK, {"id": address_id})
