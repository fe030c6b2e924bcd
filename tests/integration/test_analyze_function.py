"""The ``analyze`` function as Lambda calls it: environment in, SQS event in, partial failures out."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from functions.analyze import app
from siftline.catalog import reading_profile_store
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.models.vectors import VectorIndex
from siftline.settings.functions import environment
from tests.factories import lambda_context, make_content, make_item
from tests.functions import cold, parked_code, sample_event
from tests.language_model import MODEL, LanguageServer, completion
from tests.models import CORPUS, HIDDEN, tiny_embedder
from tests.servers import serving

CONTENT = UUID("018f4e5a-7b1c-7000-8000-0000000000a1")
USER = UUID("018f4e5a-7b1c-7000-8000-000000000001")


@pytest.fixture
def variables(
    queue_variables: dict[str, str], database_url: str, model: Path, qdrant: str, tmp_path: Path
) -> Iterator[dict[str, str]]:
    """The function's environment: queues of one's own, the tiny model, a vector store."""
    own = {"MODEL_URI": str(model), "MODEL_CACHE_DIR": str(tmp_path / "cache")}
    with cold(app.build, **queue_variables, DATABASE_URL=database_url, QDRANT_URL=qdrant, **own) as variables:
        yield variables


def handled(name: str, variables: dict[str, str]) -> Any:
    with environment(variables):
        return app.handler(sample_event(name, variables["ANALYSIS_QUEUE_URL"]), lambda_context())


def make_text(database: Database) -> None:
    with database.transaction() as connection:
        make_content(connection, id=CONTENT, title="Match won", text=". ".join([*CORPUS, *CORPUS]) + ".")


def test_the_plain_message_makes_a_content_ready_and_its_vector_found(variables, database, model, qdrant):
    make_text(database)

    assert handled("analyze.ok", variables) == {"batchItemFailures": []}

    with database.transaction() as connection:
        row = connection.execute("select status, topics is null, summary <> '' from contents").fetchone()
    assert row == ("READY", False, True)
    embedder = tiny_embedder(model)
    index = VectorIndex(qdrant, model_version=embedder.model_version, dimensions=HIDDEN)
    assert [hit.id for hit in index.search(embedder.embed_query("football team"), 5)] == [CONTENT]
    index.close()


def test_a_malformed_message_is_parked_with_its_cause(variables, sqs):
    assert handled("analyze.malformed", variables) == {"batchItemFailures": []}

    assert parked_code(sqs, variables["ANALYSIS_DLQ_URL"]) == "malformed_message"


def test_a_missing_model_is_told_as_what_it_is_and_the_job_waits_for_it_at_no_cost(variables, database, tmp_path):
    make_text(database)

    answer = handled("analyze.ok", {**variables, "MODEL_URI": str(tmp_path / "nowhere")})

    assert answer == {"batchItemFailures": []}
    with database.transaction() as connection:
        job = connection.execute("select state, attempts, waits_for, error_message from jobs").fetchone()
        breaker = connection.execute("select provider, error_code, error_detail from breakers").fetchone()
    assert job[:3] == ("pending", 0, "model_missing")
    assert str(tmp_path) not in job[3]
    assert breaker[:2] == ("model", "model_missing")
    assert "There is no model" in breaker[2]


def test_topics_of_ones_own_are_taken_from_the_file_that_is_named(variables, database, tmp_path):
    make_text(database)
    file = tmp_path / "topics.toml"
    file.write_text(
        '[[topics]]\nid = "ball-games"\nen = "football, goal, team"\n[[topics]]\nid = "money"\nen = "bank"\n'
    )

    handled("analyze.ok", {**variables, "TOPICS_FILE": str(file), "TOPIC_THRESHOLD": "0", "TOPICS_MAX": "2"})

    with database.transaction() as connection:
        topics = connection.execute("select topics from contents").fetchone()[0]
    assert {topic["topic"] for topic in topics} == {"ball-games", "money"}


def test_a_users_items_are_scored_by_the_same_model(variables, database):
    make_text(database)
    with database.transaction() as connection:
        connection.execute("insert into users (id, name, interests) values (%s, 'reader', 'football')", (USER,))
        make_item(connection, USER, CONTENT)
    assert handled("analyze.ok", variables) == {"batchItemFailures": []}

    assert handled("analyze.score", variables) == {"batchItemFailures": []}

    with database.transaction() as connection:
        score, reasons = connection.execute("select score, score_reasons from items").fetchone()
    assert 0 < score <= 1
    assert reasons[0]["about"] == "football"


def make_new_cluster(database: Database) -> None:
    """Let the sample user hold three contents in a cluster for whose label a model is to be asked."""
    run_id, cluster_id = new_id(), new_id()
    with database.transaction() as connection:
        connection.execute("insert into users (id, name) values (%s, 'reader')", (USER,))
        connection.execute(
            "insert into cluster_runs (id, user_id, model_version, parameters, quality, contents)"
            " values (%s, %s, 'tiny', '{}', '{}', 3)",
            (run_id, USER),
        )
        connection.execute(
            "insert into clusters (id, user_id, run_id, label, label_wanted, keywords, centroid, size)"
            " values (%s, %s, %s, 'bank', true, '{bank}', '', 3)",
            (cluster_id, USER, run_id),
        )
        for _ in range(3):
            content_id = make_content(connection, title="Central bank raises interest rates", status="READY")
            make_item(connection, USER, content_id)
            connection.execute("insert into cluster_memberships values (%s, %s, 0.1)", (cluster_id, content_id))


def test_new_clusters_are_named_by_the_language_model_of_the_settings(variables, database):
    make_new_cluster(database)

    def say(asked):
        said = completion({"labels": [{"group": 1, "label": "Bank raises rates"}], "receipt": asked.receipt})
        return replace(said, headers={**said.headers, "Connection": "close"})

    with serving() as loopback:
        server = LanguageServer(loopback)
        server.says = [say]
        prices = {"LLM_USD_PER_MILLION_IN": "1", "LLM_USD_PER_MILLION_OUT": "2"}
        llm = {"LLM_MODEL": MODEL, "LLM_BASE_URL": loopback.url("/v1"), **prices}
        assert handled("analyze.names", {**variables, **llm}) == {"batchItemFailures": []}

    with database.transaction() as connection:
        named = connection.execute("select label, named_by, label_wanted from clusters").fetchone()
        spent = connection.execute("select state, micro_usd, user_id from spendings").fetchone()
    assert named == ("Bank raises rates", f"{MODEL}/prompt-1", False)
    assert spent == ("settled", 1_100, USER)


def test_without_a_language_model_clusters_keep_their_key_phrases(variables, database):
    make_new_cluster(database)

    assert handled("analyze.names", variables) == {"batchItemFailures": []}

    with database.transaction() as connection:
        assert connection.execute("select label, named_by from clusters").fetchone() == ("bank", None)


def test_what_texts_are_read_with_is_told(variables, database):
    make_text(database)
    handled("analyze.ok", variables)

    with database.transaction() as connection:
        profile = reading_profile_store.told(connection)
        made = connection.execute("select kind, model_version from derivations where kind <> 'embedding'").fetchall()
    assert profile is not None
    assert "politics" in profile.topic_ids
    assert len(profile.label_digests) > 1
    assert made
    assert [kind for kind, version in made if version not in profile.versions[kind]] == []
