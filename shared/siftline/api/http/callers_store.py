"""The caller in PostgreSQL: whose a token is, what it asked this minute, and what its user may have so much of."""

from uuid import UUID

from psycopg.rows import scalar_row

from siftline.api.http.callers import Caller, known_scopes
from siftline.kit.db import Connection

_VALID = """
select user_id, id, scopes, expires_at from access_tokens
where token_sha256 = %(sha256)b and revoked_at is null and (expires_at is null or expires_at > now())
"""
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
_ONE_BY_ONE = "select pg_advisory_xact_lock(hashtextextended(%(holding)s, 0))"


def find_caller(connection: Connection, sha256: bytes) -> Caller | None:
    """Return who calls by the token of this hash, unless it is revoked or past its time."""
    row = connection.execute(_VALID, {"sha256": sha256}).fetchone()
    if row is None:
        return None
    user_id, token_id, scopes, expires_at = row
    return Caller(user_id, token_id, known_scopes(scopes), expires_at)


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


def hold(connection: Connection, user_id: UUID, what: str) -> None:
    """Let nobody else add to what a user has of this, until the transaction ends.

    Count after it and add after that. It goes before every row that is held: who waits for it has nothing that another
    needs.
    """
    connection.execute(_ONE_BY_ONE, {"holding": f"{what}:{user_id}"})
