"""Briefings on a real database whose time the test moves, run by the real batch loop."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row

from siftline.brief.brief_service import RunBriefing
from siftline.brief.brief_wiring import SUBJECTS
from siftline.brief.edition import Links
from siftline.contracts import SUBJECT_FIELD, JobType, Queue
from siftline.jobs import jobs_store as jobs
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.job_model import NewJob, Processor
from siftline.jobs.publish import Publisher
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.settings.functions import JobSettings
from tests.factories import FakeContext, make_content, make_item, make_user, sqs_event
from tests.fakes import FakeSender
from tests.simulated_time import SimulatedTime

LINKS = Links("https://news.example")


class Desk:
    """Makes editions of one user's briefings, and does what else it is given to do."""

    def __init__(self, database: Database, clock: SimulatedTime | SystemClock, more: Sequence[Processor] = ()) -> None:
        self.database = database
        self.clock = clock
        with database.transaction() as connection:
            self.user_id = make_user(connection)
        settings = JobSettings()
        self.consumer = BatchConsumer(
            queues={"siftline-local-briefing-queue": Queue.BRIEFING},
            database=database,
            publisher=Publisher(database, FakeSender(), settings),
            sender=FakeSender(),
            processors=[RunBriefing(database, self.clock, LINKS), *more],
            subjects=SUBJECTS,
            settings=settings,
            clock=self.clock,
            reserve_s=5,
        )

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Return what a query finds."""
        with self.database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query, values).fetchall()

    def brief(self, **columns: Any) -> UUID:
        """Make a briefing, daily at 7:00 in Berlin unless told otherwise, that began a week ago."""
        briefing_id = new_id()
        values: Mapping[str, Any] = {
            "id": briefing_id,
            "user_id": self.user_id,
            "name": "Morning",
            "frequency": "DAILY",
            "at": time(7, 0),
            "time_zone": "Europe/Berlin",
            "unsubscribe_token": str(briefing_id),
            "rhythm_since": self.clock.now() - timedelta(days=7),
            **columns,
        }
        names, places = ", ".join(values), ", ".join(f"%({name})s" for name in values)
        with self.database.transaction() as connection:
            connection.execute(f"insert into briefings ({names}) values ({places})", values)
        return briefing_id

    def item(self, title: str, *, user_id: UUID | None = None, saved: bool = True, **columns: Any) -> UUID:
        """Make a content that the user holds and that is READY now; returns the content."""
        now = self.clock.now()
        columns = {"status": "READY", "sort_at": now, **columns}
        with self.database.transaction() as connection:
            content_id = make_content(connection, title=title, **columns)
            make_item(connection, user_id or self.user_id, content_id)
            connection.execute(
                "update items set created_at = %s, saved = %s where content_id = %s", (now, saved, content_id)
            )
        return content_id

    def at(self, text: str) -> None:
        """Go forward to a time, in UTC."""
        assert isinstance(self.clock, SimulatedTime)
        self.clock.move_to(datetime.fromisoformat(text).replace(tzinfo=UTC))

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        assert isinstance(self.clock, SimulatedTime)
        self.clock.sleep(seconds)

    def enqueue(self, briefing_id: UUID) -> UUID:
        """Enqueue a run, as the schedule does."""
        job = NewJob(JobType.RUN_BRIEFING, briefing_id, f"user:{self.user_id}")
        with self.database.transaction() as connection:
            [job_id] = jobs.enqueue(connection, [job])
        return job_id

    def run(self, briefing_id: UUID) -> dict[str, Any]:
        """Make the edition that is due and return how the job ended."""
        job_id = self.enqueue(briefing_id)
        self.deliver(briefing_id, job_id)
        [job] = self.rows("select state, result, error_code, attempts from jobs where id = %s", job_id)
        return job

    def deliver(self, subject_id: UUID, job_id: UUID, job_type: JobType = JobType.RUN_BRIEFING) -> None:
        """Hand a message to the loop."""
        self.hand({"job_type": job_type, "job_id": str(job_id), SUBJECT_FIELD[job_type]: str(subject_id)})

    def hand(self, body: Mapping[str, Any]) -> None:
        """Hand any message to the loop."""
        self.consumer.handle(sqs_event("briefing", body), FakeContext())

    def work(self, job_type: JobType) -> list[dict[str, Any]]:
        """Do the due jobs of a type, once each, and return how they ended."""
        due = self.rows("select id, subject_id from jobs where job_type = %s and state = 'pending'", job_type)
        for job in due:
            self.deliver(job["subject_id"], job["id"], job_type)
        return [
            self.rows("select state, result, error_code, attempts from jobs where id = %s", job["id"])[0] for job in due
        ]

    def editions(self, briefing_id: UUID) -> list[dict[str, Any]]:
        """Return a briefing's editions, oldest first."""
        return self.rows("select * from editions where briefing_id = %s order by made_at, id", briefing_id)

    def titles(self, briefing_id: UUID) -> list[list[str]]:
        """Return the titles that each edition tells, in their order."""
        return [[story["title"] for story in one["document"]["stories"]] for one in self.editions(briefing_id)]
