"""Subscriptions in and out as OPML, through the API on a real PostgreSQL."""

from contextlib import closing
from typing import Any

import psycopg
import pytest

from siftline.contracts import Queue
from siftline.kit.db import Database
from tests.api_client import Answered, ApiClient, World
from tests.factories import make_content

XML = {"content-type": "text/x-opml"}


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def opml(*outlines: str) -> str:
    return f'<?xml version="1.0"?><opml version="2.0"><body>{"".join(outlines)}</body></opml>'


def feed(name: str, *, more: str = "") -> str:
    return f'<outline text="{name}" xmlUrl="https://{name}.example/feed"{more}/>'


def sent(user: ApiClient, body: str | bytes, *, headers: dict[str, str] = XML, **more: Any) -> Answered:
    return user.send("POST", "/v1/opml", body=body, headers=headers, **more)


def outcomes(answer: Answered) -> list[str]:
    assert answer.status == 200, answer.text
    return [outline["outcome"] for outline in answer.json["outlines"]]


def state(world: World) -> list[Any]:
    tables = ("sources", "subscriptions", "jobs", "items", "folders", "folder_sources")
    return [world.sql(f"select * from {table} order by 1, 2, 3") for table in tables]


def test_each_outline_is_answered_on_its_own(world: World) -> None:
    """Case S07: each URL is validated, and each outline has its own answer."""
    user = world.user()
    user.post("/v1/sources", {"url": "https://known.example/feed"})
    answer = sent(
        user,
        opml(
            feed("known"),
            feed("new"),
            '<outline text="broken" xmlUrl="news"/>',
            '<outline text="inside" xmlUrl="http://169.254.169.254/latest"/>',
            '<outline text="empty" xmlUrl=""/>',
            '<outline text="bookmark" type="link" url="https://site.example/story"/>',
            '<outline text="odd" xmlUrl="ftp://new.example/feed"/>',
            '<outline text="again" xmlUrl="https://new.example/feed/#top"/>',
            '<outline text="site" htmlUrl="https://site.example/"/>',
            '<outline text="sub" xmlUrl="https://old.reddit.com/r/Python/.rss"/>',
        ),
    )
    expected = ["already", "subscribed", *["refused"] * 5, "duplicate", "subscribed", "subscribed"]
    assert outcomes(answer) == expected
    assert [answer.json[name] for name in ("subscribed", "already", "duplicate", "refused")] == [3, 1, 1, 5]
    codes = [outline["error"]["code"] for outline in answer.json["outlines"] if outline["error"]]
    assert codes == ["invalid_url", "address_refused", "invalid_url", "not_a_subscription", "unsupported_scheme"]
    listed = {source["id"]: source for source in user.get("/v1/sources").json["items"]}
    assert len(listed) == 4
    assert listed[answer.json["outlines"][7]["source_id"]]["title"] == "new"
    assert listed[answer.json["outlines"][9]["source_id"]]["kind"] == "reddit"


def test_folders_are_folders_and_those_of_duplicates_are_joined_like_their_topics(world: World) -> None:
    user = world.user()
    body = opml(
        f'<outline text="News">{feed("a")}{feed("a")}<outline text="Sea">{feed("c")}</outline></outline>',
        f'<outline text="World">{feed("a")}{feed("b")}</outline><outline text="NEWS">{feed("a")}{feed("b")}</outline>',
        feed("a", more=' category="Ships"'),
    )
    found = ["subscribed", "duplicate", "subscribed", "merged", "subscribed", "duplicate", "merged", "merged"]
    assert outcomes(sent(user, body)) == found
    again = ["already", "duplicate", "already", "already", "already", "duplicate", "already", "already"]
    assert outcomes(sent(user, body)) == again
    within = {
        source["title"]: ([folder["name"] for folder in source["folders"]], source["topics"])
        for source in user.get("/v1/sources").json["items"]
    }
    assert within == {"a": (["News", "World"], ["Ships"]), "b": (["News", "World"], []), "c": (["News", "Sea"], [])}


def test_the_same_file_twice_changes_nothing(world: World) -> None:
    user = world.user()
    body = opml(feed("a"), f'<outline text="News">{feed("b")}</outline>')
    sent(user, body)
    before = state(world)
    assert outcomes(sent(user, body)) == ["already", "already"]
    assert state(world) == before


def test_what_one_follows_already_comes_into_the_folders_of_a_file_too(world: World) -> None:
    user = world.user()
    news = user.post("/v1/folders", {"name": "News"}).json["id"]
    own = {"title": "Mine", "topics": ["Ships"], "refresh_minutes": 30, "folder_ids": [news]}
    user.post("/v1/sources", {"url": "https://a.example/feed", **own})
    user.post("/v1/sources", {"url": "https://site.example/"})
    world.sql("update sources set feed_url = 'https://site.example/rss' where url like '%%site%%'")
    found = '<outline xmlUrl="https://site.example/rss"/>'
    filed = feed("a", more=' category="World"')
    body = opml(f'<outline text="Sea">{filed}{found}</outline>', feed("a"))
    assert outcomes(sent(user, body)) == ["already", "already", "duplicate"]
    sources = user.get("/v1/sources").json["items"]
    assert [[folder["name"] for folder in source["folders"]] for source in sources] == [["Sea"], ["News", "Sea"]]
    mine = sources[1]
    assert (mine["title"], mine["topics"], mine["own_refresh_minutes"]) == ("Mine", ["Ships"], 30)
    # AND the same file once more changes nothing
    before = state(world)
    assert outcomes(sent(user, body)) == ["already", "already", "duplicate"]
    assert state(world) == before


