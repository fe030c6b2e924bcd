"""Vectors over an API: what is asked, what is refused, what it costs whom, and what is found with them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from siftline.api.search_routes import Wanted
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.models.embedding_api import (
    EmbeddingBudgetError,
    EmbeddingBusyError,
    EmbeddingMisconfiguredError,
    EmbeddingPausedError,
    EmbeddingRefusedError,
    EmbeddingUnavailableError,
    EmbeddingUselessError,
    Payment,
)
from siftline.models.embedding_models import EmbeddingModels, EmbeddingPriceUnknownError
from siftline.models.embedding_store import Version
from siftline.models.spending_store import Caps
from siftline.models.vectors import Point
from siftline.rank.search import Search, meaning_of
from tests.embedding_server import DIMENSIONS, MODEL, ONE, EmbeddingServer, vectors
from tests.factories import make_content, make_item, make_user
from tests.fakes import FakeClock
from tests.integration.test_analyze import Bench
from tests.language_model import problem
from tests.reindexing import settings_for
from tests.servers import Answer, serving

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with serving() as loopback:
        found = EmbeddingServer(loopback)
        yield found
        found.close()


def spent(database: Database) -> list[tuple[Any, ...]]:
    """Return every call's kind, state, cost in millionths and tokens, in order."""
    with database.transaction() as connection:
        statement = "select kind, state, micro_usd, tokens_in from spendings order by made_at, id"
        return connection.execute(statement).fetchall()


def test_texts_are_sent_in_batches_and_their_vectors_come_back_at_unit_length(server, database):
    server.script = lambda body: vectors([[3.0 + len(text), *ONE[1:]] for text in body["input"]], turned=True)
    made = server.embedder(database, passage_prefix="passage: ").embed_passages(["a " * 9_000, *["text"] * 69])

    assert [len(body["input"]) for body in server.asked] == [64, 6]
    assert len(server.asked[0]["input"][0]) == len("passage: ") + 8_000 - 1
    assert server.asked[0] == server.asked[0] | {"model": MODEL, "encoding_format": "float"}
    assert "dimensions" not in server.asked[0]
    assert all(np.allclose(vector, ONE) and vector.dtype == np.float32 for vector in made)
    assert spent(database) == [("embedding", "settled", 6_400, 640), ("embedding", "settled", 600, 60)]


def test_model_and_dimensions_make_the_version_and_fewer_are_asked_for(server, database):
    server.script = lambda _: vectors([ONE[:16]])
    embedder = server.embedder(database, dimensions=16, shortened=True)

    assert embedder.embed_query("a question").shape == (16,)
    assert server.asked[0]["dimensions"] == 16
    assert embedder.model_version == "api-word-model-16"
    assert server.embedder(database, query_prefix="query: ").model_version != server.embedder(database).model_version


@pytest.mark.parametrize(
    "row",
    [
        [0.0] * DIMENSIONS,
        *([value, *ONE[1:]] for value in (float("nan"), float("inf"), None, 10**400, "1.0", True, [1.0])),
    ],
    ids=["zero", "no number", "infinite", "null", "huge", "string", "boolean", "list"],
)
def test_vectors_without_direction_or_with_no_finite_numbers_are_refused(server, database, row):
    server.script = lambda body: vectors([row, *[ONE] * (len(body["input"]) - 1)])
    embedder = server.embedder(database)

    with pytest.raises(EmbeddingUselessError):
        embedder.embed_passage("a text")
    first, second = embedder.embed_passages(["a text", "another"])
    assert first is None
    assert np.allclose(second, ONE)


