"""A press of invented articles on this machine's loopback addresses: feeds, pages, and a webhook that takes news."""

import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from infra.local.sample_library import load_feeds

_SENTENCES = 24


class Press:
    """Articles of the samples' sentences, no two alike, each with one word that stands in no other."""

    def __init__(self) -> None:
        articles = [article for feed in load_feeds(datetime.now(UTC)) for article in feed.articles]
        self.sentences = [
            sentence.strip() + "."
            for article in articles
            if article.language == "en"
            for sentence in article.text.replace("\n", " ").split(". ")
            if len(sentence) > 30
        ]

    def page(self, name: str) -> str:
        """Return the page of a name: the same whenever it is asked for."""
        chosen = random.Random(name)  # no secret
        sentences = chosen.sample(self.sentences, min(_SENTENCES, len(self.sentences)))
        title = " ".join(sentences[0].split()[:8])
        paragraphs = "".join(f"<p>{' '.join(sentences[at : at + 4])}</p>" for at in range(0, len(sentences), 4))
        return (
            f"<!doctype html><html lang=en><head><title>{title}</title></head><body><nav><a href=/>Home</a></nav>"
            f"<article><h1>{title}</h1>{paragraphs}<p>The reference of this article is {word(name)}.</p></article>"
            "</body></html>"
        )

    def feed(self, name: str, entries: int) -> str:
        """Return a feed whose entries link to pages and say their first words."""
        now = datetime.now(UTC)
        items = "".join(
            f"<item><title>Article {at} of {name}</title><link>/page/{name}-{at}</link><guid>{name}-{at}</guid>"
            f"<pubDate>{format_datetime(now - timedelta(minutes=at))}</pubDate></item>"
            for at in range(entries)
        )
        return f"<?xml version='1.0'?><rss version='2.0'><channel><title>{name}</title>{items}</channel></rss>"


def word(name: str) -> str:
    """Return the word that stands in the article of a name alone."""
    return "zq" + "".join(chr(97 + int(digit, 16)) for digit in name.encode().hex())


@contextmanager
def served(entries: int, hook: Callable[[str], object] | None = None) -> Iterator[int]:
    """Serve feeds and pages on every loopback address; yields the port.

    ``hook`` is told the edition of each delivery to a webhook here; without one these are not taken.
    """
    press = Press()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            _, kind, name = self.path.split("/", 2) if self.path.count("/") > 1 else ("", "", "")
            body, content_type = "", "text/html; charset=utf-8"
            if kind == "page":
                body = press.page(name)
            elif kind == "feed":
                body, content_type = press.feed(name, entries), "application/rss+xml"
            raw = body.encode()
            self.send_response(200 if raw else 404)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if hook is not None:
                hook(self.headers["X-Siftline-Edition-Id"])
            self.send_response(404 if hook is None else 204)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Say nothing of a worker that was killed while it asked; else what went wrong."""
            if not isinstance(sys.exc_info()[1], ConnectionError):
                super().handle_error(request, client_address)

    server = Server(("0.0.0.0", 0), Handler)  # noqa: S104  # all of 127/8; it serves invented pages
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
