"""How often a host is asked, and by how many at once: for all workers together, with lines for who must wait.

Every host has its own pace; the domains of ``host_per_minute`` are paced with all their sub-domains as one. A 429 makes
the host's pace slower and leaves its whole registrable domain alone for as long as it asks; a 503 concerns the one
address that was asked for, whose own job waits, and so nothing is kept of it here.

Requests of one queue to what one owner runs have a few slots between them, so that a server that never answers holds a
few workers and no more; a job that finds none free is put off as one that waits for its turn.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from typing import NoReturn, Protocol
from uuid import UUID

from siftline.kit.clock import Clock
from siftline.kit.db import Database, settled
from siftline.kit.errors import NotTriedError, TransientError
from siftline.kit.ids import new_id
from siftline.kit.log import logger
from siftline.net import pacing_store
from siftline.net.hosts import domains, is_loopback, owner, registrable_domain
from siftline.net.http_model import RETRY_AFTER_MAX_S, Requester, StatusTransientError, http_date
from siftline.net.pacing_store import Bucket, Reservation, Slot, Taken
from siftline.net.urls import host_of
from siftline.settings.functions import PacingSettings

WAIT_S = 1.0
"""A turn within this is waited for in the process: putting a job off costs the queue more than a thread's second."""
REFUSED_S = 60.0
"""How long a domain is left alone that answers 429 and names no time: limits are often counted by the minute."""
INTERVAL_MAX_S = 3_600.0
"""The slowest pace that refusals lead to, seconds a request: slower, and a feed would miss entries for good."""

# Rate-limit headers: ``RateLimit`` (IETF draft-ietf-httpapi-ratelimit-headers: ``"default";r=0;t=30``, and before its
# eighth version ``limit=10, remaining=0, reset=30`` or one header each), and ``X-RateLimit-Remaining`` and ``-Reset``
# as Reddit (seconds) and GitHub (seconds since 1970) send them.
_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,6})?")
_PART = re.compile(r"\b(r|t|remaining|reset)\s*=\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)")
# From here on a number is a point in time, for no server makes anybody wait for 30 years.
_EPOCH_FROM_S = 1_000_000_000.0
_log = logger("pacing")


class HostBusyError(NotTriedError):
    """The host is asked no more often than it stands; whoever waits has a turn of their own, ``retry_after_s`` away."""

    code = "host_busy"
    in_turn = True


class _Asking:
    """One request and what it becomes by redirects and repeats: each takes a turn of its host, and a slot.

    A slot is one of the few requests that a queue may have at one owner's hosts at once: taken with the first turn by
    one statement, kept to the end, given back then.
    """

    def __init__(self, pace: "Pace", requester: Requester) -> None:
        self._pace = pace
        self._requester = requester
        self._token = new_id()
        self._asked: set[str] = set()
        self._held: set[str] = set()

    def begin(self, url: str) -> None:
        """Return when the host of ``url`` may be asked. Raises ``HostBusyError``."""
        self._admit(url, redirected=False)

    def onward(self, url: str) -> None:
        """Return when a redirect's target may be asked. Raises ``HostBusyError``."""
        self._admit(url, redirected=True)

    def _admit(self, url: str, *, redirected: bool) -> None:
        bucket = self._pace.bucket(url)
        if bucket is None:
            return
        left_s = self._take_with_slot(bucket).left_s
        if left_s is None and redirected:
            left_s = self._owed(bucket)
        if left_s is None:
            self._stand_in_line(bucket)
        self._go(bucket, left_s)

    def again(self, url: str) -> bool:
        """Return whether there is a turn within the wait to ask once more; it is then taken."""
        bucket = self._pace.bucket(url)
        if bucket is None:
            return True
        left_s = self._take(bucket).left_s
        if left_s is not None:
            self._go(bucket, left_s)
        return left_s is not None

    def end(self) -> None:
        """Give the slots back. Where the database is away they come back by themselves, after their lease."""
        if not self._held:
            return
        held, token, asked = sorted(self._held), self._token, bool(self._asked)
        try:
            settled(
                self._pace.database,
                lambda connection: pacing_store.give_back(connection, held, token, asked=asked),
                single=True,
            )
        except TransientError as error:
            _log.warning("places_not_given_back", scopes=held, error_code=error.error_code)

    def _go(self, bucket: Bucket, left_s: float) -> None:
        self._asked.add(bucket.scope)
        if left_s > 0:
            self._pace.sleep(min(left_s, self._pace.wait_s))

    def _take_with_slot(self, bucket: Bucket) -> Taken:
        """Take a slot and, if there is one, a turn. Raises ``HostBusyError`` where there is no slot."""
        taken = self._take(bucket)
        if taken.has_slot:
            return taken
        slot = self._slot(bucket)
        reservation = settled(
            self._pace.database, lambda connection: pacing_store.wait_for_slot(connection, slot, self._requester.id)
        )
        raise HostBusyError(_full(slot), retry_after_s=reservation.wait_s)

    def _take(self, bucket: Bucket) -> Taken:
        slot = self._slot(bucket)
        taken = settled(
            self._pace.database,
            lambda connection: pacing_store.take(
                connection, bucket, self._requester.id, wait_s=self._pace.wait_s, slot=slot, first=self._requester.first
            ),
            single=True,
        )
        if taken.has_slot:
            self._held.add(slot.scope)
        return taken

    def _owed(self, bucket: Bucket) -> float | None:
        known = bucket.scope in self._asked
        return settled(
            self._pace.database,
            lambda connection: pacing_store.owe(
                connection, bucket, self._requester.id, wait_s=self._pace.wait_s, known=known
            ),
        )

    def _slot(self, bucket: Bucket) -> Slot:
        name = owner(bucket.domains[0])
        scope, first = f"{name} {self._requester.queue}", self._requester.first
        return Slot(scope, name, self._pace.settings.host_at_once, self._pace.settings.host_lease_s, self._token, first)

    def _stand_in_line(self, bucket: Bucket) -> NoReturn:
        reservation = settled(
            self._pace.database,
            lambda connection: pacing_store.stand_in_line(
                connection, bucket, self._requester.id, first=self._requester.first
            ),
        )
        raise HostBusyError(_busy(bucket, reservation), retry_after_s=reservation.wait_s)


