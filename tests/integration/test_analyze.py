"""From a stored text to a READY content: a real PostgreSQL, the real batch loop, a made-up embedding model."""

import hashlib
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import numpy as np
import psycopg
import pytest
from psycopg.rows import dict_row

from siftline.analyze.analyze_service import AnalyzeContent, ReadingSetup, subject_of
from siftline.analyze.article_reader import Reader
from siftline.analyze.text.language import LanguageDetector
from siftline.analyze.topics.anchors import AnchorCache
from siftline.contracts import JobType, Queue
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.publish import Publisher
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.errors import TransientError
from siftline.kit.ids import new_id
from siftline.models.vectors import Point, VectorIndex
from siftline.settings.functions import JobSettings
from tests.factories import FakeContext, make_content, make_item, make_job, make_user, sqs_event
from tests.fakes import FakeSender
from tests.models import WordEmbedder
from tests.reading import LABELS, NEWS, TEXT, TITLE

BANK = (
    "The central bank raised its rates because inflation grew. Money became dear, the bank said. "
    "Inflation has not been so high for years, and the bank fears that money loses its worth. Rates may rise again."
)


class FakeIndex:
    """Keeps points by id; fails or does what a test says before it keeps them."""

    def __init__(self) -> None:
        self.points: dict[UUID, Point] = {}
        self.upserts = 0
        self.failure: Exception | None = None
        self.meanwhile = lambda: None

    def upsert(self, points: Sequence[Point]) -> None:
        self.meanwhile()
        if self.failure is not None:
            raise self.failure
        self.upserts += 1
        self.points.update({point.id: point for point in points})


class Bench:
    """The analyze function's consumer and its database at hand."""

    def __init__(self, database: Database, folder: Path, *, cluster_every: int = 3) -> None:
        self.database = database
        self.sender = FakeSender()
        self.index = FakeIndex()
        embedder = WordEmbedder()
        reader = Reader(embedder, AnchorCache(embedder, LABELS, NEWS, lambda: [folder]), LanguageDetector())
        self.setup = ReadingSetup.of(reader, cast("VectorIndex", self.index))
        self.work = AnalyzeContent(database, lambda: self.setup, cluster_every=cluster_every)
        settings = JobSettings()
        self.consumer = BatchConsumer(
            queues={"siftline-local-analysis-queue": Queue.ANALYSIS},
            database=database,
            publisher=Publisher(database, self.sender, settings),
            sender=self.sender,
            processors=[self.work],
            subjects={JobType.ANALYZE_CONTENT: subject_of},
            settings=settings,
            clock=SystemClock(),
        )

    def content(self, title: str = TITLE, text: str | None = TEXT, **columns: Any) -> UUID:
        with self.database.transaction() as connection:
            return make_content(connection, title=title, text=text, **columns)

    def analyze(self, content_id: UUID) -> None:
        job_id = make_job(self.database, subject_id=content_id)
        self.send({"job_type": "analyze_content", "job_id": job_id, "shared_content_id": content_id})

    def send(self, message: dict[str, Any]) -> None:
        answer = self.consumer.handle(sqs_event("analysis", message), FakeContext())
        assert answer == {"batchItemFailures": []}

    def rows(self, statement: str, **values: Any) -> list[dict[str, Any]]:
        with self.database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(statement, values).fetchall()

    def row(self, table: str, content_id: UUID) -> dict[str, Any]:
        column = "id" if table == "contents" else "subject_id" if table == "jobs" else "content_id"
        return self.rows(f"select * from {table} where {column} = %(id)s order by 1 desc", id=content_id)[0]


@pytest.fixture
def bench(database, tmp_path):
    return Bench(database, tmp_path)


def test_a_text_becomes_a_ready_content_with_all_that_is_derived(bench):
    content_id = bench.content()

    bench.analyze(content_id)

    content = bench.row("contents", content_id)
    assert (content["status"], content["lang"], content["notice_code"]) == ("READY", "en", None)
    assert content["topics"][0]["topic"] == "sport"
    assert 0.3 <= content["topics"][0]["score"] <= 1
    assert content["summary"].startswith("The home team won")
    assert "match" in content["tags"]
    job = bench.row("jobs", content_id)
    assert (job["state"], job["result"]["topics"]) == ("completed", ["sport"])


