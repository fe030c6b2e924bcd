"""What an edit costs: a correction is kept as a revision, a rewriting is analysed, and many corrections are one."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from siftline.contracts import JobType
from siftline.ingest.page_child import PageReader
from siftline.jobs import jobs_store
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Database
from siftline.net.http import HttpClient
from tests.ingesting import Works, ingest_content
from tests.open_client import OpenClient
from tests.texts import prose, retold

STORY = prose(11, 600)


@pytest.fixture(scope="module")
def http() -> Iterator[HttpClient]:
    client = OpenClient()
    yield client
    client.close()


@pytest.fixture
def works(database: Database, http: HttpClient, page_reader: PageReader) -> Works:
    return Works(database, ingest_content(database, http, page_reader))


def told(text: str) -> str:
    return f"<p>{text}</p>"


def analysed(works: Works, content_id: UUID) -> None:
    """Do what the analysis would."""
    works.run(
        "update jobs set state = 'completed', finished_at = now() where subject_id = %s and state = 'pending'",
        content_id,
    )
    works.run("update contents set status = 'READY', topics = '[]' where id = %s", content_id)
    works.run(
        "insert into derivations (content_id, kind, model_id, model_version, input_sha256)"
        " values (%s, 'topics', 'm', '1', '') on conflict (content_id, kind) do update set made_at = now()",
        content_id,
    )


def story(works: Works) -> UUID:
    """Return a content that a feed brought and that was analysed."""
    content_id = works.saved("http://127.0.0.1:1/story", entry_html=told(STORY))
    assert works.work(content_id)["status"] == "PENDING"
    analysed(works, content_id)
    return content_id


def edit(works: Works, content_id: UUID, text: str) -> list[str]:
    """Let the feed say something else and have it read; returns what is still to be done."""
    works.run("update contents set entry_html = %s where id = %s", told(text), content_id)
    (holder,) = works.rows("select user_id from items where content_id = %s", content_id)
    with works.database.transaction() as connection:
        jobs_store.enqueue(connection, [NewJob(JobType.INGEST_CONTENT, content_id, f"user:{holder['user_id']}")])
    works.work(content_id)
    return works.live(content_id)


def test_a_correction_is_stored_with_its_revision_and_not_analysed_again(works: Works) -> None:
    content_id = story(works)
    assert edit(works, content_id, retold(STORY, 2)) == []
    row = works.content(content_id)
    assert (row["status"], row["version"], row["text"]) == ("READY", 2, retold(STORY, 2))
    assert works.rows("select version, text from content_revisions") == [{"version": 1, "text": STORY}]


def test_a_rewriting_is_analysed(works: Works) -> None:
    content_id = story(works)
    assert edit(works, content_id, retold(STORY, 40)) == ["analyze_content"]
    assert works.content(content_id)["status"] == "PENDING"


def test_corrections_add_up_until_they_are_a_rewriting(works: Works) -> None:
    content_id, text, asked = story(works), STORY, []
    for number in range(12):
        text = retold(text, 1, number)
        asked.append(edit(works, content_id, text) != [])
        if asked[-1]:
            analysed(works, content_id)
    assert 1 <= sum(asked) <= 4
    assert not asked[0]


def test_a_feed_that_edits_at_every_poll_costs_its_followers_one_analysis(works: Works) -> None:
    content_id = story(works)
    for number in range(10):
        assert edit(works, content_id, f"{STORY} Updated {number} minutes ago by editor{number}.") == []
    assert works.content(content_id)["version"] == 11
    assert works.rows("select count(*) from jobs where job_type = 'analyze_content'") == [{"count": 1}]


def test_a_correction_of_what_was_never_analysed_in_the_end_is_analysed(works: Works) -> None:
    content_id = story(works)
    assert edit(works, content_id, retold(STORY, 60)) == ["analyze_content"]
    works.run("update jobs set state = 'failed', finished_at = now() where state = 'pending'")
    works.run("update contents set status = 'READY' where id = %s", content_id)
    assert edit(works, content_id, retold(retold(STORY, 60), 1)) == ["analyze_content"]
