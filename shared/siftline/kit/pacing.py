"""How often a host is asked: one pace for all workers together, a line for who must wait, a memory for refusals.

Every host has its own pace; the domains of ``host_per_minute`` are paced with all their sub-domains as one. A 429 makes
the host's pace slower and leaves its whole registrable domain alone for as long as it asks; a 503 concerns the one
address that was asked for, whose own job waits, and so nothing is kept of it here.
"""

import ipaddress
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import NoReturn, Protocol
from urllib.parse import urlsplit
from uuid import UUID

from siftline.kit import pacing_store
from siftline.kit.addresses import literal_address, reached
from siftline.kit.clock import Clock
from siftline.kit.db import Database, settled
from siftline.kit.errors import NotTriedError, TransientError
from siftline.kit.http_errors import StatusTransientError
from siftline.kit.http_turns import in_turn
from siftline.kit.log import logger
from siftline.kit.pacing_store import Bucket, Turn
from siftline.kit.rate_limits import reset_s, used_up
from siftline.kit.sites import suffixes
from siftline.kit.urls import validate_url

_log = logger("pacing")
_LOCALHOST = "localhost"


class HostBusyError(NotTriedError):
    """The host is asked no more often than it stands; whoever waits has a turn of their own, ``retry_after_s`` away."""

    code = "host_busy"
    in_turn = True


class PaceOptions(Protocol):
    """The settings of a pace (``siftline.settings.PacingSettings``)."""

    @property
    def host_requests_per_s(self) -> float:
        """Requests a second that a host is sent at most, on average."""
        ...

    @property
    def host_burst(self) -> int:
        """Requests that may come at once after a rest."""
        ...

    @property
    def host_per_minute(self) -> Mapping[str, float]:
        """Requests a minute of a domain and all its sub-domains together."""
        ...

    @property
    def host_wait_s(self) -> float:
        """A turn that comes within this is waited for in the process."""
        ...

    @property
    def host_refused_s(self) -> float:
        """How long a host is left alone that refused and did not say for how long."""
        ...

    @property
    def host_interval_max_s(self) -> float:
        """The slowest pace that refusals lead to."""
        ...

    @property
    def host_pace_loopback(self) -> bool:
        """Whether loopback addresses are paced too."""
        ...


class Pacing(Protocol):
    """What a room asks of a pace."""

    def asking(self, url: str, *, who: UUID) -> AbstractContextManager[None]:
        """Wait for the turn, or raise ``HostBusyError``; within, redirects and repeats take turns as well."""
        ...

    def told(self, url: str, error: TransientError) -> None:
        """Remember a refusal."""
        ...

    def heard(self, url: str, headers: Mapping[str, str]) -> None:
        """Remember what the answer of an address, the last one of any redirects, says of the next one."""
        ...


