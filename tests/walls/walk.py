"""Walks every way by which a user's or a feed's address is fetched; runs walled in or watched, prints what was reached.

Each way is one line of ``WAYS``: the real functions are handed a real event, PostgreSQL and SQS are those of the run,
and only what lies at public addresses is made up.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from html import escape
from itertools import chain, count
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit
from uuid import UUID
from xml.sax.saxutils import quoteattr

import psycopg

from functions.api import app as api_app
from functions.fetch import app as fetch_app
from functions.ingest import app as ingest_app
from infra.local.aws import REGION
from siftline.kit.db import Connection
from siftline.kit.ids import new_id
from siftline.settings.functions import environment
from tests.api_client import ApiClient
from tests.factories import FakeContext, make_content, make_source, make_user, sqs_event
from tests.faults.audit import violations
from tests.walls.inside import (
    INSIDE,
    PORTS,
    PUBLIC,
    PUBLIC_6,
    Listener,
    Reached,
    bring_up,
    mount_names,
    naive,
    naive_child,
    resolving,
    served,
)
from tests.walls.passage import inlets
from tests.walls.recorded import let_through, recording
from tests.walls.spellings import HANDS, HOSTS, NAMES, SPELLINGS

_POLLS_MAX = 3
_HTML = {"Content-Type": "text/html; charset=utf-8"}
_SENTENCES = (
    "<p>" + "The harbour council agreed to dredge the northern channel before the winter storms. " * 12 + "</p>"
)


def article(url: str) -> bytes:
    """Return a page that names an address in every place where a page names one."""
    to = escape(url)
    linked = json.dumps(
        [
            {"@type": "NewsArticle", "headline": "Dredging", "url": url, "image": url, "mainEntityOfPage": url},
            {"@type": "VideoObject", "name": "Dredging", "contentUrl": url, "embedUrl": url, "thumbnailUrl": url},
            {"@type": "PodcastEpisode", "associatedMedia": {"@type": "MediaObject", "contentUrl": url}},
        ]
    ).replace("<", "\\u003c")
    return f"""<!doctype html><html lang=en><head><title>Dredging</title>
<link rel=canonical href="{to}"><link rel=icon href="{to}"><link rel=stylesheet href="{to}">
<link rel=amphtml href="{to}">
<link rel=alternate type="application/rss+xml" href="{to}"><link rel=preload as=script href="{to}">
<meta http-equiv=refresh content="0;url={to}"><meta property="og:url" content="{to}">
<meta property="og:image" content="{to}"><meta property="og:video" content="{to}">
<meta property="og:audio" content="{to}">
<meta name="twitter:player" content="{to}"><script type="application/ld+json">{linked}</script></head><body>
<article><h1>Dredging</h1><h2><a href="{to}">The council agreed to dredge the channel</a></h2>{_SENTENCES}
<img src="{to}" srcset="{to} 2x"><iframe src="{to}"></iframe><object data="{to}"></object><embed src="{to}">
<video src="{to}" poster="{to}"><source src="{to}" type="video/mp4"><track kind=captions srclang=en src="{to}"></video>
<audio src="{to}"></audio></article></body></html>""".encode()


def media(url: str) -> bytes:
    """Return a page about nothing but a video whose file and captions lie at an address."""
    to = escape(url)
    return f"""<!doctype html><html><head><title>Talk</title><meta property="og:type" content="video.other">
