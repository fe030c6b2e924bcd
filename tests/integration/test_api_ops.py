"""What operators see, and whether the system is well."""

from typing import Any

import pytest

from siftline.api.account.tokens_store import add_token
from siftline.api.http.callers import Scope
from siftline.contracts import JobType, Queue
from siftline.jobs.queues import Depth, QueueUnavailableError, SqsQueues
from siftline.kit.db import Database, SingleConnection
from siftline.kit.ids import new_id
from siftline.net.probe import NoAnswerError
from tests.api_client import World, sent
from tests.factories import make_job
from tests.http_events import http_event


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def finish(world: World, state: str, number: int) -> None:
    """Let analysis jobs have ended."""
    for _ in range(number):
        job_id = make_job(world.database)
        world.sql("update jobs set state = %s, finished_at = now() where id = %s", state, job_id)


def test_queue_stats_count_the_analysis_jobs_by_exactly_four_states(world: World) -> None:
    operator = world.user("ops")
    assert operator.get("/admin/queue-stats").json == {"pending": 0, "processing": 0, "completed": 0, "failed": 0}
    finish(world, "completed", 3)
    finish(world, "failed", 2)
    finish(world, "cancelled", 1)
    make_job(world.database)
    make_job(world.database, job_type=JobType.INGEST_CONTENT)
    running = make_job(world.database)
    world.sql("update jobs set state = 'processing', lease_token = %s where id = %s", new_id(), running)
    assert operator.get("/admin/queue-stats").json == {"pending": 1, "processing": 1, "completed": 3, "failed": 2}


def test_queues_show_what_is_set_up_wrongly_and_when_it_is_tried_again(world: World) -> None:
    operator = world.user("ops")
    assert operator.get("/v1/ops/queues").json["breakers"] == []
    world.sql(
        "insert into breakers (provider, error_code, error_detail, open_until)"
        " values ('model', 'model_missing', 'There is no model.', now() + interval '100 s')"
    )
    (breaker,) = operator.get("/v1/ops/queues").json["breakers"]
    assert 90 < breaker.pop("next_try_s") <= 100
    assert breaker == {
        "provider": "model",
        "error_code": "model_missing",
        "error_detail": "There is no model.",
        "probing": False,
    }


def test_queues_show_depths_ages_and_states(world: World) -> None:
    world.depths.depths[Queue.ANALYSIS] = Depth(visible=7, in_flight=2, delayed=1, dead=3)
    world.sql("update jobs set due_at = now() - interval '90 s' where id = %s", make_job(world.database))
    finish(world, "cancelled", 1)
    view = world.user("ops").get("/v1/ops/queues").json
    queues = {queue.pop("name"): queue for queue in view["queues"]}
    assert set(queues) == {queue.value for queue in Queue}
    age_s = queues["analysis"].pop("oldest_age_s")
    assert age_s >= 90
    assert queues["analysis"] == {
        "depth": 7,
        "in_flight": 2,
        "delayed": 1,
        "dead_letters": 3,
        "pending": 1,
        "processing": 0,
        "oldest_running_s": 0,
    }
    assert queues["fetch"]["oldest_age_s"] == 0
    jobs = {jobs.pop("job_type"): jobs for jobs in view["jobs"]}
    assert set(jobs) == {job_type.value for job_type in JobType}
    analysis = jobs["analyze_content"]
    assert analysis.pop("oldest_age_s") == age_s
    states = {"pending": 1, "processing": 0, "completed": 0, "failed": 0, "cancelled": 1}
    assert analysis == {**states, "delayed": 0, "oldest_running_s": 0}


def test_states_are_shown_though_the_queues_do_not_answer(world: World) -> None:
    world.depths.error = QueueUnavailableError("away")
    view = world.user("ops").get("/v1/ops/queues")
    assert view.status == 200
    assert {queue["depth"] for queue in view.json["queues"]} == {None}


