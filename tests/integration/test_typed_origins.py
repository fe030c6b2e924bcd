"""This machine is reached where a person typed its address, and nowhere that a feed, a page or a redirect leads.

Cases T28 and its kind.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from siftline.api.sources.opml import NAMESPACE
from siftline.api.sources.source_addresses import Address
from siftline.catalog.source_kinds import SourceKind
from siftline.contracts import JobType
from siftline.fetch.kinds.readers import FeedReader
from siftline.ingest.page_child import PageReader
from siftline.jobs.job_model import NewJob
from siftline.jobs.jobs_store import enqueue
from siftline.kit.db import Database
from siftline.net.http import HttpClient
from siftline.net.http_model import AddressRefusedError, HttpLimits, Requester
from siftline.net.urls import typed_origin
from tests.api_client import World
from tests.factories import make_content, make_source, make_user
from tests.ingesting import Works, ingest_content
from tests.polling import Poller, follow, item, rows, rss
from tests.servers import Answer, LoopbackServer, redirect, serving

SENTENCES = "<p>" + "The harbour council agreed to dredge the northern channel before winter. " * 12 + "</p>"
PAGE = Answer(
    f"<html><head><title>Dredging</title></head><body><article><h1>Dredging</h1>{SENTENCES}</article></body></html>".encode(),
    headers={"Content-Type": "text/html; charset=utf-8"},
)


VIEWERS = (
    "https://www.google.com/amp/{}/x1", "https://google.com/amp/{}/x2", "https://bing.com/amp/{}/x3",
    "https://x.cdn.ampproject.org/c/{}/x4", "https://cdn.ampproject.org/v/{}/x5",
    "https://a:b@www.google.com/amp/{}/x6", "https://www.google.com/amp/a:b@{}/x7", "feed://www.google.com/amp/{}/x8",
)  # fmt: skip
"""Addresses of AMP viewers and caches, which are asked for what they show."""


@pytest.fixture
def neighbour() -> Iterator[LoopbackServer]:
    """Something else on this machine, which nobody typed."""
    with serving() as server:
        yield server


@pytest.fixture
def http() -> Iterator[HttpClient]:
    """A client as ``make run`` has it."""
    client = HttpClient(allow_loopback=True, limits=HttpLimits(retries=0))
    yield client
    client.close()


@pytest.fixture
def poller(database: Database, feed_reader: FeedReader) -> Poller:
    return Poller(database, feed_reader, client=partial(HttpClient, allow_loopback=True))


@pytest.fixture
def works(database: Database, http: HttpClient, page_reader: PageReader) -> Works:
    return Works(database, ingest_content(database, http, page_reader, analysis=False), job_max_attempts=1)


def brought(works: Works, source_id: UUID) -> dict[str, dict[str, Any]]:
    """Work off what a feed brought, until nothing waits; returns the contents by the entries' links."""
    entries = "select link, content_id from source_entries where source_id = %s"
    waiting = (
        f"{entries} and exists (select from jobs where subject_id = content_id and state = 'pending') order by link"
    )
    while found := works.rows(waiting, source_id):
        for row in found:
            works.work_off(row["content_id"])
    return {row["link"]: works.content(row["content_id"]) for row in works.rows(entries, source_id)}


# --- The client


def test_loopback_is_open_where_it_was_typed_and_to_nobody_else(
    http: HttpClient, site: LoopbackServer, neighbour: LoopbackServer
) -> None:
    site.answers["/"] = PAGE
    with pytest.raises(AddressRefusedError):
        http.get(site.url("/"))
    requester = Requester(typed_origin=typed_origin(site.url("/feed")))
    assert http.get(site.url("/"), requester=requester).status == 200
    for url in (neighbour.url("/"), site.url("/", host="localhost"), site.url("/", host="[::ffff:127.0.0.1]")):
        with pytest.raises(AddressRefusedError):
            http.get(url, requester=requester)
    # WHEN the connection that was opened so is still there
    with pytest.raises(AddressRefusedError):
        http.get(site.url("/"))
    assert (len(site.requests), neighbour.requests) == (1, [])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_leads_on_within_the_typed_origin_and_not_out_of_it(
    http: HttpClient, site: LoopbackServer, neighbour: LoopbackServer, status: int
) -> None:
    site.answers |= {
        "/out": redirect(neighbour.url("/"), status=status),
        "/in": redirect("/there", status=status),
        "/there": PAGE,
    }
    requester = Requester(typed_origin=typed_origin(site.url()))
    assert http.get(site.url("/in"), requester=requester).url == site.url("/there")
    with pytest.raises(AddressRefusedError):
        http.get(site.url("/out"), requester=requester)
    assert neighbour.requests == []


