"""What a user may have so much of, counted while nobody adds to it (``ApiSettings``)."""

from uuid import UUID

from siftline.kit.db import Connection

_ONE_BY_ONE = "select pg_advisory_xact_lock(hashtextextended(%(holding)s, 0))"


def hold(connection: Connection, user_id: UUID, what: str) -> None:
    """Let nobody else add to what a user has of this, until the transaction ends.

    Count after it and add after that. It goes before every row that is held: who waits for it has nothing that another
    needs.
    """
    connection.execute(_ONE_BY_ONE, {"holding": f"{what}:{user_id}"})
