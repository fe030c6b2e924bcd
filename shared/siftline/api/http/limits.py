"""What one token may ask in a minute, wherever it asks; and who may change nothing more.

API Gateway's own throttling is for everybody together, and there is none on one machine; this counts each token, in
PostgreSQL, which all functions share. So that no request waits for it, a process takes a handful of requests at a time.
"""

import threading
from uuid import UUID

from siftline.api.http import callers_store as store
from siftline.api.http.problems import ProblemError, unknown_user
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Database, DatabaseUnavailableError, open_database
from siftline.settings.functions import SearchSettings

_MINUTE_S = 60
_HANDFULS = 60
"""Of a minute's requests a process takes at most this part at once: what it does not use, no other can."""


class RequestLimit:
    """Counts requests by token and minute."""

    def __init__(self, database: Database, clock: Clock, *, per_minute: int) -> None:
        self._database = database
        self._clock = clock
        self._per_minute = per_minute
        self._lock = threading.Lock()
        self._minute = 0
        self._left: dict[UUID, int] = {}

    def take(self, token_id: UUID) -> None:
        """Count one request. Raises 429."""
        now_s = int(self._clock.now().timestamp())
        minute = now_s // _MINUTE_S
        if self._from_hand(token_id, minute):
            return
        wanted = max(1, self._per_minute // _HANDFULS)
        try:
            with self._database.transaction() as connection:
                granted = store.take(connection, token_id, minute, wanted, at_most=self._per_minute)
        except DatabaseUnavailableError:
            return  # uncounted: a route that needs the database says so itself, the others are answered
        if granted == 0:
            raise _too_many(_MINUTE_S - now_s % _MINUTE_S)
        with self._lock:
            if minute == self._minute:
                self._left[token_id] = self._left.get(token_id, 0) + granted - 1

    def refuse_leaving(self, user_id: UUID) -> None:
        """Raise 403 for a user whose account is being deleted: the gateway still keeps the authorizer's answer.

        Only changes ask this: one look into a table that is nearly always empty, so nobody who reads pays for it.
        """
        try:
            with self._database.statement() as connection:
                leaving = store.is_leaving(connection, user_id)
        except DatabaseUnavailableError:
            return  # as above: nothing can be changed without the database
        if leaving:
            raise unknown_user()

    def _from_hand(self, token_id: UUID, minute: int) -> bool:
        with self._lock:
            if minute != self._minute:
                self._minute, self._left = minute, {}
            left = self._left.get(token_id, 0)
            if left:
                self._left[token_id] = left - 1
            return left > 0


def open_limit(settings: SearchSettings) -> RequestLimit:
    """Return the limit of the ``search`` function, which counts with the API's."""
    database = open_database(settings.database_url.get_secret_value(), settings.database_pool_size)
    return RequestLimit(database, SystemClock(), per_minute=settings.requests_per_minute)


def _too_many(wait_s: int) -> ProblemError:
    detail = "This token has exceeded its requests per minute. Wait and retry."
    return ProblemError(429, "too_many_requests", detail, (), {"Retry-After": str(wait_s)})
