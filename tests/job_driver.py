"""Drives the job store and its model side by side, and says where they part."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row

from siftline.contracts import JobType
from siftline.jobs import jobs_store, lease_store, outbox_store
from siftline.jobs.job_model import ClaimedJob, NewJob
from siftline.jobs.outbox_store import Outgoing
from siftline.kit.db import Connection, Database
from siftline.kit.errors import PermanentError, TransientError
from siftline.kit.ids import new_id
from tests.factories import make_content, make_source
from tests.job_model import CONTENT_JOBS, LIVE, NOW, UNKNOWN, Job, JobModel

MAX_ATTEMPTS = 2
LEASE_S = 3_600
PERMANENT = PermanentError("The page is gone.", code="gone")
TRANSIENT = TransientError("The server is busy.", code="http_503")
_ROWS = """
select id, job_type, subject_id, state, attempts, priority, queue, group_key, again, lease_token as token, park_id,
  publish_count, parked_at is not null as parked, origin_message_id as origin, error_code,
  coalesce(lease_until < now(), false) as expired, deferred_since is not null as deferred,
  published_at is not null as published,
  case when due_at <= now() then 'now' when due_at <= now() + interval '900 s' then 'soon' else 'far' end as due,
  array(select event || ' ' || attempt from job_events where job_id = jobs.id order by id) as events