def _full(slot: Slot) -> str:
    already = "A request" if slot.at_once == 1 else f"{slot.at_once} requests"
    waiting = "is" if slot.at_once == 1 else "are"
    return f"{already} to {slot.owner} {waiting} already in progress; this one waits its turn."


def _busy(bucket: Bucket, reservation: Reservation) -> str:
    if reservation.reason is not None:
        return f"Requests to {bucket.scope} are paused: {reservation.reason}."
    every = f"{reservation.interval_s:.0f} s" if reservation.interval_s >= 2 else f"{reservation.interval_s:.1f} s"
    return f"Requests to {bucket.scope} are limited to one every {every}; this one waits its turn."


class Pacing(Protocol):
    """What a room asks of a pace."""

    def asking(self, url: str, requester: Requester) -> AbstractContextManager[Requester]:
        """Wait for the turn, or raise ``HostBusyError``; who is handed back takes turns for redirects and repeats."""
        ...

    def told(self, url: str, error: TransientError) -> None:
        """Remember a refusal."""
        ...

    def heard(self, url: str, headers: Mapping[str, str]) -> None:
        """Remember what the answer of an address, the last one of any redirects, says of the next one."""
        ...

    def answered(self, url: str, *, who: UUID, form: str = "") -> None:
        """Remember that an address answered ``who`` well."""
        ...

    def refused(self, url: str, *, who: UUID, form: str = "") -> HostBusyError | None:
        """Return the wait for a turn where a refusal of ``who`` means a pace, ``None`` where it means no."""
        ...


