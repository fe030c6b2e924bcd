"""One method a tick. A tick that finds its queue full leaves the rows as they are; the next one goes on."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Protocol

from siftline.contracts import JobType, Priority, Queue, Tick
from siftline.jobs import counts_store, deletions, outbox_store, set_aside_store
from siftline.jobs import jobs_store as jobs
from siftline.jobs.job_model import NewJob, follower
from siftline.jobs.publish import Publisher
from siftline.jobs.queues import Depth
from siftline.jobs.states import is_known
from siftline.jobs.sweep import Steps, Sweep, TickIncompleteError
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import TransientError
from siftline.kit.log import logger
from siftline.kit.metrics import COUNT, emit
from siftline.models.missing_vectors import ask_again
from siftline.net import pacing_store
from siftline.net.probe import NoAnswerError
from siftline.reprocess.reprocess import Reprocess
from siftline.schedule import schedule_store
from siftline.settings.functions import ScheduleSettings

USERS_PER_TICK = 1_000
"""Clusterings, and comparisons with own topics, that one tick enqueues at most."""
RESOLUTIONS_PER_TICK = 100
"""Organisations that one tick hands out at most: providers are asked about them within the hour."""
BACKPRESSURE_MESSAGES = 1_000
"""A queue this deep gets nothing more from a tick: what waits in PostgreSQL keeps its order."""
_KEEP_KEYS_S = 86_400
"""An Idempotency-Key is forgotten after a day: nobody repeats a request for longer."""
_KEEP_HOSTS_S = 7 * 86_400
"""The pace of a host that nothing was asked of for a week is forgotten."""
_log = logger("schedule")
_CLEAN_UP_BATCH = 1_000
_EXTRA_CAPS = 2
_LOST_DELIVERY_S = 600.0  # written down together with its job, which may be a moment longer in coming
_COUNT_AGE_S = 86_400.0
_ORPHAN_AGE_S = 86_400.0  # a text that is read again loses its names for a moment


class QueueDepths(Protocol):
    """Tells how deep a queue is."""

    def depth(self, queue: Queue) -> Depth:
        """Return SQS's approximate counts."""
        ...