def test_what_was_typed_opens_nothing_where_the_setting_does_not(site: LoopbackServer) -> None:
    client = HttpClient(limits=HttpLimits(retries=0))
    with pytest.raises(AddressRefusedError):
        client.get(site.url("/"), requester=Requester(typed_origin=typed_origin(site.url())))
    client.close()
    assert site.requests == []


# --- Feeds


def test_a_feed_of_this_machine_leads_to_its_own_origin_alone(
    database: Database, site: LoopbackServer, neighbour: LoopbackServer, poller: Poller, works: Works
) -> None:
    """Case T28."""
    for path in ("/story", "/talk"):
        site.answers[path] = PAGE
    enclosure = f'<enclosure url="{neighbour.url("/talk.mp3")}" type="audio/mpeg" length="9"/>'
    transcript = f'<podcast:transcript url="{neighbour.url("/talk.vtt")}" type="text/vtt"/>'
    own = [site.url("/story"), site.url("/talk")]
    others = [neighbour.url(path) for path in ("/?Action=DeleteQueue&QueueUrl=x", "/other")]
    others += [f"http://{host}:{neighbour.port}/x" for host in ("localhost", "0x7f.1", "[::ffff:127.0.0.1]")]
    others += [form.format(f"127.0.0.1:{neighbour.port}") for form in VIEWERS[:-1]]
    links = [item(n, link=url.replace("&", "&amp;"), guid=None) for n, url in enumerate([*others, *own])]
    links[-1] = links[-1].replace("</item>", f"{enclosure}{transcript}</item>")
    feed = rss(*links).replace(b"<rss ", b'<rss xmlns:podcast="https://podcastindex.org/namespace/1.0" ')
    site.answers["/feed"] = Answer(feed)
    source_id = follow(World(database, http_allow_loopback=True).user(), site)
    assert poller.poll(source_id)["new"] == len(links)
    read = brought(works, source_id)
    assert neighbour.requests == []
    assert [len(site.asked(path)) for path in ("/story", "/talk")] == [1, 1]
    # What stands there was not read: the feed's words stand in for it.
    ends = Counter((content["status"], content["error_code"] or content["notice_code"]) for content in read.values())
    assert ends.pop(("READY", None)) == len(own)
    assert ends == {("READY", "page_unavailable"): len(others)}


def test_another_users_save_of_an_address_does_not_open_it_to_a_feed(
    database: Database, site: LoopbackServer, neighbour: LoopbackServer, poller: Poller, works: Works
) -> None:
    world = World(database, http_allow_loopback=True)
    neighbour.answers["/mine"] = PAGE
    site.answers["/feed"] = Answer(rss(item(1, link=neighbour.url("/mine"), guid="a")))
    follower = world.user()
    source_id = follow(follower, site)
    poller.poll(source_id)
    # WHEN somebody types it while the feed's job waits, it is read for them
    saved = world.user().post("/v1/items", {"url": neighbour.url("/mine")}).json
    content_id = UUID(saved["content_id"])
    assert works.work(content_id)["status"] == "READY"
    assert len(neighbour.asked("/mine")) == 1
    # WHEN the feed asks for it again, it is not
    with database.transaction() as connection:
        payload = {"source_id": str(source_id)}
        enqueue(connection, [NewJob(JobType.INGEST_CONTENT, content_id, "host:a", payload=payload)], max_attempts=1)
    assert works.work(content_id)["status"] == "READY"  # as it was read for who typed it
    assert len(neighbour.asked("/mine")) == 1
    # NOR is it for who only follows the feed and asks for it by hand
    [held] = follower.get("/v1/items").json["items"]
    assert follower.post(f"/v1/items/{held['id']}/reprocess").status == 202
    assert works.work(content_id)["status"] == "READY"
    assert len(neighbour.asked("/mine")) == 1


