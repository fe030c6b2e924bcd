"""A model over an API that gives nothing usable: tried again, and in the end the text is read without its vector."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from siftline.contracts import Tick
from siftline.kit.db import Database
from siftline.models.embedding_store import Version
from tests.embedding_server import DIMENSIONS, MODEL, ONE, EmbeddingServer, vectors
from tests.factories import make_item, make_user
from tests.integration.test_analyze import Bench
from tests.language_model import problem
from tests.reading import TITLE
from tests.servers import Answer, serving
from tests.ticks import make_schedule

ZERO = vectors([[0.0] * DIMENSIONS])
NOT_TAKEN = problem(400, "no", param="input")


def not_taken(body: dict[str, Any]) -> Answer:
    """Take every text but those of these tests."""
    return NOT_TAKEN if any(TITLE in text for text in body["input"]) else vectors([ONE] * len(body["input"]))


class Shelf(Bench):
    """Texts whose vectors an API makes."""

    def __init__(self, database: Database, folder: Path, server: EmbeddingServer) -> None:
        super().__init__(database, folder)
        embedder = server.embedder(database)
        self.api_version = embedder.model_version
        version = Version(self.api_version, f"api:{MODEL}", 1, DIMENSIONS)
        self.setup = replace(self.setup, version=version, keeper=embedder)

    def held(self, **columns: Any) -> UUID:
        content_id = self.content(**columns)
        with self.database.transaction() as connection:
            make_item(connection, make_user(connection), content_id)
        return content_id

    def tries(self, content_id: UUID) -> int:
        """Let the waiting analysis be tried until it ends; returns how often that was."""
        for tried in range(1, 10):
            [job] = self.rows("update jobs set due_at = now() where state = 'pending' and subject_id = %(id)s"
                              " and job_type = 'analyze_content' returning id", id=content_id)  # fmt: skip
            self.send({"job_type": "analyze_content", "job_id": job["id"], "shared_content_id": content_id})
            if self.row("contents", content_id)["status"] in ("READY", "FAILED"):
                return tried
        raise AssertionError

    def tick(self, *, later: str = "0") -> int:
        """Let the clock look for texts without a vector, as if so much time had gone by."""
        self.rows("update embedding_refusals set made_at = made_at - %(later)s::interval returning 1", later=later)
        schedule, _ = make_schedule(self.database)
        return schedule.run(Tick.BACKGROUND)["missing_vectors"]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with serving() as loopback:
        found = EmbeddingServer(loopback)
        yield found
        found.close()


@pytest.fixture
def shelf(database: Database, tmp_path: Path, server: EmbeddingServer) -> Shelf:
    return Shelf(database, tmp_path, server)


def test_a_vector_that_cannot_be_used_is_asked_for_again_after_a_while(server: EmbeddingServer, shelf: Shelf) -> None:
    server.script = lambda _: ZERO
    content_id = shelf.held()
    shelf.analyze(content_id)

    [job] = shelf.rows("select state, attempts, error_code, due_at > now() as later from jobs")
    assert job == {"state": "pending", "attempts": 1, "error_code": "unusable_vector", "later": True}

    server.script = None
    assert shelf.tries(content_id) == 1
    assert shelf.row("embeddings", content_id)["model_version"] == shelf.api_version
    assert shelf.row("contents", content_id)["notice_code"] is None


@pytest.mark.parametrize(
    ("answer", "tries", "code"),
    [
        (ZERO, 4, "unusable_vector"),
        (vectors([[float("nan"), *ONE[1:]]]), 4, "unusable_vector"),
        (vectors([["1.0", *ONE[1:]]]), 4, "unusable_vector"),
        (vectors([[10**400, *ONE[1:]]]), 4, "unusable_vector"),
        (vectors([]), 4, "embedding_unavailable"),
        (problem(500), 4, "embedding_unavailable"),
        (NOT_TAKEN, 1, "embedding_refused"),
    ],
    ids=["zero", "no number", "string", "huge", "fewer", "500", "text refused"],
)
def test_after_the_last_try_a_text_is_ready_as_it_was_read_here_and_without_a_vector(
    server: EmbeddingServer, shelf: Shelf, answer: Answer, tries: int, code: str
) -> None:
    server.script = not_taken if answer is NOT_TAKEN else lambda _: answer
    content_id = shelf.held()
    shelf.analyze(content_id)
    assert (1 if tries == 1 else 1 + shelf.tries(content_id)) == tries

    content = shelf.row("contents", content_id)
    assert (content["status"], content["notice_code"]) == ("READY", "without_vector")
    assert content["topics"][0]["topic"] == "sport"
    assert content["summary"]
    assert (shelf.rows("select from embeddings"), shelf.index.points) == ([], {})
    assert shelf.rows("select from derivations where kind = 'embedding'") == []
    [refusal] = shelf.rows("select content_id, model_version, error_code, tries from embedding_refusals")
    assert refusal == {"content_id": content_id, "model_version": shelf.api_version, "error_code": code, "tries": 1}
    assert {row["state"] for row in shelf.rows("select state from jobs where job_type = 'analyze_content'")} == {
        "completed"
    }


def test_the_vector_is_asked_for_again_ever_later_at_nobodys_cost_until_it_is_there(
    server: EmbeddingServer, shelf: Shelf
) -> None:
    server.script = lambda _: ZERO
    content_id = shelf.held()
    shelf.analyze(content_id)
    shelf.tries(content_id)

    assert shelf.tick() == 0
    assert shelf.tick(later="61 min") == 1
    assert shelf.tries(content_id) == 1
    assert shelf.row("contents", content_id)["notice_code"] == "without_vector"
    assert shelf.tick(later="61 min") == 0
    server.script = None
    assert shelf.tick(later="60 min") == 1
    assert shelf.tries(content_id) == 1

    assert shelf.row("embeddings", content_id)["model_version"] == shelf.api_version
    assert content_id in shelf.index.points
    assert shelf.row("contents", content_id)["notice_code"] is None
    assert shelf.rows("select from embedding_refusals") == []
    assert shelf.tick(later="9 days") == 0
    kinds = [row["kind"] for row in shelf.rows("select kind from credit_entries order by created_at, id")]
    assert kinds == ["analysis", "repeat", "repeat"]


def test_a_text_that_a_model_does_not_take_is_another_models_to_try(server: EmbeddingServer, shelf: Shelf) -> None:
    server.script = not_taken
    content_id = shelf.held()
    shelf.analyze(content_id)
    assert shelf.tick(later="9 days") == 0

    shelf.rows("update embedding_versions set model_version = 'another-1', uri = '' returning 1")
    assert shelf.tick() == 1


def test_the_very_same_text_elsewhere_does_not_go_without_a_vector_for_it(
    server: EmbeddingServer, shelf: Shelf
) -> None:
    server.script = not_taken
    shelf.analyze(shelf.held(content_sha256=b"same"))
    server.script = None
    other = shelf.held(content_sha256=b"same")
    shelf.analyze(other)

    assert shelf.row("embeddings", other)["model_version"] == shelf.api_version
    assert shelf.row("contents", other)["notice_code"] is None
