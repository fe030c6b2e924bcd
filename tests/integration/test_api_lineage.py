"""What a token makes allows no more than it does, and ends with it; what it is shown opens no more either."""

import json
import re
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from siftline.api.http.authorize import Authorizer
from siftline.kit.db import Database
from tests.api_client import Answered, ApiClient, World, sent
from tests.briefing import LINKS, Desk
from tests.http_events import authorizer_event, http_event
from tests.simulated_time import simulated_time

SOON = timedelta(seconds=20)


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


@pytest.fixture
def authorizer(database: Database) -> Authorizer:
    return Authorizer(database)


def ending(world: World, user: ApiClient, expires_at: datetime | None, *scopes: str) -> ApiClient:
    """Return the user by another token, which ends at a time."""
    return world.client(user.user_id, *(scopes or ("read", "write")), expires_at=expires_at)


def in_a_while(world: World, spell: timedelta) -> datetime:
    [(moment,)] = world.sql("select now() + %s", spell)
    return moment


def holder_of(authorizer: Authorizer, made: Answered, world: World) -> ApiClient | None:
    """Return who a made token is by the authorizer."""
    answer = authorizer(authorizer_event(f"Bearer {made.json['token']}"))
    if not answer["isAuthorized"]:
        return None
    client = ApiClient(world.api, UUID(answer["context"]["user_id"]), answer["context"]["scopes"].split())
    client.token_id = UUID(answer["context"]["token_id"])
    client._context = dict(answer["context"])
    return client


def make(client: ApiClient, *scopes: str, **more: Any) -> Answered:
    made = client.post("/v1/tokens", {"name": "child", "scopes": list(scopes or ("read", "write")), **more})
    assert made.status == 201, made.text
    return made


