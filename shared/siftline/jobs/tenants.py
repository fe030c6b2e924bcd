"""How many threads of a process one tenant's jobs hold at once, where jobs wait for strangers' servers.

Each host has few slots (``siftline.net.pacing_store``), but one feed may name many hosts that never answer. Whether a
server answers is known only once it was asked, so a tenant begins with a few threads and earns one more whenever a job
ends quickly while all it has are in use; one that takes longer than ``SLOW_S`` costs it the ends of ten. What finds
no thread free for its tenant is put off, as what waits for its turn, so that the thread is another's. All of it is the
process's own: on Lambda each has one thread, and SQS's own fairness (``MessageGroupId``) does the same there.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from siftline.contracts import Queue
from siftline.jobs.job_model import ClaimedJob
from siftline.kit.clock import Clock
from siftline.kit.errors import NotTriedError

_WAITS_FOR_STRANGERS = frozenset({Queue.FETCH, Queue.CONTENT_PROCESSING, Queue.CONTENT_BACKGROUND})
SLOW_S = 3.0
"""A job that takes longer waits for a slow server."""
_QUICK_FOR_SLOW = 10
"""So many jobs must end quickly, after one that did not, until the tenant earns threads again."""
_OWED_MAX = 50
_KNOWN_MAX = 1_000
"""Tenants kept in mind; beyond, those without a job in work begin anew."""
_SOONEST_S = 1.0
_LATEST_S = 300.0
_WHY = "Waiting its turn: {} jobs for the same feed or user are already waiting for slow servers."


class TenantBusyError(NotTriedError):
    """The tenant's other jobs hold as many threads as they may, for servers that are slow to answer."""

    code = "tenant_busy"
    in_turn = True


@dataclass(slots=True)
class _Tenant:
    allowed: int
    owed: int = 0
    """Jobs that must end quickly until it earns a thread again."""
    began: dict[object, float] = field(default_factory=dict)
    """When each job in work began."""
    next_at: float = 0.0
    """When it pays to try the next one that is put off."""

    def slow(self, now: float, slow_s: float) -> int:
        """Return how many of its jobs take longer than that already."""
        return sum(now - began >= slow_s for began in self.began.values())


class Tenants:
    """Gives threads to the jobs of tenants. Thread-safe."""

    def __init__(self, clock: Clock, *, threads: int, slow_s: float = SLOW_S) -> None:
        """``threads`` are those that a tenant begins with, of each queue, and keeps however slow its jobs are."""
        self._clock = clock
        self._threads = threads
        self._slow_s = slow_s
        self._tenants: dict[tuple[Queue, str], _Tenant] = {}
        self._ended = threading.Condition()

    def __len__(self) -> int:
        """Return how many tenants are kept in mind."""
        return len(self._tenants)

    @contextmanager
    def slot(self, job: ClaimedJob) -> Iterator[None]:
        """Hold one of the tenant's threads. Raises ``TenantBusyError`` where it has none free.

        While none of its jobs has shown yet whether it is slow, their end is waited for: for less than ``SLOW_S``.
        """
        if job.queue not in _WAITS_FOR_STRANGERS:
            yield
            return
        with self._ended:
            tenant = self._of(job)
            while not self._has_room(tenant):
                if tenant.slow(self._clock.monotonic(), self._slow_s):
                    raise self._busy(tenant)
                self._wait(tenant)
            tenant.began[job.lease_token] = self._clock.monotonic()
        try:
            yield
        finally:
            with self._ended:
                self._end(tenant, job)
                self._ended.notify_all()

    def _of(self, job: ClaimedJob) -> _Tenant:
        """Return the tenant of a job: the feed that is polled or that brought it, rather than all that one follows."""
        feed = job.subject_id if job.queue is Queue.FETCH else job.payload.get("source_id")
        key = (job.queue, str(feed or job.group_key))
        if key not in self._tenants and len(self._tenants) >= _KNOWN_MAX:
            self._tenants = {one: tenant for one, tenant in self._tenants.items() if tenant.began}
        return self._tenants.setdefault(key, _Tenant(self._threads))

    def _has_room(self, tenant: _Tenant) -> bool:
        slow = tenant.slow(self._clock.monotonic(), self._slow_s)
        return len(tenant.began) < max(self._threads, tenant.allowed - slow)

    def _wait(self, tenant: _Tenant) -> None:
        """Wait until a job ends, or the oldest one turns out to be slow."""
        oldest = min(tenant.began.values())
        self._ended.wait(max(oldest + self._slow_s - self._clock.monotonic(), 0.01))

    def _end(self, tenant: _Tenant, job: ClaimedJob) -> None:
        full = len(tenant.began) >= tenant.allowed
        took_s = self._clock.monotonic() - tenant.began.pop(job.lease_token)
        if took_s >= self._slow_s:
            tenant.owed = min(tenant.owed + _QUICK_FOR_SLOW, _OWED_MAX)
            tenant.allowed = self._threads
        elif tenant.owed:
            tenant.owed -= 1
        elif full:
            tenant.allowed += 1

    def _busy(self, tenant: _Tenant) -> TenantBusyError:
        """Return the error that puts a job off, each by a little more, so that they come back one by one.

        Who comes back too soon goes to the end of the line. How long slow jobs take says nothing of when one comes
        through that is quick, as most are, and lets all behind it through: to come back as rarely would keep them
        waiting for minutes beside threads that stand idle.
        """
        now = self._clock.monotonic()
        every_s = self._slow_s / self._threads
        tenant.next_at = min(max(tenant.next_at, now) + every_s, now + _LATEST_S)
        wait_s = max(tenant.next_at - now, _SOONEST_S)
        return TenantBusyError(_WHY.format(len(tenant.began)), retry_after_s=wait_s)