class Pace:
    """The pace of all hosts. Thread-safe."""

    def __init__(
        self,
        database: Database,
        settings: PacingSettings,
        clock: Clock,
        sleep: Callable[[float], None] = time.sleep,
        *,
        wait_s: float = WAIT_S,
        interval_max_s: float = INTERVAL_MAX_S,
    ) -> None:
        self.database = database
        self.settings = settings
        self._clock = clock
        self.sleep = sleep
        self.wait_s = wait_s
        self._interval_max_s = interval_max_s

    @contextmanager
    def asking(self, url: str, requester: Requester) -> Iterator[Requester]:
        """Admit a requester, and hand them back as one whose requests each take a turn of their host, and a slot.

        A turn that is a moment away is waited for here; one that is further away is kept for the requester, who comes
        back at that time: ``HostBusyError`` says when. A redirect waits for its turn likewise. Who came to the front of
        the line of where it leads, or was let through to the same host before, does not stand in line anew, or would
        never arrive: those behind wait longer instead. A request is made once more only if it has a turn at once. Slots
        are given back at the end.
        """
        asking = _Asking(self, requester)
        try:
            asking.begin(url)
            yield replace(requester, rate_limiter=asking)
        finally:
            asking.end()

    def told(self, url: str, error: TransientError) -> None:
        """Remember a 429: the host's pace widens, and its registrable domain is left alone for as long as it asks.

        It is the address that answered, at the end of any redirects, that is meant: nobody is blamed for where they
        redirect to. ``url``, what was asked, counts where the error names none. An error that names no wait is given
        the one that now holds. Other errors are none of a host's pace.
        """
        if not isinstance(error, StatusTransientError) or error.status != 429:
            return
        bucket = self.bucket(error.answer.url or url)
        if bucket is None:
            return
        asked_s = error.retry_after_s or reset_s(error.answer.headers, self._clock.now())
        wait_s = asked_s or REFUSED_S
        domain = registrable_domain(bucket.domains[0])
        with self.database.transaction() as connection:
            pacing_store.learn(connection, bucket, interval_max_s=self._interval_max_s)
            pacing_store.block(connection, domain, wait_s=wait_s, reason="it answered 429 (Too Many Requests)")
        error.retry_after_s = wait_s
        _log.warning("host_refused", host=bucket.domains[0], scope=bucket.scope, domain=domain, wait_s=wait_s)

    def heard(self, url: str, headers: Mapping[str, str]) -> None:
        """Remember that an answer said it was the last one for now, as Reddit and GitHub do; ``url`` gave it."""
        bucket = self.bucket(url) if used_up(headers) else None
        wait_s = reset_s(headers, self._clock.now()) if bucket is not None else None
        if bucket is None or not wait_s:
            return
        with self.database.statement() as connection:
            pacing_store.block(
                connection, bucket.scope, wait_s=wait_s, reason="it reported that its rate limit is reached"
            )

    def answered(self, url: str, *, who: UUID, form: str = "") -> None:
        """Remember that an address answered ``who`` well.

        ``form`` tells apart what a host may allow and refuse as such, as Reddit does its JSON.
        """
        bucket = self.bucket(url)
        if bucket is not None:
            with self.database.statement() as connection:
                pacing_store.answered(connection, _answers(bucket, form), who)

    def refused(self, url: str, *, who: UUID, form: str = "") -> HostBusyError | None:
        """Return the wait for a turn where a refusal (403, or 503 without a wait) means a pace, else ``None``.

        It does where the host answers others at the same time: then ``who`` asks again, a few times, and where many
        are refused the pace widens and the host is left alone for a moment. A host that answers nobody, and one that
        refuses the same one again and again, means what it says.
        """
        bucket = self.bucket(url)
        if bucket is None:
            return None
        scope = _answers(bucket, form)
        with self.database.transaction() as connection:
            refuses_many = pacing_store.refused(connection, bucket, scope, who, interval_max_s=self._interval_max_s)
            if refuses_many is None:
                return None
            if refuses_many:
                pacing_store.block(
                    connection, bucket.scope, wait_s=REFUSED_S, reason="it lets only some requests through"
                )
            reservation = pacing_store.stand_in_line(connection, bucket, who)
        _log.info("host_paces", host=bucket.domains[0], scope=bucket.scope, wait_s=reservation.wait_s)
        detail = f"{bucket.scope} refused this request but answers others; we retry automatically."
        return HostBusyError(detail, retry_after_s=max(reservation.wait_s, 1.0))

    def bucket(self, url: str) -> Bucket | None:
        """Return what is paced together with ``url``, however its host is spelled; ``None`` if nothing is."""
        host = host_of(url)
        if not host or (is_loopback(host) and not self.settings.host_pace_loopback):
            return None
        above = domains(host)
        for domain, per_minute in self.settings.host_per_minute.items():
            if domain in above:
                return Bucket(domain, 60 / per_minute, 1, above)
        return Bucket(host, 1 / self.settings.host_requests_per_s, self.settings.host_burst, above)


def reset_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds until requests are counted anew, or ``None`` where no header says so; at most two days."""
    value = _first_number(headers, ("x-ratelimit-reset", "ratelimit-reset"), ("t", "reset"))
    if value is None:
        return None
    if value >= _EPOCH_FROM_S:
        value -= (http_date(headers.get("date", "")) or now).timestamp()
    return min(max(value, 0.0), RETRY_AFTER_MAX_S)


def used_up(headers: Mapping[str, str]) -> bool:
    """Return whether the headers say that not one more request is left until the reset."""
    left = _first_number(headers, ("x-ratelimit-remaining", "ratelimit-remaining"), ("r", "remaining"))
    return left is not None and left < 1


def _answers(bucket: Bucket, form: str) -> str:
    """Return what a host's answers are kept under; no host has a space in it."""
    return f"{bucket.scope} {form}" if form else bucket.scope


def _first_number(headers: Mapping[str, str], names: tuple[str, str], keys: tuple[str, str]) -> float | None:
    for name in names:
        value = headers.get(name, "").strip()
        if _NUMBER.fullmatch(value):
            return float(value)
    for key, value in _PART.findall(headers.get("ratelimit", "")):
        if key in keys:
            return float(value)
    return None
