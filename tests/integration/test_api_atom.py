"""Feeds out, over a real PostgreSQL: tokens in addresses, valid Atom, who is told of changes, and no secret told."""

import json
import traceback
from typing import Any
from uuid import UUID
from xml.etree import ElementTree as ET  # read here are our own feeds

import feedparser
import pytest

from siftline.api.feed.feed_tokens import FEED_TOKENS_MAX
from siftline.api.http.authorize import Authorizer
from siftline.fetch.feed.feed_parser import parse
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from tests.api_client import Answered, ApiClient, World, sent
from tests.factories import make_content, make_item
from tests.http_events import authorizer_event, http_event

ATOM = {"a": "http://www.w3.org/2005/Atom"}
OUTSIDE = "https://news.example.org/siftline"
NASTY = "<b>A & B</b> ]]> \u202e\x0b'\""


@pytest.fixture
def world(database: Database) -> World:
    return World(database, public_url=f"{OUTSIDE}/")


@pytest.fixture
def user(world: World) -> ApiClient:
    return world.user()


def token_of(user: ApiClient, kind: str | None = None) -> dict[str, Any]:
    answer = user.post("/v1/feed-tokens", {"name": "phone", "kind": kind})
    assert answer.status == 201, answer.text
    made: dict[str, Any] = answer.json
    return made


def read(world: World, token: str | None, path: str = "/v1/feed.atom", **headers: str) -> Answered:
    """Ask as a feed reader does: with no caller, and a token in the query."""
    sent_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    query = {} if token is None else {"token": token}
    return sent(world.api, http_event("GET", path, query=query, headers=sent_headers))


def hold(world: World, user: ApiClient, score: float, **columns: Any) -> UUID:
    with world.database.transaction() as connection:
        content_id = make_content(connection, **({"status": "READY", "title": f"Title {score}"} | columns))
        item_id = make_item(connection, user.user_id, content_id)
        connection.execute("update items set score = %s where id = %s", (score, item_id))
    return item_id


def edition(world: World, user: ApiClient, period: str, html: str) -> UUID:
    briefing_id, edition_id = new_id(), new_id()
    document = {"briefing": {"name": "Morning"}, "stories": [{"title": f"Story of {period}"}]}
    world.sql(
        "insert into briefings (id, user_id, name, frequency, at, unsubscribe_token)"
        " values (%s, %s, 'Morning', 'DAILY', '07:00', %s)",
        briefing_id,
        user.user_id,
        str(briefing_id),
    )
    world.sql(
        "insert into editions (id, briefing_id, user_id, period_key, due_at, window_from, window_until, stories,"
        " document, html, plain, read_token, made_at)"
        " values (%s, %s, %s, %s, now(), now(), now(), 1, %s, %s, '', %s, %s)",
        *(edition_id, briefing_id, user.user_id, period, json.dumps(document), html, f"read-{period}"),
        f"{period}T07:00:00Z",
    )
    return edition_id


def test_a_feed_reader_reads_the_ranked_feed_best_first_under_ids_that_stay(world: World, user: ApiClient) -> None:
    low, high = hold(world, user, 0.2), hold(world, user, 0.9, summary="Said <i>so</i>.", author="Ada")
    token = token_of(user, "feed")["token"]

    answer = read(world, token)
    polls = [feedparser.parse(read(world, token).text) for _ in range(2)]

    assert answer.status == 200
    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    assert answer.headers["cache-control"] == "private, max-age=300"
    for found in polls:
        assert not found.bozo
        assert found.version == "atom10"
        assert [entry.id for entry in found.entries] == [f"urn:uuid:{high}", f"urn:uuid:{low}"]
        assert found.entries[0].title == "Title 0.9"
        # Not by feedparser's own field: where the product's handlers are loaded, they keep authors elsewhere.
        assert "<author><name>Ada</name></author>" in answer.text
        assert found.entries[0].summary == "Said <i>so</i>."
        assert found.entries[0].summary_detail.type == "text/plain"
        assert found.entries[0].link.startswith("https://news.example/")
        assert found.feed.id == polls[0].feed.id
        assert found.feed.updated_parsed
    user.patch(f"/v1/items/{high}", {"read": True})
    assert [entry.id for entry in feedparser.parse(read(world, token).text).entries] == [f"urn:uuid:{low}"]


