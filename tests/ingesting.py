"""The work of the ingest function, put together for tests: real parts, no waiting for anybody's turn."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row

from siftline.contracts import JobType, Queue
from siftline.ingest.archive import PageArchive
from siftline.ingest.ingest_service import IngestContent
from siftline.ingest.media.audio_model import AudioFiles, AudioModel
from siftline.ingest.media.transcribe_service import Costs, TranscribeContent
from siftline.ingest.media.transcripts import Transcripts
from siftline.ingest.media.youtube import YouTube
from siftline.ingest.page_child import PageReader
from siftline.ingest.reading import ContentReading
from siftline.ingest.saving import save_url, subject_of
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.job_model import NewJob, Processor
from siftline.jobs.jobs_store import enqueue
from siftline.jobs.publish import Publisher
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Database
from siftline.kit.errors import TransientError
from siftline.net.http import HttpClient
from siftline.net.http_model import Requester
from siftline.net.urls import canonical_url
from siftline.settings.functions import JobSettings
from tests.factories import FakeContext, make_content, make_user, sqs_event
from tests.fakes import FakeSender


class FreePace:
    """A pace at which everything is asked at once; remembers who was admitted where and what it was told."""

    def __init__(self) -> None:
        self.admitted: list[tuple[str, UUID]] = []
        self.refusals: list[tuple[str, str]] = []

    @contextmanager
    def asking(self, url: str, requester: Requester) -> Iterator[Requester]:
        self.admitted.append((url, requester.id))
        yield requester

    def told(self, url: str, error: TransientError) -> None:
        self.refusals.append((url, error.error_code))

    def heard(self, url: str, headers: Mapping[str, str]) -> None:
        """Nothing is made of it."""

    def answered(self, url: str, *, who: UUID, form: str = "") -> None:
        """Nothing is made of it."""

    def refused(self, url: str, *, who: UUID, form: str = "") -> None:
        """Nothing is a pace."""


def transcripts(http: HttpClient, reader: PageReader, *, pace: Any = None, media_s: float = 60) -> Transcripts:
    return Transcripts(
        http,
        reader,
        YouTube(http),
        pace or FreePace(),
        clock=SystemClock(),
        media_s=media_s,
    )


def ingest_content(
    database: Database,
    http: HttpClient,
    reader: PageReader,
    *,
    analysis: bool = True,
    generates: bool = False,
    archive: PageArchive | None = None,
    pace: Any = None,
) -> IngestContent:
    reading = ContentReading(
        http,
        reader,
        transcripts(http, reader, pace=pace),
        pace or FreePace(),
        archive=archive,
    )
    return IngestContent(database, reading, analysis_enabled=analysis, clock=SystemClock(), generates=generates)


def transcribe_content(
    database: Database,
    http: HttpClient,
    reader: PageReader,
    *,
    analysis: bool = True,
    model: AudioModel | None = None,
    clock: Clock | None = None,
    max_bytes: int = 1_000_000,
    patience_s: float = 172_800,
    **costs: Any,
) -> TranscribeContent:
    return TranscribeContent(
        database,
        transcripts(http, reader),
        model=model,
        files=AudioFiles(http, FreePace(), max_bytes=max_bytes),
        costs=Costs(**{"usd_per_minute": 0.006, "usd_per_day": 1.0, "max_s": 7_200, **costs}),
        patience_s=patience_s,
        analysis_enabled=analysis,
        clock=clock or SystemClock(),
    )


class Works:
    """A function's batch loop over a database, and what a test asks of it."""

    def __init__(self, database: Database, *processors: Processor, **settings: Any) -> None:
        self.database = database
        made = JobSettings(**settings)
        sender = FakeSender()
        self._consumer = BatchConsumer(
            queues={f"siftline-local-{queue}-queue": queue for queue in Queue},
            database=database,
            publisher=Publisher(database, sender, made),
            sender=sender,
            processors=processors,
            subjects={processor.job_type: subject_of for processor in processors},
            settings=made,
            clock=SystemClock(),
        )

    def saved(self, url: str, **columns: Any) -> UUID:
        """Save a page for a user; ``columns`` are what a feed left of it before."""
        with self.database.transaction() as connection:
            if columns:
                make_content(connection, url=url, url_key=canonical_url(url), **columns)
            content_id = save_url(connection, make_user(connection), url).content_id
            if columns:
                enqueue(connection, [NewJob(JobType.INGEST_CONTENT, content_id, "host:a")])
        return content_id

    def work(self, content_id: UUID, job_type: JobType = JobType.INGEST_CONTENT) -> dict[str, Any]:
        """Work off the content's job of a type, whenever it is due, and return the content's row."""
        self.work_off(content_id, job_type)
        return self.content(content_id)

    def work_off(self, content_id: UUID, job_type: JobType = JobType.INGEST_CONTENT) -> None:
        """Work off the content's job of a type, whenever it is due."""
        job = self.job(content_id, job_type)
        self.run("update jobs set due_at = now() where id = %s", job["id"])
        body = {"job_type": job_type, "job_id": job["id"], "shared_content_id": content_id}
        queue = "analysis" if job_type is JobType.ANALYZE_CONTENT else "content-background"
        answer = self._consumer.handle(sqs_event(queue, body), FakeContext())
        assert answer["batchItemFailures"] == []

    def content(self, content_id: UUID) -> dict[str, Any]:
        (row,) = self.rows("select * from contents where id = %s", content_id)
        return row

    def job(self, content_id: UUID, job_type: JobType) -> dict[str, Any]:
        """Return the newest job of a type."""
        query = "select *, due_at - now() as wait from jobs where subject_id = %s and job_type = %s order by id desc"
        return self.rows(query, content_id, job_type.value)[0]

    def live(self, content_id: UUID) -> list[str]:
        """Return the types of the content's jobs that are still to be done."""
        query = "select job_type from jobs where subject_id = %s and state in ('pending', 'processing') order by 1"
        return [row["job_type"] for row in self.rows(query, content_id)]

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        with self.database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query, values).fetchall()

    def run(self, statement: str, *values: Any) -> None:
        with self.database.transaction() as connection:
            connection.execute(statement, values)
