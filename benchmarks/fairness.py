"""P15: what a person waits for while another one imports. ``python -m benchmarks fairness``

A whole machine runs as with ``make run``. One user saves pages and makes wishes on the idle system; then another one
imports 200 feeds of 20 entries, and the first goes on saving, one page after the other, as long as the import lasts.
Each save is timed from the request to the answer of a search that holds it, and to READY; each wish to the end of the
scoring that it asked for. Addresses are all of this machine (127.0.1.1 to 127.0.1.200 for the feeds), so nothing waits
for the pace of hosts.
"""

import os
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from benchmarks.database import durability, new_folder
from benchmarks.press import served, word
from benchmarks.report import Report
from siftline.kit.db import SingleConnection
from siftline.operate.user_command import make_user
from tests.e2e.machine import Client, RunningMachine

FEEDS, ENTRIES = 200, 20
IDLE, SAVES = 4, 8
"""Pages that are saved on the idle system, and during the import."""
_LOOK_EVERY_S = 0.1
_PATIENCE_S = 300.0
_REACH = {"found by words": 1.0, "READY": 10.0}
_IMPORT_LEFT = """
select count(*) filter (where status = 'READY')::int, count(*)::int
from contents join items on items.content_id = contents.id where items.user_id = %s
"""
# Not by when its job was claimed: a claim that began before the wish may read it all the same.
_SCORED = "select 1 from score_profiles where user_id = %s and interests = %s and applied_at is not null"


class _Reader:
    """One user who saves and wishes, with a stop-watch."""

    def __init__(self, client: Client, user_id: Any, database_url: str, port: int) -> None:
        self._client = client
        self._user_id = user_id
        self._database_url = database_url
        self._port = port

    def save(self, name: str) -> dict[str, float | None]:
        """Save a page; returns the seconds until it was found by its words and until it was READY."""
        started = time.monotonic()
        item = self._client.save(f"http://127.0.0.1:{self._port}/page/{name}")
        seconds: dict[str, float | None] = {"found by words": None, "READY": None}
        while None in seconds.values() and time.monotonic() - started < _PATIENCE_S:
            if seconds["found by words"] is None and self._finds(word(name)):
                seconds["found by words"] = time.monotonic() - started
            if seconds["READY"] is None and self._client.get(f"/v1/items/{item['id']}")["status"] == "READY":
                seconds["READY"] = time.monotonic() - started
            time.sleep(_LOOK_EVERY_S)
        return seconds

    def wish(self, interests: str) -> float | None:
        """Change what one is interested in; returns the seconds until all is scored by it."""
        with psycopg.connect(self._database_url, autocommit=True) as connection:
            started = time.monotonic()
            status, answer = self._client.call("PATCH", "/v1/me", {"interests": interests})
            if status != 200:
                raise SystemExit(f"The wish was answered {status}: {answer}")
            while time.monotonic() - started < _PATIENCE_S:
                if connection.execute(_SCORED, [self._user_id, interests]).fetchone():
                    return time.monotonic() - started
                time.sleep(_LOOK_EVERY_S)
        return None

    def _finds(self, text: str) -> bool:
        return bool(self._client.get("/v1/search", q=text, limit=1)["items"])


def main() -> None:
    report = Report("fairness")
    report.open(f"a page is saved while another user imports {FEEDS} feeds of {ENTRIES} entries")
    with new_folder() as folder, served(ENTRIES) as port, RunningMachine(folder / "machine") as machine:
        _measure(report, machine, port)
    report.keep()


def _measure(report: Report, machine: RunningMachine, port: int) -> None:
    url = machine.environment["DATABASE_URL"]
    report.tell(durability(url))
    database = SingleConnection(url)
    importer, saver = make_user(database, "importer"), make_user(database, "saver")
    database.close()
    reader = _Reader(machine.client(saver.token), saver.id, url, port)
    reader.save("warm-up")
    idle = [_timed(reader, f"idle-{at}") for at in range(IDLE)]
    client = machine.client(importer.token)
    for at in range(FEEDS):
        _follow(client, f"http://127.0.1.{at % 250 + 1}:{port}/feed/f{at}")
    time.sleep(5.0)  # until its jobs are everywhere
    beside = []
    for at in range(SAVES):
        progress = _progress(url, importer.id)
        beside.append(_timed(reader, f"beside-{at}") | {"import READY": progress})
        time.sleep(2.0)
    report.table("seconds, on the idle system", idle)
    report.table("seconds, beside the import", beside)
    report.table(
        "seconds", [_summed("idle", idle), _summed("beside the import", beside), {"which": "reach", **_NO_REACH}]
    )


_NO_REACH: Mapping[str, Any] = {
    "words median": "", "words longest": _REACH["found by words"], "READY median": "", "READY longest": _REACH["READY"],
    "score median": "", "score longest": "",
}  # fmt: skip


def _timed(reader: _Reader, name: str) -> dict[str, Any]:
    found = reader.save(name)
    scored = reader.wish(f"solar energy, chess, {name}")
    row = {**found, "wish to score": scored, "load": round(os.getloadavg()[0], 1)}
    print("   " + name, row, flush=True)
    return {name: round(value, 2) if isinstance(value, float) else value for name, value in row.items()}


def _summed(which: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    summed: dict[str, Any] = {"which": which}
    for name, column in (("words", "found by words"), ("READY", "READY"), ("score", "wish to score")):
        seconds = [row[column] if row[column] is not None else _PATIENCE_S for row in rows]
        summed |= {f"{name} median": round(statistics.median(seconds), 2), f"{name} longest": max(seconds)}
    return summed


def _progress(database_url: str, user_id: Any) -> str:
    with psycopg.connect(database_url) as connection:
        [(ready, held)] = connection.execute(_IMPORT_LEFT, [user_id]).fetchall()
    return f"{ready}/{held}"


def _follow(client: Client, url: str) -> None:
    """Follow a feed by its address: what a file of subscriptions says of this machine is refused."""
    status, answer = client.call("POST", "/v1/sources", {"url": url})
    if status not in (200, 201, 202):
        raise SystemExit(f"Following {url} was answered {status}: {answer}")
