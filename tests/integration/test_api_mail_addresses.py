"""One's mail addresses: asked for at once, listed with how they stand, never another's."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from siftline.contracts import Queue
from tests.api_client import World


@pytest.fixture
def world(database) -> World:
    return World(database)


def test_an_address_is_written_down_once_and_its_owner_is_asked_at_once(world):
    user, other = world.user(), world.user(name="other")
    for spelling in ("Ada@News.example", "ada@news.EXAMPLE"):
        made = user.post("/v1/mail-addresses", {"address": spelling})
        assert made.status == 202
        assert (made.json["address"], made.json["confirmed_at"]) == ("ada@news.example", None)
    [sent] = world.sender.sent[Queue.BRIEFING]
    assert "confirm_address" in sent.body
    assert made.json["id"] in sent.body
    world.sql("insert into mail_suppressions (address, reason) values ('ada@news.example', 'bounced')")
    [shown] = user.get("/v1/mail-addresses").json["items"]
    assert shown == made.json | {"suppressed": "bounced"}
    assert "token" not in shown
    assert other.get("/v1/mail-addresses").json == {"items": [], "next": None}


def test_what_is_no_address_is_refused_where_it_stands(world):
    refused = world.user().post("/v1/mail-addresses", {"address": "ada@news.example, x@news.example"})
    assert (refused.status, refused.json["errors"][0]["pointer"]) == (422, "#/address")
    assert refused.json["errors"][0]["code"] == "invalid_mail_address"


def test_nobody_gives_more_addresses_than_a_person_has(world):
    user = world.user()
    world.sql(
        "insert into mail_addresses (id, user_id, address, token)"
        " select gen_random_uuid(), %s, n || '@news.example', n::text from generate_series(1, 50) n",
        user.user_id,
    )
    refused = user.post("/v1/mail-addresses", {"address": "one.more@news.example"})
    assert (refused.status, refused.code) == (409, "too_many_mail_addresses")
    assert world.sql("select count(*) from mail_addresses") == [(50,)]
    seventh = user.post("/v1/mail-addresses", {"address": "7@news.example"})
    assert seventh.status == 202
    assert world.user().delete(f"/v1/mail-addresses/{seventh.json['id']}").code == "not_found"
    assert user.delete(f"/v1/mail-addresses/{seventh.json['id']}").status == 204
    assert user.delete(f"/v1/mail-addresses/{seventh.json['id']}").code == "not_found"
    assert world.sql("select state from jobs") == [("cancelled",)]
    assert user.post("/v1/mail-addresses", {"address": "one.more@news.example"}).status == 202


def test_two_last_addresses_at_once_are_one(world):
    user = world.user()
    world.sql(
        "insert into mail_addresses (id, user_id, address, token)"
        " select gen_random_uuid(), %s, n || '@news.example', n::text from generate_series(1, 49) n",
        user.user_id,
    )
    bodies = [{"address": f"new{number}@news.example"} for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda body: user.post("/v1/mail-addresses", body).status, bodies))
    assert sorted(answers) == [202, 409, 409, 409]
