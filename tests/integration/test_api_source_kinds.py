"""Pages, subreddits and sites as sources, and the choice among a site's feeds, through the API on a real PostgreSQL."""

import json
from typing import Any

import pytest

from siftline.api.sources.opml import NAMESPACE
from siftline.contracts import Queue
from siftline.kit.db import Database
from tests.api_client import ApiClient, World

SITE = "https://site.example/"
WORLD_FEED, SPORT_FEED = f"{SITE}world.xml", f"{SITE}sport.xml"


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def follow(user: ApiClient, url: str, **more: Any) -> dict[str, Any]:
    answer = user.post("/v1/sources", {"url": url, **more})
    assert answer.status in {200, 202}, answer.text
    return dict(user.get(f"/v1/sources/{answer.json['id']}").json)


def undecided(world: World, user: ApiClient, **more: Any) -> str:
    """Follow a site, and let its poll have found two feeds."""
    source_id = str(follow(user, SITE, **more)["id"])
    candidates = [
        {"url": WORLD_FEED, "title": "World", "media_type": "application/rss+xml"},
        {"url": SPORT_FEED, "title": "Sport", "media_type": None},
    ]
    world.sql(
        "update sources set candidates = %s, fetch_status = 'ERROR', last_error_code = 'several_feeds',"
        " last_error_detail = 'Choose.', consecutive_failures = 1 where id = %s",
        json.dumps(candidates),
        source_id,
    )
    world.sql("update jobs set state = 'failed', finished_at = now() where subject_id = %s", source_id)
    return source_id


@pytest.mark.parametrize(
    "url", ["r/Python", "https://old.reddit.com/r/python/", "https://www.reddit.com/r/PYTHON/.rss"]
)
def test_a_subreddit_is_one_source_in_every_spelling(world: World, url: str) -> None:
    user = world.user()
    source = follow(user, "https://www.reddit.com/r/python")
    assert (source["kind"], source["url"]) == ("reddit", "https://www.reddit.com/r/python/")
    assert follow(user, url)["id"] == source["id"]
    assert follow(user, url, kind="reddit")["id"] == source["id"]
    assert world.sender.sent[Queue.FETCH][0].group == f"user:{user.user_id}"


@pytest.mark.parametrize(
    "url", ["feed://site.example/world.xml", "feed:https://site.example/world.xml", f"FEED:{SITE}"]
)
def test_an_address_of_the_feed_scheme_is_what_it_stands_for(world: World, url: str) -> None:
    user = world.user()
    meant = follow(user, SITE if url.startswith("FEED") else WORLD_FEED)
    assert follow(user, url)["id"] == meant["id"]
    outlines = f'<opml version="2.0"><body><outline text="World" xmlUrl="{url}"/></body></opml>'
    answer = user.send("POST", "/v1/opml", body=outlines, headers={"content-type": "text/x-opml"})
    assert [outline["source_id"] for outline in answer.json["outlines"]] == [meant["id"]]


def test_a_kind_that_is_named_wins(world: World) -> None:
    user = world.user()
    sources = [follow(user, "https://www.reddit.com/r/python/.rss", kind=kind) for kind in ("rss", "web", "reddit")]
    assert [source["kind"] for source in sources] == ["rss", "web", "reddit"]
    assert len({source["id"] for source in sources}) == 3


def test_one_page_by_two_selectors_is_two_sources(world: World) -> None:
    user = world.user()
    plain = follow(user, SITE)
    by_itself = follow(user, SITE, kind="web")
    chosen = follow(user, SITE, kind="web", selector=" main h2 a ")
    other = follow(user, SITE, kind="web", selector="aside a")
    assert len({source["id"] for source in (plain, by_itself, chosen, other)}) == 4
    assert [source["selector"] for source in (plain, by_itself, chosen)] == [None, None, "main h2 a"]
    assert follow(user, f"{SITE}#top", kind="web", selector="main h2 a")["id"] == chosen["id"]
    refused = user.post("/v1/sources", {"url": SITE, "selector": "a"}).json
    assert refused["errors"][0]["pointer"] == "#/selector"