def test_siftline_itself_can_follow_it(world: World, user: ApiClient) -> None:
    item_id = hold(world, user, 0.9, title=NASTY, url="https://news.example/a?b=1&c=\u00e9")
    made = token_of(user)

    feed = parse(read(world, made["token"]).text.encode(), url=made["urls"]["feed"])

    [entry] = feed.entries
    assert entry.guid == f"urn:uuid:{item_id}"
    assert entry.link == "https://news.example/a?b=1&c=%C3%A9"
    assert "A & B" in str(entry.title)


def test_it_is_what_rfc_4287_asks_for(world: World, user: ApiClient) -> None:
    hold(world, user, 0.9, title=NASTY, summary=NASTY, site_name=NASTY)
    edition(world, user, "2026-11-27", f"<html><body class='x'><p>{NASTY}</p></body></html>")
    made = token_of(user)
    for path in ("/v1/feed.atom", "/v1/editions.atom"):
        root = ET.fromstring(read(world, made["token"], path).text)  # noqa: S314  # our own
        assert root.tag == f"{{{ATOM['a']}}}feed"
        [link] = root.findall("a:link[@rel='self']", ATOM)
        assert link.get("href") == f"{OUTSIDE}{path}?token={made['token']}"
        for node in [root, *root.findall("a:entry", ATOM)]:
            for name in ("id", "title", "updated"):
                assert len(node.findall(f"a:{name}", ATOM)) == 1, (path, name)
            assert str(node.findtext("a:id", namespaces=ATOM)).startswith("urn:uuid:")
            assert node.findtext("a:author/a:name", namespaces=ATOM)
            assert str(node.findtext("a:updated", namespaces=ATOM)).endswith("Z")
        for link in root.iter(f"{{{ATOM['a']}}}link"):
            assert str(link.get("href")).startswith("https://"), "links are absolute"
        assert {node.get("type") for node in root.iter(f"{{{ATOM['a']}}}title")} == {"text"}


def test_one_story_is_one_entry_that_stays_the_same_when_another_item_leads(world: World, user: ApiClient) -> None:
    first = hold(world, user, 0.5)
    [[content_id]] = world.sql("select content_id from items")
    token = token_of(user)["token"]
    assert [entry.id for entry in feedparser.parse(read(world, token).text).entries] == [f"urn:uuid:{first}"]

    hold(world, user, 0.9, title="Better", duplicate_of=content_id)

    [entry] = feedparser.parse(read(world, token).text).entries
    assert (entry.id, entry.title) == (f"urn:uuid:{first}", "Better")
    assert [link.rel for link in entry.links] == ["alternate", "related"]


def test_editions_are_entries_with_their_page_and_links_that_the_host_does_not_choose(
    world: World, user: ApiClient
) -> None:
    old = edition(world, user, "2026-11-26", "<p>Old</p>")
    new = edition(
        world, user, "2026-11-27", "<!doctype html><html><head><style>p {}</style></head><body><p>New</p></body></html>"
    )
    token = token_of(user, "editions")["token"]

    found = feedparser.parse(read(world, token, "/v1/editions.atom", host="evil.example").text)

    assert [entry.id for entry in found.entries] == [f"urn:uuid:{new}", f"urn:uuid:{old}"]
    assert found.entries[0].title == "Morning: 2026-11-27"
    assert found.entries[0].link.startswith(f"{OUTSIDE}/v1/read/")
    path = found.entries[0].link.removeprefix(OUTSIDE)
    assert "New" in sent(world.api, http_event("GET", path)).text
    assert found.entries[0].content[0].type == "text/html"
    assert found.entries[0].content[0].value == "<p>New</p>"
    assert found.entries[0].summary == "1 story: Story of 2026-11-27"
    assert found.entries[0].updated == "2026-11-27T07:00:00Z"


