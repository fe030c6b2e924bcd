"""Many publishers and workers at once on a real PostgreSQL: each job is handed out once, and nobody waits for ever."""

import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

import psycopg
import pytest

from siftline.contracts import JobType, Queue
from siftline.jobs import breakers_store, jobs_store, lease_store, outbox_store
from siftline.jobs.job_model import ClaimedJob, NewJob
from siftline.jobs.publish import Publisher
from siftline.jobs.queues import Envelope
from siftline.kit.db import Connection, Database, SingleConnection, settled_after
from siftline.kit.errors import SiftlineError
from siftline.kit.ids import new_id
from siftline.settings.functions import JobSettings
from tests.deadlocks import deadlocks, tell
from tests.factories import make_job
from tests.fakes import FakeSender

TENANTS = 40
JOBS = 400
PLENTY = JobSettings(job_outstanding_max=10 * JOBS, job_tenant_share=JOBS)
CLUSTER = JobType.CLUSTER_USER


class Line:
    """An SQS queue for threads: takes each message, but refuses every seventh the first time that it comes."""

    def __init__(self) -> None:
        self.messages: queue.SimpleQueue[UUID] = queue.SimpleQueue()
        self.sent: Counter[str] = Counter()
        self._refused: set[str] = set()
        self._lock = threading.Lock()

    def send(self, _: Queue, envelopes: Sequence[Envelope]) -> set[str]:
        """Take messages."""
        with self._lock:
            refused = {one.key for one in envelopes if UUID(one.key).int % 7 == 0} - self._refused
            self._refused |= refused
            taken = [one.key for one in envelopes if one.key not in refused]
            self.sent.update(taken)
        for key in taken:
            self.messages.put(UUID(key))
        return set(taken)

    def park(self, _: Queue, envelopes: Sequence[Envelope]) -> set[str]:
        """Nothing is parked here."""
        raise AssertionError(envelopes)


@contextmanager
def own(database_url: str) -> Iterator[Database]:
    """Lend a connection that has told of its deadlocks when it is closed."""
    with closing(SingleConnection(database_url)) as database:
        yield database
        with database.statement() as connection:
            tell(connection)


def enqueued(database: Database, number: int) -> list[UUID]:
    jobs = [NewJob(CLUSTER, new_id(), f"user:{place % TENANTS}") for place in range(number)]
    with database.transaction() as connection:
        return jobs_store.enqueue(connection, jobs)


def at_once(number: int, work: Callable[[], None]) -> None:
    """Let so many threads do the work, begun in the same moment."""
    start = threading.Barrier(number)

    def begin() -> None:
        start.wait(30)
        work()

    with ThreadPoolExecutor(number) as threads:
        for done in [threads.submit(begin) for _ in range(number)]:
            done.result(120)


def waiting(database: Database) -> list[UUID]:
    with database.transaction() as connection:
        return [row[0] for row in connection.execute("select id from jobs where published_at is null").fetchall()]


