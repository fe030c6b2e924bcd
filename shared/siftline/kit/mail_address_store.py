"""Mail addresses that users gave, written down once each, in PostgreSQL: for who asks their owners, and who has to."""

import secrets
from uuid import UUID

from psycopg.rows import scalar_row

from siftline.kit.db import Connection
from siftline.kit.ids import new_id
from siftline.kit.mail_address import mailbox_key

_TOKEN_BYTES = 32
_ENSURE = """
insert into mail_addresses (id, user_id, address, token) values (%(id)s, %(user_id)s, %(address)s, %(token)s)
on conflict (user_id, address) do update set address = excluded.address returning id
"""


def ensure(connection: Connection, user_id: UUID, address: str) -> UUID:
    """Return the id of a user's address (``siftline.kit.mail_address``), written down if it is new."""
    values = {
        "id": new_id(),
        "user_id": user_id,
        "address": mailbox_key(address),
        "token": secrets.token_urlsafe(_TOKEN_BYTES),
    }
    with connection.cursor(row_factory=scalar_row) as cursor:
        [found] = cursor.execute(_ENSURE, values).fetchall()
    address_id: UUID = found
    return address_id
