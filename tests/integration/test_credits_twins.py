"""What was analysed elsewhere in the very same words costs nobody anything here."""

from typing import Any
from uuid import UUID

import pytest

from siftline.contracts import JobType
from siftline.jobs import credits_store, jobs_store
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Database
from tests.credits import credit_violations
from tests.factories import make_content, make_item, make_user

SAME: dict[str, Any] = {"content_sha256": b"same", "word_count": 300, "text": "The same text."}
READY: dict[str, Any] = {"status": "READY", "topics": "[]"}


def wish(database: Database, credit: int, *, asked: bool = False, **columns: Any) -> tuple[UUID, UUID]:
    """Let a user with so much credit wish the analysis of a text; returns the user and the job."""
    with database.transaction() as connection:
        user_id = make_user(connection)
        credits_store.grant(connection, user_id, credit)
        content_id = make_content(connection, **{**SAME, **columns})
        make_item(connection, user_id, content_id)
        job = NewJob(JobType.ANALYZE_CONTENT, content_id, f"user:{user_id}", asked=asked)
        [job_id] = jobs_store.enqueue(connection, [job])
    return user_id, job_id


def book(database: Database, user_id: UUID, job_id: UUID) -> tuple[int, str | None, int | None]:
    """Return a user's balance, and the kind and amount of a job's entry; the books are in order."""
    with database.transaction() as connection:
        assert credit_violations(connection) == []
        [(balance,)] = connection.execute("select credits from users where id = %s", (user_id,)).fetchall()
        entry = connection.execute("select kind, amount from credit_entries where job_id = %s", (job_id,)).fetchone()
    return (balance, *(entry or (None, None)))


@pytest.fixture
def analysed(database: Database) -> UUID:
    with database.transaction() as connection:
        return make_content(connection, **SAME, **READY)


@pytest.mark.parametrize("credit", [5, 0])
@pytest.mark.usefixtures("analysed")
def test_what_was_analysed_in_the_same_words_costs_nothing_even_without_credit(database: Database, credit: int) -> None:
    assert book(database, *wish(database, credit)) == (credit, "repeat", 0)


@pytest.mark.usefixtures("analysed")
def test_who_asks_for_a_reading_of_their_own_pays_for_it(database: Database) -> None:
    assert book(database, *wish(database, 5, asked=True)) == (4, "analysis", -1)


@pytest.mark.parametrize(
    "other",
    [{"content_sha256": b"other"}, {"word_count": 20, "title": "Another"}],
    ids=["another text", "a short text under another title"],
)
@pytest.mark.usefixtures("analysed")
def test_another_text_is_paid(database: Database, other: dict[str, Any]) -> None:
    assert book(database, *wish(database, 5, **other)) == (4, "analysis", -1)


def test_a_reading_that_was_paid_and_then_taken_over_is_given_back_once(database: Database) -> None:
    user_id, job_id = wish(database, 5)
    assert book(database, user_id, job_id) == (4, "analysis", -1)
    for _ in range(2):
        with database.transaction() as connection:
            credits_store.waive(connection, job_id)
        assert book(database, user_id, job_id) == (5, "repeat", 0)