class Pace:
    """The pace of all hosts. Thread-safe."""

    def __init__(
        self,
        database: Database,
        options: PaceOptions,
        clock: Clock,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._database = database
        self._options = options
        self._clock = clock
        self._sleep = sleep

    def admit(self, url: str, *, who: UUID) -> None:
        """Return when the host of ``url`` may be asked; a turn that is a moment away is waited for here.

        Raises ``HostBusyError`` where it is further away: it is then kept for ``who`` (a source, a content), who comes
        back at that time and asks again.
        """
        bucket = self._bucket(url)
        if bucket is None:
            return
        left_s = self._take(bucket, who)
        if left_s is None:
            self._stand_in_line(bucket, who)
        else:
            self._wait(left_s)

    @contextmanager
    def asking(self, url: str, *, who: UUID) -> Iterator[None]:
        """Admit ``who``, and let each request that is made within take a turn of the host it goes to.

        A redirect waits for its turn as ``admit`` does. Who came to the front of the line of where it leads, or was
        let through to the same host before, does not stand in line anew, or would never arrive: those behind wait
        longer instead. A request is made once more only if it has a turn at once.
        """
        self.admit(url, who=who)
        bucket = self._bucket(url)
        with in_turn(_Turns(self, who, set() if bucket is None else {bucket.scope})):
            yield

    def onward(self, url: str, *, who: UUID, asked: set[str]) -> None:
        """Return when a redirect's target may be asked; ``asked`` is what was asked on the way there.

        Raises ``HostBusyError``.
        """
        bucket = self._bucket(url)
        if bucket is None:
            return
        left_s = self._take(bucket, who)
        if left_s is None:
            wait_s, known = self._options.host_wait_s, bucket.scope in asked
            left_s = settled(
                self._database,
                lambda connection: pacing_store.owe(connection, bucket, who, wait_s=wait_s, known=known),
            )
        if left_s is None:
            self._stand_in_line(bucket, who)
        else:
            asked.add(bucket.scope)
            self._wait(left_s)

    def again(self, url: str, *, who: UUID) -> bool:
        """Return whether there is a turn within the wait to ask once more; it is then taken."""
        bucket = self._bucket(url)
        left_s = 0.0 if bucket is None else self._take(bucket, who)
        self._wait(left_s or 0.0)
        return left_s is not None

    def _take(self, bucket: Bucket, who: UUID) -> float | None:
        wait_s = self._options.host_wait_s
        return settled(
            self._database, lambda connection: pacing_store.take(connection, bucket, who, wait_s=wait_s), single=True
        )

    def _wait(self, left_s: float) -> None:
        if left_s > 0:
            self._sleep(min(left_s, self._options.host_wait_s))

    def _stand_in_line(self, bucket: Bucket, who: UUID) -> NoReturn:
        turn = settled(self._database, lambda connection: pacing_store.stand_in_line(connection, bucket, who))
        raise HostBusyError(_busy(bucket, turn), retry_after_s=turn.wait_s)

    def told(self, url: str, error: TransientError) -> None:
        """Remember a 429: the host's pace widens, and its registrable domain is left alone for as long as it asks.

        It is the address that answered, at the end of any redirects, that is meant: nobody is blamed for where they
        redirect to. ``url``, what was asked, counts where the error names none. An error that names no wait is given
        the one that now holds. Other errors are none of a host's pace.
        """
        if not isinstance(error, StatusTransientError) or error.status != 429:
            return
        bucket = self._bucket(error.answer.url or url)
        if bucket is None:
            return
        asked_s = error.retry_after_s or reset_s(error.answer.headers, self._clock.now())
        wait_s = asked_s or self._options.host_refused_s
        domain = registrable_domain(bucket.domains[0])
        with self._database.transaction() as connection:
            pacing_store.learn(connection, bucket, interval_max_s=self._options.host_interval_max_s)
            pacing_store.block(connection, domain, wait_s=wait_s, reason="it answered that it is asked too often (429)")
        error.retry_after_s = wait_s
        _log.warning("host_refused", host=bucket.domains[0], scope=bucket.scope, domain=domain, wait_s=wait_s)

    def heard(self, url: str, headers: Mapping[str, str]) -> None:
        """Remember that an answer said it was the last one for now, as Reddit and GitHub do; ``url`` gave it."""
        bucket = self._bucket(url) if used_up(headers) else None
        wait_s = reset_s(headers, self._clock.now()) if bucket is not None else None
        if bucket is None or not wait_s:
            return
        with self._database.statement() as connection:
            pacing_store.block(
                connection, bucket.scope, wait_s=wait_s, reason="it said that its limit of requests is reached"
            )

    def _bucket(self, url: str) -> Bucket | None:
        """Return what is paced together with ``url``, however its host is spelled; ``None`` if nothing is."""
        host = _plain((urlsplit(validate_url(url)).hostname or "").rstrip("."))
        if not host or (_is_loopback(host) and not self._options.host_pace_loopback):
            return None
        domains = _domains(host)
        for domain, per_minute in self._options.host_per_minute.items():
            if domain in domains:
                return Bucket(domain, 60 / per_minute, 1, domains)
        return Bucket(host, 1 / self._options.host_requests_per_s, self._options.host_burst, domains)


class _Turns:
    """The turns of what one request becomes."""

    def __init__(self, pace: Pace, who: UUID, asked: set[str]) -> None:
        self._pace = pace
        self._who = who
        self._asked = asked

    def onward(self, url: str) -> None:
        """Wait for the turn of where a redirect leads."""
        self._pace.onward(url, who=self._who, asked=self._asked)

    def again(self, url: str) -> bool:
        """Return whether there is a turn."""
        return self._pace.again(url, who=self._who)


def registrable_domain(host: str) -> str:
    """Return what its owner registered: ``example.co.uk`` for ``feeds.example.co.uk``; an address for an address."""
    if _is_address(host):
        return host
    return suffixes().privatesuffix(host) or host


def _domains(host: str) -> list[str]:
    """Return a host and the domains above it that have at least one dot."""
    if _is_address(host):
        return [host]
    labels = host.split(".")
    return [host, *(".".join(labels[place:]) for place in range(1, len(labels) - 1))]


def _plain(host: str) -> str:
    """Return the one spelling of an address; a name, or what would be an address and is none, as it is."""
    try:
        address = literal_address(host)
    except ValueError:
        return host
    return host if address is None else str(reached(address))


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    if _is_address(host):
        return ipaddress.ip_address(host).is_loopback
    return host == _LOCALHOST or host.endswith(f".{_LOCALHOST}")


def _busy(bucket: Bucket, turn: Turn) -> str:
    if turn.reason is not None:
        return f"{bucket.scope} is left alone for a while: {turn.reason}."
    every = f"{turn.interval_s:.0f} s" if turn.interval_s >= 2 else f"{turn.interval_s:.1f} s"
    return f"{bucket.scope} is asked no more often than every {every}, and others come first."
