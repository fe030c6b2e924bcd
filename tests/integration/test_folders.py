"""Folders of sources: made, named, filled, asked by, and nobody else's business."""

from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from typing import Any
from xml.etree import ElementTree as ET  # read here is our own XML

import psycopg
import pytest
from psycopg.errors import ForeignKeyViolation

from siftline.kit.db import Database
from siftline.kit.ids import new_id
from tests.api_client import Answered, ApiClient, World, sent
from tests.factories import make_content, make_item
from tests.http_events import http_event

XML = {"content-type": "text/x-opml"}


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def folder(user: ApiClient, name: str) -> str:
    answer = user.post("/v1/folders", {"name": name})
    assert answer.status == 201, answer.text
    return str(answer.json["id"])


def follow(user: ApiClient, name: str, *folder_ids: str) -> str:
    answer = user.post("/v1/sources", {"url": f"https://{name}.example/feed", "folder_ids": list(folder_ids)})
    assert answer.status == 202, answer.text
    return str(answer.json["id"])


def names(user: ApiClient) -> list[str]:
    answer = user.get("/v1/folders").json
    assert answer["next"] is None
    return [one["name"] for one in answer["items"]]


def within(user: ApiClient, source_id: str) -> list[str]:
    return [one["name"] for one in user.get(f"/v1/sources/{source_id}").json["folders"]]


def import_(user: ApiClient, *outlines: str) -> Answered:
    return user.send("POST", "/v1/opml", body=f"<opml><body>{''.join(outlines)}</body></opml>", headers=XML)


def parsed(answer: Answered) -> ET.Element:
    return ET.fromstring(answer.text)  # noqa: S314  # our own