def test_what_one_follows_on_this_machine_comes_back_as_followed_and_nothing_else_there(database: Database) -> None:
    """A file opens no address of this machine; what its owner typed before is theirs already."""
    world = World(database, http_allow_loopback=True)
    user, other = world.user(), world.user()
    for url in ("http://127.0.0.1:9/feed", "http://localhost:9/site"):
        assert user.post("/v1/sources", {"url": url}).status == 202
    page = {"url": "http://127.0.0.1:9/page", "kind": "web", "selector": "h2 a"}
    assert user.post("/v1/sources", page).status == 202
    world.sql("update sources set feed_url = 'http://localhost:9/rss' where url like '%%/site'")
    file = user.send("GET", "/v1/opml").text
    before = state(world)
    answer = sent(user, file)
    assert outcomes(answer) == ["already"] * 3
    assert [one["source_id"] for one in answer.json["outlines"]] == [
        one["id"] for one in user.get("/v1/sources").json["items"]
    ]
    assert outcomes(sent(user, opml('<outline xmlUrl="http://localhost:9/rss"/>'))) == ["already"]
    assert outcomes(sent(user, opml('<outline xmlUrl="http://localhost:9/other"/>'))) == ["refused"]
    assert outcomes(sent(other, file)) == ["refused"] * 3
    assert state(world) == before
    # AND it too comes into the folders of a file
    filed = opml('<outline text="Here"><outline xmlUrl="http://127.0.0.1:9/feed"/></outline>')
    assert outcomes(sent(user, filed)) == ["already"]
    assert user.get("/v1/sources").json["items"][2]["folders"][0]["name"] == "Here"


@pytest.mark.parametrize(
    ("outlines", "status", "code"),
    [
        (100_000, 413, "body_too_large"),
        (2_001, 422, "too_many_outlines"),
    ],
    ids=["bytes", "outlines"],
)
def test_more_outlines_than_allowed_make_nothing(database: Database, outlines: int, status: int, code: str) -> None:
    """Case S07: an OPML file with 100,000 outlines."""
    world = World(database)
    answer = sent(world.user(), opml(*(feed(f"s{number}") for number in range(outlines))))
    assert (answer.status, answer.code) == (status, code)
    assert [len(rows) for rows in state(world)] == [0] * 6
    assert world.sender.sent[Queue.FETCH] == []


def test_as_many_as_allowed_are_followed_in_few_statements_and_fetched_in_turn(world: World, database_url: str) -> None:
    """Case S07: what is taken in is queued with pacing, whatever others have brought."""
    world.sql(
        "with large as (insert into sources (id, kind, url, url_key, next_fetch_at, next_fetch_reason)"
        " values (gen_random_uuid(), 'rss', 'https://large.example', 'https://large.example', now(), '') returning id),"
        " pages as (insert into contents (id, url, url_key) select gen_random_uuid(), place, place"
        " from (select 'https://large.example/' || n from generate_series(1, 8000) n) as made (place) returning id)"
        " insert into source_entries (source_id, entry_key, content_sha256, content_id)"
        " select large.id, pages.id::text, '', pages.id from large, pages"
    )
    with closing(psycopg.connect(database_url, autocommit=True)) as connection:
        connection.execute("analyze contents, source_entries")
    user = world.user()
    assert outcomes(sent(user, opml(*(feed(f"s{number}") for number in range(2_000))))) == ["subscribed"] * 2_000
    jobs = world.sql("select count(*), min(priority), max(priority), min(group_key) from jobs")
    assert jobs == [(2_000, 5, 5, f"user:{user.user_id}")]
    assert len(world.sender.sent[Queue.FETCH]) == 40  # the share of one tenant
    # WHEN somebody follows a single feed, that does not wait behind the list
    world.user().post("/v1/sources", {"url": "https://single.example/feed"})
    assert len(world.sender.sent[Queue.FETCH]) == 41
    assert world.sql("select priority from jobs order by id desc limit 1") == [(20,)]


def test_what_a_source_has_brought_before_is_there_at_once(world: World) -> None:
    first, second = world.user(), world.user()
    source_id = first.post("/v1/sources", {"url": "https://a.example/feed"}).json["id"]
    with world.database.transaction() as connection:
        for number in range(25):
            connection.execute(
                "insert into source_entries (source_id, entry_key, content_sha256, content_id) values (%s, %s, '', %s)",
                (source_id, str(number), make_content(connection)),
            )
        connection.execute("update sources set imported_at = now(), fetch_status = 'IDLE'")
        connection.execute("update jobs set state = 'completed', finished_at = now()")
    sent(second, opml(feed("a"), feed("b")))
    assert second.get(f"/v1/sources/{source_id}").json["items"] == 20
    pending = world.sql("select job_type, count(*) from jobs where state = 'pending' group by 1 order by 1")
    assert pending == [("fetch_source", 1), ("join_stories", 1)]


