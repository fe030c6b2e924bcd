"""Mail addresses that users gave, written down once each, in PostgreSQL: for who asks their owners, and who has to."""

import secrets
from uuid import UUID

from psycopg.rows import scalar_row

from siftline.kit.db import Connection
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
