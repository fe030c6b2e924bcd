"""Requests counted by token and minute, and accounts that are being deleted, in PostgreSQL."""

from uuid import UUID

from psycopg.rows import scalar_row

from siftline.kit.db import Connection

# A clock that is behind counts into the minute that another one has begun. What is granted is never more than is left.
_TAKE = """
insert into request_counts as counts (token_id, minute, taken) values (%(token_id)s, %(minute)s, %(granted)s)
on conflict (token_id) do update set
  minute = greatest(counts.minute, excluded.minute),
  taken = case when excluded.minute > counts.minute then excluded.taken else counts.taken + excluded.taken end
where excluded.minute > counts.minute or counts.taken + excluded.taken <= %(at_most)s
returning taken
"""
_IS_LEAVING = "select from user_deletions where user_id = %(user_id)s"


def take(connection: Connection, token_id: UUID, minute: int, wanted: int, *, at_most: int) -> int:
    """Take ``wanted`` requests of a token's minute, or one where so many are not left; returns how many were taken."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        for granted in dict.fromkeys((wanted, 1)):
            values = {"token_id": token_id, "minute": minute, "granted": granted, "at_most": at_most}
            if cursor.execute(_TAKE, values).fetchone() is not None:
                return granted
    return 0


def is_leaving(connection: Connection, user_id: UUID) -> bool:
    """Say whether a user's account is being deleted."""
    return connection.execute(_IS_LEAVING, {"user_id": user_id}).fetchone() is not None