@pytest.mark.parametrize(
    ("answer", "error", "state"),
    [
        (vectors([ONE[:9]]), EmbeddingMisconfiguredError, "released"),
        (vectors([ONE, ONE]), EmbeddingUnavailableError, "reserved"),
        (Answer(b"no json"), EmbeddingUnavailableError, "reserved"),
        (Answer(b'{"data": [{"index": 4, "embedding": [1]}]}'), EmbeddingUnavailableError, "reserved"),
        (Answer(b'{"data": [{"index": 0, "embedding": "AAAA"}]}'), EmbeddingUnavailableError, "reserved"),
        (Answer(b'{"data": [{"index": 0.0, "embedding": [1]}]}'), EmbeddingUnavailableError, "reserved"),
        (Answer(b'{"data": [{"index": false, "embedding": [1]}]}'), EmbeddingUnavailableError, "reserved"),
        (Answer(b"[" * 200_000, headers=JSON), EmbeddingUnavailableError, "reserved"),
        (problem(401), EmbeddingMisconfiguredError, "released"),
        (problem(404, code="model_not_found"), EmbeddingMisconfiguredError, "released"),
        (problem(400, "not supported", param="dimensions"), EmbeddingMisconfiguredError, "released"),
        (problem(429, code="insufficient_quota"), EmbeddingMisconfiguredError, "released"),
        (problem(400, "too long", code="context_length_exceeded"), EmbeddingRefusedError, "released"),
        (problem(500), EmbeddingUnavailableError, "released"),
        (problem(504), EmbeddingUnavailableError, "reserved"),
    ],
    ids=[
        "dimensions",
        "too many",
        "no json",
        "whose",
        "no list",
        "fraction",
        "boolean",
        "nested",
        "key",
        "model",
        "field",
        "quota",
        "text",
        "500",
        "504",
    ],
)
def test_what_goes_wrong_is_told_apart_and_costs_only_what_may_have_been_billed(server, database, answer, error, state):
    server.script = lambda _: answer
    with pytest.raises(error):
        server.embedder(database).embed_passage("a text")
    assert [row[1] for row in spent(database)] == [state]


REFUSALS = [
    problem(403, "your input was flagged"),
    problem(404),
    problem(400, "maximum context length is 512 tokens", param="input_tokens"),
    problem(400, "Unsupported language in input, dimensions unknown"),
]
refusals = pytest.mark.parametrize("answer", REFUSALS, ids=["moderation", "404", "length", "language"])


@refusals
def test_a_refusal_is_one_texts_where_another_is_taken(server, database, answer):
    taken = vectors([ONE])
    server.script = lambda body: answer if "flagged" in body["input"][0] else taken
    with pytest.raises(EmbeddingRefusedError):
        server.embedder(database).embed_passage("flagged")
    assert [row[1] for row in spent(database)] == ["released", "settled"]


@refusals
def test_a_refusal_is_the_set_ups_where_no_text_is_taken(server, database, answer):
    server.script = lambda _: answer
    embedder = server.embedder(database)
    with pytest.raises(EmbeddingMisconfiguredError):
        embedder.embed_query("a question")
    with pytest.raises(EmbeddingMisconfiguredError):
        embedder.embed_passages(["a text", "another"])
    assert {row[1] for row in spent(database)} == {"released"}


@pytest.mark.parametrize("count", [3 * 10**9, 10**30], ids=["absurd", "endless"])
def test_an_absurd_count_costs_no_more_than_was_set_aside(server, database, count):
    server.script = lambda _: vectors([ONE], tokens=count)
    server.embedder(database).embed_passage("a text")
    assert spent(database) == [("embedding", "settled", 140, 14)]


def test_a_text_that_is_refused_costs_the_others_of_its_batch_nothing(server, database):
    def script(body: dict[str, Any]) -> Answer:
        bad = any("bad" in text for text in body["input"])
        return problem(400, "no", param="input") if bad else vectors([ONE] * len(body["input"]))

    server.script = script
    made = server.embedder(database).embed_passages(["good", "bad", "good"])
    assert [vector is None for vector in made] == [False, True, False]


def test_after_a_429_nobody_asks_until_the_time_it_named(server, database):
    server.script = lambda _: problem(429, headers={"Retry-After": "120"})
    with pytest.raises(EmbeddingBusyError) as busy:
        server.embedder(database).embed_passage("a text")
    with pytest.raises(EmbeddingPausedError) as paused:
        server.embedder(database).embed_query("a question")

    assert busy.value.retry_after_s == 120
    assert paused.value.retry_after_s is not None
    assert 60 < paused.value.retry_after_s <= 120
    assert len(server.asked) == 1
    assert [row[1:3] for row in spent(database)] == [("released", 0)]


def test_a_days_money_is_not_passed_and_goes_on_the_next_day(server, database):
    clock = FakeClock()
    embedder = server.embedder(database, caps=Caps(400), clock=clock)
    for _ in range(3):
        embedder.embed_passage("a text")
    with pytest.raises(EmbeddingBudgetError) as over:
        embedder.embed_passage("a longer text, of which the most that it may cost is more than what is left")

    assert over.value.retry_after_s == 12 * 3_600 + 1
    assert len(server.asked) == 3
    clock.move(over.value.retry_after_s)
    embedder.embed_passage("a text")


