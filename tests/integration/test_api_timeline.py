"""An item's timeline: what it waits for at every stage, and why it went on."""

from datetime import datetime
from typing import Any

import pytest

from siftline.contracts import JobType
from siftline.jobs import lease_store
from siftline.jobs.publish import Publisher
from siftline.jobs.sweep import Recovery
from siftline.kit.db import Database
from siftline.settings.functions import JobSettings
from tests.api_client import ApiClient, World
from tests.fakes import FakeSender


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def save(user: ApiClient) -> Any:
    return user.post("/v1/items", {"url": "https://news.example/story"}).json


def test_a_timeline_tells_what_an_item_waits_for_at_every_stage(world: World) -> None:
    user = world.user()
    saved = save(user)

    def waiting() -> Any:
        return user.get(f"/v1/items/{saved['id']}/timeline").json["waiting"]

    world.sql("update jobs set published_at = null")
    assert waiting()["code"] == "in_turn"
    world.sql("update jobs set published_at = now()")
    assert waiting()["code"] == "handed_out"
    [(job_id,)] = world.sql("select id from jobs")
    with world.database.transaction() as connection:
        assert lease_store.claim(connection, job_id, JobType.INGEST_CONTENT, lease_s=60, grace_s=1) is not None
    [(lease_until,)] = world.sql("select lease_until from jobs")
    held = waiting()
    assert (held["code"], datetime.fromisoformat(held["until"])) == ("in_work", lease_until)
    world.sql("update jobs set lease_until = now() - interval '1 s'")
    assert (waiting()["code"], waiting()["until"]) == ("worker_lost", None)
    world.sql("update jobs set state = 'cancelled', lease_token = null, lease_until = null, finished_at = now()")
    world.sql("update contents set status = 'NEW', notice_code = 'no_credit'")
    assert waiting()["code"] == "no_credit"
    world.sql("update contents set status = 'READY', notice_code = null")
    assert waiting() is None


def test_a_timeline_says_why_a_stuck_item_was_queued_again(world: World) -> None:
    user = world.user()
    saved = save(user)
    world.sql("delete from jobs")
    world.sql("update contents set updated_at = now() - interval '1 h'")
    settings = JobSettings()
    Recovery(world.database, Publisher(world.database, FakeSender(), settings), settings).contents(limit=10)
    [step] = user.get(f"/v1/items/{saved['id']}/timeline").json["steps"]
    assert (step["event"], step["error"]) == ("recovered", None)
    assert "without a job" in step["reason"]