def test_an_edition_that_was_asked_for_is_named_by_its_readers_clock(world: World, user: ApiClient) -> None:
    edition(world, user, "2026-11-27", "<p>New</p>")
    world.sql(
        "update editions set asked = true, period_key = 'asked 2026-11-28T23:06:29Z', due_at = '2026-11-28T23:06:29Z',"
        """ document = document || '{"time_zone": "Europe/Berlin"}'"""
    )
    [entry] = feedparser.parse(read(world, token_of(user)["token"], "/v1/editions.atom").text).entries
    assert entry.title == "Morning: Sunday, 29 November 2026, 00:06"


def test_a_user_has_so_many_live_feed_tokens_and_no_more(world: World, user: ApiClient) -> None:
    tokens = [token_of(user) for _ in range(FEED_TOKENS_MAX)]
    refused = user.post("/v1/feed-tokens", {"name": "one more"})
    assert (refused.status, refused.code) == (409, "too_many_feed_tokens")
    assert token_of(world.user())["token"]
    user.delete(f"/v1/feed-tokens/{tokens[0]['id']}")
    assert token_of(user)["token"]


def test_editions_beyond_what_a_feed_may_weigh_stand_there_by_their_summary(world: World, user: ApiClient) -> None:
    for day in (25, 26, 27):
        edition(world, user, f"2026-11-{day}", f"<p>{'x' * 900_000}</p>")

    answer = read(world, token_of(user)["token"], "/v1/editions.atom")

    assert len(answer.text) < 2_100_000
    assert ["content" in entry for entry in feedparser.parse(answer.text).entries] == [True, True, False]


def test_who_has_it_already_is_told_so_and_who_has_not_gets_it(world: World, user: ApiClient) -> None:
    hold(world, user, 0.5)
    token = token_of(user)["token"]
    answer = read(world, token)
    etag, changed = answer.headers["etag"], answer.headers["last-modified"]

    for headers in ({"if_none_match": etag}, {"if_none_match": f'"x", {etag}'}, {"if_modified_since": changed}):
        again = read(world, token, **headers)
        assert (again.status, again.text) == (304, ""), headers
        assert (again.headers["etag"], again.headers["last-modified"]) == (etag, changed)
        assert again.headers["cache-control"] == "private, max-age=300"
    assert read(world, token, if_none_match='"x"', if_modified_since=changed).status == 200
    assert read(world, token, if_modified_since="yesterday").status == 200

    hold(world, user, 0.9)
    assert read(world, token, if_none_match=etag).status == 200
    later = read(world, token, if_modified_since=changed)
    assert later.status == 200
    assert later.headers["last-modified"] != changed
    assert later.headers["etag"] != etag


@pytest.mark.parametrize("path", ["/v1/feed.atom", "/v1/editions.atom"])
@pytest.mark.parametrize(
    "since",
    [
        f"Mon, 01 Jan {'9' * 20} 00:00:00 GMT",
        f"Mon, 01 Jan 2999 00:00:00 +{'9' * 20}",
        f"Mon, {'9' * 20} Jan 2999 00:00:00 GMT",
        "Mon, 01 Jan 2999 00:00:00 +9999",
    ],
)
def test_a_date_that_is_none_is_passed_over(world: World, user: ApiClient, path: str, since: str) -> None:
    token = token_of(user, **({"kind": "editions"} if "editions" in path else {}))["token"]
    assert read(world, token, path, if_modified_since="Mon, 01 Jan 2999 00:00:00 GMT").status == 304
    assert read(world, token, path, if_modified_since=since).status == 200