<meta property="og:video" content="{to}"></head><body><h1>Talk</h1><video controls src="{to}">
<track kind=captions srclang=en src="{to}"></video></body></html>""".encode()


def links(url: str) -> bytes:
    """Return a page whose articles lie at an address."""
    headings = "".join(
        f'<article><h2><a href="{escape(url)}#{n}">What the council said on day {n}</a></h2></article>'
        for n in range(5)
    )
    return f"<!doctype html><html><head><title>News</title></head><body><main>{headings}</main></body></html>".encode()


def feed(url: str, page: str) -> bytes:
    """Return a feed that names an address in every place where a feed names one."""
    to = escape(url)
    body = escape(f'<p>Look: <img src="{to}" srcset="{to} 2x"><iframe src="{to}"></iframe></p>')
    extra = (
        f'<enclosure url="{to}" type="audio/mpeg" length="9"/><itunes:image href="{to}"/>'
        f'<podcast:transcript url="{to}" type="text/vtt"/><media:content url="{to}" type="video/mp4"/>'
        f'<media:thumbnail url="{to}"/><comments>{to}</comments><source url="{to}">s</source>'
    )
    return f"""<?xml version="1.0"?><?xml-stylesheet href="{to}"?><rss version="2.0"
xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:media="http://search.yahoo.com/mrss/"
xmlns:podcast="https://podcastindex.org/namespace/1.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>News</title><link>{to}</link><image><url>{to}</url></image><atom:link rel="hub" href="{to}"/>
<atom:link rel="self" href="{to}"/><itunes:new-feed-url>{to}</itunes:new-feed-url><icon>{to}</icon>
<item><title>Linked</title><link>{to}</link><description>{body}</description></item>
<item><title>Heard</title><link>{escape(page)}</link><guid>heard</guid><description>{body}</description>{extra}</item>
</channel></rss>""".encode()


def site(path: str) -> tuple[int, dict[str, str], bytes]:
    """Answer for every public name: ``/what?address``."""
    what, _, query = path.partition("?")
    url = unquote(query)
    if what.startswith("/r"):
        return int(what[2:5]), {"Location": url.encode().decode("latin-1")}, b""
    pages = {"/article": article, "/media": media, "/links": links}
    if what in pages:
        return 200, _HTML, pages[what](url)
    if what == "/feed":
        return 200, {"Content-Type": "application/rss+xml"}, feed(url, f"http://episode.public.test/media?{query}")
    return (200, _HTML, article("http://public.test/nothing")) if what == "/" else (404, {}, b"")


class Rooms:
    """The functions, and what a user does with them."""

    def __init__(self, connection: Connection, variables: Mapping[str, str]) -> None:
        """Take a connection that commits each statement by itself."""
        self._connection = connection
        self._variables = variables
        self._numbers = count(1)
        self.typed: str | None = None
        """The origin of this machine that the user typed; what stands at ``at`` is there then."""
        self.user_id: UUID = make_user(connection)

    def at(self, what: str, url: str) -> str:
        """Return an address that answers so: at the origin of this machine that was typed, or else a public one."""
        return self.public(what, url) if self.typed is None else f"{self.typed}/{what}?{quote(url, safe='')}"

    def public(self, what: str, url: str) -> str:
        """Return a public address that answers so; each is of a host of its own, for hosts are paced."""
        return f"http://p{next(self._numbers)}.public.test/{what}?{quote(url, safe='')}"

    def poll(self, urls: Sequence[str], kind: str = "rss", **columns: Any) -> list[list[str]]:
        """Follow addresses as sources, and read what comes of them; returns the codes that each ended with."""
        found = []
        for url in urls:
            columns |= {"url": url, "url_key": f"key:{new_id()}", "kind": kind, "first_import": "all"}
            source_id = make_source(self._connection, **columns)
            self._connection.execute(
                "insert into subscriptions (id, user_id, source_id) values (%s, %s, %s)",
                (new_id(), self.user_id, source_id),
            )
            found.append(self.again(source_id))
        return found

    def again(self, source_id: UUID) -> list[str]:
        """Poll a source until it is at rest, for a site leads to its feed first, and read what is new."""
        for _ in range(_POLLS_MAX):
            self._work(fetch_app, "FETCH", {"job_type": "fetch_source", "source_id": source_id})
            if self._rows("select fetch_status from sources where id = %s", source_id) != ["QUEUED"]:
                break
        codes = self._rows(
            "select coalesce(last_error_code, nullif(fetch_status, 'IDLE'), 'ok') from sources where id = %s", source_id
        )
        if codes == ["QUEUED"]:
            codes += self._rows(
                "select concat_ws(' ', at, event, error_code, detail, due_at) from job_events"
                " where job_id in (select id from jobs where subject_id = %s) order by id",
                source_id,
            )
        new = self._rows(
            "select id from contents where status <> 'FAILED' and text is null and exists"
            " (select from source_entries where content_id = contents.id and source_id = %s)",
            source_id,
        )
        return codes + [code for content_id in new for code in self._read(content_id)]

    def read(self, urls: Sequence[str], **columns: object) -> list[list[str]]:
        """Save addresses, past what the API refuses at once; returns the codes that each ended with."""
        ids = [make_content(self._connection, url=url, url_key=f"key:{new_id()}", **columns) for url in urls]
        return [self._read(content_id) for content_id in ids]

    def ask(self, path: str, urls: Sequence[str]) -> list[list[str]]:
        """Ask the API to take addresses; what it takes is worked off as it has taken it."""
        client = ApiClient(api_app.build(), self.user_id)
        answers = [client.post(path, {"url": url}) for url in urls]
        return [
            [answer.code]
            if answer.status >= 400
            else self._taken(self.read, "contents", answer.json["content_id"])
            if path.endswith("items")
            else self._taken(self.poll, "sources", answer.json["id"])
            for answer in answers
        ]

    def import_opml(self, urls: Sequence[str]) -> list[list[str]]:
        """Import addresses as an OPML file; what is followed then is polled as it is followed."""
        outlines = "".join(f"<outline text='x' xmlUrl={quoteattr(url)}/>" for url in urls)
        body = f"<opml version='2.0'><body>{outlines}</body></opml>"
        client = ApiClient(api_app.build(), self.user_id)
        answer = client.send("POST", "/v1/opml", body=body, headers={"content-type": "text/x-opml"})
        return [
            [told["error"]["code"]] if told["error"] else self._taken(self.poll, "sources", told["source_id"])
            for told in answer.json["outlines"]
        ]

    def broken(self) -> list[str]:
        """Return what breaks an invariant of the jobs."""
        return violations(self._connection, {})

    def forget(self) -> None:
        """Forget what was saved and followed, for a next way to begin with nothing."""
        self._connection.execute(
            "truncate contents, items, source_entries, jobs, job_events, sources, fetch_hosts, fetch_turns cascade"
        )

    def _taken(self, work: Callable[..., list[list[str]]], table: str, id_: str) -> list[str]:
        """Work off what the API made of an address, in a row of its own: other hands may have made it too."""
        query = f"select url, typed_origin from {table} where id = %s"
        [(url, typed)] = self._connection.execute(query, [id_]).fetchall()
        return work([url], typed_origin=typed)[0]

    def _read(self, content_id: UUID) -> list[str]:
        self._work(ingest_app, "CONTENT_PROCESSING", {"job_type": "ingest_content", "shared_content_id": content_id})
        return self._rows(
            "select coalesce(error_code, nullif(status, 'READY'), 'ok') from contents where id = %s", content_id
        )

    def _work(self, function: Any, queue: str, message: Mapping[str, Any]) -> None:
        # A host asked a moment ago would have to wait. Rows that other hands hold are theirs.
        self._connection.execute(
            "delete from fetch_hosts where scope in ("
            "select scope from fetch_hosts order by scope for update skip locked)"
        )
        event = sqs_event("", message)
        name = self._variables[f"{queue}_QUEUE_URL"].rpartition("/")[2]
        event["Records"][0]["eventSourceARN"] = f"arn:aws:sqs:{REGION}:000000000000:{name}"
        function.handler(event, FakeContext(remaining_ms=250_000))

    def _rows(self, query: str, *values: object) -> list[Any]:
        return [row[0] for row in self._connection.execute(query, values).fetchall()]


_Way = Callable[[Rooms, Sequence[str]], list[list[str]]]


def redirected(rooms: Rooms, urls: Sequence[str], *statuses: int) -> list[str]:
    """Return addresses that redirect to others, once with each status."""
    for status in statuses:
        urls = [rooms.at(f"r{status}", url) for url in urls]
    return list(urls)


WAYS: dict[str, _Way] = {
    "a saved page": lambda rooms, urls: rooms.read(urls),
    "a saved page through the API": lambda rooms, urls: rooms.ask("/v1/items", urls),
    "a source through the API": lambda rooms, urls: rooms.ask("/v1/sources", urls),
    "an outline of an OPML file": lambda rooms, urls: rooms.import_opml(urls),
    "a feed": lambda rooms, urls: rooms.poll(urls),
    "a page's links": lambda rooms, urls: rooms.poll(urls, "web"),
    "a subreddit": lambda rooms, urls: rooms.poll(urls, "reddit"),
    "a page's redirect": lambda rooms, urls: rooms.read(redirected(rooms, urls, 302)),
    "a page's second redirect": lambda rooms, urls: rooms.read(redirected(rooms, urls, 307, 308)),
    "a feed's redirect": lambda rooms, urls: rooms.poll(redirected(rooms, urls, 301)),
}
"""The address itself is fetched, so each must end with the refusal of it."""
BESIDE: dict[str, _Way] = {
    "what a page names": lambda rooms, urls: rooms.read([rooms.at("article", url) for url in urls]),
    "a video's file and captions": lambda rooms, urls: rooms.read([rooms.at("media", url) for url in urls]),
    "what a feed names": lambda rooms, urls: rooms.poll([rooms.at("feed", url) for url in urls]),
    "the feed that a site names": lambda rooms, urls: rooms.poll([rooms.at("article", url) for url in urls]),
    "the articles that a site links": lambda rooms, urls: rooms.poll([rooms.at("links", url) for url in urls], "web"),
}
"""The address is named by something that itself may be read: nothing may be reached, whatever else comes of it."""


LED_ON = ("a page's redirect", "a page's second redirect", "a feed's redirect")
OPENED: dict[str, _Way] = {
    **{way: WAYS[way] for way in LED_ON},
    "an outline of an OPML file": WAYS["an outline of an OPML file"],
    "the redirect of an outline of an OPML file": lambda rooms, urls: rooms.import_opml(
        [rooms.public("r301", url) for url in urls]
    ),
    "a public page's redirect": lambda rooms, urls: rooms.read([rooms.public("r302", url) for url in urls]),
    "a public feed's redirect": lambda rooms, urls: rooms.poll([rooms.public("r307", url) for url in urls]),
}
"""Where this machine is open to who types its address: what others lead to, from there and from outside."""
BESIDE_OPENED: dict[str, _Way] = {
    **BESIDE,
    "what a public feed names": lambda rooms, urls: rooms.poll([rooms.public("feed", url) for url in urls]),
    "what a public page names": lambda rooms, urls: rooms.read([rooms.public("article", url) for url in urls]),
}


class Names:
    """The zone; ``rebind`` names are public when they are first asked for and inside from then on."""

    def __init__(self) -> None:
        self._asked: dict[str, int] = {}

    def __call__(self, name: str, four: bool) -> list[str] | None:
        if name.endswith(".rebind.test"):
            self._asked[name] = self._asked.get(name, 0) + four
            return (
                [PUBLIC] if self._asked[name] <= 1 else ["127.0.0.1"] if self._asked[name] == 2 else ["169.254.169.254"]
            )
        if name.endswith("public.test"):
            return [PUBLIC, PUBLIC_6]
        return NAMES.get(name)


def walk(rooms: Rooms, inside: Reached, spellings: Sequence[str]) -> list[dict[str, Any]]:
    """Go every way with every spelling; those that take two requests each with a third of them, all with all."""
    found = []
    of = (WAYS, BESIDE) if rooms.typed is None else (OPENED, BESIDE_OPENED)
    for kind, ways in zip(("way", "beside"), of, strict=True):
        for number, (way, go) in enumerate(ways.items()):
            rooms.forget()
            began, before = time.monotonic(), len(inside.reached)
            urls = spellings if kind == "way" else spellings[number % 3 :: 3]
            parts = [urls[hand::HANDS] for hand in range(HANDS)]
            with ThreadPoolExecutor(HANDS) as pool:
                codes = pool.map(go, [rooms] * HANDS, parts)
                ends = dict(zip(chain(*parts), chain(*codes), strict=True))
            seconds = round(time.monotonic() - began, 1)
            found.append(
                {"kind": kind, "way": way, "ends": ends, "reached": inside.reached[before:], "seconds": seconds}
            )
    return found


def rebinding(rooms: Rooms, inside: Reached) -> dict[str, Any]:
    """Ask names again that have moved inside since they were asked first."""
    before = len(inside.reached)
    metadata = "http://moved.rebind.test/"
    twice = {
        "a page": rooms.read(["http://page.rebind.test/"] * 2),
        "a feed": rooms.poll(["http://feed.rebind.test/feed?x"] * 2),
        "a redirect to itself": rooms.read(["http://self.rebind.test/r302?http://self.rebind.test/"]),
        "the metadata address": rooms.read([metadata] * 3),
    }
    found = {way: [codes[0] for codes in ends] for way, ends in twice.items()}
    return {"codes": found, "reached": inside.reached[before:], "broken": rooms.broken()}


@contextmanager
def _walled(folder: Path, services: Sequence[int]) -> Iterator[tuple[Reached, list[str]]]:
    mount_names(folder)
    taken = bring_up()
    with inlets(folder, services), resolving(Names()), Listener(site).listening() as listener:
        yield listener, taken


@contextmanager
def _recorded(folder: Path, services: Sequence[int]) -> Iterator[tuple[Reached, list[str]]]:
    with recording(folder, services, site=site, zone=Names()) as recorder:
        yield recorder, list(INSIDE)


def main() -> None:
    """Bring the surroundings up, show that the inside can be reached, walk, and print everything as JSON."""
    around, every = {"walled": _walled, "recorded": _recorded}[sys.argv[1]], int(sys.argv[2])
    folder, variables = Path(sys.argv[3]), json.loads(sys.argv[4])
    services = sorted({urlsplit(variables[name]).port or 0 for name in ("DATABASE_URL", "AWS_ENDPOINT_URL")})
    with ExitStack() as stack:
        stack.enter_context(environment(variables))
        inside, addresses = stack.enter_context(around(folder, services))
        control = {
            "addresses": addresses,
            "reached": naive(addresses, PORTS, inside),
            "spellings": naive([host.strip("[]") for host in HOSTS], (80,), inside),
            "child": naive_child(inside),
        }
        opened = psycopg.connect(variables["DATABASE_URL"], autocommit=True, prepare_threshold=None)  # maybe pooled
        connection = stack.enter_context(opened)
        rooms = Rooms(connection, variables)
        if "HTTP_ALLOW_LOOPBACK" in variables:
            port = stack.enter_context(served(site))
            let_through(port)
            rooms.typed = f"http://127.0.0.1:{port}"
        public = {"page": rooms.read(["http://public.test/"])}
        rooms.forget()  # the page, which the feed links to
        public["feed"] = rooms.poll([rooms.at("feed", "http://public.test/")])
        walked = walk(rooms, inside, SPELLINGS[::every])
        found = {"control": control, "public": public, "walk": walked, "rebinding": rebinding(rooms, inside)}
        sys.stdout.write(json.dumps(found))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
