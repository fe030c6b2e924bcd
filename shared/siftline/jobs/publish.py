"""The outbox: what is due goes to SQS after its transaction committed; what was not accepted waits for the sweep."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Protocol
from uuid import UUID

from siftline.contracts import BACKGROUND_OF, SUBJECT_FIELD, Queue
from siftline.jobs import outbox_store as outbox
from siftline.jobs.job_model import person
from siftline.jobs.outbox_store import SQS_DELAY_MAX_S, Outgoing
from siftline.jobs.queues import Envelope, body
from siftline.kit.db import Connection, Database, settled_after
from siftline.kit.log import logger
from siftline.settings.functions import JobSettings

_log = logger("jobs")
# Work that a person waits for is never held back by the cap.
_UNCAPPED = frozenset(BACKGROUND_OF)
# What is handed out by its own schedule alone: others are asked, who count how often.
_BY_SCHEDULE = frozenset({Queue.RESOLUTION})


class Sender(Protocol):
    """Sends messages by logical queue name."""

    def send(self, queue: Queue, envelopes: Sequence[Envelope]) -> set[str]:
        """Send and return the accepted keys."""
        ...

    def park(self, queue: Queue, envelopes: Sequence[Envelope]) -> set[str]:
        """Send to the dead-letter queue and return the accepted keys."""
        ...


class Publisher:
    """Hands out due jobs, never more than a cap of outstanding messages a queue."""

    def __init__(self, database: Database, sender: Sender, settings: JobSettings) -> None:
        self._database = database
        self._sender = sender
        self._settings = settings

    def publish(self, job_ids: Sequence[UUID]) -> int:
        """Hand out freshly committed jobs; returns how many SQS accepted.

        With more than one batch of them their queues' turns and caps decide, not their order of birth. Call it after
        the commit: a crash before it loses nothing, because the sweep hands out what still waits.
        """
        if not job_ids:
            return 0
        if len(job_ids) > self._settings.job_outstanding_max // 10:
            with self._database.transaction() as connection:
                queues = outbox.queues_of(connection, job_ids)
            return sum(self.hand_out(queue) for queue in queues)
        with self._database.statement() as connection:
            taken = outbox.take(connection, job_ids, share=self._settings.job_tenant_share)
        return self._send(taken)

    def hand_out(self, queue: Queue, *, limit: int | None = None, caps: int = 1, scheduled: bool = False) -> int:
        """Hand out the next due jobs of a queue, by priority and in turns, up to the cap; returns how many.

        ``caps`` is how many caps may be outstanding: more than one where a backlog asks for more workers. What goes by
        its own schedule is handed out where ``scheduled`` says that this is it, or where there is such a backlog.
        """
        if queue in _BY_SCHEDULE and not scheduled and caps == 1:
            return 0
        cap = caps * self._settings.job_outstanding_max

        def take(connection: Connection, outstanding: int) -> list[Outgoing]:
            room = cap - outstanding
            wanted = min(room, limit) if limit is not None else room
            share = caps * self._settings.job_tenant_share
            return outbox.take_turns(connection, queue, limit=wanted, share=share) if wanted > 0 else []

        counted_to = 0 if queue in _UNCAPPED else cap
        return self._send(
            settled_after(self._database, lambda c: outbox.in_turn(c, queue, counted_to=counted_to), take)
        )

    def repeat_unanswered(self, *, limit: int) -> int:
        """Send again what was handed out and never claimed; returns how many."""
        with self._database.transaction() as connection:
            taken = outbox.take_unanswered(connection, quiet_s=self._settings.job_quiet_s, limit=limit)
        return self._send(taken)

    def park(self, jobs: Sequence[Outgoing]) -> int:
        """Put failed jobs on their dead-letter queues with the cause, and record it; returns how many."""
        parked: list[UUID] = []
        for queue, mine in _by_queue(jobs):
            accepted = self._sender.park(queue, [_parked(job) for job in mine])
            parked += [job.park_id for job in mine if str(job.id) in accepted and job.park_id]
        if parked:
            with self._database.transaction() as connection:
                outbox.parked(connection, parked)
        return len(parked)

    def _send(self, jobs: Sequence[Outgoing]) -> int:
        refused: list[UUID] = []
        for queue, mine in _by_queue(jobs):
            accepted = self._sender.send(queue, [self._message(job) for job in mine])
            refused += [job.id for job in mine if str(job.id) not in accepted]
        if refused:
            _log.warning("jobs_not_published", jobs=len(refused))
            with self._database.transaction() as connection:
                outbox.not_sent(connection, refused)
        return len(jobs) - len(refused)

    @staticmethod
    def _message(job: Outgoing) -> Envelope:
        return Envelope(
            key=str(job.id),
            body=body(_fields(job)),
            group=person(job.group_key),
            delay_s=min(max(math.ceil(job.wait_s), 0), SQS_DELAY_MAX_S),
        )


def _fields(job: Outgoing) -> dict[str, object]:
    return {
        "job_type": job.job_type.value,
        "job_id": job.id,
        SUBJECT_FIELD[job.job_type]: job.subject_id,
        "url": job.url,
    }


def _parked(job: Outgoing) -> Envelope:
    cause = {
        "error_code": job.error_code or "unknown",
        "attempts": str(job.attempts),
        "job_id": str(job.id),
        "park_id": str(job.park_id),
    }
    return Envelope(
        key=str(job.id),
        body=body({**_fields(job), "park_id": job.park_id}),
        group=person(job.group_key),
        attributes=cause,
    )


def _by_queue(jobs: Iterable[Outgoing]) -> Iterable[tuple[Queue, list[Outgoing]]]:
    grouped: dict[Queue, list[Outgoing]] = defaultdict(list)
    for job in jobs:
        grouped[job.queue].append(job)
    return grouped.items()