from jobs
"""
_SUBJECTS = "select id, status from contents union all select id, fetch_status from sources"
_EMPTY = "delete from jobs; delete from contents; delete from sources"
_ALWAYS = ("state", "attempts", "priority", "queue", "group_key", "again", "token", "parked", "origin", "error_code")
_BY_STATE = {
    "pending": ("due", "published", "publish_count", "deferred"),
    "processing": ("expired", "deferred"),
}


@dataclass(frozen=True)
class Knock:
    """A message in a queue or a dead-letter queue: it may come late, twice or never."""

    job_id: UUID
    job_type: JobType
    park_id: UUID | None = None


class JobDriver:
    """Two contents, two sources, their jobs in the store and in the model."""

    def __init__(self, database: Database) -> None:
        self.database = database
        with database.transaction() as connection:
            connection.execute(_EMPTY)
            contents = [make_content(connection) for _ in range(2)]
            sources = [make_source(connection) for _ in range(2)]
        self.subjects = {**dict.fromkeys(CONTENT_JOBS, contents), JobType.FETCH_SOURCE: sources}
        self.model = JobModel(contents, sources, MAX_ATTEMPTS)
        self.known: list[UUID] = []
        self.claims: list[ClaimedJob] = []
        self.parkings: list[UUID] = [new_id()]

    def agree(self) -> None:
        """Compare every job, its timeline and every subject; learn the ids of jobs that the database made by itself."""
        with self.database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
            rows = {row["id"]: row for row in cursor.execute(_ROWS).fetchall()}
            statuses = dict(connection.execute(_SUBJECTS).fetchall())
        born = [job for job in self.model if job.id is None]
        for job in born:
            job.id = self._id_of(job, rows)
        assert rows.keys() == {job.id for job in self.model}, "a job was lost, or made from nothing"
        for job in self.model:
            _compare(job, rows[job.id])
        assert statuses == {subject_id: self.model.status(subject_id) for subject_id in self.model.settled}
        self.known += [job.known_id for job in born]
        park_ids = [job.park_id for job in self.model if isinstance(job.park_id, UUID)]
        self.parkings += [park_id for park_id in park_ids if park_id not in self.parkings]

    def knock(self, knock: Knock) -> ClaimedJob | None:
        """Hear a message as a worker does: a redriven one first brings its job back."""
        with self.database.transaction() as connection:
            redriven = knock.park_id is not None and jobs_store.redrive(connection, knock.job_id, knock.park_id)
            claim = lease_store.claim(connection, knock.job_id, knock.job_type, lease_s=LEASE_S, grace_s=1)
        job = self.model.of(knock.job_id)
        assert redriven == (knock.park_id is not None and self.model.redrive(job, knock.park_id))
        assert (claim is not None) == self.model.claim(job)
        if claim is not None and job is not None:
            assert (claim.attempts, claim.subject_id, claim.queue) == (job.attempts, job.subject_id, job.queue)
            job.token = claim.lease_token
        return claim

    def hear(self, knock: Knock, arrow: tuple[str, Any] | None) -> None:
        """Hear a message, and where the job is had, do at once what a worker does with it."""
        claim = self.knock(knock)
        if claim is not None:
            self.claims.append(claim)
            if arrow is not None:
                self.draw(claim, arrow)

    def draw(self, claim: ClaimedJob, arrow: tuple[str, Any]) -> None:
        """Draw a worker's arrow, with the lease that it once got."""
        name, value = arrow
        arrows: dict[str, Callable[[ClaimedJob, Any], None]] = {
            "complete": self.complete,
            "fail": self._fail,
            "retry": partial(self._put_off, again=lease_store.retry, modelled=self.model.retry),
            "defer": partial(self._put_off, again=lease_store.defer, modelled=self.model.defer),
            "renew": self._renew,
            "run_out": lambda claim, _: self.run_out([claim.id]),
        }
        arrows[name](claim, value)

    def complete(self, claim: ClaimedJob, follows: bool) -> None:
        """End a job well: a page that was read is analysed next, a text that changed meanwhile is analysed again."""
        content = claim.job_type in CONTENT_JOBS
        follow = [NewJob(JobType.ANALYZE_CONTENT, claim.subject_id, claim.group_key)] if follows and content else []

        def work(connection: Connection) -> None:
            again = lease_store.completing(connection, claim, {"words": 7}, 1)().follow_id
            _write(connection, claim.subject_id, "PENDING" if follow else "READY")
            jobs_store.enqueue(connection, follow, max_attempts=MAX_ATTEMPTS)
            lease_store.finished(connection, claim, again)

        held = self._held(claim, work)
        if held is not None:
            if claim.subject_id in self.model.settled:  # a redriven job may outlive its subject
                self.model.settled[claim.subject_id] = "READY" if content else "IDLE"
            self.model.end(held, "completed")
            for job in follow:
                self.model.enqueue(job)

    def _fail(self, claim: ClaimedJob, parks: bool) -> None:
        park_id = new_id() if parks else None
        held = self._held(
            claim, lambda connection: lease_store.fail(connection, claim, PERMANENT, duration_ms=1, park_id=park_id)
        )
        if held is not None:
            self.model.end(held, "failed", error_code=PERMANENT.error_code, park_id=park_id)

    def _put_off(
        self, claim: ClaimedJob, delay: tuple[str, float], again: Callable[..., None], modelled: Callable[..., bool]
    ) -> None:
        held = self.model.held(claim.id, claim.lease_token)
        expected = held is not None and modelled(held, delay[0], TRANSIENT.error_code)
        self._drawn(expected, lambda connection: again(connection, claim, TRANSIENT, delay_s=delay[1], duration_ms=1))

    def _renew(self, claim: ClaimedJob, _: None) -> None:
        held = self._held(claim, lambda connection: lease_store.renew(connection, claim, lease_s=LEASE_S))
        if held is not None:
            held.expired = False

    def _held(self, claim: ClaimedJob, work: Callable[[Connection], object]) -> Job | None:
        """Draw an arrow in a transaction; return the model's job where the lease still guards it."""
        held = self.model.held(claim.id, claim.lease_token)
        self._drawn(held is not None, work)
        return held

    def _drawn(self, expected: bool, work: Callable[[Connection], object]) -> None:
        try:
            with self.database.transaction() as connection:
                work(connection)
        except lease_store.LeaseLostError:
            drawn = False
        else:
            drawn = True
        assert drawn == expected, "an arrow was drawn without its lease" if drawn else "a lease was lost"

    def handed_out(self, taken: Sequence[Outgoing], expected: Sequence[Job]) -> None:
        """Compare what was handed out."""
        assert Counter(row.id for row in taken) == Counter(job.id for job in expected)
        for job in expected:
            job.publish()

    def sweep(self) -> None:
        """Sweep twice: the second finds nothing."""
        with self.database.transaction() as connection:
            first = outbox_store.sweep_lost(connection, limit=100)
            second = outbox_store.sweep_lost(connection, limit=100)
        assert (first.retried, first.failed) == self.model.sweep()
        assert (second.retried, second.failed) == (0, 0)

    def not_handed_out(self, ids: Sequence[UUID]) -> None:
        """Note that messages were refused or put back."""
        for job in self.model:
            if job.id in ids:
                job.unpublish()

    def park(self, *, recorded: bool) -> None:
        """Ask what is to be parked, and record that it was unless the worker died before."""
        with self.database.transaction() as connection:
            waiting = outbox_store.to_park(connection, quiet_s=0, limit=100)
            if recorded:
                outbox_store.parked(connection, [job.park_id for job in waiting if job.park_id])
        expected = self.model.to_park()
        assert {(job.id, job.park_id) for job in waiting} == {(job.id, job.park_id) for job in expected}
        for job in expected:
            job.parked = recorded

    def clean_up(self) -> None:
        """Let a week pass, then clean up."""
        self.execute("update jobs set finished_at = now() - interval '8 days' where finished_at is not null")
        with self.database.transaction() as connection:
            cleaned = outbox_store.clean_up(connection, age_s=7 * 86_400, limit=100)
        assert cleaned == self.model.clean_up()

    def delete(self, subject_id: UUID) -> None:
        """Delete a subject as the API does, its jobs cancelled with it."""
        with self.database.transaction() as connection:
            cancelled = jobs_store.cancel(connection, [subject_id])
            connection.execute("delete from contents where id = %s", [subject_id])
            connection.execute("delete from sources where id = %s", [subject_id])
        assert cancelled == self.model.cancel(subject_id)

    def run_out(self, ids: Sequence[UUID]) -> None:
        """Let leases run out: the database's clock is never touched, the lease is."""
        self.execute("update jobs set lease_until = now() - interval '1 s' where id = any(%s)", list(ids))
        for job in self.model:
            job.expired = job.expired or (job.id in ids and job.state == "processing")

    def fall_due(self, ids: Sequence[UUID]) -> None:
        """Let the time come for which jobs were put off."""
        self.execute("update jobs set due_at = now() where id = any(%s) and due_at > now()", list(ids))
        for job in self.model:
            job.due = NOW if job.id in ids else job.due

    def fall_silent(self, ids: Sequence[UUID]) -> None:
        """Let hours pass since the messages of due jobs were sent."""
        self.execute(
            "update jobs set published_at = now() - interval '2 h', due_at = now() - interval '2 h'"
            " where id = any(%s) and published_at is not null and due_at <= now()",
            list(ids),
        )
        for job in self.model:
            job.unanswered = job.unanswered or (job.id in ids and job.published and job.due == NOW)

    def finish(self) -> None:
        """Let workers work and the sweep run: every job must reach an end (I1), no subject stays on its way (I2)."""
        while waiting := [job.known_id for job in self.model if job.state in LIVE]:
            self.run_out(waiting)
            self.sweep()
            self.agree()
            self.fall_due(waiting)
            for job in [job for job in self.model if job.state == "pending"]:
                claim = self.knock(Knock(job.known_id, job.job_type))
                assert claim is not None, "a due job is not to be had"
                self.complete(claim, follows=False)
            self.agree()

    def execute(self, statement: str, *values: object) -> None:
        """Change rows as time would."""
        with self.database.transaction() as connection:
            connection.execute(statement, values)

    def _id_of(self, job: Job, rows: dict[UUID, dict[str, Any]]) -> UUID:
        known = {other.id for other in self.model}
        fresh = [
            row["id"]
            for row in rows.values()
            if row["id"] not in known and (row["job_type"], row["subject_id"]) == (job.job_type, job.subject_id)
        ]
        assert len(fresh) == 1, f"{len(fresh)} new jobs where exactly one follows"
        return fresh[0]


def _compare(job: Job, row: dict[str, Any]) -> None:
    if job.park_id == UNKNOWN and row["park_id"] is not None:
        job.park_id = row["park_id"]
    names = (*_ALWAYS, "park_id", *_BY_STATE.get(job.state, ()))
    assert {name: row[name] for name in names} == {name: getattr(job, name) for name in names}
    assert row["events"] == [f"{event} {attempt}" for event, attempt in job.events]
    assert row["attempts"] <= MAX_ATTEMPTS


def _write(connection: Connection, subject_id: UUID, status: str) -> None:
    connection.execute(
        "update contents set status = %s, error_code = null, error_detail = null where id = %s", [status, subject_id]
    )
    connection.execute("update sources set fetch_status = 'IDLE' where id = %s", [subject_id])
