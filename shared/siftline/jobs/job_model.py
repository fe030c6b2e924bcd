"""What a job is to the code around it. Frozen; the row in ``jobs`` is the truth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, runtime_checkable
from uuid import UUID

from siftline.contracts import BACKGROUND_OF, JobType, Queue
from siftline.kit.db import Connection
from siftline.kit.errors import SiftlineError
from siftline.net.http_model import Requester

DEFER_MAX_S = 172_800
"""Two days: a job that Retry-After or a breaker puts off for longer, in a row, uses attempts from then on."""


def user(user_id: UUID) -> str:
    """Return the tenant of what a person asked for, and of what is theirs alone."""
    return f"user:{user_id}"


def follower(user_id: UUID) -> str:
    """Return the tenant of what a feed brought, in the turn of this follower: who pays for it is another question."""
    return f"follower:{user_id}"


def person(group_key: str) -> str:
    """Return the person of a tenant, whatever their part in it, as ``user`` has it; what is nobody's stays as it is."""
    kind, _, name = group_key.partition(":")
    return f"user:{name}" if kind == "follower" else group_key


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be enqueued in the transaction that makes its work necessary."""

    job_type: JobType
    subject_id: UUID
    group_key: str
    """The tenant it is fair to: the person it is done for (``user``, ``follower``)."""
    priority: int = 0
    queue: Queue | None = None
    """Where it goes; ``None``: where ``siftline.contracts.queue_of`` says, by type and priority."""
    payload: Mapping[str, Any] = field(default_factory=dict)
    due_at: datetime | None = None
    asked: bool = False
    """Whether a person asked for it whatever was done before: what was paid once is then paid again."""
    subject_waits: bool = False
    """Whether its subject was made in this very transaction, and made as one that waits for it."""


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job this worker holds under a lease; every arrow it draws carries ``lease_token``."""

    id: UUID
    job_type: JobType
    queue: Queue
    subject_id: UUID
    group_key: str
    payload: Mapping[str, Any]
    priority: int
    attempts: int
    max_attempts: int
    lease_token: UUID
    lease_until: datetime
    deferred_since: datetime | None

    def requester(self, typed_origin: str | None) -> Requester:
        """Return on whose behalf hosts are asked; ``typed_origin`` is the subject's."""
        first = self.queue in BACKGROUND_OF
        return Requester(id=self.subject_id, queue=self.queue.value, first=first, typed_origin=typed_origin)


def _no_write(_: Connection) -> None:
    """Nothing to write."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a processor hands back when the work is done.

    ``write`` runs in the very transaction that completes the job, after the lease was checked: it commits with the
    completion or not at all. ``follow`` are the next jobs, inserted in the same transaction and published after it;
    ``write`` returns those that only what it wrote can tell.
    """

    write: Callable[[Connection], Sequence[NewJob] | None] = _no_write
    follow: Sequence[NewJob] = ()
    result: Mapping[str, Any] = field(default_factory=dict)

    @property
    def writes_nothing(self) -> bool:
        """Whether the completion is all there is to write."""
        return self.write is _no_write and not self.follow


class Processor(Protocol):
    """Does the work of one job type. Raises ``TransientError`` or ``PermanentError``; the loop does the rest."""

    @property
    def job_type(self) -> JobType:
        """The job type it does."""
        ...

    @property
    def providers(self) -> frozenset[str]:
        """What it cannot work without and an operator sets up: its jobs wait while the breaker of one is open."""
        ...

    def process(self, job: ClaimedJob) -> Done:
        """Do the work of one claimed job outside any transaction."""
        ...

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Write what a failed try means for the subject (a source's health), in the transaction of its arrow."""
        ...


@runtime_checkable
class Selective(Protocol):
    """A processor that has ``providers`` which only some of its jobs need."""

    def needed(self, connection: Connection, job: ClaimedJob) -> frozenset[str]:
        """Return which of them this job needs; called in the transaction that claims it."""
        ...
