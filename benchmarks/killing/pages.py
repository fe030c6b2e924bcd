"""The pages that the jobs read: on loopback, each slow, so that a killed worker is killed in mid-work.

The server sees which worker reads what at this moment: workers say their name in the user agent, and, where a worker is
several processes, which of them it is.
"""

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tests.servers import Answer, LoopbackServer, Request

_PATH = re.compile(r"^/page/(\d+)$")
_AGENT = re.compile(r"\bworker-(\d+)(?:\.pid-(\d+))?")
_SENTENCE = "Report {page} says in its sentence {number} what harbour {page} and its {number} boats did on that day."


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: the worker's number, and the process where it says so."""

    worker: int
    pid: int | None


class SlowPages:
    """Serves ``/page/<number>``, each after its own time between ``slow_s``'s two, the same at every reading."""

    def __init__(self, pages: int, *, slow_s: tuple[float, float], seed: int) -> None:
        self.count = pages
        rng = random.Random(seed)
        self._waits_s = [rng.uniform(*slow_s) for _ in range(pages)]
        self._lock = threading.Lock()
        self._reading: dict[int, tuple[int, Reader]] = {}
        self._tickets = iter(range(10**9))
        self.asked: Counter[int] = Counter()
        self.answered: set[int] = set()
        self._server = LoopbackServer()
        for page in range(pages):
            self._server.answers[f"/page/{page}"] = self._answer

    @contextmanager
    def open(self) -> Iterator["SlowPages"]:
        """Serve for the length of a block."""
        self._server.start()
        try:
            yield self
        finally:
            self._server.stop()

    def url(self, page: int) -> str:
        """Return a page's address."""
        return self._server.url(f"/page/{page}")

    def reading(self, worker: int) -> Mapping[int, int | None]:
        """Return which pages a worker reads at this moment, each with the process that does."""
        with self._lock:
            return {page: reader.pid for page, reader in self._reading.values() if reader.worker == worker}

    def _answer(self, request: Request) -> Answer:
        found, named = _PATH.match(request.path), _AGENT.search(request.headers.get("user-agent", ""))
        assert found, request.path
        page = int(found[1])
        reader = Reader(int(named[1]), int(named[2]) if named[2] else None) if named else None
        with self._lock:
            self.asked[page] += 1
            ticket = next(self._tickets)
            if reader:
                self._reading[ticket] = (page, reader)
        time.sleep(self._waits_s[page])
        with self._lock:
            self._reading.pop(ticket, None)
            self.answered.add(page)
        return Answer(_html(page), headers={"Content-Type": "text/html; charset=utf-8"})


def _html(page: int) -> bytes:
    said = "".join(f"<p>{_SENTENCE.format(page=page, number=number)}</p>" for number in range(1, 13))
    return f"<html><head><title>Report {page}</title></head><body><article>{said}</article></body></html>".encode()