def test_depths_come_from_sqs(world: World, sqs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"api-{new_id()}"
    live = sqs.create_queue(QueueName=name)["QueueUrl"]
    dead = sqs.create_queue(QueueName=f"{name}-dead")["QueueUrl"]
    sqs.send_message(QueueUrl=live, MessageBody="{}")
    sqs.send_message(QueueUrl=dead, MessageBody="{}")
    queues = SqsQueues(sqs, dict.fromkeys(Queue, live), dict.fromkeys(Queue, dead))
    monkeypatch.setattr(world.depths, "depth", queues.depth)
    for queue in world.user("ops").get("/v1/ops/queues").json["queues"]:
        assert (queue["depth"], queue["dead_letters"]) == (1, 1)


@pytest.mark.parametrize("path", ["/v1/ops/queues", "/admin/queue-stats"])
def test_operations_need_their_scope(world: World, path: str) -> None:
    answer = world.user("read", "write").get(path)
    assert (answer.status, answer.code) == (403, "insufficient_scope")
    assert 'scope="ops"' in answer.headers["www-authenticate"]


def token(world: World, *scopes: Scope) -> dict[str, str]:
    user = world.user()
    with world.database.transaction() as connection:
        secret, _ = add_token(connection, user.user_id, "t", scopes)
    return {"Authorization": f"Bearer {secret}"}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_shallow_health_is_open_and_asks_nobody(database: Database, method: str) -> None:
    away = World(SingleConnection("postgresql://127.0.0.1:1/none", connect_timeout_s=2))
    answer = sent(away.api, http_event(method, "/health"))
    assert (answer.status, answer.json) == (200, {"status": "ok", "parts": None})


def test_the_deep_health_asks_every_part(world: World) -> None:
    headers = token(world, Scope.OPS)
    answer = sent(world.api, http_event("GET", "/health", query={"deep": 1}, headers=headers))
    assert (answer.status, answer.json["status"]) == (200, "ok")
    assert set(answer.json["parts"]) == {"database", "queues", "vectors"}
    world.vectors_error = NoAnswerError("The server could not be reached.")
    answer = sent(world.api, http_event("GET", "/health", query={"deep": 1}, headers=headers))
    assert (answer.status, answer.json["status"]) == (503, "unavailable")
    assert answer.json["parts"]["vectors"] == {"status": "unavailable", "detail": "The server could not be reached."}
    assert answer.json["parts"]["database"]["status"] == "ok"


@pytest.mark.parametrize("missing", Queue)
def test_the_deep_health_notices_any_queue_that_is_missing(
    world: World, sqs: Any, missing: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    live, gone = (
        sqs.create_queue(QueueName=f"there-{new_id()}")["QueueUrl"],
        f"{sqs.meta.endpoint_url}/0/gone-{missing}",
    )
    queues = SqsQueues(sqs, {**dict.fromkeys(Queue, live), missing: gone}, {})
    monkeypatch.setattr(world.depths, "depth", queues.depth)
    answer = sent(world.api, http_event("GET", "/health", query={"deep": 1}, headers=token(world, Scope.OPS)))
    assert (answer.status, answer.json["parts"]["queues"]["status"]) == (503, "unavailable")
    assert f"gone-{missing}" in answer.json["parts"]["queues"]["detail"]


def test_the_deep_health_needs_the_scope_ops(world: World) -> None:
    deep: dict[str, Any] = {"query": {"deep": 1}}
    assert sent(world.api, http_event("GET", "/health", **deep)).code == "unauthorized"
    headers = token(world, Scope.READ, Scope.WRITE)
    assert sent(world.api, http_event("GET", "/health", headers=headers, **deep)).code == "insufficient_scope"


def test_a_database_that_is_away_is_a_problem_that_tells_nothing_of_it() -> None:
    away = World(SingleConnection("postgresql://secret-user@127.0.0.1:1/none", connect_timeout_s=2))
    headers = {"Authorization": "Bearer sl_" + "a" * 43}
    answer = sent(away.api, http_event("GET", "/health", query={"deep": 1}, headers=headers))
    assert (answer.status, answer.code) == (503, "database_unavailable")
    assert "secret-user" not in answer.text
    assert answer.headers["retry-after"]
