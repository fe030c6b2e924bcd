"""Faults 20 to 23 and 25: servers that mean harm, or are broken, through the whole system.

Each is met twice, as a feed that is followed and as a page that is saved. It must end with an error that says what was
wrong, cost the worker neither its life nor its memory, and keep nothing else from being read. Fault 24 needs names of
the test's own, and is met where there are some: ``tests/integration/test_ssrf.py``.
"""

import gzip
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.faults.machine import FaultMachine
from tests.faults.table import Told
from tests.servers import Answer, Script, drip, redirect

# Sixteen threads may each hold a body of the largest size; a bomb unpacked, or a body without end, is far more.
_MEMORY_BYTES = 400_000_000
_PATIENCE = {"HTTP_TOTAL_S": "6", "HTTP_READ_S": "4", "FEED_PARSE_S": "20", "PAGE_READ_S": "20"}
_LESS = {"HTTP_TOTAL_S": "4", "HTTP_READ_S": "3"}
_GZIP = {"Content-Encoding": "gzip"}


@pytest.fixture(scope="module", autouse=True)
def _little_patience(_machine: FaultMachine) -> None:
    """Waits are short here; the rules are those of production."""
    _machine.restart_worker(**_PATIENCE)


@dataclass
class Endurance:
    """Meets a server's answers, and tells how each job ended."""

    machine: FaultMachine
    pages: list[str]
    healing: Told

    def meet(self, fault: str, answers: Mapping[str, Script]) -> dict[str, str]:
        """Follow and save each of these paths; returns the code that each ended with, ``ok`` where it was read.

        What sound servers answer meanwhile is read, the invariants hold, and the worker is the same and no larger.
        """
        machine, since = self.machine, time.monotonic()
        pid, peak_bytes = machine.worker_pid, machine.worker_peak_bytes()
        urls = {
            name: machine.site.put(f"/{fault.replace(' ', '-')}/{name}", answer) for name, answer in answers.items()
        }
        sources = {f"feed {name}": machine.follow(url) for name, url in urls.items()}
        saved = dict(zip((f"page {name}" for name in urls), machine.save(list(urls.values())), strict=True))
        sound = machine.save(self.pages)
        feed, articles = machine.site.add_feed(len(self.pages))
        sound_source = machine.follow(feed)
        machine.see(lambda: self._polled([sound_source, *sources.values()]))
        self.healing(fault, machine.heal(since))
        assert machine.statuses(sound) == ["READY"] * len(sound)
        assert machine.ask("select status from contents where url = any(%s)", articles) == ["READY"] * len(articles)
        assert machine.ask("select last_error_code from sources where id = %s", sound_source) == [None]
        assert machine.worker_pid == pid
        assert machine.worker_peak_bytes() - peak_bytes < _MEMORY_BYTES
        return {**self._ends("sources", "last_error", sources), **self._ends("contents", "error", saved)}

    def _polled(self, sources: list[Any]) -> bool:
        waiting = "select count(*) from sources where id = any(%s) and (last_fetch_at is null or fetch_status <> 'IDLE'"
        return self.machine.ask(f"{waiting} and fetch_status <> 'ERROR')", sources) == [0]

    def _ends(self, table: str, column: str, ids: Mapping[str, Any]) -> dict[str, str]:
        ends = {}
        for name, row_id in ids.items():
            [(code, detail)] = self.machine.ask(
                f"select {column}_code, {column}_detail from {table} where id = %s", row_id
            )
            assert bool(code) == bool(detail)
            ends[name] = code or "ok"
        return ends


@pytest.fixture
def endurance(machine: FaultMachine, pages: list[str], healing: Told) -> Endurance:
    return Endurance(machine, pages, healing)


def both(code: str, *names: str) -> dict[str, str]:
    """Return the same end for each, as a feed and as a page."""
    return {f"{kind} {name}": code for kind in ("feed", "page") for name in names}


def afresh(body: Callable[[], Iterator[bytes]], **answer: Any) -> Script:
    """Return a script that makes its body anew at each request."""
    return lambda _: Answer(body(), **answer)


def endless() -> Iterator[bytes]:
    """Yield bytes without end."""
    while True:
        yield b"<p>more</p>" * 6_000


def test_a_server_that_drips_is_given_up(endurance: Endurance, fault_round: int) -> None:
    """Fault 20: one byte now and then, in the body and in no hurry ever; the deadline of the whole request ends it."""
    endurance.machine.restart_worker(**_PATIENCE | _LESS)
    answers = {
        "body": afresh(lambda: drip(b"<rss>" + b" " * 100_000, 0.05)),
        "late": afresh(lambda: drip(b"xx", 4), content_length=2),
    }
    assert endurance.meet("20 drip", answers) == both("timed_out", "body", "late")
    endurance.machine.restart_worker(**_PATIENCE)