def test_a_feeds_redirect_and_the_feed_that_a_page_names_stay_at_the_typed_origin(
    database: Database, site: LoopbackServer, neighbour: LoopbackServer, poller: Poller
) -> None:
    user = World(database, http_allow_loopback=True).user()
    neighbour.answers["/feed"] = Answer(rss(item(1)))
    site.answers["/moved"] = redirect(neighbour.url("/feed"), status=301)
    link = f'<link rel="alternate" type="application/rss+xml" href="{neighbour.url("/feed")}">'
    site.answers["/page"] = Answer(f"<html><head>{link}</head></html>".encode(), headers={"Content-Type": "text/html"})
    assert poller.failing(follow(user, site, "/moved")) == "address_refused"
    source_id = follow(user, site, "/page")
    poller.poll(source_id)  # finds it
    assert poller.failing(source_id) == "address_refused"
    assert neighbour.requests == []


def test_who_chooses_a_feed_that_a_page_named_typed_none_of_another_origin(
    database: Database, site: LoopbackServer, neighbour: LoopbackServer
) -> None:
    user = World(database, http_allow_loopback=True).user()
    source_id = follow(user, site, "/page")
    shown = [form.format(f"127.0.0.1:{one.port}") for one in (site, neighbour) for form in VIEWERS]
    urls = [site.url("/feed"), neighbour.url("/feed"), *shown]
    candidates = [{"url": url, "title": "", "media_type": None} for url in urls]
    with database.transaction() as connection:
        connection.execute(
            "update sources set candidates = %s where id = %s",
            (Jsonb(candidates), source_id),
        )
    place = f"/v1/sources/{source_id}/choose"
    for url in (neighbour.url("/feed"), *shown):
        assert user.post(place, {"url": url}).code == "address_refused", url
    assert user.post(place, {"url": site.url("/feed")}).status == 202


def test_an_outline_of_a_file_is_typed_by_nobody(database: Database, site: LoopbackServer) -> None:
    user = World(database, http_allow_loopback=True).user()
    body = f"<opml version='2.0'><body><outline text='x' xmlUrl='{site.url('/feed')}'/></body></opml>"
    answer = user.send("POST", "/v1/opml", body=body, headers={"content-type": "text/x-opml"})
    [error] = [one["error"] for one in answer.json["outlines"]]
    assert error["code"] == "address_refused"
    assert error["detail"] == (
        "An OPML file must not contain addresses on this machine. Follow this one with POST /v1/sources instead."
    )
    # Where typing it would not do either, it is not advised.
    answer = World(database).user().send("POST", "/v1/opml", body=body, headers={"content-type": "text/x-opml"})
    [error] = [one["error"] for one in answer.json["outlines"]]
    assert error["detail"] == "Addresses of this kind are not allowed (loopback)."


@pytest.mark.parametrize("named", ["xmlUrl='{}'", "htmlUrl='{}'", "siftline:kind='web' xmlUrl='{}'"])
def test_an_outline_opens_no_origin_by_an_address_that_shows_it(
    database: Database, neighbour: LoopbackServer, poller: Poller, named: str
) -> None:
    neighbour.answers["/x1"] = Answer(rss(item(1)))
    world = World(database, http_allow_loopback=True)
    shown = [form.format(f"127.0.0.1:{neighbour.port}") for form in VIEWERS]
    outlines = "".join(f"<outline text='x' {named.format(url)}/>" for url in [*shown, neighbour.url("/x1")])
    body = f"<opml version='2.0' xmlns:siftline='{NAMESPACE}'><body>{outlines}</body></opml>"
    answer = world.user().send("POST", "/v1/opml", body=body, headers={"content-type": "text/x-opml"})
    taken = [UUID(one["source_id"]) for one in answer.json["outlines"] if one["source_id"]]
    assert [poller.failing(source_id) for source_id in taken] == []
    assert {one["error"]["code"] for one in answer.json["outlines"]} == {"address_refused"}
    assert neighbour.requests == []
    # NOR does it where somebody typed that origin, and follows it
    follow(world.user(), neighbour, "/x1")
    answer = world.user().send("POST", "/v1/opml", body=body, headers={"content-type": "text/x-opml"})
    assert {one["outcome"] for one in answer.json["outlines"]} == {"refused"}


