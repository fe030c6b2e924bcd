"""Mail addresses that users gave, whether their owners said yes, and who was asked when, in PostgreSQL."""

import secrets
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from siftline.kit.db import Connection, nearest
from siftline.kit.ids import new_id
from siftline.text.mail_address import mailbox_key

ADDRESSES_MAX = 50
"""So many addresses a user may have given, whichever way."""
_TOKEN_BYTES = 32
# One at a time for each user: two new addresses at once must not both be the last one.
_ONE_BY_ONE = "select pg_advisory_xact_lock(hashtextextended('mail-addresses:' || %(user_id)s, 0))"
_ENSURE = """
insert into mail_addresses (id, user_id, address, token)
select %(id)s, %(user_id)s, %(address)s, %(token)s
where exists (select from mail_addresses where user_id = %(user_id)s and address = %(address)s)
  or (select count(*) from mail_addresses where user_id = %(user_id)s) < %(most)s
on conflict (user_id, address) do update set address = excluded.address returning id
"""
ASKS_PER_DAY = 20
"""Owners of mail addresses that a user may have asked within a day: nobody mails strangers through us."""
_FORGOTTEN_AT_ONCE = 100
_EXISTS = "select id from mail_addresses where id = %(id)s"
# One at a time for each address, then for each user: wishes at once must not become more mails than they may.
_BY_ADDRESS = (
    "select pg_advisory_xact_lock(hashtextextended('mail:' || address, 0)) from mail_addresses where id = %(id)s"
)
_BY_USER = (
    "select pg_advisory_xact_lock(hashtextextended('mail-asks:' || user_id, 0)) from mail_addresses where id = %(id)s"
)
# ``wait_s``: until of the user's newest questions, as many as a day may have, the oldest is a day old.
_STANDING = f"""
select a.address, a.token, a.user_id, a.asked_at is not null as asked_before,
  a.confirmed_at is not null or exists (select from mail_suppressions s where s.address = a.address) as settled,
  exists (select from mail_asks m where m.address = a.address and m.asked_at > now() - interval '1 day') as lately,
  (select extract(epoch from {nearest("m.asked_at")} + interval '1 day' - now())::float8 from mail_asks m
    where m.user_id = a.user_id and m.asked_at > now() - interval '1 day'
    order by m.asked_at desc offset %(asks_per_day)s - 1 limit 1) as wait_s
from mail_addresses a where a.id = %(id)s
"""  # noqa: S608  -- made of constants only
_ASK = """
with noted as (update mail_addresses set asked_at = now() where id = %(id)s)
insert into mail_asks (id, address, user_id, asked_at) values (%(ask_id)s, %(address)s, %(user_id)s, now())
"""
_FORGET = """
delete from mail_asks where id in (
  select id from mail_asks where asked_at < now() - interval '2 days' limit %(limit)s for update skip locked)
"""
_GIVE_BACK = """
with noted as (update mail_addresses set asked_at = null where id = %(id)s)
delete from mail_asks where id = %(ask_id)s
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether an address's owner may be asked now."""

    address: str
    token: str
    user_id: UUID
    asked_before: bool
    """Whether they were ever asked for this user."""
    settled: bool
    """Whether there is nothing to ask: they said yes, or nothing is sent there any more."""
    lately: bool
    """Whether they were asked within a day, for whomever."""
    wait_s: float | None
    """Seconds until this user may have anybody asked; ``None`` at once."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Whom to ask, and the token of the link."""

    ask_id: UUID
    address: str
    token: str


def ensure(connection: Connection, user_id: UUID, address: str) -> UUID | None:
    """Return the id of a user's address (``siftline.text.mail_address``), written down if it is new.

    ``None`` where it is new and the user has given ``ADDRESSES_MAX`` others.
    """
    values = {
        "id": new_id(),
        "user_id": user_id,
        "address": mailbox_key(address),
        "token": secrets.token_urlsafe(_TOKEN_BYTES),
        "most": ADDRESSES_MAX,
    }
    connection.execute(_ONE_BY_ONE, {"user_id": str(user_id)})
    with connection.cursor(row_factory=scalar_row) as cursor:
        address_id: UUID | None = cursor.execute(_ENSURE, values).fetchone()
    return address_id


def exists(connection: Connection, address_id: UUID) -> bool:
    """Say whether there is such an address."""
    return connection.execute(_EXISTS, {"id": address_id}).fetchone() is not None


def standing(connection: Connection, address_id: UUID, *, asks_per_day: int) -> Standing | None:
    """Return how an address stands where a user may have ``asks_per_day`` owners asked within a day."""
    with connection.cursor(row_factory=class_row(Standing)) as cursor:
        return cursor.execute(_STANDING, {"id": address_id, "asks_per_day": asks_per_day}).fetchone()


def claim(connection: Connection, address_id: UUID, *, asks_per_day: int) -> Asked | float | None:
    """Take the turn to ask an address's owner, or return the seconds until this user has another.

    Once a day and address, whoever wants to mail there and whether or not they still do, and never once it is said:
    ``None`` then.
    """
    connection.execute(_BY_ADDRESS, {"id": address_id})
    connection.execute(_BY_USER, {"id": address_id})
    found = standing(connection, address_id, asks_per_day=asks_per_day)
    if found is None or found.settled or found.lately:
        return None
    if found.wait_s is not None:
        return found.wait_s
    asked = Asked(new_id(), found.address, found.token)
    connection.execute(_FORGET, {"limit": _FORGOTTEN_AT_ONCE})
    values = {"id": address_id, "ask_id": asked.ask_id, "address": found.address, "user_id": found.user_id}
    connection.execute(_ASK, values)
    return asked


def give_back(connection: Connection, address_id: UUID, ask_id: UUID) -> None:
    """Give the turn back: the question was surely not sent."""
    connection.execute(_GIVE_BACK, {"id": address_id, "ask_id": ask_id})
