"""All that one has can be taken along: page by page through the API, or into a file, and it is what the API showed."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from infra.local.export import main
from siftline.kit.db import Database
from siftline.operate.user_command import delete_user
from tests.accounts import OWN_FEED, OWN_PAGE, SHARED_PAGE, Household, household
from tests.api_client import ApiClient, World
from tests.factories import make_content, make_item

ANSWER_MAX_BYTES = 6 * 1024 * 1024


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


@pytest.fixture
def home(world: World) -> Household:
    return household(world)


def pages(user: ApiClient, **query: Any) -> list[list[dict[str, Any]]]:
    """Return all pages of a user's export."""
    found, following = [], None
    while True:
        answered = user.get("/v1/export", **query, **({"next": following} if following else {}))
        assert answered.status == 200, answered.text
        assert len(answered.text.encode()) < ANSWER_MAX_BYTES
        found.append(answered.json["items"])
        following = answered.json["next"]
        if following is None:
            return found


def exported(user: ApiClient, **query: Any) -> dict[str, list[dict[str, Any]]]:
    kinds: dict[str, list[dict[str, Any]]] = {}
    for page in pages(user, **query):
        for record in page:
            kinds.setdefault(record["kind"], []).append(record["data"])
    return kinds


def shown(user: ApiClient) -> dict[str, Any]:
    """Return what the API shows of all that a user has."""
    items = [user.get(f"/v1/items/{one['id']}").json for one in user.get("/v1/items").json["items"]]
    return {
        "me": user.get("/v1/me").json,
        "items": {one["id"]: one for one in items},
        "sources": {one["id"]: one for one in user.get("/v1/sources").json["items"]},
        "folders": user.get("/v1/folders").json["items"],
        "topics": user.get("/v1/topics").json["own"],
        "briefings": {one["id"]: one for one in user.get("/v1/briefings").json["items"]},
        "editions": [user.get(f"/v1/editions/{one['id']}").json for one in user.get("/v1/editions").json["items"]],
        "tokens": {one["id"]: one for one in user.get("/v1/tokens").json["items"]},
        "ledger": {one["id"]: one for one in user.get("/v1/me/credits").json["items"]},
    }


def test_what_is_exported_before_an_account_is_deleted_is_what_the_api_showed(world: World, home: Household) -> None:
    # Times with and without fractions, and such as end in a nought, are written as the API writes them.
    for nth, at in enumerate(["2026-01-02 03:04:05.35867+00", "2026-01-02 03:04:05+00", "2026-01-02 03:04:05.1+02"]):
        world.sql(
            "update items set created_at = %s where id = (select id from items where user_id = %s"
            " order by id offset %s limit 1)",
            at,
            home.ada.user_id,
            nth,
        )
    before = shown(home.ada)
    kinds = exported(home.ada, limit=2)
    assert delete_user(world.database, home.ada.user_id)
    [profile] = kinds["profile"]
    assert {name: profile[name] for name in ("id", "name", "time_zone", "interests", "credits")} == {
        name: before["me"][name] for name in ("id", "name", "time_zone", "interests", "credits")
    }
    same = ("url", "title", "note", "text", "summary", "status", "saved", "source_id", "topics", "own_topics", "lang")
    assert {one["id"]: [one[name] for name in same] for one in kinds["item"]} == {
        id_: [one[name] for name in same] for id_, one in before["items"].items()
    }
    assert {one["id"]: one["tags"] for one in kinds["item"]} == {
        id_: one["own_tags"] for id_, one in before["items"].items()
    }
    assert {one["url"] for one in kinds["item"]} == {f"{SHARED_PAGE}?utm_source=SpeltByAda#SpeltByAda", OWN_PAGE}
    followed = ("url", "title", "kind", "feed_url")
    assert {one["source_id"]: [one[name] for name in followed] for one in kinds["source"]} == {
        id_: [one[name] for name in followed] for id_, one in before["sources"].items()
    }
    assert [(one["id"], one["name"]) for one in kinds["folder"]] == [
        (one["id"], one["name"]) for one in before["folders"]
    ]
    assert [one["folders"] for one in kinds["source"]] == [["adas-folder"]] * 2
    assert OWN_FEED in {one["url"] for one in kinds["source"]}
    assert [one["id"] for set_ in kinds["topic_set"] for one in set_["topics"]] == [
        one["id"] for one in before["topics"]
    ]
    assert {one["id"]: one["name"] for one in kinds["briefing"]} == {
        id_: one["name"] for id_, one in before["briefings"].items()
    }
    assert [one["document"]["briefing"] for one in kinds["edition"]] == [
        one["document"]["briefing"] for one in before["editions"]
    ]
    assert {one["id"]: (one["name"], one["scopes"]) for one in kinds["token"]} == {
        id_: (one["name"], one["scopes"]) for id_, one in before["tokens"].items()
    }
    assert [one["address"] for one in kinds["mail_address"]] == ["ada.mail@post.example"]
    assert {one["id"]: one["amount"] for one in kinds["credit_entry"]} == {
        id_: one["amount"] for id_, one in before["ledger"].items()
    }
    assert [one["micro_usd"] for one in kinds["spending"]] == [700]
    assert {"deleted_item", "delivery", "feed_token"} <= kinds.keys()
    assert {one["id"]: one["created_at"] for one in kinds["item"]} == {
        id_: one["created_at"] for id_, one in before["items"].items()
    }
    times = {word for records in kinds.values() for one in records for name, word in one.items() if name[-3:] == "_at"}
    assert {word[-1] for word in times - {None}} == {"Z"}


