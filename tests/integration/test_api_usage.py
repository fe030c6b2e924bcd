"""What ``GET /v1/usage`` shows of money and credits."""

from datetime import date, timedelta
from typing import Any
from uuid import UUID

import pytest

from siftline.contracts import JobType
from siftline.jobs import credits_store, jobs_store
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.models import spending_store
from siftline.models.spending_store import Caps, Spending
from tests.api_client import ApiClient, World
from tests.factories import make_content, make_item

TODAY = date(2026, 11, 27)
"""The world's day."""


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def spend(world: World, user_id: UUID | None, *, cost: int | None = 1_100, days_ago: int = 0, **more: Any) -> None:
    """Set 5,000 millionths of a dollar aside and settle them by a cost; none: the answer is lost, 0: rejected."""
    values = {"kind": "llm", "model": "small-model", **more}
    day = TODAY - timedelta(days=days_ago)
    with world.database.transaction() as connection:
        one = Spending(new_id(), values["kind"], day, new_id(), 5_000, values["model"], user_id)
        assert spending_store.reserve(connection, one, Caps(1_000_000)) is None
        if cost == 0:
            spending_store.release(connection, one.id)
        elif cost is not None:
            spending_store.settle(connection, one.id, cost, tokens_in=900, tokens_out=100)


def shown(user: ApiClient, **query: Any) -> list[tuple[Any, ...]]:
    money = user.get("/v1/usage", **query).json["money"]
    return [(row["day"], row["kind"], row["model"], row["calls"], row["usd"]) for row in money]


def test_a_user_sees_their_own_money_by_day_kind_and_model(world: World) -> None:
    user, other = world.user(), world.user()
    for cost in (1_100, 1_100, None, 0):
        spend(world, user.user_id, cost=cost)
    spend(world, user.user_id, model="large-model", cost=2_000)
    spend(world, user.user_id, kind="transcription", model="whisper-test", cost=9_000, days_ago=1)
    spend(world, other.user_id)
    spend(world, None)

    found = user.get("/v1/usage").json

    assert (found["since"], found["until"], found["everybody"]) == ("2026-10-28", "2026-11-27", False)
    assert shown(user) == [
        ("2026-11-26", "transcription", "whisper-test", 1, 0.009),
        ("2026-11-27", "llm", "large-model", 1, 0.002),
        ("2026-11-27", "llm", "small-model", 3, 0.0072),
    ]
    small = found["money"][2]
    assert (small["unsettled"], small["rejected"], small["tokens_in"], small["tokens_out"]) == (1, 1, 1_800, 200)
    assert found["usd"] == 0.0182


def test_an_operator_sees_everybodys_and_nobodys(world: World) -> None:
    for user_id in (world.user().user_id, world.user().user_id, None):
        spend(world, user_id)

    found = world.user("read", "ops").get("/v1/usage").json

    assert (found["everybody"], found["usd"], found["money"][0]["calls"]) == (True, 0.0033, 3)


def test_only_the_days_asked_for_are_shown(world: World) -> None:
    user = world.user()
    for days_ago in (0, 1, 2, 40):
        spend(world, user.user_id, days_ago=days_ago)

    assert [row[0] for row in shown(user)] == ["2026-11-25", "2026-11-26", "2026-11-27"]
    assert [row[0] for row in shown(user, since="2026-11-25", until="2026-11-26")] == ["2026-11-25", "2026-11-26"]
    assert [row[0] for row in shown(user, since="2026-10-01", until="2026-10-31")] == ["2026-10-18"]


def test_credits_stand_beside_the_money(world: World) -> None:
    user = world.user()
    with world.database.transaction() as connection:
        credits_store.grant(connection, user.user_id, 5)
        contents = [make_content(connection, text="words") for _ in range(2)]
        for content_id in contents:
            make_item(connection, user.user_id, content_id)
        jobs = [NewJob(JobType.ANALYZE_CONTENT, content_id, f"user:{user.user_id}") for content_id in contents]
        first, _ = jobs_store.enqueue(connection, jobs)
        credits_store.settle(connection, first)
        [(today,)] = connection.execute("select (now() at time zone 'UTC')::date").fetchall()

    found = user.get("/v1/usage", since=str(today), until=str(today)).json

    assert found["analyses"] == [{"day": str(today), "analyses": 2, "credits": 2}]
    assert found["credits"] == 2
    assert world.user().get("/v1/usage", since=str(today), until=str(today)).json["credits"] == 0


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"since": "2026-11-28", "until": "2026-11-27"}, "since"),
        ({"since": "2024-01-01"}, "since"),
        ({"since": "yesterday"}, "since"),
        ({"until": "2026-02-30"}, "until"),
    ],
    ids=["turned round", "too long", "no date", "no such day"],
)
def test_a_time_that_is_none_is_refused(world: World, query: dict[str, str], parameter: str) -> None:
    answer = world.user().get("/v1/usage", **query)
    assert (answer.status, answer.json["errors"][0]["parameter"]) == (422, parameter)