@pytest.mark.parametrize("form", VIEWERS[:-1])
def test_who_types_an_address_that_shows_this_machine_typed_none_of_it(
    database: Database, neighbour: LoopbackServer, form: str
) -> None:
    user = World(database, http_allow_loopback=True).user()
    for host in (f"127.0.0.1:{neighbour.port}", "10.0.0.1"):
        wish = {"url": form.format(host)}
        for path, more in (("/v1/items", {}), ("/v1/sources", {}), ("/v1/sources", {"kind": "web"})):
            assert user.post(path, wish | more).code == "address_refused"
        [answer] = user.post("/v1/items/batch", {"items": [wish]}).json["items"]
        assert answer["error"]["code"] == "address_refused"


def test_a_source_opens_what_was_typed_and_not_what_that_shows() -> None:
    """Whatever let its address pass."""
    url = "http://127.0.0.1:9/x"
    shown = Address(SourceKind.RSS, url, url, own_url="https://www.google.com/amp/127.0.0.1:9/x")
    assert shown.typed_origin is None
    assert Address(SourceKind.RSS, url, url, own_url=f"{url}#y").typed_origin == "http://127.0.0.1:9"


def test_a_webhook_goes_to_this_machine_by_a_setting_of_its_own(database: Database) -> None:
    wanted = {
        "name": "Morning", "frequency": "DAILY", "at": "07:00",
        "delivery": {"channel": "webhook", "destination": "http://127.0.0.1:9/hook"},
    }  # fmt: skip
    answer = World(database, http_allow_loopback=True).user().post("/v1/briefings", wanted)
    [error] = answer.json["errors"]
    assert (answer.status, error["code"]) == (422, "address_refused")
    assert error["detail"].endswith("not allowed (loopback); the setting WEBHOOK_ALLOW_LOOPBACK allows them.")
    world = World(database, webhook_allow_loopback=True)
    assert world.user().post("/v1/briefings", wanted).status == 201


# --- What is kept of it


def test_what_was_typed_is_kept_with_what_it_opens(database: Database) -> None:
    world = World(database, http_allow_loopback=True)
    user = world.user()
    for url in ("http://127.1:9/a", "https://news.example/a"):
        assert user.post("/v1/items", {"url": url}).status == 202
        assert user.post("/v1/sources", {"url": url}).status == 202
    for table in ("contents", "sources"):
        kept = rows(database, f"select typed_origin from {table} order by typed_origin")
        assert [row["typed_origin"] for row in kept] == ["http://127.0.0.1:9", None]


def test_how_an_address_was_spelt_is_shown_to_nobody_else(
    database: Database, site: LoopbackServer, poller: Poller
) -> None:
    world = World(database, http_allow_loopback=True)
    one, other = world.user(), world.user()
    typed = f"http://2130706433:{site.port}/item/1"
    assert one.post("/v1/items", {"url": typed}).status == 202
    site.answers["/feed"] = Answer(rss(item(1, link=site.url("/item/1"))))
    poller.poll(follow(other, site))
    shown = [[item["url"] for item in user.get("/v1/items").json["items"]] for user in (one, other)]
    assert shown == [[typed], [site.url("/item/1")]]


def test_a_page_that_stands_under_anothers_address_is_asked_of_its_own_site(
    database: Database, site: LoopbackServer, neighbour: LoopbackServer, works: Works
) -> None:
    """Case T30, whatever a key was made of: who shows pages of others does not speak for them."""
    site.answers["/viewer"], neighbour.answers["/story"] = Answer(b"<p>false</p>"), PAGE
    with database.transaction() as connection:
        shown = f"http://localhost:{site.port}/viewer"
        key = neighbour.url("/story")
        content_id = make_content(connection, url=shown, url_key=key, typed_origin=typed_origin(key))
        enqueue(connection, [NewJob(JobType.INGEST_CONTENT, content_id, f"user:{make_user(connection)}")])
    assert works.work(content_id)["title"] == "Dredging"
    assert (site.requests, len(neighbour.requests)) == ([], 1)


def test_a_source_that_nobody_typed_is_not_polled_on_this_machine(
    database: Database, site: LoopbackServer, poller: Poller
) -> None:
    site.answers["/feed"] = Answer(rss(item(1)))
    with database.transaction() as connection:
        source_id = make_source(connection, url=site.url("/feed"), typed_origin=None)
    assert poller.failing(source_id) == "address_refused"
    assert site.requests == []
