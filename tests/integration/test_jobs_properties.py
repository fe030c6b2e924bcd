"""The job store beside its model: in whatever order its arrows are drawn, I1 to I5 of docs/jobs.md hold after each."""

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from uuid import UUID

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from siftline.contracts import JobType, Queue
from siftline.jobs import jobs_store, outbox_store
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Database, SingleConnection
from siftline.kit.ids import new_id
from tests.job_driver import MAX_ATTEMPTS, JobDriver, Knock
from tests.job_model import FAR, NOW, SOON, Job

T = TypeVar("T")
QUIET_S = 60
SHARE = 100
QUEUES = {
    JobType.INGEST_CONTENT: [Queue.CONTENT_PROCESSING, Queue.CONTENT_BACKGROUND],
    JobType.ANALYZE_CONTENT: [Queue.ANALYSIS, Queue.ANALYSIS_BACKGROUND],
    JobType.FETCH_SOURCE: [Queue.FETCH],
}
ALL_QUEUES = [queue for queues in QUEUES.values() for queue in queues]
WORK = st.tuples(st.sampled_from([*QUEUES]), st.sampled_from([0, 1]))
"""A job type, and which of its two subjects."""
ASKED = st.lists(
    st.tuples(WORK, st.sampled_from("ab"), st.sampled_from([0, 10, 20]), st.sampled_from([0, -1])),
    min_size=1,
    max_size=3,
    unique_by=lambda asked: asked[0],
)
DELAYS = [(NOW, 0), (SOON, 600), (FAR, 7_200)]
ARROW = st.one_of(
    st.tuples(st.sampled_from(["complete", "fail", "fail"]), st.booleans()),
    st.tuples(st.sampled_from(["retry", "defer"]), st.sampled_from(DELAYS)),
    st.sampled_from([("renew", None), ("run_out", None)]),
)
"""What a worker does with a job that it holds, or believes to hold."""
PICK = st.integers(0, 7)
"""Which of those that are known, the newest first."""


def some(which: str) -> Callable[[Any], bool]:
    """Tell when there is a job in this state."""
    return lambda machine: any(job.state in which.split() for job in machine.model)