def test_a_folder_is_made_renamed_and_deleted_and_its_sources_stay_followed(world: World) -> None:
    user = world.user()
    made = user.post("/v1/folders", {"name": " Sea\u202e \n& coast "})
    assert (made.status, made.headers["location"]) == (201, f"/v1/folders/{made.json['id']}")
    assert (made.json["name"], made.json["sources"]) == ("Sea & coast", 0)
    sea = made.json["id"]
    news = folder(user, "news")
    source_id = follow(user, "a", sea, news)
    assert [(one["name"], one["sources"]) for one in user.get("/v1/folders").json["items"]] == [
        ("news", 1),
        ("Sea & coast", 1),
    ]
    renamed = user.patch(f"/v1/folders/{sea}", {"name": "Coast"})
    assert (renamed.status, renamed.json) == (200, made.json | {"name": "Coast", "sources": 1})
    assert user.get(f"/v1/folders/{sea}").json == renamed.json
    assert within(user, source_id) == ["Coast", "news"]
    assert user.delete(f"/v1/folders/{news}").status == 204
    assert [user.delete(f"/v1/folders/{news}").status, user.get(f"/v1/folders/{news}").status] == [404, 404]
    assert (names(user), within(user, source_id)) == (["Coast"], ["Coast"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("News", "nEWS"),
        ("\u00e9t\u00e9", "e\u0301te\u0301"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("\uff21\uff22\uff23", "abc"),
        ("ÉCOLE", "école"),
    ],
)
def test_spellings_of_one_name_are_one_folder(world: World, one: str, other: str) -> None:
    user = world.user()
    assert user.post("/v1/folders", {"name": one}).status == 201
    assert user.post("/v1/folders", {"name": other}).code == "folder_exists"


def test_a_name_is_one_folders_whatever_its_case(world: World) -> None:
    user = world.user()
    news, other = folder(user, "News"), folder(user, "Other")
    for answer in (user.post("/v1/folders", {"name": "nEWS "}), user.patch(f"/v1/folders/{other}", {"name": "NEWS"})):
        assert (answer.status, answer.code) == (409, "folder_exists")
    assert user.patch(f"/v1/folders/{news}", {"name": "NEWS"}).json["name"] == "NEWS"
    assert names(user) == ["NEWS", "Other"]
    folder(world.user(), "News")


@pytest.mark.parametrize("name", ["", "  ", "\u200b", "x" * 201, 1, None])
def test_a_name_can_be_seen_and_is_short(world: World, name: Any) -> None:
    user = world.user()
    assert user.post("/v1/folders", {"name": name}).json["errors"][0]["pointer"] == "#/name"
    assert user.patch(f"/v1/folders/{folder(user, 'News')}", {"name": name}).status == 422


def test_a_source_is_in_the_folders_that_were_named_last(world: World) -> None:
    user = world.user()
    ids = [folder(user, name) for name in ("a", "b", "c")]
    source_id = follow(user, "s", ids[1], ids[0], ids[0])
    other = follow(user, "t", *ids)
    assert within(user, source_id) == ["a", "b"]
    changed = user.patch(f"/v1/sources/{source_id}", {"folder_ids": [ids[2], ids[0]]})
    assert [one["id"] for one in changed.json["folders"]] == [ids[0], ids[2]]
    assert user.patch(f"/v1/sources/{source_id}", {"title": "S"}).json["folders"] == changed.json["folders"]
    assert user.patch(f"/v1/sources/{source_id}", {"folder_ids": []}).json["folders"] == []
    assert within(user, other) == ["a", "b", "c"]
    # WHEN it is followed already, it joins the folders that are named, and nothing else changes
    for source, name in ((source_id, "s"), (other, "t")):
        body = {"url": f"https://{name}.example/feed", "folder_ids": [ids[1]], "title": "Another"}
        assert user.post("/v1/sources", body).status == 200
        assert user.get(f"/v1/sources/{source}").json["title"] != "Another"
    assert (within(user, source_id), within(user, other)) == (["b"], ["a", "b", "c"])
    # WHEN it is left, it is in none
    user.delete(f"/v1/sources/{other}")
    assert [one["sources"] for one in user.get("/v1/folders").json["items"]] == [0, 1, 0]
    follow(user, "t")
    assert within(user, other) == []


def test_a_folder_that_is_none_is_named_and_nothing_is_done(world: World) -> None:
    user, other = world.user(), world.user()
    own, foreign = folder(user, "News"), folder(other, "News")
    source_id = follow(user, "a", own)
    for ids in ([own, foreign], [own, str(new_id())]):
        for answer in (
            user.post("/v1/sources", {"url": "https://b.example/feed", "folder_ids": ids}),
            user.post("/v1/sources", {"url": "https://a.example/feed", "folder_ids": ids}),
            user.patch(f"/v1/sources/{source_id}", {"folder_ids": ids, "title": "Changed"}),
        ):
            assert (answer.status, answer.code) == (422, "invalid_request")
            faults = [(fault["code"], fault["pointer"]) for fault in answer.json["errors"]]
            assert faults == [("unknown_folder", "#/folder_ids/1")]
    [source] = user.get("/v1/sources").json["items"]
    assert (source["title"], within(user, source_id)) == (None, ["News"])
    assert world.sql("select count(*) from sources") == [(1,)]
    for wrong in ({"folder_ids": None}, {"folder_ids": ["x"]}, {"folder_ids": [own] * 501}):
        assert user.patch(f"/v1/sources/{source_id}", wrong).status == 422


def test_lists_and_feeds_show_what_the_sources_of_a_folder_bring_or_list_too(world: World) -> None:
    user, other = world.user(), world.user()
    news, empty = folder(user, "News"), folder(user, "Empty")
    brings, lists, outside = follow(user, "a", news), follow(user, "b", news), follow(user, "c")
    theirs = folder(other, "News")
    follow(other, "d", theirs)
    other.post("/v1/sources", {"url": "https://c.example/feed", "folder_ids": [theirs]})
    items = [held(world, user, brings), held(world, user, outside), held(world, user, outside)]
    foreign = held(world, other, brings)
    world.sql(
        "insert into source_entries (source_id, entry_key, content_sha256, content_id)"
        " select %s, id::text, '', content_id from items where id in (%s, %s)",
        *(lists, items[1], foreign),
    )

    def found(path: str, **query: Any) -> set[str]:
        answer = user.get(path, **query)
        assert answer.status == 200, answer.text
        return {one["id"] for one in answer.json["items"]}

    for path in ("/v1/items", "/v1/feed"):
        assert found(path) == {*items}
        assert found(path, folder_id=news) == {*items[:2]}
        assert found(path, folder_id=news, source_id=lists) == {items[1]}
        for none in (empty, theirs, new_id()):
            assert found(path, folder_id=none) == set()
        assert user.get(path, folder_id="News").json["errors"][0]["parameter"] == "folder_id"
    assert found("/v1/items", folder_id=news, sort="score") == {*items[:2]}
    page = user.get("/v1/items", folder_id=news, limit=1)
    assert found("/v1/items", folder_id=news, limit=1, next=page.json["next"]) < {*items[:2]}
    assert user.get("/v1/items", folder_id=empty, next=page.json["next"]).code == "invalid_cursor"
    assert found("/v1/sources", folder_id=news) == {brings, lists}
    assert found("/v1/sources", folder_id=empty) == found("/v1/sources", folder_id=theirs) == set()
    # WHEN a source is left, what it lists is no more in the folder
    user.delete(f"/v1/sources/{lists}")
    assert found("/v1/items", folder_id=news) == {items[0]}


def held(world: World, user: ApiClient, source_id: str) -> str:
    with world.database.transaction() as connection:
        content_id = make_content(connection, status="READY", title="T")
        item_id = make_item(connection, user.user_id, content_id)
        connection.execute("update items set source_id = %s, saved = false where id = %s", (source_id, item_id))
    return str(item_id)


def test_a_feed_reader_follows_one_folder(world: World) -> None:
    user, other = world.user(), world.user()
    news, theirs = folder(user, "News & <more>"), folder(other, "Theirs")
    inside, _ = held(world, user, follow(user, "a", news)), held(world, user, follow(user, "b"))
    token = user.post("/v1/feed-tokens", {"name": "phone"}).json["token"]

    def read(**query: str) -> Answered:
        return sent(world.api, http_event("GET", "/v1/feed.atom", query={"token": token, **query}))

    whole, narrowed = read(), read(folder_id=news)
    root = parsed(narrowed)
    atom = "{http://www.w3.org/2005/Atom}"
    assert root.findtext(f"{atom}title") == "Siftline: News & <more>"
    assert [one.text for one in root.findall(f"{atom}entry/{atom}id")] == [f"urn:uuid:{inside}"]
    assert root.findtext(f"{atom}id") != parsed(whole).findtext(f"{atom}id")
    [itself] = [link.get("href") for link in root.findall(f"{atom}link") if link.get("rel") == "self"]
    assert str(itself).endswith(f"/v1/feed.atom?token={token}&folder_id={news}")
    # THEN each says by itself when it changed
    world.sql("update feed_states set changed_at = changed_at - interval '1 hour' where kind = 'feed'")
    again, changed = read(folder_id=news), read()
    assert again.headers["last-modified"] == narrowed.headers["last-modified"]
    before, after = (parsedate_to_datetime(one.headers["last-modified"]) for one in (changed, whole))
    assert before < after
    assert world.sql("select count(*) from feed_states") == [(2,)]
    for none in (theirs, str(new_id())):
        assert (read(folder_id=none).status, read(folder_id=none).code) == (404, "not_found")
    assert world.sql("select count(*) from feed_states") == [(2,)]


def test_nobody_sees_names_deletes_or_fills_anothers_folder(world: World) -> None:
    user, other = world.user(), world.user()
    theirs = folder(user, "News")
    source_id = follow(user, "a", theirs)
    other.post("/v1/sources", {"url": "https://a.example/feed"})
    assert (names(other), within(other, source_id)) == ([], [])
    assert other.get(f"/v1/folders/{theirs}").status == 404
    assert other.patch(f"/v1/folders/{theirs}", {"name": "Mine"}).status == 404
    assert other.delete(f"/v1/folders/{theirs}").status == 404
    assert other.patch(f"/v1/sources/{source_id}", {"folder_ids": [theirs]}).status == 422
    import_(other, '<outline text="News"><outline xmlUrl="https://b.example/feed"/></outline>')
    assert [one["sources"] for one in user.get("/v1/folders").json["items"]] == [1]
    assert "News" not in world.user().send("GET", "/v1/opml").text
    assert other.delete(f"/v1/sources/{source_id}").status == 204
    assert (names(user), within(user, source_id)) == (["News"], ["News"])


def test_no_row_can_put_a_source_into_anothers_folder(world: World, database_url: str) -> None:
    user, other = world.user(), world.user()
    theirs, source_id = folder(user, "News"), follow(other, "a")
    for owner in (other, user):  # who follows it, whose folder it is
        with psycopg.connect(database_url) as connection, pytest.raises(ForeignKeyViolation):
            connection.execute("insert into folder_sources values (%s, %s, %s)", (theirs, owner.user_id, source_id))


def test_a_token_that_may_only_read_changes_no_folder(world: World) -> None:
    user = world.user()
    one = folder(user, "News")
    reader = world.client(user.user_id, "read")
    assert names(reader) == ["News"]
    answers = [
        reader.post("/v1/folders", {"name": "More"}),
        reader.patch(f"/v1/folders/{one}", {"name": "More"}),
        reader.delete(f"/v1/folders/{one}"),
    ]
    assert {answer.code for answer in answers} == {"insufficient_scope"}


def test_a_file_fills_the_folders_that_are_there_and_makes_those_that_lack(world: World) -> None:
    user = world.user()
    news = folder(user, "News")
    known = follow(user, "known")
    answer = import_(
        user,
        '<outline text="NEWS"><outline text="Sea" xmlUrl="https://sea.example/feed"/>',
        '<outline title="Ports"><outline text="Port" xmlUrl="https://port.example/feed" category="Trade,News"/>',
        "</outline></outline>",
        '<outline text="Known"><outline xmlUrl="https://known.example/feed"/></outline>',
        '<outline text="Refused"><outline xmlUrl="ftp://refused.example/feed"/></outline><outline text="Void"/>',
    )
    assert [one["outcome"] for one in answer.json["outlines"]] == ["subscribed", "subscribed", "already", "refused"]
    # Nothing is made for what is refused, but for a folder that is empty.
    assert names(user) == ["Known", "News", "Ports", "Void"]
    assert within(user, known) == ["Known"]
    sources = {one["title"]: one for one in user.get("/v1/sources", folder_id=news).json["items"]}
    assert {name: one["topics"] for name, one in sources.items()} == {"Sea": [], "Port": ["Trade", "News"]}
    assert within(user, sources["Port"]["id"]) == ["News", "Ports"]


def test_what_is_in_no_folder_goes_out_first_and_topics_beside_it(world: World) -> None:
    user = world.user()
    sea = folder(user, "Sea")
    follow(user, "loose")
    source_id = follow(user, "ship", sea)
    user.patch(f"/v1/sources/{source_id}", {"topics": ["Trade"]})
    body = parsed(user.send("GET", "/v1/opml")).find("body")
    assert body is not None
    loose, filed = body
    assert (loose.get("xmlUrl"), filed.get("text")) == ("https://loose.example/feed", "Sea")
    assert [(one.get("xmlUrl"), one.get("category")) for one in filed] == [("https://ship.example/feed", "Trade")]


def test_empty_folders_go_out_and_come_in(world: World) -> None:
    user, other = world.user(), world.user()
    follow(user, "ship", folder(user, "Sea"))
    for name in ("Later & more", "Empty"):
        folder(user, name)
    file = user.send("GET", "/v1/opml").text
    body = parsed(user.send("GET", "/v1/opml")).find("body")
    assert body is not None
    assert [(one.get("text"), len(one)) for one in body] == [("Sea", 1), ("Empty", 0), ("Later & more", 0)]
    for _ in range(2):
        assert other.send("POST", "/v1/opml", body=file, headers=XML).status == 200
        assert names(other) == ["Empty", "Later & more", "Sea"]


def test_an_empty_folder_too_many_changes_nothing(database: Database) -> None:
    user = World(database, folders_per_user=1).user()
    answer = import_(user, '<outline text="a"/><outline text="b"/><outline xmlUrl="https://a.example/feed"/>')
    assert (answer.status, answer.code) == (409, "too_many_folders")
    assert (names(user), user.get("/v1/sources").json["items"]) == ([], [])


def test_many_at_once_make_one_folder_and_none_fails(world: World) -> None:
    user = world.user()
    source_ids = [follow(user, f"s{number}") for number in range(3)]

    def busy(number: int) -> list[int]:
        outlines = f'<outline text="Both"><outline xmlUrl="https://n{number}.example/feed"/></outline>'
        answers = [import_(user, outlines), user.post("/v1/folders", {"name": "both"})]
        ids: list[str] = [one["id"] for one in user.get("/v1/folders").json["items"]]
        answers.append(user.patch(f"/v1/sources/{source_ids[number % 3]}", {"folder_ids": ids}))
        answers += [user.delete(f"/v1/folders/{id_}") for id_ in ids if number % 3 == 0]
        return [answer.status for answer in answers]

    with ThreadPoolExecutor(6) as busy_ones:
        statuses = {status for each in busy_ones.map(busy, range(18)) for status in each}
    assert statuses <= {200, 201, 204, 404, 409, 422}
    assert len(names(user)) <= 1
