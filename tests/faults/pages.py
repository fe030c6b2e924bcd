"""A site on loopback: articles long enough to be analysed, and feeds that list them."""

import random
from collections.abc import Callable, Iterable, Iterator

from tests.models import CORPUS
from tests.servers import Answer, LoopbackServer, Request, Script

_HTML = {"Content-Type": "text/html; charset=utf-8"}
_RSS = {"Content-Type": "application/rss+xml"}


class Site:
    """Adds pages to a server; each has a text of its own, which ``edit`` changes."""

    def __init__(self, server: LoopbackServer) -> None:
        self._server = server
        self._count = 0

    def add_pages(self, count: int) -> list[str]:
        """Return the addresses of new articles."""
        urls = []
        for _ in range(count):
            self._count += 1
            urls.append(self._server.url(f"/article-{self._count}"))
            self.edit(urls[-1], "first")
        return urls

    def add_feed(self, count: int) -> tuple[str, list[str]]:
        """Return the address of a new feed, and of the new articles that it lists."""
        urls = self.add_pages(count)
        entries = "".join(
            f"<item><title>{url.rpartition('/')[2]}</title><link>{url}</link><guid>{url}</guid></item>" for url in urls
        )
        path = f"/feed-{self._count}.xml"
        body = (
            f'<rss version="2.0"><channel><title>News</title><link>{self._server.url()}</link>{entries}</channel></rss>'
        )
        self._server.answers[path] = Answer(body.encode(), headers=_RSS)
        return self._server.url(path), urls

    def put(self, path: str, answer: Script) -> str:
        """Let a path answer something else than an article; returns its address."""
        self._server.answers[path] = answer
        return self._server.url(path)

    def edit(self, url: str, version: str) -> None:
        """Let an article say something else."""
        path = self._path(url)
        self._server.answers[path] = Answer(article(path, version), headers=_HTML)

    def script(self, url: str, change: Callable[[Answer], Script]) -> Answer:
        """Change how an address is answered, given how it was; returns how it was."""
        before = self._server.answers[self._path(url)]
        assert isinstance(before, Answer)
        self._server.answers[self._path(url)] = change(before)
        return before

    def put_back(self, url: str, before: Answer) -> None:
        """Answer an address as it was answered."""
        self._server.answers[self._path(url)] = before

    def asked(self, url: str) -> int:
        """Return how often an address was asked for."""
        return len(self._server.asked(self._path(url)))

    def _path(self, url: str) -> str:
        return url.removeprefix(self._server.url(""))


def article(path: str, version: str) -> bytes:
    """Return a page about what its path and version draw from the corpus."""
    rng = random.Random(f"{path} {version}")
    sentences = [f"{line.capitalize()} in the {version} report number {rng.randrange(10**6)}." for line in CORPUS[:4]]
    rng.shuffle(sentences)
    paragraphs = "".join(f"<p>{' '.join(sentences)}</p>" for _ in range(2))
    title = f"Report of {path.strip('/')}"
    head = f'<html lang="en"><head><title>{title}</title></head>'
    html = f"{head}<body><article><h1>{title}</h1>{paragraphs}</article></body></html>"
    return html.encode()


def first(act: Callable[[], object], *, when: str) -> Callable[[Answer], Script]:
    """Return a change of a page: ``act`` at its first request, ``before`` or ``after`` its body went out."""
    left = [act]

    def change(answer: Answer) -> Script:
        def body(content: bytes) -> Iterator[bytes]:
            yield content
            _once(left)

        def script(_: Request) -> Answer:
            if when == "before":
                _once(left)
            assert isinstance(answer.body, bytes)
            if when == "after" and left:
                chunks: Iterable[bytes] = body(answer.body)
                return Answer(chunks, headers=answer.headers, content_length=len(answer.body))
            return answer

        return script

    return change


def _once(left: list[Callable[[], object]]) -> None:
    if left:
        left.pop()()