def test_the_vector_is_kept_and_indexed_under_the_contents_id(bench):
    content_id = bench.content()

    bench.analyze(content_id)

    kept = bench.row("embeddings", content_id)
    vector = np.frombuffer(kept["vector"], "<f4")
    assert (kept["model_version"], kept["dimensions"]) == ("words-1", 128)
    assert kept["indexed_at"] is not None
    point = bench.index.points[content_id]
    assert np.array_equal(point.vector, vector)
    assert point.payload == {"lang": "en", "topics": ["sport"]}


def test_every_derived_value_says_what_made_it_of_what(bench):
    content_id = bench.content()

    bench.analyze(content_id)

    rows = bench.rows("select * from derivations where content_id = %(id)s", id=content_id)
    assert {row["kind"] for row in rows} == {"language", "embedding", "topics", "summary", "tags"}
    assert len({row["input_sha256"] for row in rows}) == 1
    assert all(row["model_id"] and row["model_version"] for row in rows)
    assert next(row for row in rows if row["kind"] == "topics")["details"]["margin"] > 0


def test_too_little_text_is_ready_with_a_notice_and_nothing_invented(bench):
    content_id = bench.content("Parliament passes the budget after a long night", "p. 1 \u240c")

    bench.analyze(content_id)

    content = bench.row("contents", content_id)
    assert (content["status"], content["notice_code"]) == ("READY", "insufficient_content")
    assert (content["topics"], content["summary"], content["tags"], content["lang"]) == ([], None, [], "en")
    assert content_id in bench.index.points
    assert bench.rows("select * from topic_means") == []


def test_a_content_without_a_letter_is_ready_without_a_vector(bench):
    content_id = bench.content("", "1 2 3")

    bench.analyze(content_id)

    assert bench.row("contents", content_id)["status"] == "READY"
    assert bench.index.points == {}
    assert bench.rows("select * from embeddings") == []


def test_what_a_text_no_longer_gives_is_forgotten(bench):
    content_id = bench.content()
    bench.analyze(content_id)
    with bench.database.transaction() as connection:
        connection.execute("update contents set text = 'Gone.', version = version + 1 where id = %s", (content_id,))

    bench.analyze(content_id)

    rows = bench.rows("select kind from derivations where content_id = %(id)s", id=content_id)
    assert {row["kind"] for row in rows} == {"language", "embedding"}
    assert bench.row("contents", content_id)["summary"] is None


def test_the_running_mean_learns_from_a_content_once(bench):
    first, second, other = bench.content(), bench.content(), bench.content("Rates rise", BANK)
    for content_id in (first, second, other, first):
        bench.analyze(content_id)

    means = {row["topic"]: row for row in bench.rows("select * from topic_means")}
    assert {topic: row["documents"] for topic, row in means.items()} == {"sport": 2, "economy": 1}
    assert {(row["model_version"], row["lang"]) for row in means.values()} == {("words-1", "en")}
    total = np.frombuffer(means["sport"]["vector_sum"], "<f8")
    assert total == pytest.approx(2 * np.frombuffer(bench.row("embeddings", first)["vector"], "<f4"), abs=1e-6)


def test_a_content_that_has_no_text_yet_is_tried_again(bench):
    content_id = bench.content(text=None)

    bench.analyze(content_id)

    job = bench.row("jobs", content_id)
    assert (job["state"], job["error_code"]) == ("pending", "not_ingested_yet")
    assert bench.row("contents", content_id)["status"] == "PENDING"


def failed_ingest(bench, content_id):
    make_job(bench.database, subject_id=content_id, job_type=JobType.INGEST_CONTENT)
    bench.rows(
        "update jobs set state = 'failed', finished_at = now(), error_code = 'not_found',"
        " error_message = 'The page does not exist.' where subject_id = %(id)s returning id",
        id=content_id,
    )


def test_a_content_whose_page_could_not_be_read_keeps_that_reason(bench):
    content_id = bench.content(text=None)
    failed_ingest(bench, content_id)

    bench.analyze(content_id)

    content = bench.row("contents", content_id)
    assert (content["status"], content["error_code"]) == ("FAILED", "not_found")
    assert content["error_detail"] == "The page does not exist."
    job = bench.row("jobs", content_id)
    assert (job["job_type"], job["state"], job["attempts"]) == ("analyze_content", "failed", 1)


def test_a_content_whose_page_is_to_be_read_again_waits_for_it(bench):
    content_id = bench.content(text=None)
    failed_ingest(bench, content_id)
    make_job(bench.database, subject_id=content_id, job_type=JobType.INGEST_CONTENT)

    bench.analyze(content_id)

    assert bench.row("jobs", content_id)["error_code"] == "not_ingested_yet"


