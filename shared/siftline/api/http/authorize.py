"""The Lambda authorizer of the HTTP API (REQUEST, payload 2.0, simple responses): who is calling?

What it allows is checked in the application, which knows the routes. A database that is away raises: API Gateway then
answers 500 itself, and nobody is let in or taken for somebody else.
"""

from collections.abc import Mapping
from typing import Any

from siftline.api.http.bearer import read_bearer, token_sha256
from siftline.api.http.callers import Caller, known_scopes
from siftline.api.http.callers_store import find_holder
from siftline.api.http.wrong_tokens import WrongTokens, source_ip_of
from siftline.kit.aws import secret
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database, open_database
from siftline.kit.log import logger
from siftline.settings.functions import AuthorizeSettings


class Authorizer:
    """Finds the caller behind an ``Authorization`` header."""

    def __init__(self, database: Database, wrong_tokens: WrongTokens | None = None) -> None:
        self._database = database
        self._wrong_tokens = wrong_tokens

    def __call__(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Answer an authorizer event. Raises ``DatabaseUnavailableError``."""
        headers = {str(name).lower(): value for name, value in (event.get("headers") or {}).items()}
        caller = self.identify(headers.get("authorization"), source_ip_of(event))
        if caller is None:
            return {"isAuthorized": False, "context": {}}
        return {"isAuthorized": True, "context": caller.context()}

    def identify(self, header: str | None, source_ip: str = "") -> Caller | None:
        """Return the caller of a bearer token, or ``None`` for nobody, who may be answered more slowly.

        Raises ``DatabaseUnavailableError``.
        """
        token = read_bearer(header)
        holder = None
        if token is not None:
            with self._database.transaction() as connection:
                holder = find_holder(connection, token_sha256(token))
        if holder is not None:
            return Caller(holder.user_id, holder.token_id, known_scopes(holder.scopes), holder.expires_at)
        if header and self._wrong_tokens is not None:
            self._wrong_tokens.note(source_ip)
        return None


def open_authorizer(settings: AuthorizeSettings) -> Authorizer:
    """Return the authorizer of the ``authorize`` function."""
    url = secret(settings.database_url.get_secret_value())
    wrong_tokens = WrongTokens(logger("authorize"), SystemClock())
    return Authorizer(open_database(url, settings.database_pool_size), wrong_tokens)
