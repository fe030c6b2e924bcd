"""Tokens, the authorizer and the caller's own data, on a real PostgreSQL."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from siftline.api.account.tokens_store import UnknownTimeZoneError, add_token, add_user
from siftline.api.http.authorize import Authorizer
from siftline.api.http.callers import Scope
from siftline.kit.db import Database, DatabaseUnavailableError, SingleConnection
from siftline.kit.ids import new_id
from tests.api_client import World, sent
from tests.http_events import authorizer_event, http_event


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


@pytest.fixture
def authorizer(database: Database) -> Authorizer:
    return Authorizer(database)


def issued(database: Database, *scopes: Scope, expires_at: datetime | None = None) -> str:
    with database.transaction() as connection:
        user_id = add_user(connection, f"Ada {new_id()}", "Europe/Berlin")
        return add_token(connection, user_id, "laptop", scopes or (Scope.READ,), expires_at)[0]


def test_a_token_is_let_in_with_its_user_and_scopes(database: Database, authorizer: Authorizer) -> None:
    token = issued(database, Scope.WRITE, Scope.READ)
    answer = authorizer(authorizer_event(f"Bearer {token}"))
    assert answer["isAuthorized"] is True
    with database.transaction() as connection:
        [row] = connection.execute("select user_id::text, id::text from access_tokens").fetchall()
    assert answer["context"] == {"user_id": row[0], "token_id": row[1], "scopes": "read write"}


def test_the_secret_itself_is_not_stored(database: Database) -> None:
    token = issued(database)
    with database.transaction() as connection:
        assert token not in str(connection.execute("select * from access_tokens").fetchall())


@pytest.mark.parametrize(
    "spell",
    [
        lambda token: None,
        lambda token: "",
        lambda token: token,
        lambda token: f"Basic {token}",
        lambda token: f"Bearer {token} ",
        lambda token: f"Bearer {token}, Bearer {token}",
        lambda token: f"Bearer {token[:-1]}",
        lambda token: f"Bearer {token}x",
        lambda token: f"Bearer\t{token}",
        lambda token: f"Bearer {token[:-1]}{'A' if token[-1] != 'A' else 'B'}",
        lambda token: "Bearer " + "x" * 100_000,
        lambda token: "Bearer sl_' or 1=1 --",
    ],
)
def test_anything_but_one_known_bearer_token_is_nobody(database: Database, authorizer: Authorizer, spell: Any) -> None:
    token = issued(database)
    assert authorizer(authorizer_event(spell(token))) == {"isAuthorized": False, "context": {}}


def test_the_schemes_name_is_caseless(database: Database, authorizer: Authorizer) -> None:
    assert authorizer(authorizer_event(f"bearer {issued(database)}"))["isAuthorized"] is True


def test_a_token_ends_at_its_time(database: Database, authorizer: Authorizer) -> None:
    over = issued(database, expires_at=datetime.now(UTC) - timedelta(seconds=1))
    valid = issued(database, expires_at=datetime.now(UTC) + timedelta(hours=1))
    assert authorizer(authorizer_event(f"Bearer {over}"))["isAuthorized"] is False
    assert authorizer(authorizer_event(f"Bearer {valid}"))["isAuthorized"] is True


def test_a_database_that_is_away_lets_nobody_in(authorizer: Authorizer) -> None:
    away = Authorizer(SingleConnection("postgresql://127.0.0.1:1/none", connect_timeout_s=2))
    with pytest.raises(DatabaseUnavailableError):
        away(authorizer_event("Bearer sl_" + "a" * 43))
    assert away(authorizer_event("Bearer nonsense"))["isAuthorized"] is False


def test_a_made_token_works_until_it_is_revoked(world: World, authorizer: Authorizer) -> None:
    user = world.user()
    made = user.post("/v1/tokens", {"name": "laptop", "scopes": ["read"]})
    assert made.status == 201
    token = made.json["token"]
    assert token.startswith("sl_")
    assert len(token) == 46
    context = authorizer(authorizer_event(f"Bearer {token}"))["context"]
    assert context["user_id"] == str(user.user_id)
    assert sent(world.api, http_event("GET", "/v1/items", context=context)).status == 200
    assert sent(world.api, http_event("POST", "/v1/items", body={"url": "x"}, context=context)).status == 403
    assert user.delete(f"/v1/tokens/{made.json['id']}").status == 204
    assert user.delete(f"/v1/tokens/{made.json['id']}").status == 204
    assert authorizer(authorizer_event(f"Bearer {token}"))["isAuthorized"] is False
    listed, own = user.get("/v1/tokens").json["items"]
    assert (own["id"], own["revoked_at"]) == (str(user.token_id), None)
    assert listed["revoked_at"]
    assert "token" not in listed


def test_a_token_cannot_make_one_that_allows_more(world: World) -> None:
    answer = world.user().post("/v1/tokens", {"name": "more", "scopes": ["read", "ops"]})
    assert (answer.status, answer.code) == (403, "insufficient_scope")
    operator = world.user("read", "write", "ops")
    assert operator.post("/v1/tokens", {"name": "more", "scopes": ["ops"]}).status == 201


@pytest.mark.parametrize(
    "body",
    [
        {"name": "", "scopes": ["read"]},
        {"name": "x", "scopes": []},
        {"name": "x", "scopes": ["admin"]},
        {"name": "x", "scopes": ["read"], "expires_at": "2020-01-01T00:00:00Z"},
        {"name": "x", "scopes": ["read"], "expires_at": "tomorrow"},
        {"name": "x", "scopes": ["read"], "expires_at": 4_000_000_000},
        {"name": "x\u0000", "scopes": ["read"]},
    ],
)
def test_a_token_that_makes_no_sense_is_refused(world: World, body: dict[str, Any]) -> None:
    assert world.user().post("/v1/tokens", body).code == "invalid_request"


def test_tokens_are_paged_and_each_users_own(world: World) -> None:
    user, stranger = world.user(), world.user()
    made = [user.post("/v1/tokens", {"name": str(n), "scopes": ["read"]}).json["id"] for n in range(3)]
    first = user.get("/v1/tokens", limit=2).json
    second = user.get("/v1/tokens", limit=2, next=first["next"]).json
    assert [one["id"] for one in first["items"] + second["items"]] == [*made[::-1], str(user.token_id)]
    assert [one["id"] for one in stranger.get("/v1/tokens").json["items"]] == [str(stranger.token_id)]
    answers = [stranger.delete(f"/v1/tokens/{wanted}") for wanted in (made[0], new_id(), "x")]
    assert {(answer.status, answer.code) for answer in answers} == {(404, "not_found")}
    assert world.sql("select count(*) from access_tokens where revoked_at is not null") == [(0,)]


def test_me_can_be_seen_and_changed(world: World) -> None:
    user, other = world.user(name="Ada"), world.user(name="Bob")
    me = user.get("/v1/me").json
    assert (me["id"], me["name"], me["time_zone"], me["scopes"]) == (str(user.user_id), "Ada", "UTC", ["read", "write"])
    changed = user.patch("/v1/me", {"time_zone": "Europe/Berlin", "interests": "solar <b>energy</b>"})
    assert (changed.json["time_zone"], changed.json["name"]) == ("Europe/Berlin", "Ada")
    assert changed.json["interests"] == "solar <b>energy</b>"
    assert "<" not in changed.text
    assert user.patch("/v1/me", {"interests": ""}).json["interests"] == ""
    assert other.get("/v1/me").json["time_zone"] == "UTC"


@pytest.mark.parametrize("zone", ["Mars/Base", "", "europe/berlin", "UTC+3", "'; drop table users", "../etc/passwd"])
def test_an_unknown_time_zone_is_refused(world: World, zone: str) -> None:
    answer = world.user().patch("/v1/me", {"time_zone": zone})
    assert (answer.status, answer.json["errors"][0]["code"]) == (422, "unknown_time_zone")


def test_a_user_needs_a_known_time_zone(database: Database) -> None:
    with database.transaction() as connection, pytest.raises(UnknownTimeZoneError):
        add_user(connection, "Ada", "Mars/Base")


def test_a_deleted_user_is_nobody(world: World) -> None:
    user = world.user()
    world.sql("delete from users")
    assert user.get("/v1/me").code == "unauthorized"