def test_a_content_that_was_deleted_fails_for_good(bench):
    content_id = new_id()

    bench.analyze(content_id)

    assert bench.row("jobs", content_id)["error_code"] == "content_gone"
    assert bench.row("jobs", content_id)["state"] == "failed"


def test_a_content_deleted_during_its_analysis_fails_for_good(bench):
    content_id = bench.content()
    bench.index.meanwhile = lambda: bench.rows("delete from contents where id = %(id)s returning id", id=content_id)

    bench.analyze(content_id)

    assert bench.row("jobs", content_id)["error_code"] == "content_gone"


def test_when_vectors_cannot_be_indexed_nothing_is_written_and_it_is_tried_again(bench):
    content_id = bench.content()
    bench.index.failure = TransientError("The vector store is away.", code="vectors_unavailable")

    bench.analyze(content_id)

    content = bench.row("contents", content_id)
    assert (content["status"], content["topics"]) == ("PENDING", None)
    assert bench.row("jobs", content_id)["error_code"] == "vectors_unavailable"
    assert bench.rows("select * from embeddings") == []


def test_an_analysis_of_an_older_text_is_thrown_away_and_another_asked_for(bench):
    content_id = bench.content()
    changed = "update contents set text = %(text)s, version = version + 1 where id = %(id)s returning id"
    bench.index.meanwhile = lambda: bench.rows(changed, id=content_id, text=BANK)

    bench.analyze(content_id)

    content = bench.row("contents", content_id)
    assert (content["status"], content["topics"], content["text"]) == ("PENDING", None, BANK)
    jobs = bench.rows("select * from jobs where subject_id = %(id)s order by created_at, id", id=content_id)
    assert [job["state"] for job in jobs] == ["completed", "pending"]
    assert jobs[0]["result"] == {"stale": True}

    bench.index.meanwhile = lambda: None
    bench.send({"job_type": "analyze_content", "job_id": jobs[1]["id"], "shared_content_id": content_id})
    assert bench.row("contents", content_id)["topics"][0]["topic"] == "economy"


def test_a_text_that_changes_at_the_last_moment_is_not_overwritten(bench):
    content_id = bench.content()
    job = make_job(bench.database, subject_id=content_id)
    claimed = bench.rows("select * from jobs where id = %(id)s", id=job)[0]
    done = bench.work.process(_Claimed(claimed))
    bench.rows("update contents set text = 'new', version = 2 where id = %(id)s returning id", id=content_id)

    with pytest.raises(TransientError, match="changed"), bench.database.transaction() as connection:
        done.write(connection)

    assert bench.rows("select * from derivations") == []


