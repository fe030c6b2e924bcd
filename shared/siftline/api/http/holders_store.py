"""Whose a token is: the one question of the authorizer to PostgreSQL."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class Holder:
    """Whose a valid token is, and what it allows."""

    token_id: UUID
    user_id: UUID
    scopes: list[str]
    expires_at: datetime | None


_VALID = """
select id as token_id, user_id, scopes, expires_at from access_tokens
where token_sha256 = %(sha256)b and revoked_at is null and (expires_at is null or expires_at > now())
"""


def find_holder(connection: Connection, sha256: bytes) -> Holder | None:
    """Return whose token has this hash, unless it is revoked or past its time."""
    with connection.cursor(row_factory=class_row(Holder)) as cursor:
        return cursor.execute(_VALID, {"sha256": sha256}).fetchone()
