"""What the sample server answers: feeds, pages, pictures, and the pages that go wrong on purpose. No sockets here."""

import gzip
import hashlib
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from functools import cache
from urllib.parse import parse_qs, urlsplit

from infra.local import sample_media
from infra.local.sample_feeds import MEDIA_TYPES, render_feed
from infra.local.sample_library import SAMPLES_DIR, SampleArticle, SampleFeed, load_feed, load_feeds, load_weblog
from infra.local.sample_pages import render_article, render_list
from siftline.net.http_model import http_date

HTML = "text/html; charset=utf-8"
SLOW_DEFAULT_S, SLOW_MOST_S = 10, 120
BUSY_DEFAULT_S = 30
_LINKS = 8  # articles that a page links to


@dataclass(frozen=True)
class Answer:
    """A response before it is sent; ``delay_s`` is how long the server lets the client wait for it."""

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


class SampleSite:
    """Answers every path of the sample server. Links point to ``base_url``; times count from ``now``."""

    def __init__(self, base_url: str, now: datetime) -> None:
        self.feeds: tuple[SampleFeed, ...] = load_feeds(now)
        """Those that are followed: the weblog is not."""
        self._base_url = base_url
        served = (*self.feeds, load_weblog(now))
        self._feeds = {feed.path: feed for feed in served}
        self._homes = {f"/{feed.name}/": feed for feed in served}
        self._pages = {article.path: (article, feed) for feed in served for article in feed.articles}
        trouble = load_feed(SAMPLES_DIR / "trouble.yaml", now)
        self._slow = trouble.articles[0], trouble

    def answer(self, target: str, headers: Mapping[str, str]) -> Answer:
        """Answer a request for ``target`` (path and query); a 304 where the request's validators still hold."""
        parts = urlsplit(target)
        if parts.path.startswith("/trouble/"):
            return self._trouble(parts.path, parts.query)
        if feed := self._feeds.get(parts.path):
            media_type = f"{MEDIA_TYPES[feed.format]}; charset=utf-8"
            return _validated(media_type, render_feed(feed, self._base_url), feed.articles[0].published, headers)
        if page := self._pages.get(parts.path):
            return _validated(HTML, self._article(*page), page[0].published, headers)
        if page := self._pages.get(parts.path.removesuffix(".png")):
            return Answer(200, "image/png", picture(page[0].slug))
        if feed := self._homes.get(parts.path):
            return _page(200, self._home(feed))
        if parts.path.startswith("/media/"):
            return self._media(parts.path)
        if parts.path == "/":
            return _page(200, self._front())
        return _NOT_FOUND

    def _front(self) -> str:
        links = [
            (f"{self._base_url}/{feed.name}/", f"{feed.title}: {feed.description}") for feed in self._feeds.values()
        ]
        folders = [(f"{self._base_url}/media/", "Media"), (f"{self._base_url}/trouble/", "Trouble")]
        return render_list("Siftline's samples", [*links, *folders])

    def _media(self, path: str) -> Answer:
        if path == "/media/":
            links = [(self._base_url + at, title) for at, title in sample_media.TITLES.items()]
            return _page(200, render_list("Media", links))
        if path == sample_media.TALK:
            return _page(200, sample_media.talk_page(self._base_url))
        if path == sample_media.CAPTIONS:
            return Answer(200, "text/vtt; charset=utf-8", sample_media.captions())
        if path == sample_media.VIDEO:
            return Answer(200, "video/mp4", b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom")  # a head without a picture
        return Answer(200, "application/pdf", sample_media.report_pdf()) if path == sample_media.REPORT else _NOT_FOUND

    def _article(self, article: SampleArticle, feed: SampleFeed) -> bytes:
        around = [other for other in feed.articles if other is not article][:_LINKS]
        return render_article(article, feed, self._base_url, around).encode()

    def _home(self, feed: SampleFeed) -> str:
        links = [(f"{self._base_url}{article.path}", article.title) for article in feed.articles]
        return render_list(feed.title, links, (MEDIA_TYPES[feed.format], f"{self._base_url}{feed.path}"))

    def _trouble(self, path: str, query: str) -> Answer:
        if path == "/trouble/":
            return _page(
                200, render_list("Trouble", [(f"{self._base_url}{at}", f"{at}: {TROUBLE[at]}") for at in TROUBLE])
            )
        if path == "/trouble/slow":
            seconds = min(_seconds(query, SLOW_DEFAULT_S), SLOW_MOST_S)
            return Answer(200, HTML, self._article(*self._slow), delay_s=seconds)
        if path == "/trouble/busy":
            retry_after = {"Retry-After": str(_seconds(query, BUSY_DEFAULT_S))}
            return _page(503, render_list("503: come back later", []), retry_after)
        if path == "/trouble/bomb":
            return Answer(200, HTML, _bomb(), {"Content-Encoding": "gzip"})
        if path == "/trouble/loop":
            return _page(302, render_list("302: round and round", []), {"Location": f"{self._base_url}{path}"})
        return _STILL_TROUBLE.get(path, _NOT_FOUND)


def picture(seed: str, width: int = 640, height: int = 360) -> bytes:
    """Return a PNG of one colour chosen by ``seed`` (one bit a pixel, a palette of one entry)."""
    row = b"\0" + bytes(width // 8)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 3, 0, 0, 0)),
        (b"PLTE", hashlib.sha256(seed.encode()).digest()[:3]),
        (b"IDAT", zlib.compress(row * height)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


@cache
def _bomb() -> bytes:
    """Return 100 KB of gzip that are 100 MB of spaces."""
    return gzip.compress(b" " * 100_000_000, mtime=0)


def _page(status: int, text: str, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, HTML, text.encode(), headers or {})


def _seconds(query: str, default: int) -> int:
    """Return the query's whole ``seconds``; the default where it names none."""
    text = parse_qs(query).get("seconds", [""])[0]
    return int(text) if text.isdecimal() else default


def _validated(content_type: str, body: bytes, modified: datetime, headers: Mapping[str, str]) -> Answer:
    """Answer with both validators, or 304: an entity tag counts before a date (RFC 9110, 13.2.2)."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    validators = {"ETag": tag, "Last-Modified": format_datetime(modified, usegmt=True), "Cache-Control": "no-cache"}
    known = headers.get("If-None-Match")
    since = http_date(headers.get("If-Modified-Since", ""))
    if known is not None:
        unchanged = known.strip() == "*" or tag in [part.strip().removeprefix("W/") for part in known.split(",")]
    else:
        unchanged = since is not None and modified <= since
    return Answer(304, content_type, b"", validators) if unchanged else Answer(200, content_type, body, validators)


TROUBLE = {
    "/trouble/missing": "404, never was here",
    "/trouble/gone": "410, has left for good",
    "/trouble/busy": "503 with Retry-After, ?seconds=30",
    "/trouble/slow": "an article that takes ?seconds=10 to come",
    "/trouble/empty": "a page without text, as one of scripts alone",
    "/trouble/short": "a page with too few words to say anything about",
    "/trouble/image": "a picture, not a page",
    "/trouble/bomb": "100 KB of gzip that are 100 MB",
    "/trouble/loop": "redirects to itself",
    "/trouble/inside": "redirects to an address inside, as of a cloud's metadata",
}
_NOT_FOUND = _page(404, render_list("404: not found", []))
_STILL_TROUBLE = {
    "/trouble/gone": _page(410, render_list("410: gone", [])),
    "/trouble/empty": _page(200, '<!doctype html><html lang="en"><body><div id="root"></div></body></html>'),
    "/trouble/short": _page(200, '<!doctype html><html lang="en"><body><p>Back in five minutes.</p></body></html>'),
    "/trouble/inside": _page(
        302, render_list("302: inside", []), {"Location": "http://169.254.169.254/latest/meta-data/"}
    ),
    "/trouble/image": Answer(200, "image/png", picture("trouble")),
}