class Schedule:
    """What each tick does."""

    def __init__(
        self,
        *,
        database: Database,
        publisher: Publisher,
        depths: QueueDepths,
        sweep: Sweep,
        remove_deleted: Callable[[], int],
        remove_ghosts: Callable[[], int],
        check_vectors: Callable[[], None],
        restore_vectors: Callable[[], int],
        clock: Clock,
        settings: ScheduleSettings,
    ) -> None:
        self._database = database
        self._publisher = publisher
        self._depths = depths
        self._sweep = sweep
        self._remove_deleted = remove_deleted
        self._remove_ghosts = remove_ghosts
        self._check_vectors = check_vectors
        self._restore_vectors = restore_vectors
        self._clock = clock
        self._settings = settings

    def run(self, tick: Tick) -> dict[str, int]:
        """Do what the tick asks and return what was done, in counts; alarms ring for failures and for silence."""
        try:
            done = self._done(tick)
        except TickIncompleteError:  # each part that failed has been told
            raise
        except Exception:  # whatever it was: an alarm counts it, and Lambda is told of it
            emit({"StepFailures": (1, COUNT)}, {"tick": tick.value})
            raise
        _log.info("tick_done", extra={"tick": tick.value, **done})
        emit({"Ticks": (1, COUNT)}, {"tick": tick.value})
        return done

    def _done(self, tick: Tick) -> dict[str, int]:
        return {
            Tick.DUE_SOURCES: self.due_sources,
            Tick.SWEEP: self.sweep,
            Tick.RESOLUTIONS: self.resolutions,
            Tick.CLUSTERINGS: self.clusterings,
            Tick.DUE_BRIEFINGS: self.due_briefings,
            Tick.CLEAN_UP: self.clean_up,
            Tick.EXTRA_RUN: self.extra_run,
            Tick.BACKGROUND: self.background,
        }[tick]()

    def due_sources(self) -> dict[str, int]:
        """Enqueue a poll of each due source."""
        if not self._can_accept(Queue.FETCH):
            return {"enqueued": 0}
        limit = self._settings.due_sources_per_tick

        def polls(connection: Connection) -> list[NewJob]:
            due = schedule_store.due_sources(connection, limit=limit)
            return [
                NewJob(JobType.FETCH_SOURCE, source.id, source.group_key, Priority.UNDER_24_HOURS) for source in due
            ]

        return {"enqueued": self._enqueued(polls)}

    def sweep(self) -> dict[str, int]:
        """Heal what crashes left and hand out what waits."""
        return asdict(self._sweep.run())

    def resolutions(self) -> dict[str, int]:
        """Hand out organisations that somebody is to be asked about, as many as one run may."""
        if not self._can_accept(Queue.RESOLUTION):
            return {"handed_out": 0}
        handed_out = self._publisher.hand_out(Queue.RESOLUTION, limit=RESOLUTIONS_PER_TICK, scheduled=True)
        return {"handed_out": handed_out}

    def clusterings(self) -> dict[str, int]:
        """Enqueue a clustering of each user who holds something new."""
        if not self._can_accept(Queue.CLUSTERING):
            return {"enqueued": 0}

        def clusterings(connection: Connection) -> list[NewJob]:
            users = schedule_store.due_clusterings(connection, limit=USERS_PER_TICK)
            return [NewJob(JobType.CLUSTER_USER, user_id, f"user:{user_id}") for user_id in users]

        return {"enqueued": self._enqueued(clusterings)}

    def due_briefings(self) -> dict[str, int]:
        """Enqueue the making of each edition that is due, and the delivery of those that were lost sight of."""
        if not self._can_accept(Queue.BRIEFING):
            return {"enqueued": 0, "recovered": 0}
        limit = self._settings.due_briefings_per_tick
        with self._database.transaction() as connection:
            schedule_store.close_deliveries(connection)
        with self._database.transaction() as connection:
            lost = schedule_store.lost_deliveries(connection, age_s=_LOST_DELIVERY_S, limit=limit)
            due = schedule_store.due_briefings(connection, limit=limit)
            ids = jobs.enqueue(
                connection,
                [
                    *(NewJob(JobType.DELIVER_BRIEFING, delivery.id, f"user:{delivery.user_id}") for delivery in lost),
                    *(NewJob(JobType.RUN_BRIEFING, briefing.id, f"user:{briefing.user_id}") for briefing in due),
                ],
                max_attempts=self._settings.job_max_attempts,
            )
        if lost:
            _log.warning("deliveries_recovered", deliveries=[str(delivery.id) for delivery in lost])
        self._publisher.publish(ids)
        return {"enqueued": len(ids) - len(lost), "recovered": len(lost)}

    def clean_up(self) -> dict[str, int]:
        """Delete finished jobs, keys, counts, hosts and entities past their use, and vectors whose content is gone.

        Each in batches, until none is left or time is up. Raises ``TickIncompleteError`` when one of them failed.
        """
        steps = Steps(Tick.CLEAN_UP, self._clock)
        kept_s = self._settings.keep_finished_jobs_s
        return steps.run(
            {
                "jobs": self._forgetting(steps, outbox_store.clean_up, kept_s),
                "idempotency_keys": self._forgetting(steps, schedule_store.forget_idempotency_keys, _KEEP_KEYS_S),
                "request_counts": self._forgetting(steps, schedule_store.forget_request_counts, _COUNT_AGE_S),
                "hosts": self._forgetting(steps, pacing_store.forget, _KEEP_HOSTS_S),
                "entities": self._forgetting(steps, schedule_store.forget_entities, _ORPHAN_AGE_S),
                "set_aside": self._forgetting(steps, set_aside_store.clean_up, kept_s),
                "ghost_vectors": self._remove_ghosts,
            }
        )

    def background(self) -> dict[str, int]:
        """Do what nobody waits for: compare with own topics, read again, ask for pages and vectors, delete."""
        steps = Steps(Tick.BACKGROUND, self._clock)
        return steps.run(
            {
                "vectors_unavailable": self._vectors_unavailable,
                "restored_vectors": self._restored_vectors,
                "pages": self._pages,
                "labellings": self._labellings,
                "reprocess": self._reprocess,
                "missing_vectors": self._missing_vectors,
                "deleted_users": lambda: steps.repeat(lambda: deletions.work(self._database), full=1),
                "deleted_vectors": lambda: steps.repeat(self._remove_deleted, full=1),
            }
        )

    def extra_run(self) -> dict[str, int]:
        """Hand out up to twice the cap of each queue in which more due jobs wait than ``extra_run_pending``.

        What is visible in SQS is what functions and workers scale by: more of it brings more of them.
        """
        with self._database.transaction() as connection:
            rows = counts_store.counts(connection)
        due = Counter[Queue]()
        for row in rows:
            if is_known(row.job_type, row.queue):
                due[Queue(row.queue)] += row.pending - row.delayed
        limit = self._settings.extra_run_pending
        steps = Steps(Tick.EXTRA_RUN, self._clock)
        done = steps.run({queue: self._extra(queue, jobs) for queue, jobs in due.items() if jobs > limit})
        return {"handed_out": sum(done.values())}

    def _vectors_unavailable(self) -> int:
        """Tell whether Qdrant answers, for an alarm that must not wait for somebody to need it; return 1 if not."""
        unavailable = 0
        try:
            self._check_vectors()
        except TransientError as error:
            _log.warning("vectors_unavailable", error_code=error.error_code)
            unavailable = 1
        emit({"VectorsUnavailable": (unavailable, COUNT)}, {})
        return unavailable

    def _restored_vectors(self) -> int:
        try:
            return self._restore_vectors()
        except NoAnswerError:  # as has been told already
            return 0

    def _pages(self) -> int:
        if not self._can_accept(Queue.CONTENT_BACKGROUND):
            return 0
        with self._database.transaction() as connection:
            due = schedule_store.due_pages(connection, limit=self._settings.due_sources_per_tick)
            wanted = [
                NewJob(
                    JobType.INGEST_CONTENT,
                    page.content_id,
                    f"source:{page.source_id}" if page.user_id is None else follower(page.user_id),
                    payload={"source_id": str(page.source_id)},
                )
                for page in due
            ]
            ids = jobs.enqueue(connection, wanted, max_attempts=self._settings.job_max_attempts)
            schedule_store.asked_for(connection, [page.content_id for page in due])
        self._publisher.publish(ids)
        return len(ids)

    def _labellings(self) -> int:
        def labellings(connection: Connection) -> list[NewJob]:
            users = schedule_store.due_labellings(connection, limit=USERS_PER_TICK)
            return [NewJob(JobType.LABEL_USER, user_id, f"user:{user_id}") for user_id in users]

        return self._enqueued(labellings)

    def _enqueued(self, find: Callable[[Connection], list[NewJob]]) -> int:
        """Enqueue the jobs that are found, in the transaction that finds them, and hand them out; returns how many."""
        with self._database.transaction() as connection:
            ids = jobs.enqueue(connection, find(connection), max_attempts=self._settings.job_max_attempts)
        self._publisher.publish(ids)
        return len(ids)

    def _reprocess(self) -> int:
        reprocess = Reprocess(self._database, max_attempts=self._settings.job_max_attempts)
        ids = reprocess.slice(self._settings, self._clock) if self._can_accept(Queue.ANALYSIS_BACKGROUND) else []
        self._publisher.publish(ids)
        return len(ids)

    def _missing_vectors(self) -> int:
        most = self._settings.job_max_attempts
        ids = ask_again(self._database, max_attempts=most) if self._can_accept(Queue.ANALYSIS_BACKGROUND) else []
        self._publisher.publish(ids)
        return len(ids)

    def _extra(self, queue: Queue, due: int) -> Callable[[], int]:
        def hand_out() -> int:
            handed_out = self._publisher.hand_out(queue, caps=_EXTRA_CAPS)
            limit = self._settings.extra_run_pending
            _log.info("extra_run", queue=queue.value, due=due, handed_out=handed_out, reason=f"more than {limit} due")
            return handed_out

        return hand_out

    def _forgetting(self, steps: Steps, forget: Callable[..., int], age_s: float) -> Callable[[], int]:
        """Return the step that deletes what is older than this, a batch a transaction."""

        def batch() -> int:
            with self._database.transaction() as connection:
                return forget(connection, age_s=age_s, limit=_CLEAN_UP_BATCH)

        return lambda: steps.repeat(batch, full=_CLEAN_UP_BATCH)

    def _can_accept(self, queue: Queue) -> bool:
        depth = self._depths.depth(queue)
        if depth.visible < BACKPRESSURE_MESSAGES:
            return True
        _log.warning("backpressure", queue=queue.value, depth=depth.visible, limit=BACKPRESSURE_MESSAGES)
        return False
