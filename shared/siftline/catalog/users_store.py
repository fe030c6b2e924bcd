"""Users, as rooms that hold work for one ask after them."""

from uuid import UUID

from siftline.kit.db import Connection

_USER = "select id from users where id = %(user_id)s"


def user_exists(connection: Connection, user_id: UUID) -> bool:
    """Say whether there is such a user."""
    return connection.execute(_USER, {"user_id": user_id}).fetchone() is not None
