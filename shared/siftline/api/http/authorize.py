"""The Lambda authorizer of the HTTP API (REQUEST, payload 2.0, simple responses): who is calling?

What it allows is checked in the application, which knows the routes. A database that is away raises: API Gateway then
answers 500 itself, and nobody is let in or taken for somebody else.

Wrong tokens are counted by the network that they come from, logged, and answered ever more slowly. Nothing of a token
is kept. A right one is never refused for the sake of wrong ones: on one machine, and behind one router, all have one
network. Only a few answers wait at a time, so that nobody else waits for a thread.
"""

import ipaddress
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools import Logger

from siftline.api.http.callers import Caller, read_bearer, token_sha256
from siftline.api.http.callers_store import find_caller
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Database, open_database
from siftline.kit.log import logger
from siftline.settings.functions import AuthorizeSettings

WRONG_TOKENS_PER_MINUTE = 20
"""Wrong tokens of one network in a minute until each further answer is slowed: a forgotten reader asks less often."""
_MINUTE_S = 60
_STEP_S, _WAIT_MAX_S = 0.1, 2.0
_WAITING_MAX = 2
_NETWORKS_MAX = 10_000
_BITS = {4: 24, 6: 64}


class WrongTokens:
    """Slows whoever tries tokens."""

    def __init__(
        self,
        log: Logger,
        clock: Clock,
        *,
        per_minute: int = WRONG_TOKENS_PER_MINUTE,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """``per_minute`` wrong tokens of a network are answered at once."""
        self._log = log
        self._clock = clock
        self._per_minute = per_minute
        self._sleep = sleep
        self._places = threading.BoundedSemaphore(_WAITING_MAX)
        self._lock = threading.Lock()
        self._minute = 0
        self._counts: Counter[str] = Counter()

    def note(self, source_ip: str) -> None:
        """Count a wrong token from this address; returns after a while where there were many."""
        network = network_of(source_ip)
        count = self._count(network)
        if count & (count - 1) == 0:  # 1, 2, 4, 8 …: nobody fills the log
            self._log.warning("wrong_token", network=network, tokens_this_minute=count)
        if count > self._per_minute and self._places.acquire(blocking=False):
            try:
                self._sleep(min(_STEP_S * (count - self._per_minute), _WAIT_MAX_S))
            finally:
                self._places.release()

    def _count(self, network: str) -> int:
        minute = int(self._clock.now().timestamp()) // _MINUTE_S
        with self._lock:
            if minute != self._minute or len(self._counts) >= _NETWORKS_MAX:
                self._minute, self._counts = minute, Counter()
            self._counts[network] += 1
            return self._counts[network]


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
        caller = None
        if token is not None:
            with self._database.transaction() as connection:
                caller = find_caller(connection, token_sha256(token))
        if caller is None and header and self._wrong_tokens is not None:
            self._wrong_tokens.note(source_ip)
        return caller


def open_authorizer(settings: AuthorizeSettings) -> Authorizer:
    """Return the authorizer of the ``authorize`` function."""
    url = settings.database_url.get_secret_value()
    wrong_tokens = WrongTokens(logger("authorize"), SystemClock())
    return Authorizer(open_database(url, settings.database_pool_size), wrong_tokens)


def source_ip_of(event: Mapping[str, Any]) -> str:
    """Return where a request comes from, as the gateway saw it; empty where it does not say."""
    http: Mapping[str, Any] = (event.get("requestContext") or {}).get("http") or {}
    return str(http.get("sourceIp") or "")


def network_of(source_ip: str) -> str:
    """Return the network of an address, ``unknown`` for what is none: whoever has one address has its neighbours too.

    >>> network_of("203.0.113.9"), network_of("2001:db8::1"), network_of("")
    ('203.0.113.0/24', '2001:db8::/64', 'unknown')
    """
    try:
        address = ipaddress.ip_address(source_ip)
    except ValueError:
        return "unknown"
    return str(ipaddress.ip_network((address, _BITS[address.version]), strict=False))
