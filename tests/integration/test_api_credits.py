"""What users see of their credits: balance, ledger, and why a page waits."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from siftline.contracts import JobType
from siftline.jobs import credits_store, jobs_store
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from tests.api_client import ApiClient, World
from tests.credits import credit_violations
from tests.factories import make_content, make_item


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    yield World(database)
    with database.transaction() as connection:
        assert credit_violations(connection) == []


def give(world: World, user: ApiClient, amount: int | None) -> None:
    with world.database.transaction() as connection:
        credits_store.grant(connection, user.user_id, amount)


def hold(world: World, *users: ApiClient) -> tuple[list[UUID], UUID]:
    """Return the users' items on one new page that was read already."""
    with world.database.transaction() as connection:
        content_id = make_content(connection, text="words")
        return [make_item(connection, user.user_id, content_id) for user in users], content_id


def analyse(world: World, content_id: UUID) -> None:
    with world.database.transaction() as connection:
        jobs_store.enqueue(connection, [NewJob(JobType.ANALYZE_CONTENT, content_id, "host:news.example")])


def test_who_is_not_metered_sees_no_balance(world: World) -> None:
    me = world.user().get("/v1/me").json
    assert me["credits"] is None
    assert me["usage"] == {"analyses": 0, "spent": 0, "reserved": 0}


def test_the_balance_counts_what_is_reserved_as_spent(world: World) -> None:
    user = world.user()
    give(world, user, 5)
    [_], content_id = hold(world, user)
    analyse(world, content_id)
    me = user.get("/v1/me").json
    assert me["credits"] == 4
    assert me["usage"] == {"analyses": 0, "spent": 0, "reserved": 1}


def test_nobody_gives_themselves_credits(world: World) -> None:
    user = world.user()
    give(world, user, 5)
    assert user.patch("/v1/me", {"credits": 1000}).code == "invalid_request"
    assert user.get("/v1/me").json["credits"] == 5


def test_the_ledger_is_paged_newest_first_and_names_the_callers_own_items(world: World) -> None:
    user = world.user()
    give(world, user, 5)
    held = [hold(world, user) for _ in range(3)]
    for _, content_id in held:
        analyse(world, content_id)
    first = user.get("/v1/me/credits", limit="3").json
    rest = user.get("/v1/me/credits", limit="3", next=first["next"]).json
    entries = [*first["items"], *rest["items"]]
    assert [(entry["kind"], entry["amount"], entry["state"]) for entry in entries] == [
        *[("analysis", -1, "reserved")] * 3,
        ("grant", 5, "settled"),
    ]
    assert [entry["item_id"] for entry in entries] == [*[str(items[0]) for items, _ in reversed(held)], None]
    assert rest["next"] is None


def test_nobody_sees_another_ones_ledger(world: World) -> None:
    payer, other = world.user(), world.user()
    give(world, payer, 5)
    _, content_id = hold(world, payer, other)
    analyse(world, content_id)
    assert len(payer.get("/v1/me/credits").json["items"]) == 2
    assert other.get("/v1/me/credits").json["items"] == []
    assert other.get("/v1/me").json["usage"]["reserved"] == 0


def test_item_and_timeline_say_that_credit_is_waited_for(world: World) -> None:
    user = world.user()
    give(world, user, 0)
    [item_id], content_id = hold(world, user)
    analyse(world, content_id)
    item = user.get(f"/v1/items/{item_id}").json
    assert (item["status"], item["notice"]["code"]) == ("NEW", "no_credit")
    assert "credit" in item["notice"]["detail"]
    timeline = user.get(f"/v1/items/{item_id}/timeline").json
    assert (timeline["status"], timeline["notice"]) == ("NEW", item["notice"])
    assert timeline["steps"][-1]["error"] == item["notice"]


def test_a_page_saved_without_credit_is_accepted_and_read(world: World) -> None:
    user = world.user()
    give(world, user, 0)
    answer = user.post("/v1/items", {"url": "https://news.example/a"})
    assert (answer.status, answer.json["status"]) == (202, "PENDING")


def test_reading_again_needs_a_credit_of_ones_own(world: World) -> None:
    user, other = world.user(), world.user()
    give(world, user, 0)
    give(world, other, 9)
    items, _ = hold(world, user, other)
    for body in ({"from": "analyze"}, {"from": "ingest"}):
        answer = user.post(f"/v1/items/{items[0]}/reprocess", body)
        assert (answer.status, answer.code) == (402, "no_credit")
    assert other.get("/v1/me").json["credits"] == 9
    assert other.post(f"/v1/items/{items[1]}/reprocess", {"from": "analyze"}).status == 202
    assert other.get("/v1/me").json["credits"] == 8


def test_reading_a_paid_text_again_is_a_line_of_its_own(world: World) -> None:
    user = world.user()
    give(world, user, 5)
    [item_id], content_id = hold(world, user)
    world.sql(
        "insert into credit_entries (id, kind, job_id, content_id, content_version, amount, state, settled_at)"
        " values (%s, 'analysis', %s, %s, 1, 0, 'settled', now())",
        *(new_id(), new_id(), content_id),
    )
    assert user.post(f"/v1/items/{item_id}/reprocess", {"from": "analyze"}).status == 202
    [newest, _] = user.get("/v1/me/credits").json["items"]
    assert (newest["kind"], newest["amount"]) == ("reprocess", -1)


def test_deleting_the_page_gives_the_credit_back(world: World) -> None:
    user = world.user()
    give(world, user, 1)
    [item_id], content_id = hold(world, user)
    analyse(world, content_id)
    assert user.get("/v1/me").json["credits"] == 0
    assert user.delete(f"/v1/items/{item_id}").status == 204
    assert user.get("/v1/me").json["credits"] == 1
    [newest, _] = user.get("/v1/me/credits").json["items"]
    assert (newest["state"], newest["item_id"]) == ("released", None)