def test_one_users_money_is_not_anothers(server, database):
    with database.transaction() as connection:
        users = [make_user(connection) for _ in range(2)]
    one, other = (server.embedder(database, caps=Caps(1_000_000, 300)).paid_by(Payment(user, user)) for user in users)
    one.embed_query("a text")
    one.embed_query("a text")
    with pytest.raises(EmbeddingBudgetError):
        one.embed_query("a text")
    other.embed_query("a text")


def test_an_analysis_keeps_its_vectors_and_is_paid_by_whose_text_it_is(server, database, tmp_path):
    bench = Bench(database, tmp_path)
    embedder = server.embedder(database)
    version = Version(embedder.model_version, f"api:{MODEL}", 1, DIMENSIONS)
    bench.setup = replace(bench.setup, version=version, keeper=embedder)
    content_id = bench.content()
    with database.transaction() as connection:
        user = make_user(connection)
        make_item(connection, user, content_id)

    bench.analyze(content_id)

    assert bench.row("contents", content_id)["topics"][0]["topic"] == "sport"
    assert bench.row("embeddings", content_id)["model_version"] == "api-word-model-128"
    [made] = bench.rows("select model_id, model_version from derivations where kind = 'embedding'")
    assert made == {"model_id": MODEL, "model_version": "api-word-model-128"}
    [call] = bench.rows("select kind, subject_id, user_id, model, state from spendings")
    assert call == {"kind": "embedding", "subject_id": content_id, "user_id": user, "model": MODEL, "state": "settled"}
    assert {row["model_version"] for row in bench.rows("select model_version from topic_means")} == {"words-1"}


@pytest.mark.parametrize(
    ("answer", "waits"), [(problem(429, headers={"Retry-After": "300"}), 300), (problem(401), 0)], ids=["busy", "key"]
)
def test_an_analysis_waits_at_no_attempt_for_a_model_that_does_not_serve(server, database, tmp_path, answer, waits):
    bench = Bench(database, tmp_path)
    server.script = lambda _: answer
    embedder = server.embedder(database)
    version = Version(embedder.model_version, f"api:{MODEL}", 1, DIMENSIONS)
    bench.setup = replace(bench.setup, version=version, keeper=embedder)
    content_id = bench.content()

    bench.analyze(content_id)

    job = bench.row("jobs", content_id)
    assert (job["state"], job["attempts"]) == ("pending", 0)
    breakers = bench.rows("select provider, error_code from breakers")
    assert breakers == ([] if waits else [{"provider": "embedding", "error_code": "embedding_misconfigured"}])


def test_a_search_over_the_api_finds_by_meaning_and_its_user_pays(
    server, database, database_url, qdrant, model, tmp_path
):
    api = {
        "embedding_api_model": MODEL,
        "embedding_api_base_url": server.base_url,
        "embedding_api_dimensions": DIMENSIONS,
        "embedding_api_usd_per_million": 10.0,
    }
    settings = settings_for(database_url, qdrant, model, tmp_path / "cache", **api)
    opened = EmbeddingModels(settings, database).active()
    server.opened.append(opened.embedder)
    with database.transaction() as connection:
        user = make_user(connection)
    held = [_held(database, user, opened, title) for title in ("The team wins the match", "The bank raises rates")]
    calls = len(server.asked)

    search = Search(database, lambda user_id: meaning_of(opened, user_id), SystemClock())
    found = search.search(user, "team match", Wanted(), limit=5)

    assert (found.mode, [row.content_id for row in found.items]) == ("hybrid", held)
    assert len(server.asked) == calls + 1
    with database.transaction() as connection:
        last = connection.execute("select user_id, micro_usd from spendings order by made_at desc limit 1").fetchone()
    assert last == (user, 100)


def test_a_model_whose_price_nobody_says_is_not_asked(database, database_url, qdrant, model, tmp_path):
    settings = settings_for(database_url, qdrant, model, tmp_path, embedding_api_model="nobodys-model")
    with pytest.raises(EmbeddingPriceUnknownError):
        EmbeddingModels(settings, database).active()
    known = settings_for(database_url, qdrant, model, tmp_path, embedding_api_model="text-embedding-3-small")
    assert EmbeddingModels(known, database).active().version.dimensions == 1_536


def _held(database: Database, user: UUID, opened: Any, title: str) -> UUID:
    with database.transaction() as connection:
        content_id = make_content(connection, title=title, text=title, status="READY")
        make_item(connection, user, content_id)
    opened.index.upsert([Point(content_id, opened.embedder.embed_passage(title), {}, 1)])
    return content_id