def test_a_body_without_end_and_a_false_length_are_refused(endurance: Endurance, fault_round: int) -> None:
    """Fault 21: more than may be, more than was announced, less than was announced."""
    answers = {
        "endless": afresh(endless),
        "chunked": afresh(_chunked, headers={"Transfer-Encoding": "chunked"}),
        "announced": Answer(b"<rss/>", content_length=10**13),
        "short": afresh(lambda: iter([b"<rss>"]), content_length=1_000),
    }
    large = both("too_large", "endless", "chunked", "announced")
    assert endurance.meet("21 endless body", answers) == {**large, **both("connection_failed", "short")}


def test_a_bomb_dies_before_it_is_unpacked(endurance: Endurance, fault_round: int) -> None:
    """Fault 22: gzip, gzip in gzip, deflate without end, and brotli, which was not asked for."""
    bomb = _bomb(1_000_000_000)
    answers = {
        "gzip": Answer(bomb, headers=_GZIP),
        "twice": Answer(gzip.compress(bomb), headers={"Content-Encoding": "gzip, gzip"}),
        "endless": afresh(_deflate_without_end, headers={"Content-Encoding": "deflate"}),
        "brotli": Answer(b"\x8b\x02\x80hello\x03" * 100, headers={"Content-Encoding": "br"}),
    }
    large = both("too_large", "gzip", "twice", "endless")
    assert endurance.meet("22 bombs", answers) == {**large, **both("invalid_response", "brotli")}


def test_redirects_without_end_or_to_the_inside_are_refused(endurance: Endurance, fault_round: int) -> None:
    """Fault 23: a loop, an ever longer way, a private address, another scheme."""
    folder = "/23-redirects"
    answers: dict[str, Script] = {
        "loop": redirect(f"{folder}/loop", 301),
        "chain": redirect(f"{folder}/chain-1", 308),
        **{f"chain-{n}": redirect(f"{folder}/chain-{n + 1}") for n in range(1, 7)},
        "private": redirect("http://10.0.0.1/"),
        "metadata": redirect("http://[::ffff:a9fe:a9fe]/latest/meta-data/", 307),
        "file": redirect("file:///etc/passwd"),
    }
    ends = endurance.meet("23 redirects", answers)
    looped = {name: code for name, code in ends.items() if name.split()[1] in {"loop", "chain", "chain-1"}}
    assert looped == both("too_many_redirects", "loop", "chain", "chain-1")
    assert {name: ends[name] for name in both("", "private", "metadata")} == both(
        "address_refused", "private", "metadata"
    )
    assert {name: ends[name] for name in both("", "file")} == both("unsupported_scheme", "file")


def test_markup_that_is_meant_to_hang_a_parser_is_read_or_refused(endurance: Endurance, fault_round: int) -> None:
    """Fault 25: 50,000 attributes of one element, 100,000 levels, entities that multiply."""
    attributes = " ".join(f"a{n}='{n}'" for n in range(50_000))
    item = "<item><title>A</title><link>http://10.0.0.1/</link></item>"
    entities = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10}'>" for n in range(1, 10))
    xml = {
        "attributes": f"<rss><channel><title {attributes}>T</title>{item}</channel></rss>",
        "levels": f"<rss><channel>{'<a>' * 100_000}{'</a>' * 100_000}{item}</channel></rss>",
        "open-levels": "<rss><channel>" + "<a>" * 100_000,
        "entities": f"<!DOCTYPE rss [<!ENTITY e0 'ha'>{entities}]><rss><channel><title>&e9;</title></channel></rss>",
    }
    html = {
        "html-attributes": f"<html><body {attributes}><p>{'A sentence of the page. ' * 20}</p></body></html>",
        "html-levels": f"<html><body>{'<div>' * 100_000}<p>{'A sentence of the page. ' * 20}</p></body></html>",
    }
    answers: dict[str, Script] = {
        **{name: Answer(text.encode(), headers={"Content-Type": "application/rss+xml"}) for name, text in xml.items()},
        **{name: Answer(text.encode(), headers={"Content-Type": "text/html"}) for name, text in html.items()},
    }
    ends = endurance.meet("25 attributes and levels", answers)
    assert {name: ends[f"feed {name}"] for name in xml} == dict.fromkeys(xml, "feed_too_complex")
    assert {ends[f"page {name}"] for name in xml} <= {"unsupported_content_type", "page_too_complex"}
    assert {ends[f"feed {name}"] for name in html} <= {"no_feed_found", "page_too_complex"}
    assert {ends[f"page {name}"] for name in html} <= {"ok", "page_too_complex", "empty_content"}


def _chunked() -> Iterator[bytes]:
    for block in endless():
        yield b"%x\r\n%s\r\n" % (len(block), block)


def _bomb(size: int) -> bytes:
    """Return a gzip file of this many zeros, made without ever holding them."""
    encoder = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    block = bytes(1_000_000)
    return b"".join(encoder.compress(block) for _ in range(size // len(block))) + encoder.flush()


def _deflate_without_end() -> Iterator[bytes]:
    encoder = zlib.compressobj(9)
    while True:
        yield encoder.compress(bytes(1_000_000)) + encoder.flush(zlib.Z_SYNC_FLUSH)
