"""A user's mail addresses, and those by the token in the link that asks their owners, in PostgreSQL."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from pydantic import BaseModel, Field

from siftline.kit.db import Connection

_LIST = """
select id, address, asked_at, confirmed_at,
  (select reason from mail_suppressions where mail_suppressions.address = mail_addresses.address) as suppressed
from mail_addresses where user_id = %(user_id)s order by address
"""
_DELETE = "delete from mail_addresses where id = %(id)s and user_id = %(user_id)s returning id"
_FIND = "select address, confirmed_at is not null as confirmed from mail_addresses where token = %(token)s"
_CONFIRM = """
update mail_addresses set confirmed_at = coalesce(confirmed_at, now()) where token = %(token)s returning address
"""


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


def list_addresses(connection: Connection, user_id: UUID) -> list[MailAddress]:
    """Return all of a user's addresses, by address."""
    with connection.cursor(row_factory=class_row(MailAddress)) as cursor:
        return cursor.execute(_LIST, {"user_id": user_id}).fetchall()


def delete(connection: Connection, user_id: UUID, address_id: UUID) -> bool:
    """Delete an address; says whether it was this user's."""
    return connection.execute(_DELETE, {"id": address_id, "user_id": user_id}).fetchone() is not None


def find(connection: Connection, token: str) -> AskedAddress | None:
    """Return the address of a token."""
    with connection.cursor(row_factory=class_row(AskedAddress)) as cursor:
        return cursor.execute(_FIND, {"token": token}).fetchone()


def confirm(connection: Connection, token: str) -> str | None:
    """Write down that the owner of a token's address said yes; returns the address."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        address: str | None = cursor.execute(_CONFIRM, {"token": token}).fetchone()
    return address