@pytest.mark.parametrize("publishers", [1, 2, 4, 8, 16])
def test_publishers_at_once_hand_out_each_job_once_and_never_deadlock(
    database: Database, database_url: str, publishers: int
) -> None:
    ids = enqueued(database, JOBS)
    before, sender = deadlocks(database_url), FakeSender()

    def publish() -> None:
        """Ask for the same jobs by their ids, in an order of one's own, and by turns."""
        with own(database_url) as mine:
            publisher = Publisher(mine, sender, PLENTY)
            shuffled = sorted(ids, key=lambda _: new_id().bytes[::-1])
            for first in range(0, JOBS, JOBS // 4):
                publisher.publish(shuffled[first : first + JOBS // 4])
                publisher.hand_out(Queue.CLUSTERING, limit=JOBS // 4)

    at_once(publishers, publish)
    assert Counter(UUID(one.key) for one in sender.sent[Queue.CLUSTERING]) == Counter(ids)
    assert deadlocks(database_url) == before


def test_publishers_at_once_pass_neither_the_cap_nor_a_tenants_share(database: Database, database_url: str) -> None:
    enqueued(database, JOBS)
    settings, sender = JobSettings(job_outstanding_max=50, job_tenant_share=2), FakeSender()

    def publish() -> None:
        with own(database_url) as mine:
            Publisher(mine, sender, settings).hand_out(Queue.CLUSTERING)

    at_once(8, publish)
    tenants = Counter(one.group for one in sender.sent[Queue.CLUSTERING])
    assert tenants.total() == 50
    assert max(tenants.values()) == 2


@pytest.mark.parametrize("workers", [1, 2, 4, 8, 16])
def test_publishers_and_workers_at_once_do_each_job_once_without_a_sweep(
    database: Database, database_url: str, workers: int
) -> None:
    """Workers make and publish jobs, work on what comes and hand out the next; what SQS refuses is handed out again."""
    before, line = deadlocks(database_url), Line()
    made: list[UUID] = []
    done: list[UUID] = []
    each = JOBS // workers

    def work() -> None:
        with own(database_url) as mine:
            publisher = Publisher(mine, line, PLENTY)
            for _ in range(each // 10):
                made.extend(ids := enqueued(mine, 10))
                publisher.publish(ids)
                _work_off(mine, publisher, line, done)
            while publisher.hand_out(Queue.CLUSTERING, limit=10) or not line.messages.empty():
                _work_off(mine, publisher, line, done)

    at_once(workers, work)
    with own(database_url) as mine:  # what was refused to the last one as all others were through
        publisher = Publisher(mine, line, PLENTY)
        while publisher.hand_out(Queue.CLUSTERING):
            _work_off(mine, publisher, line, done)
    assert Counter(made) == Counter(done) == Counter({UUID(key): sent for key, sent in line.sent.items()})
    assert deadlocks(database_url) == before


def _work_off(database: Database, publisher: Publisher, line: Line, done: list[UUID]) -> None:
    """Do up to ten jobs as the batch loop does, then hand out as many."""
    for _ in range(10):
        try:
            job_id = line.messages.get_nowait()
        except queue.Empty:
            break
        with database.statement() as connection:
            job = lease_store.claim(connection, job_id, CLUSTER, lease_s=600, grace_s=1)
        assert job is not None, "handed out twice"
        _complete(database, job)
        done.append(job_id)
    publisher.hand_out(Queue.CLUSTERING, limit=10)


def _complete(database: Database, job: ClaimedJob) -> None:
    settled_after(
        database,
        lambda connection: lease_store.completing(connection, job, {}, 0),
        lambda connection, ended: lease_store.finished(connection, job, ended.follow_id),
    )


TAKERS: dict[str, Callable[[Connection, Sequence[UUID]], list[outbox_store.Outgoing]]] = {
    "take": lambda connection, ids: outbox_store.take(connection, ids, share=10),
    "take_turns": lambda connection, _: outbox_store.take_turns(connection, Queue.CLUSTERING, limit=10, share=10),
}


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
def test_who_hands_out_leaves_a_job_that_somebody_has_in_hand_and_does_not_wait(
    database: Database, database_url: str, take: Callable[[Connection, Sequence[UUID]], list[outbox_store.Outgoing]]
) -> None:
    ids = enqueued(database, 3)
    with psycopg.connect(database_url) as holder, database.transaction() as connection:
        holder.execute("select from jobs where id = %s for update", [ids[1]])
        connection.execute("set local lock_timeout = '2s'")
        assert {job.id for job in take(connection, ids)} == {ids[0], ids[2]}
    with database.transaction() as connection:
        assert [job.id for job in take(connection, ids)] == [ids[1]]


@pytest.mark.parametrize("statement", ["not_sent", "lost", "cancel", "end_leases", "parked", "redrive"])
def test_who_changes_many_jobs_waits_for_them_in_one_order(
    database: Database, database_url: str, statement: str
) -> None:
    """Whoever holds the last of them, in the order of type and subject, can have the first: it is locked already."""
    subjects = sorted((new_id() for _ in range(3)), reverse=True)
    ids = [make_job(database, job_type=CLUSTER, subject_id=subject) for subject in subjects]
    parks = [new_id() for _ in ids]
    with database.transaction() as connection:
        if statement == "lost":
            connection.execute("update jobs set published_at = now() - interval '1 s'")
        if statement == "end_leases":
            connection.execute(
                "update jobs set state = 'processing', lease_token = gen_random_uuid(),"
                " lease_until = now() + interval '1 h'"
            )
        if statement in ("parked", "redrive"):
            for job_id, park_id in zip(ids, parks, strict=True):
                connection.execute(
                    "update jobs set state = 'failed', finished_at = now(), park_id = %s where id = %s",
                    (park_id, job_id),
                )
    change: dict[str, Callable[[Connection], object]] = {
        "not_sent": lambda connection: outbox_store.not_sent(connection, ids),
        "lost": lambda connection: outbox_store.lost(connection, datetime.now(UTC)),
        "cancel": lambda connection: jobs_store.cancel(connection, subjects),
        "end_leases": lambda connection: outbox_store.end_leases(connection, datetime.now(UTC)),
        "parked": lambda connection: outbox_store.parked(connection, parks),
        "redrive": lambda connection: jobs_store.redrive_all(connection, list(zip(ids, parks, strict=True))),
    }
    first = ids[-1]  # of the least subject, but the last to be made
    with psycopg.connect(database_url) as holder, ThreadPoolExecutor(1) as threads:
        holder.execute("select from jobs where id = %s for update", [first])
        changing = threads.submit(partial(_in_transaction, database, change[statement]))
        _until_one_waits(database)
        others = "select id from jobs where id <> %s for update skip locked"
        assert len(holder.execute(others, [first]).fetchall()) == 2
        holder.commit()
        changing.result(30)


def _in_transaction(database: Database, change: Callable[[Connection], object]) -> None:
    with database.transaction() as connection:
        change(connection)


def _until_one_waits(database: Database) -> None:
    asked = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    waited = threading.Event()
    for _ in range(1_000):
        with database.transaction() as connection:
            if connection.execute(asked).fetchone() is not None:
                return
        waited.wait(0.01)
    raise AssertionError("nobody waits")


def test_who_closes_a_breaker_waits_for_nobody_who_has_one_of_the_jobs_that_it_held_up(
    database: Database, database_url: str
) -> None:
    ids = [make_job(database, job_type=CLUSTER, subject_id=new_id()) for _ in range(2)]
    with database.transaction() as connection:
        connection.execute("update jobs set waits_for = 'breaker_open', due_at = now() + interval '1 h'")
        error = SiftlineError("No model.", code="model_missing")
        breakers_store.opened(connection, "model", error, hold_s=60)
    with psycopg.connect(database_url) as holder, database.transaction() as connection:
        holder.execute("select from jobs where id = %s for update", [ids[0]])
        connection.execute("set local lock_timeout = '2s'")
        breakers_store.closed(connection, ["model"])
    with database.transaction() as connection:
        due = connection.execute("select id from jobs where due_at <= now()").fetchall()
    assert due == [(ids[1],)]


@pytest.mark.parametrize("due", ["-infinity", "0044-03-15 BC"])
def test_a_job_due_at_no_time_that_can_be_is_handed_out_with_the_others(database, due):
    ids = enqueued(database, 3)
    with database.transaction() as connection:
        connection.execute("update jobs set due_at = %s where id = %s", (due, ids[1]))
    sender = FakeSender()
    assert Publisher(database, sender, PLENTY).hand_out(Queue.CLUSTERING, scheduled=True) == 3
    assert {envelope.key for envelope in sender.sent[Queue.CLUSTERING]} == {str(job_id) for job_id in ids}


@pytest.mark.parametrize("payload", ["null", "[5]", '"x"', "7"])
def test_a_payload_that_is_no_object_is_none(database, payload):
    [job_id] = enqueued(database, 1)
    with pytest.raises(psycopg.errors.CheckViolation), database.transaction() as connection:
        connection.execute("update jobs set payload = %s::jsonb where id = %s", (payload, job_id))