class _Claimed:
    """What ``process`` reads of a claimed job."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.subject_id = row["subject_id"]
        self.group_key = row["group_key"]
        self.priority = row["priority"]


def test_the_third_new_content_of_a_user_groups_the_users_contents_anew(bench):
    with bench.database.transaction() as connection:
        user, other = make_user(connection), make_user(connection)
    contents = [bench.content() for _ in range(4)]
    with bench.database.transaction() as connection:
        for content_id in contents:
            make_item(connection, user, content_id)
        make_item(connection, other, contents[2])
    clusterings = "select * from jobs where job_type = 'cluster_user'"

    for content_id in contents[:2]:
        bench.analyze(content_id)
    assert bench.rows(clusterings) == []

    bench.analyze(contents[1])  # again: it is not new
    assert bench.rows(clusterings) == []

    bench.analyze(contents[2])
    bench.analyze(contents[3])  # a run is waiting already
    jobs = bench.rows(clusterings)
    assert [(job["subject_id"], job["group_key"]) for job in jobs] == [(user, f"user:{user}")]
    joins = bench.rows("select subject_id from jobs where job_type = 'join_stories' order by subject_id")
    assert [join["subject_id"] for join in joins] == sorted([user, other])
    assert [len(sent) for queue, sent in bench.sender.sent.items() if queue is Queue.CLUSTERING] == [3]


def test_contents_before_the_last_run_do_not_count(bench):
    with bench.database.transaction() as connection:
        user = make_user(connection)
    contents = [bench.content() for _ in range(4)]
    with bench.database.transaction() as connection:
        for content_id in contents:
            make_item(connection, user, content_id)
    for content_id in contents[:2]:
        bench.analyze(content_id)
    with bench.database.transaction() as connection:
        connection.execute(
            "insert into cluster_runs (id, user_id, model_version, parameters, quality, contents)"
            " values (%s, %s, 'words-1', '{}', '{}', 2)",
            (new_id(), user),
        )

    for content_id in contents[2:]:
        bench.analyze(content_id)

    assert bench.rows("select * from jobs where job_type = 'cluster_user'") == []


def test_a_plain_message_without_a_job_is_worked_off(bench):
    content_id = bench.content()

    bench.send({"job_type": "analyze_content", "shared_content_id": content_id})

    assert bench.row("contents", content_id)["status"] == "READY"


def test_a_plain_message_about_nothing_is_parked(bench):
    bench.send({"job_type": "analyze_content", "shared_content_id": new_id()})

    assert [envelope.attributes["error_code"] for envelope in bench.sender.dead[Queue.ANALYSIS]] == ["unknown_subject"]


def test_two_analyses_at_once_both_count_in_the_mean(bench, database_url):
    """The first transaction holds the mean's row until it commits; the second adds to what the first left."""
    first, second = bench.content(), bench.content()
    works = []
    for content_id in (first, second):
        job = make_job(bench.database, subject_id=content_id)
        works.append(bench.work.process(_Claimed(bench.rows("select * from jobs where id = %(id)s", id=job)[0])))
    with psycopg.connect(database_url) as one:
        works[0].write(one)
        with psycopg.connect(database_url) as two:
            two.execute("set lock_timeout = '50ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                works[1].write(two)
            two.rollback()
            one.commit()
            works[1].write(two)

    assert [row["documents"] for row in bench.rows("select * from topic_means")] == [2]


def test_the_very_same_text_is_read_once_and_taken_over_elsewhere(bench):
    digest = hashlib.sha256(TEXT.encode()).digest()
    first, second, retitled = (
        bench.content(title, content_sha256=digest, word_count=40) for title in (TITLE, TITLE, "Another title")
    )
    for content_id in (first, second, retitled):
        bench.analyze(content_id)

    contents = [bench.row("contents", content_id) for content_id in (first, second)]
    for name in ("status", "topics", "summary", "tags", "lang", "notice_code"):
        assert contents[0][name] == contents[1][name], name
    assert bench.row("jobs", second)["result"]["taken_from"] == str(first)
    assert np.array_equal(bench.index.points[first].vector, bench.index.points[second].vector)
    assert bench.index.points[second].payload == bench.index.points[first].payload
    made = [bench.rows("select * from derivations where content_id = %(id)s", id=one) for one in (first, second)]
    assert {row["kind"]: row["input_sha256"] for row in made[0]} == {
        row["kind"]: row["input_sha256"] for row in made[1]
    }
    assert all(row["details"]["taken_from"] == str(first) for row in made[1])
    assert bench.row("embeddings", second)["vector"] == bench.row("embeddings", first)["vector"]
    assert "taken_from" not in bench.row("jobs", retitled)["result"]
    assert sum(row["documents"] for row in bench.rows("select * from topic_means")) == 2


def test_what_is_asked_for_again_is_read_and_not_taken_over(bench):
    digest = hashlib.sha256(TEXT.encode()).digest()
    first, second = (bench.content(content_sha256=digest, word_count=40) for _ in range(2))
    for content_id in (first, second, second):
        bench.analyze(content_id)

    assert "taken_from" not in bench.row("jobs", second)["result"]


def test_what_another_model_read_is_not_taken_over(bench):
    digest = hashlib.sha256(TEXT.encode()).digest()
    first, second = (bench.content(content_sha256=digest, word_count=40) for _ in range(2))
    bench.analyze(first)
    with bench.database.transaction() as connection:
        connection.execute("update derivations set model_version = 'older' where kind = 'embedding'")
    bench.analyze(second)

    assert "taken_from" not in bench.row("jobs", second)["result"]


@pytest.mark.parametrize(
    "text",
    [
        "a" * 400_000,
        "buffalo " * 3_000,
        random.Random(7).randbytes(200_000).decode("cp1252", "replace").replace("\0", ""),
    ],
    ids=["one letter", "one word", "noise"],
)
def test_what_is_no_text_has_no_summary_no_tags_and_no_topics(bench, text):
    content_id = bench.content(title="", text=text)

    bench.analyze(content_id)

    content = bench.row("contents", content_id)
    assert (content["status"], content["notice_code"]) == ("READY", "insufficient_content")
    assert (content["summary"], content["tags"], content["topics"]) == (None, [], [])