def when(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize("asked", [None, timedelta(days=400), timedelta(seconds=5)], ids=["never", "later", "sooner"])
def test_a_token_that_a_token_made_ends_no_later(world: World, authorizer: Authorizer, asked: timedelta | None) -> None:
    """Case T33."""
    end = in_a_while(world, SOON)
    parent = ending(world, world.user(), end)
    more = {} if asked is None else {"expires_at": in_a_while(world, asked).isoformat()}
    made = make(parent, **more)
    assert when(made.json["expires_at"]) == (when(more["expires_at"]) if asked and asked < SOON else end)
    child = holder_of(authorizer, made, world)
    assert child is not None
    assert when(make(child).json["expires_at"]) <= when(made.json["expires_at"])


def test_a_token_without_an_end_makes_one_with_and_without(world: World) -> None:
    user = world.user()
    assert make(user).json["expires_at"] is None
    end = in_a_while(world, timedelta(days=3))
    assert when(make(user, expires_at=end.isoformat()).json["expires_at"]) == end


def test_a_token_that_ended_is_nobody_though_the_gateway_keeps_the_authorizers_answer(
    world: World, authorizer: Authorizer
) -> None:
    """Case T33."""
    end = world.clock.now() + timedelta(days=30)
    made = make(ending(world, world.user(), end))
    child = holder_of(authorizer, made, world)
    assert child is not None
    assert child.get("/v1/me").status == 200
    world.clock.move(30 * 86_400 - 1)
    assert child.get("/v1/me").status == 200
    world.clock.move(1)
    assert child.get("/v1/me").code == "unauthorized"


def test_a_token_that_is_over_makes_none_though_the_gateway_still_knows_it(world: World) -> None:
    """Case T33."""
    user = world.user()
    late = ending(world, user, in_a_while(world, -SOON))
    gone = world.client(user.user_id)
    assert user.delete(f"/v1/tokens/{gone.token_id}").status == 204
    for client in (late, gone):
        assert client.post("/v1/tokens", {"name": "x", "scopes": ["read"]}).code == "unauthorized"
        assert client.post("/v1/feed-tokens", {"name": "x"}).code == "unauthorized"


def test_revoking_a_token_ends_all_that_came_of_it_and_nothing_else(world: World, authorizer: Authorizer) -> None:
    """Case T33."""
    user, stranger = world.user(), world.user()
    line: list[Answered] = []
    holder: ApiClient | None = user
    for _ in range(4):
        assert holder is not None
        line.append(make(holder))
        holder = holder_of(authorizer, line[-1], world)
    assert holder is not None
    feed = holder.post("/v1/feed-tokens", {"name": "phone", "kind": "feed"}).json
    beside, others = make(user), make(stranger)
    assert user.delete(f"/v1/tokens/{line[1].json['id']}").status == 204
    alive = [holder_of(authorizer, made, world) is not None for made in (*line, beside, others)]
    assert alive == [True, False, False, False, True, True]
    assert sent(world.api, http_event("GET", "/v1/feed.atom", query={"token": feed["token"]})).status == 404
    revoked = {one["id"] for one in user.get("/v1/tokens").json["items"] if one["revoked_at"]}
    assert revoked == {made.json["id"] for made in line[1:]}
    assert all(one["revoked_at"] for one in user.get("/v1/feed-tokens").json["items"])


def test_a_feed_token_ends_with_the_token_that_made_it(world: World) -> None:
    user = world.user()
    end = in_a_while(world, SOON)
    made = ending(world, user, end).post("/v1/feed-tokens", {"name": "phone", "kind": "feed"}).json
    read = http_event("GET", "/v1/feed.atom", query={"token": made["token"]})
    assert when(made["expires_at"]) == end
    assert sent(world.api, read).status == 200
    world.sql("update feed_tokens set expires_at = now() where id = %s", made["id"])
    assert sent(world.api, read).status == 404


def test_what_is_made_while_its_maker_is_being_revoked_ends_too(world: World, authorizer: Authorizer) -> None:
    user = world.user()
    parents = [world.client(user.user_id) for _ in range(6)]
    made: list[Answered] = []

    def breed(parent: ApiClient) -> None:
        for _ in range(5):
            answer = parent.post("/v1/tokens", {"name": "child", "scopes": ["read"]})
            if answer.status == 201:
                made.append(answer)

    threads = [threading.Thread(target=breed, args=(parent,)) for parent in parents]
    for thread in threads:
        thread.start()
    for parent in parents:
        assert user.delete(f"/v1/tokens/{parent.token_id}").status == 204
    for thread in threads:
        thread.join()
    assert [one for one in made if authorizer(authorizer_event(f"Bearer {one.json['token']}"))["isAuthorized"]] == []


# What a page shows ------------------------------------------------------------------------------------------------


@pytest.fixture
def desk(make_database) -> Iterator[Desk]:
    with simulated_time(make_database) as (clock, database):
        yield Desk(database, clock)


@pytest.fixture
def mailed(desk: Desk) -> dict[str, Any]:
    """An edition that was mailed, with the link that stops its briefing."""
    briefing = desk.brief(channel="email", destination="reader@news.example")
    with desk.database.transaction() as connection:
        connection.execute("update briefings set unsubscribe_token = %s", ("stop-" + "s" * 38,))
    desk.item("Ferry runs again")
    desk.run(briefing)
    [edition] = desk.editions(briefing)
    assert f"{LINKS.base_url}/v1/unsubscribe/" in edition["html"]
    assert f"{LINKS.base_url}/v1/unsubscribe/" in edition["plain"]
    return edition


def secrets_of(world: World) -> set[str]:
    """Return every secret of briefings and editions that opens something without a token."""
    rows = world.sql("select unsubscribe_token from briefings union all select read_token from editions")
    return {secret for (secret,) in rows}


def follow(world: World, url: str) -> Answered:
    return sent(world.api, http_event("GET", urlsplit(url).path))


@pytest.mark.parametrize("scopes", [("read",), ("read", "write")], ids=["reads", "writes"])
@pytest.mark.parametrize("accept", ["text/html", "text/plain", "application/json", "*/*"])
def test_no_form_of_an_edition_holds_a_right_beyond_its_readers(
    desk: Desk, mailed: dict[str, Any], accept: str, scopes: tuple[str, ...]
) -> None:
    """Case T34."""
    world = World(desk.database)
    reader = world.client(desk.user_id, *scopes)
    shown = reader.send("GET", f"/v1/editions/{mailed['id']}", headers={"accept": accept})
    listed = reader.get("/v1/editions")
    for answer in (shown, listed):
        assert answer.status == 200
        assert "unsubscribe" not in answer.text
        assert "Stop this briefing" not in answer.text
        assert not [secret for secret in secrets_of(world) if secret in answer.text]
    assert "Ferry runs again" in shown.text


def test_the_page_that_a_reader_is_shown_closes_with_the_readers_token(desk: Desk, mailed: dict[str, Any]) -> None:
    """Case T34."""
    world = World(desk.database)
    reader, other = world.client(desk.user_id, "read"), world.client(desk.user_id)
    [listed], [beside] = reader.get("/v1/editions").json["items"], other.get("/v1/editions").json["items"]
    page = follow(world, listed["page_url"])
    assert page.status == 200
    assert "Ferry runs again" in page.text
    assert not [secret for secret in secrets_of(world) if secret in page.text]
    shown = reader.send("GET", f"/v1/editions/{mailed['id']}", headers={"accept": "text/html"}).text
    found = re.search(r'href="([^"]*/v1/read/[^"]*)"', shown)
    assert found
    assert urlsplit(found[1]).path == urlsplit(listed["page_url"]).path

    assert other.delete(f"/v1/tokens/{reader.token_id}").status == 204
    assert follow(world, listed["page_url"]).status == 404
    assert follow(world, beside["page_url"]).status == 200
    world.sql("update access_tokens set expires_at = now() - interval '1 second'")
    assert follow(world, beside["page_url"]).status == 404
    assert follow(world, f"/v1/read/{mailed['read_token']}").status == 200  # what was mailed stays readable


def test_a_link_opens_nothing_that_it_was_not_made_for(desk: Desk, mailed: dict[str, Any]) -> None:
    world = World(desk.database)
    reader, stranger = world.client(desk.user_id, "read"), world.user("read")
    unable = world.client(desk.user_id, "write")
    [listed] = reader.get("/v1/editions").json["items"]
    link = listed["page_url"].rpartition("/")[2]
    edition, ours = mailed["id"].bytes, reader.token_id.bytes
    raw = urlsafe_b64decode(link)
    assert raw[:32] == edition + ours
    forged = [
        edition + stranger.token_id.bytes + raw[32:],
        edition + unable.token_id.bytes + raw[32:],
        reader.token_id.bytes + ours + raw[32:],
        raw[:-1] + bytes([raw[-1] ^ 1]),
        raw[:32] + bytes(16),
    ]
    for one in forged:
        assert follow(world, f"/v1/read/{urlsafe_b64encode(one).decode()}").status == 404
    for text in (link[:-1], link + "A", link[:-1] + "=", "A" * 64):
        assert follow(world, f"/v1/read/{text}").status == 404


def test_a_feed_of_editions_opens_them_as_long_as_its_token_lives(desk: Desk, mailed: dict[str, Any]) -> None:
    """Case T34."""
    world = World(desk.database)
    owner = world.client(desk.user_id)
    made = owner.post("/v1/feed-tokens", {"name": "phone"}).json
    feed = sent(world.api, http_event("GET", "/v1/editions.atom", query={"token": made["token"]}))
    assert feed.status == 200
    assert "unsubscribe" not in feed.text
    assert not [secret for secret in secrets_of(world) if secret in feed.text]
    links = set(re.findall(r"/v1/read/[A-Za-z0-9_-]+", feed.text))
    [link] = links
    assert follow(world, link).status == 200
    assert owner.delete(f"/v1/feed-tokens/{made['id']}").status == 204
    assert follow(world, link).status == 404
    assert json.loads(owner.get(f"/v1/editions/{mailed['id']}").text)["document"]["stories"]