def test_it_is_sent_packed_to_who_asks_so(world: World, user: ApiClient) -> None:
    hold(world, user, 0.5)
    answer = read(world, token_of(user)["token"], accept_encoding="gzip")

    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["vary"] == "Accept-Encoding"
    assert len(feedparser.parse(answer.text).entries) == 1


def test_a_token_is_shown_once_listed_and_ends_at_once_when_it_is_revoked(world: World, user: ApiClient) -> None:
    made = token_of(user)
    assert made["urls"] == {
        "feed": f"{OUTSIDE}/v1/feed.atom?token={made['token']}",
        "editions": f"{OUTSIDE}/v1/editions.atom?token={made['token']}",
    }
    assert list(token_of(user, "editions")["urls"]) == ["editions"]
    listed = user.get("/v1/feed-tokens")
    assert [(one["name"], one["kind"], one["revoked_at"]) for one in listed.json["items"]] == [
        ("phone", "editions", None),
        ("phone", None, None),
    ]
    assert made["token"] not in listed.text
    assert made["token"] not in str(world.sql("select * from feed_tokens"))
    assert read(world, made["token"]).status == 200

    assert user.delete(f"/v1/feed-tokens/{made['id']}").status == 204
    assert user.delete(f"/v1/feed-tokens/{made['id']}").status == 204
    assert read(world, made["token"]).status == 404
    assert user.get("/v1/feed-tokens").json["items"][1]["revoked_at"] is not None


def test_whatever_is_wrong_with_a_token_is_answered_alike(world: World, user: ApiClient) -> None:
    gone = token_of(user)
    user.delete(f"/v1/feed-tokens/{gone['id']}")
    other_feed = token_of(user, "editions")["token"]
    bearer = user.post("/v1/tokens", {"name": "laptop", "scopes": ["read"]}).json["token"]
    answers = [
        read(world, token) for token in (None, "", "x", "sf_" + "a" * 43, gone["token"], other_feed, bearer, "é" * 46)
    ]

    assert {(answer.status, answer.text) for answer in answers} == {(404, answers[0].text)}
    assert {answer.headers["cache-control"] for answer in answers} == {"no-store"}


def test_it_opens_nothing_else_and_nobody_elses(world: World, user: ApiClient, database: Database) -> None:
    hold(world, user, 0.9)
    other = world.user()
    token = token_of(other)["token"]

    assert feedparser.parse(read(world, token).text).entries == []
    assert feedparser.parse(read(world, token, "/v1/editions.atom").text).entries == []
    assert Authorizer(database)(authorizer_event(f"Bearer {token}"))["isAuthorized"] is False
    assert read(world, token, "/v1/feed").status == 401
    assert read(world, token, "/v1/items").status == 401


def test_who_may_not_read_makes_no_token_that_does(world: World) -> None:
    answer = world.user("write").post("/v1/feed-tokens", {"name": "sly"})

    assert (answer.status, answer.code) == (403, "insufficient_scope")
    assert world.sql("select count(*) from feed_tokens") == [(0,)]


def test_no_token_is_logged_even_where_a_request_breaks(
    world: World, user: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    token = token_of(user)["token"]
    read(world, token)
    world.sql("alter table feed_states rename to feed_states_away")
    broken = read(world, token)
    world.sql("alter table feed_states_away rename to feed_states")

    assert broken.status == 500
    [record] = caplog.records
    assert record.getMessage() == "request_failed"
    assert record.exc_info is not None
    told = [str(vars(record)), *traceback.format_exception(*record.exc_info)]
    assert not [text for text in [*told, broken.text] if token in text]


def test_a_head_request_is_answered_as_a_get_is(world: World, user: ApiClient) -> None:
    token = token_of(user)["token"]
    answer = sent(world.api, http_event("HEAD", "/v1/feed.atom", query={"token": token}))

    assert answer.status == 200
    assert answer.headers["etag"] == read(world, token).headers["etag"]
