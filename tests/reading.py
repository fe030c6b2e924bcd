"""The analyze function's consumer over a real PostgreSQL, made-up vectors and a language model on loopback."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from psycopg.rows import dict_row

from siftline.analyze.analyze_service import AnalyzeContent, ReadingSetup, subject_of
from siftline.analyze.article_reader import Reader
from siftline.analyze.entities.entity_step import EntityStep
from siftline.analyze.llm import llm_guard
from siftline.analyze.llm.llm_reader import Asking, LlmReader, LlmRule, ReplyJudge
from siftline.analyze.text.language import LanguageDetector
from siftline.analyze.topics.anchors import AnchorCache
from siftline.analyze.topics.topic_list import LabelSet, labels_of
from siftline.contracts import JobType, Queue
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.publish import Publisher
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Database
from siftline.models.llm import AskingRule, LanguageModel, Price, PricedModel
from siftline.models.spending_store import Caps
from siftline.models.vectors import Point, VectorIndex
from siftline.settings.functions import JobSettings
from tests.factories import FakeContext, make_content, make_job, sqs_event
from tests.fakes import FakeSender
from tests.models import WordEmbedder

LABELS = labels_of({"sport": "team, match, goal, coach", "economy": "bank, inflation, money, rates"})
NEWS = {"en": ["The team won a match by one goal.", "A bank fears inflation and wants money.", "It rained again."]}
TITLE = "Late goal wins the match"
TEXT = (
    "The home team won the match with a goal in the last minute. The coach of the team praised the match. "
    "Nobody in the stadium had expected such a goal. The team plays its next match on Saturday."
)
DOLLAR = 1_000_000
ALWAYS = LlmRule(asked_for="always")
ONE_DOLLAR = Caps(DOLLAR)
PRICE = Price(1.0, 2.0)
"""A call of 900 and 100 tokens costs 1,100 millionths of a dollar."""


class _Points:
    """Takes vectors and forgets them."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Take them."""


def forgetting() -> VectorIndex:
    """Return an index that takes vectors and forgets them."""
    return cast("VectorIndex", _Points())


class ReadingBench:
    """A consumer of the analysis queue whose reader asks a language model about every text, unless told otherwise."""

    def __init__(
        self,
        database: Database,
        folder: Path,
        model: LanguageModel,
        *,
        rule: LlmRule = ALWAYS,
        caps: Caps = ONE_DOLLAR,
        judge: ReplyJudge = llm_guard.judge,
        clock: Clock | None = None,
        patience_s: float = 21_600.0,
        labels: LabelSet = LABELS,
        entities: EntityStep | None = None,
    ) -> None:
        self.database = database
        self.sender = FakeSender()
        embedder = WordEmbedder()
        detector = LanguageDetector()
        anchor_cache = AnchorCache(embedder, labels, NEWS, lambda: [folder])
        asking_rule = AskingRule(caps, output_tokens=500, patience_s=patience_s)
        asking = Asking(PricedModel(database, model, PRICE, asking_rule, clock or SystemClock()), judge)
        llm = LlmReader(database, asking, labels.labels, detector, rule)
        reader = Reader(embedder, anchor_cache, detector)
        self.setup = ReadingSetup.of(reader, forgetting())
        settings = JobSettings()
        self.consumer = BatchConsumer(
            queues={"siftline-local-analysis-queue": Queue.ANALYSIS},
            database=database,
            publisher=Publisher(database, self.sender, settings),
            sender=self.sender,
            processors=[AnalyzeContent(database, lambda: self.setup, llm=llm, entities=entities)],
            subjects={JobType.ANALYZE_CONTENT: subject_of},
            settings=settings,
            clock=clock or SystemClock(),
        )

    def content(self, title: str = TITLE, text: str | None = TEXT, **columns: Any) -> UUID:
        """Store a content with a text."""
        with self.database.transaction() as connection:
            return make_content(connection, title=title, text=text, status="PROCESSING", **columns)

    def analyze(self, content_id: UUID, **job: Any) -> UUID:
        """Make a job for a content, do it, and return its id."""
        job_id = make_job(self.database, subject_id=content_id, **job)
        self.work(job_id, content_id)
        return job_id

    def work(self, job_id: UUID, content_id: UUID) -> None:
        """Do a job now, whenever it is due."""
        self.run("update jobs set due_at = now() where id = %(id)s and state = 'pending'", id=job_id)
        message = {"job_type": "analyze_content", "job_id": job_id, "shared_content_id": content_id}
        answer = self.consumer.handle(sqs_event("analysis", message), FakeContext())
        assert answer == {"batchItemFailures": []}

    def read(self, title: str = TITLE, text: str = TEXT) -> dict[str, Any]:
        """Store and analyse a text; returns the content."""
        content_id = self.content(title, text)
        self.analyze(content_id)
        return self.found(content_id)

    def found(self, content_id: UUID) -> dict[str, Any]:
        """Return a content as it stands."""
        return self.rows("select * from contents where id = %(id)s", id=content_id)[0]

    def job(self, content_id: UUID) -> dict[str, Any]:
        """Return a content's newest job."""
        return self.rows(
            "select *, due_at - now() as wait from jobs where subject_id = %(id)s order by created_at desc, id desc",
            id=content_id,
        )[0]

    def details(self, content_id: UUID, kind: str = "topics") -> dict[str, Any]:
        """Return what a derivation says of one of the content's values."""
        [row] = self.rows(
            "select model_id, model_version, details from derivations where content_id = %(id)s and kind = %(kind)s",
            id=content_id,
            kind=kind,
        )
        return {"model_id": row["model_id"], "model_version": row["model_version"], **row["details"]}

    def spendings(self) -> list[tuple[str, int]]:
        """Return every call's state and cost, in millionths of a dollar, in order."""
        rows = self.rows("select state, micro_usd from spendings order by made_at, id")
        return [(row["state"], row["micro_usd"]) for row in rows]

    def rows(self, statement: str, **values: Any) -> list[dict[str, Any]]:
        """Return what a statement finds."""
        with self.database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(statement, values).fetchall()

    def run(self, statement: str, **values: Any) -> None:
        """Run a statement."""
        with self.database.transaction() as connection:
            connection.execute(statement, values)