def test_what_was_switched_off_when_nobody_followed_it_wakes(world: World) -> None:
    user = world.user()
    source_id = user.post("/v1/sources", {"url": "https://a.example/feed"}).json["id"]
    user.delete(f"/v1/sources/{source_id}")
    assert outcomes(sent(user, opml(feed("a")))) == ["subscribed"]
    source = user.get(f"/v1/sources/{source_id}").json
    assert (source["health"], source["status"]) == ("active", "QUEUED")


def test_what_goes_out_comes_back_as_it_was(world: World) -> None:
    first, second = world.user(), world.user()
    names = ["News, all/most", 'R&D "<x>"', "=?utf-8?q?a?=", "Zoë \U0001f468\u200d\U0001f469", "x" * 200]
    ids = [first.post("/v1/folders", {"name": name}).json["id"] for name in names]
    own = {"title": "A & B", "topics": ["News", "R&D, a/b"], "refresh_minutes": 30, "folder_ids": ids}
    first.post("/v1/sources", {"url": "https://a.example/feed", **own})
    first.post("/v1/sources", {"url": "https://site.example/"})
    world.sql("update sources set feed_url = 'https://site.example/rss', title = 'Site' where url like '%%site%%'")
    first.post(
        "/v1/sources", {"url": "https://page.example/", "kind": "web", "selector": "h2 a", "folder_ids": ids[:1]}
    )
    first.post("/v1/sources", {"url": "r/python/top"})
    first.post("/v1/sources", {"url": "https://www.reddit.com/r/rust/.rss", "kind": "rss"})
    written = first.send("GET", "/v1/opml")
    assert written.status == 200
    assert written.headers["content-type"] == "text/x-opml; charset=utf-8"
    assert "https://site.example/rss" in written.text
    # WHEN it comes back to whom it is of, nothing changes
    assert set(outcomes(sent(first, written.text))) == {"already"}
    # AND WHEN it comes to another, they follow the same, by the same names and topics in the same folders
    assert "refused" not in outcomes(sent(second, written.text))
    assert subscriptions(first) == subscriptions(second)
    assert second.send("GET", "/v1/opml").text.count("<outline") == written.text.count("<outline")


def test_a_feed_goes_out_by_the_address_that_was_followed_before_anything_is_known_of_it(world: World) -> None:
    user = world.user()
    address = "https://blog.example/feed.xml"
    body = opml(f'<outline text="Blog" htmlUrl="https://blog.example/" xmlUrl="{address}"/>')
    assert outcomes(sent(user, body)) == ["subscribed"]
    assert f' xmlUrl="{address}"' in user.send("GET", "/v1/opml").text


def subscriptions(user: ApiClient) -> set[tuple[Any, ...]]:
    sources = user.get("/v1/sources").json["items"]
    return {
        (
            *(one["id"], one["title"] or one["url"], one["own_refresh_minutes"], *one["topics"]),
            *(folder["name"] for folder in one["folders"]),
        )
        for one in sources
    }


@pytest.mark.parametrize("content_type", ["text/x-opml; charset=iso-8859-1", "application/xml", "text/xml", ""])
def test_files_come_as_bytes_or_as_text(world: World, content_type: str) -> None:
    text = opml('<outline text="Grüße" xmlUrl="https://a.example/feed"/>')
    text = text.replace("?>", ' encoding="iso-8859-1"?>', 1)
    headers = {"content-type": content_type} if content_type else {"content-type": "application/octet-stream"}
    user = world.user()
    assert outcomes(sent(user, text, headers=headers)) == ["subscribed"]
    assert outcomes(sent(user, text.encode("iso-8859-1"), headers=headers)) == ["already"]
    assert user.get("/v1/sources").json["items"][0]["title"] == "Grüße"


@pytest.mark.parametrize(
    ("body", "content_type", "status", "code"),
    [
        ("<opml", "text/x-opml", 400, "invalid_opml"),
        ("", "text/x-opml", 400, "invalid_opml"),
        ("{}", "application/json", 415, "unsupported_media_type"),
        ("a=b", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
    ],
)
def test_what_is_no_opml_is_refused(world: World, body: str, content_type: str, status: int, code: str) -> None:
    answer = sent(world.user(), body, headers={"content-type": content_type})
    assert (answer.status, answer.code) == (status, code)


def test_a_token_that_may_only_read_may_only_export(world: World) -> None:
    reader = world.user("read")
    assert reader.send("GET", "/v1/opml").status == 200
    assert sent(reader, opml(feed("a"))).code == "insufficient_scope"


def test_a_file_without_subscriptions_is_an_empty_answer(world: World) -> None:
    assert sent(world.user(), opml('<outline text="Empty"/>')).json["outlines"] == []