class JobLife(RuleBasedStateMachine):
    """Draws every arrow at any time, by workers that may long have lost their lease."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self.driver = JobDriver(database)
        self.model = self.driver.model
        self.transaction = database.transaction

    @initialize(asked=ASKED)
    def begin(self, asked: Sequence[Any]) -> None:
        self._enqueue(asked)

    @rule(asked=ASKED)
    def enqueue(self, asked: Sequence[Any]) -> None:
        self._enqueue(asked)

    @rule(work=WORK)
    def a_person_asks_for_it_now(self, work: tuple[JobType, int]) -> None:
        with self.transaction() as connection:
            jobs_store.try_now(connection, [self._subject(work)], work[0])
        self.model.try_now(work[0], self._subject(work))

    @rule(work=WORK, name=st.sampled_from("mn"), arrow=st.none() | ARROW)
    def a_message_without_a_job_is_heard(self, work: tuple[JobType, int], name: str, arrow: Any) -> None:
        subject_id, message_id = self._subject(work), f"{name}, {work}"
        if subject_id not in self.model.settled:
            return
        wanted = NewJob(work[0], subject_id, f"subject:{subject_id}")
        with self.transaction() as connection:
            job_id = jobs_store.adopt(connection, wanted, message_id=message_id, max_attempts=MAX_ATTEMPTS)
        made = [job for job in self.model if job.origin == message_id]
        meant = made[0] if made else self.model.enqueue(wanted, origin=message_id)
        self.driver.agree()
        assert job_id == meant.id
        self.driver.hear(Knock(job_id, work[0]), arrow)

    @rule(pick=PICK, arrow=st.none() | ARROW)
    def a_knock_is_heard(self, pick: int, arrow: Any) -> None:
        """Sent or not: it may be late, a duplicate, or another's."""
        job_id = one(self.driver.known, pick)
        self.driver.hear(Knock(job_id, self._type_of(job_id)), arrow)

    @rule(pick=PICK, which=PICK, arrow=st.none() | ARROW)
    def a_knock_is_heard_with_any_park_id(self, pick: int, which: int, arrow: Any) -> None:
        job_id = one(self.driver.known, pick)
        self.driver.hear(Knock(job_id, self._type_of(job_id), one(self.driver.parkings, which)), arrow)

    @precondition(some("failed"))
    @rule(pick=PICK, arrow=st.none() | ARROW)
    def a_dead_letter_is_redriven(self, pick: int, arrow: Any) -> None:
        failed = [job for job in self.model if job.state == "failed"]
        job = one([job for job in failed if job.park_id] or failed, pick)
        park_id = job.park_id if isinstance(job.park_id, UUID) else new_id()
        self.driver.hear(Knock(job.known_id, job.job_type, park_id), arrow)

    @precondition(lambda self: self.driver.claims)
    @rule(pick=PICK, arrow=ARROW)
    def a_worker_speaks(self, pick: int, arrow: Any) -> None:
        self.driver.draw(one(self.driver.claims, pick), arrow)

    @rule(data=st.data(), how=st.sampled_from(["in turns", "in turns", "by id", "again", "not sent", "put back"]))
    def the_publisher_acts(self, data: st.DataObject, how: str) -> None:
        if how == "in turns":
            self._hand_out_in_turns(data.draw(st.sampled_from(ALL_QUEUES)), data.draw(st.sampled_from([1, 2, 100])))
            return
        picks = data.draw(st.lists(PICK, min_size=1, max_size=4))
        ids = list({one(self.driver.known, pick) for pick in picks})
        with self.transaction() as connection:
            if how == "by id":
                taken = outbox_store.take(connection, ids, share=SHARE)
            elif how == "again":
                taken = outbox_store.take_unanswered(connection, quiet_s=QUIET_S, limit=100)
            elif how == "not sent":
                outbox_store.not_sent(connection, ids)
            else:
                jobs_store.put_back(connection, ids[0])
        if how == "by id":
            self.driver.handed_out(taken, [job for job in self.model.can_hand_out(*ALL_QUEUES) if job.id in ids])
        elif how == "again":
            self.driver.handed_out(taken, self.model.unanswered())
        else:
            self.driver.not_handed_out(ids if how == "not sent" else ids[:1])

    @precondition(some("pending"))
    @rule(pick=PICK, silent=st.booleans())
    def time_passes(self, pick: int, silent: bool) -> None:
        job = one([job for job in self.model if job.state == "pending"], pick)
        self.driver.fall_due([job.known_id])
        if silent:
            self.driver.fall_silent([job.known_id])

    @rule(how=st.sampled_from(["sweep", "sweep", "park", "park, not recorded", "clean up"]))
    def the_house_is_kept(self, how: str) -> None:
        if how == "sweep":
            self.driver.sweep()
        elif how == "clean up":
            self.driver.clean_up()
        else:
            self.driver.park(recorded=how == "park")

    @precondition(lambda self: len(self.driver.known) > 6)
    @rule(work=WORK)
    def a_subject_is_deleted(self, work: tuple[JobType, int]) -> None:
        subject_id = self._subject(work)
        if subject_id in self.model.settled:
            self.driver.delete(subject_id)

    @invariant()
    def the_store_agrees_with_its_model(self) -> None:
        self.driver.agree()

    def teardown(self) -> None:
        if sys.exc_info()[0] is None:  # else what failed is told, not what follows from it
            self.driver.finish()

    def _enqueue(self, asked: Sequence[Any]) -> None:
        wanted = [
            NewJob(work[0], self._subject(work), f"user:{user}", priority, QUEUES[work[0]][place])
            for work, user, priority, place in asked
            if self._subject(work) in self.model.settled
        ]
        with self.transaction() as connection:
            ids = jobs_store.enqueue(connection, wanted, max_attempts=MAX_ATTEMPTS)
        meant = [self.model.enqueue(job) for job in wanted]
        self.driver.agree()
        assert sorted(ids) == sorted(job.known_id for job in meant)

    def _hand_out_in_turns(self, queue: Queue, limit: int) -> None:
        with self.transaction() as connection:
            taken = outbox_store.take_turns(connection, queue, limit=limit, share=SHARE)
            outstanding = outbox_store.in_turn(connection, queue, counted_to=100)()
        waiting = self.model.can_hand_out(queue)
        chosen = [job for job in waiting if job.id in {row.id for row in taken}]
        assert turns(chosen) == turns(waiting)[:limit]
        self.driver.handed_out(taken, chosen)
        due = [job for job in self.model if job.state == "pending" and job.published and job.due == NOW]
        assert outstanding == sum(job.queue is queue for job in due)

    def _subject(self, work: tuple[JobType, int]) -> UUID:
        return self.driver.subjects[work[0]][work[1]]

    def _type_of(self, job_id: UUID) -> JobType:
        job = self.model.of(job_id)
        return job.job_type if job else JobType.ANALYZE_CONTENT


def one(known: Sequence[T], pick: int) -> T:
    """Return one of those known."""
    return known[-1 - pick % len(known)]


def turns(jobs: Sequence[Job]) -> list[tuple[int, int]]:
    """Return (priority, turn of its tenant) of each job, in the order in which they are handed out."""
    tenants = defaultdict(list)
    for job in jobs:
        tenants[job.group_key].append(-job.priority)
    return sorted((urgency, turn) for mine in tenants.values() for turn, urgency in enumerate(sorted(mine)))


# Making a failure small takes minutes; forty steps can be read as they are, and the printed blob repeats them.
PROFILE = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    print_blob=True,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


def test_any_interleaving_of_a_jobs_arrows_keeps_the_invariants(database_url: str) -> None:
    database = SingleConnection(database_url)

    class Life(JobLife):
        def __init__(self) -> None:
            super().__init__(database)

    try:
        run_state_machine_as_test(Life, settings=PROFILE)
    finally:
        database.close()
