"""Making users and their personal access tokens: used by the API and by set-up commands."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from psycopg.errors import UniqueViolation

from siftline.api.account import tokens_store
from siftline.api.account.tokens_store import Token
from siftline.api.http.callers import Scope, new_token, token_sha256
from siftline.kit.db import Connection
from siftline.kit.errors import PermanentError
from siftline.kit.ids import new_id


class UnknownTimeZoneError(PermanentError):
    """The name is not one of the IANA time zone database."""

    code = "unknown_time_zone"


class NameTakenError(PermanentError):
    """Somebody else has this name; capital letters make no other of it."""

    code = "name_taken"


def create_user(connection: Connection, name: str, time_zone: str) -> UUID:
    """Make a user and return their id. Raises ``NameTakenError`` and ``UnknownTimeZoneError``."""
    user_id = new_id()
    try:
        added = tokens_store.add_user(connection, user_id, name, time_zone)
    except UniqueViolation as error:
        raise NameTakenError(f"The user {name} already exists.") from error
    if not added:
        raise UnknownTimeZoneError("Unknown time zone; use an IANA name such as Europe/Berlin or UTC.")
    return user_id


def issue_token(
    connection: Connection, user_id: UUID, name: str, scopes: Iterable[Scope], expires_at: datetime | None
) -> str:
    """Make a token for a user and return it; it cannot be had again."""
    return issue(connection, user_id, name, scopes, expires_at)[0]


def issue(
    connection: Connection,
    user_id: UUID,
    name: str,
    scopes: Iterable[Scope],
    expires_at: datetime | None,
    *,
    made_by: UUID | None = None,
) -> tuple[str, Token]:
    """Make a token for a user and return it with its row; ``made_by`` is the token that makes it, if one does."""
    token = new_token()
    row = tokens_store.add_token(
        connection,
        new_id(),
        user_id,
        name=name,
        sha256=token_sha256(token),
        scopes=sorted({scope.value for scope in scopes}),
        expires_at=expires_at,
        made_by=made_by,
    )
    return token, row