@pytest.mark.parametrize(
    "selector", ["h3 >", "a::before", "a:nonsense", "[", "div/a", "{}", ":is(" * 125, "a:lang('')"]
)
def test_a_selector_that_is_none_is_refused_when_it_is_given(world: World, selector: str) -> None:
    user = world.user()
    answer = user.post("/v1/sources", {"url": SITE, "kind": "web", "selector": selector})
    assert (answer.status, answer.json["code"]) == (422, "invalid_selector")
    outlines = (
        f'<opml version="2.0" xmlns:siftline="{NAMESPACE}"><body>'
        f'<outline text="Page" xmlUrl="{SITE}" siftline:kind="web" siftline:selector="{selector}"/></body></opml>'
    )
    sent = user.send("POST", "/v1/opml", body=outlines, headers={"content-type": "text/x-opml"}).json
    assert [outline["outcome"] for outline in sent["outlines"]] == ["refused"], sent
    assert user.get("/v1/sources").json["items"] == []
    # AND costs the outlines beside it nothing
    beside = outlines.replace("<body>", f'<body><outline text="World" xmlUrl="{WORLD_FEED}"/>')
    sent = user.send("POST", "/v1/opml", body=beside, headers={"content-type": "text/x-opml"}).json
    assert [outline["outcome"] for outline in sent["outlines"]] == ["subscribed", "refused"], sent


def test_the_feeds_to_choose_from_are_shown(world: World) -> None:
    user = world.user()
    source_id = undecided(world, user)
    source = user.get(f"/v1/sources/{source_id}").json
    assert source["last_error"]["code"] == "several_feeds"
    assert source["candidates"][0] == {"url": WORLD_FEED, "title": "World", "media_type": "application/rss+xml"}
    assert user.get("/v1/sources").json["items"][0]["candidates"] == source["candidates"]


def test_choosing_moves_the_subscription_with_all_its_wishes(world: World) -> None:
    """Case F31: ask when unsure."""
    user = world.user()
    folder = user.post("/v1/folders", {"name": "News"}).json
    wishes = {"title": "Mine", "topics": ["World"], "refresh_minutes": 30, "first_import": "newest:3"}
    wishes["folder_ids"] = [folder["id"]]
    source_id = undecided(world, user, **wishes)
    answer = user.post(f"/v1/sources/{source_id}/choose", {"url": WORLD_FEED})
    assert (answer.status, answer.json["status"]) == (202, "QUEUED")
    source = user.get(answer.headers["location"]).json
    assert (source["url"], source["title"], source["topics"]) == (WORLD_FEED, "Mine", ["World"])
    assert (source["refresh_minutes"], source["own_refresh_minutes"]) == (30, 30)
    assert source["folders"] == [{"id": folder["id"], "name": "News"}]
    assert world.sql("select first_import from sources where url = %s", WORLD_FEED) == [("newest:3",)]
    # AND the site is followed no longer, nor polled
    assert user.get(f"/v1/sources/{source_id}").status == 404
    assert world.sql("select health from sources where id = %s", source_id) == [("inactive",)]
    assert len(user.get("/v1/sources").json["items"]) == 1


def test_others_who_wait_for_a_choice_keep_it(world: World) -> None:
    first, second = world.user(), world.user()
    source_id = undecided(world, first)
    follow(second, SITE)
    first.post(f"/v1/sources/{source_id}/choose", {"url": WORLD_FEED})
    assert len(second.get(f"/v1/sources/{source_id}").json["candidates"]) == 2
    assert world.sql("select health from sources where id = %s", source_id) == [("active",)]


def test_choosing_what_one_follows_already_only_leaves_the_site(world: World) -> None:
    user = world.user()
    feed = follow(user, WORLD_FEED, title="Old")
    source_id = undecided(world, user, title="New")
    answer = user.post(f"/v1/sources/{source_id}/choose", {"url": WORLD_FEED})
    assert (answer.status, answer.json["id"]) == (200, feed["id"])
    assert [source["title"] for source in user.get("/v1/sources").json["items"]] == ["Old"]


def test_a_page_that_names_itself_stays_followed(world: World) -> None:
    user = world.user()
    source_id = undecided(world, user)
    world.sql(
        """update sources set candidates = '[{"url": "https://site.example/", "title": "", "media_type": null}]'"""
    )
    assert user.post(f"/v1/sources/{source_id}/choose", {"url": SITE}).json["id"] == source_id
    assert user.get(f"/v1/sources/{source_id}").status == 200


def test_only_a_candidate_can_be_chosen_and_only_by_a_follower(world: World) -> None:
    user, stranger = world.user(), world.user()
    source_id = undecided(world, user)
    refused = user.post(f"/v1/sources/{source_id}/choose", {"url": "https://elsewhere.example/feed"})
    assert (refused.status, refused.code) == (422, "not_a_candidate")
    assert refused.json["errors"][0]["pointer"] == "#/url"
    assert stranger.post(f"/v1/sources/{source_id}/choose", {"url": WORLD_FEED}).code == "not_found"
    world.sql(
        """update sources set candidates = '[{"url": "http://10.0.0.1/feed", "title": "", "media_type": null}]'"""
    )
    assert user.post(f"/v1/sources/{source_id}/choose", {"url": "http://10.0.0.1/feed"}).code == "address_refused"
    assert user.get(f"/v1/sources/{source_id}").status == 200