def test_nothing_that_opens_anything_and_nothing_of_others_is_exported(world: World, home: Household) -> None:
    secrets = [
        value
        for (value,) in world.sql(
            "select signing_key from briefings where signing_key is not null"
            " union select unsubscribe_token from briefings"
            " union select read_token from editions union select token from mail_addresses"
            " union select encode(token_sha256, 'hex') from access_tokens"
        )
    ]
    text = json.dumps(pages(home.ada))
    assert len(secrets) > 4
    assert [secret for secret in secrets if secret in text] == []
    assert str(home.neighbour.user_id) not in text
    assert exported(home.neighbour)["item"][0]["note"] is None


@pytest.mark.parametrize("limit", [1, 3, 200])
def test_pages_of_any_size_hold_every_record_once(home: Household, limit: int) -> None:
    found = pages(home.ada, limit=limit)
    records = [json.dumps(record, sort_keys=True) for page in found for record in page]
    assert len(records) == len(set(records)) == sum(map(len, pages(home.ada)))
    assert max(map(len, found)) <= limit


def test_long_texts_part_pages_so_that_each_answer_can_be_sent(world: World) -> None:
    user = world.user()
    with world.database.transaction() as connection:
        for number in range(12):
            text = "\u6f22\u5b57" * 100_000 + str(number)
            make_item(connection, user.user_id, make_content(connection, status="READY", text=text))
    found = pages(user, limit=200)
    assert len(found) > 2
    assert sum(record["kind"] == "item" for page in found for record in page) == 12


def test_a_next_of_another_list_is_refused(home: Household) -> None:
    other = home.ada.get("/v1/items", limit=1).json["next"]
    for word in (other, "nonsense"):
        assert home.ada.get("/v1/export", next=word).code == "invalid_cursor"


@pytest.mark.parametrize("key", ["\ud800", "\x00", "a\udfffb", None, 7, ["\ud800"], {"\ud800": 1}], ids=repr)
def test_a_next_with_a_key_that_is_none_is_refused(home: Household, key: object) -> None:
    following = home.ada.get("/v1/export", limit=1).json["next"]
    section, _, bound = json.loads(base64.urlsafe_b64decode(following + "=="))
    forged = base64.urlsafe_b64encode(json.dumps([section, key, bound]).encode()).decode().rstrip("=")
    answer = home.ada.get("/v1/export", limit=1, next=forged)
    assert (answer.status, answer.code) == (422, "invalid_cursor")


def test_the_command_writes_the_same_records_into_a_file_of_their_own(
    home: Household,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    out = tmp_path / "ada.json"
    assert main(["--user", "adalovelace", "--out", str(out)]) == 0
    written = json.loads(out.read_text(encoding="utf-8"))
    assert out.stat().st_mode & 0o777 == 0o600
    assert written["items"] == [record for page in pages(home.ada) for record in page]
    assert capsys.readouterr().out == f"{len(written['items'])} records in {out}\n"
    assert main(["--user", "adalovelace", "--out", str(out)]) == 1
    assert main(["--user", "Nobody", "--out", str(tmp_path / "none.json")]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["ada.json"]
