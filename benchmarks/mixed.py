"""Mixed load while the worker is killed: what is lost, doubled or deadlocked. ``python -m benchmarks mixed``

``--minutes N`` says how long; 20 by default.

A whole machine runs as with ``make run``. One user imports feeds of 20 entries, as fast as they are read; three others
save, list, search by words and meaning, star, tag, delete, wish and have briefings made and delivered, and now and then
all of them save the same pages, or follow the same feed, in one moment. About once a minute the worker is ended by
SIGKILL, and once PostgreSQL is restarted. Then the load ends, quiet is waited for, and everything is counted. The exit
code is 1 where anything was lost, doubled, deadlocked or answered by 5xx. While PostgreSQL is away a 503 is none, and
neither is the gateway's own 500: the authorizer cannot tell anybody from nobody then, and fails.
"""

import json
import os
import random
import signal
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPException
from typing import Any, NamedTuple
from zlib import crc32

import psycopg

from benchmarks.database import durability, new_folder
from benchmarks.press import Press, served, word
from benchmarks.report import Report
from infra.local.processes import wait_until
from siftline.jobs.credits_store import grant
from siftline.jobs.queues import SqsQueues
from siftline.kit.db import SingleConnection
from siftline.operate.user_command import make_user
from siftline.settings.functions import QueueSettings, environment
from tests.deadlocks import deadlocks
from tests.e2e.machine import Client, RunningMachine
from tests.faults.audit import restless, stored_vectors, violations
from tests.faults.parts import outstanding

MINUTES = 20.0
"""Of load."""
SETTINGS: Mapping[str, str] = {}
"""Settings of the machine; by default what a killed worker had begun waits ten minutes for its lease to end."""
_ENTRIES = 20
_BACKLOG = 100
"""Items of the import that are not read yet, beyond which it follows no further feed for a while."""
_QUIET_PATIENCE_S = 1_200.0
_SHOWN = 20
_WISHES = ("solar energy, chess", "ships, ports, ferries", "football, health", "law, courts, elections")
# What the audit of the invariants does not ask.
_DOUBLED = {
    "a page that never changes has two versions": "select url from contents where version > 1",
    "two editions of one period": """
        select briefing_id || ' ' || period_key from editions group by briefing_id, period_key having count(*) > 1""",
    "a briefing told a content twice": """
        select briefing_id || ' ' || content_id from edition_items group by briefing_id, content_id
        having count(*) > 1""",
    "an edition is delivered twice": """
        select edition_id || ' ' || channel from deliveries group by edition_id, channel having count(*) > 1""",
    "two vectors of a content and model": """
        select content_id || ' ' || model_version from embeddings group by content_id, model_version having count(*) > 1
        """,
}
_OF_THE_GATEWAY = {"message": "Internal Server Error"}
_DELIVERIES = "select edition_id::text, state, begun from deliveries"


class Call(NamedTuple):
    """A request: what for, when it began and ended (``time.monotonic``), and the status, 0 where no answer came."""

    kind: str
    began: float
    ended: float
    status: int
    by_gateway: bool = False
    """Whether the gateway answered in a function's place."""


class _Person:
    """A user who does many things, and remembers what was accepted from them."""

    def __init__(self, name: str, client: Client, port: int, calls: list[Call]) -> None:
        self.name = name
        self.saved: dict[str, str] = {}
        """Names of pages by the ids of their items, as saving answered."""
        self.deleted: set[str] = set()
        self._client = client
        self._port = port
        self._calls = calls
        self._chance = random.Random(name)  # no secret
        self._seen: list[str] = []
        self._sources: list[str] = []
        self._briefing = ""
        self._sentences = Press().sentences
        self._acts: Mapping[Callable[[], object], int] = {
            lambda: self.save(f"{name}-{len(self.saved)}-{self._chance.randrange(10**6)}"): 6,
            self._list: 3,
            lambda: self.ask("feed", "GET", "/v1/feed", limit=20): 2,
            self._search_words: 4,
            lambda: self.ask("search meaning", "GET", "/v1/search", q=self._chance.choice(self._sentences)[:200]): 4,
            lambda: self._change("star", {"starred": True, "read": True}): 3,
            lambda: self._change("tag", {"tags": [self._chance.choice(_WISHES).split(",")[0]]}): 3,
            self._delete: 2,
            lambda: self.ask("wish", "PATCH", "/v1/me", {"interests": self._chance.choice(_WISHES)}): 1,
            self._own_topics: 1,
            lambda: self.ask("brief", "POST", f"/v1/briefings/{self._briefing}/run"): 1,
            lambda: self._of_a_source("refresh", "POST", "/refresh"): 1,
            lambda: self._of_a_source("unfollow", "DELETE"): 1,
        }

    def live(self, over: threading.Event) -> None:
        """Do one thing after the other until it is over."""
        delivery = {"channel": "webhook", "destination": f"http://127.0.0.1:{self._port}/hook"}
        asked = {"name": "Daily", "frequency": "DAILY", "at": "07:00", "delivery": delivery}
        self._briefing = self.ask("make a briefing", "POST", "/v1/briefings", asked)["id"]
        acts, weights = list(self._acts), list(self._acts.values())
        while not over.wait(self._chance.uniform(0.1, 0.6)):
            self._chance.choices(acts, weights)[0]()

    def import_feeds(self, over: threading.Event) -> None:
        """Follow feeds, one after the other, as fast as they are read."""
        while not over.wait(2.0):
            waiting = self.ask("list", "GET", "/v1/items", status="PENDING", limit=200)
            if len(waiting.get("items", range(_BACKLOG))) < _BACKLOG:
                self.follow(f"import-{len(self._sources)}")

    def save(self, name: str) -> None:
        """Save a page."""
        self._accept(name, self.ask("save", "POST", "/v1/items", {"url": self._url("page", name)}))

    def save_all(self, names: Sequence[str]) -> None:
        """Save pages by one request, in an order of one's own."""
        shuffled = self._chance.sample(names, len(names))
        body = {"items": [{"url": self._url("page", name)} for name in shuffled]}
        answers = self.ask("save a batch", "POST", "/v1/items/batch", body).get("items", [])
        for name, answer in zip(shuffled, answers, strict=False):
            self._accept(name, answer["item"] or {})

    def follow(self, name: str) -> None:
        """Follow a feed."""
        if "id" in (answer := self.ask("follow", "POST", "/v1/sources", {"url": self._url("feed", name)})):
            self._sources.append(answer["id"])

    def lost(self) -> Iterator[str]:
        """Yield what was accepted and is neither READY, and found by its word, nor FAILED with a reason."""
        held = {item["id"]: item for item in self._client.items()}
        for item_id, name in self.saved.items():
            item = held.get(item_id)
            if item_id in self.deleted:
                continue
            if item is None:
                yield f"{self.name} saved {name} ({item_id}), and holds it no longer"
            elif item["status"] != "READY" and not (item["status"] == "FAILED" and item["error"]):
                yield f"{self.name} saved {name}, and it is {item['status']}"
            elif item["status"] == "READY":
                # In which place it stands is another question than whether it is lost.
                found = self._client.get("/v1/search", q=word(name), limit=20)["items"]
                if item_id not in [one["id"] for one in found]:
                    yield f"{self.name} saved {name}, and it is not found by its word"

    def not_imported(self) -> Iterator[str]:
        """Yield the entries of the feeds that one imported and does not hold: who only imports deletes none."""
        held = {item["url"].rpartition("/")[2] for item in self._client.items()}
        wanted = {f"import-{feed}-{entry}" for feed in range(len(self._sources)) for entry in range(_ENTRIES)}
        yield from (f"the import holds no {name}" for name in sorted(wanted - held))

    def ask(self, kind: str, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Return the answer, or an empty one where it is none of success; every request is remembered."""
        began, status, answer = time.monotonic(), 0, None
        with suppress(OSError, HTTPException):
            status, answer = self._client.call(method, path, body, **query)
        by_gateway = answer == _OF_THE_GATEWAY
        self._calls.append(Call(kind, began, time.monotonic(), status, by_gateway))
        return answer if 200 <= status < 300 and answer else {}

    def _url(self, kind: str, name: str) -> str:
        # Hosts of their own, so that nothing waits for the pace of one.
        return f"http://127.0.{1 if kind == 'feed' else 2}.{crc32(name.encode()) % 250 + 1}:{self._port}/{kind}/{name}"

    def _accept(self, name: str, answer: Mapping[str, Any]) -> None:
        if "id" in answer:
            self.saved[answer["id"]] = name

    def _list(self) -> None:
        items = self.ask("list", "GET", "/v1/items", limit=50).get("items", [])
        self._seen = [item["id"] for item in items] or self._seen

    def _search_words(self) -> None:
        names = list(self.saved.values())
        self.ask("search words", "GET", "/v1/search", q=word(self._chance.choice(names)) if names else "energy")

    def _change(self, kind: str, body: Mapping[str, Any]) -> None:
        if self._seen:
            self.ask(kind, "PATCH", f"/v1/items/{self._chance.choice(self._seen)}", body)

    def _delete(self) -> None:
        if self._seen:
            item_id = self._seen.pop(self._chance.randrange(len(self._seen)))
            self.deleted.add(item_id)  # before it is asked for: an answer may be missing
            self.ask("delete", "DELETE", f"/v1/items/{item_id}")

    def _own_topics(self) -> None:
        wish = self._chance.choice(_WISHES)
        topics = [{"id": "mine", "descriptions": {"en": wish}}]
        self.ask("own topics", "PUT", "/v1/topics", {"topics": topics})

    def _of_a_source(self, kind: str, method: str, rest: str = "") -> None:
        if self._sources:
            source = self._chance.choice(self._sources)
            self.ask(kind, method, f"/v1/sources/{source}{rest}")
            if method == "DELETE":
                self._sources.remove(source)


def _together(people: Sequence[_Person], over: threading.Event) -> None:
    """Have all save the same page, or the same pages, or follow the same feed, in one moment, again and again."""
    with ThreadPoolExecutor(len(people)) as pool:
        turn = 0
        while not over.wait(5.0):
            turn += 1
            names = [f"same-{turn}-{at}" for at in range(5)]
            acts: Sequence[Callable[[_Person], None]] = (
                lambda person, names=names: person.save(names[0]),  # type: ignore[misc]  # mypy infers no lambda with a default
                lambda person, names=names: person.save_all(names),  # type: ignore[misc]  # as above
                lambda person, names=names: person.follow(names[0]),  # type: ignore[misc]  # as above
            )
            list(pool.map(acts[turn % (3 if turn % 12 == 2 else 2)], people))


class _Harm:
    """Kills the worker about every ``every_s``, and restarts PostgreSQL once, after ``half_s``."""

    def __init__(self, machine: RunningMachine, every_s: float, half_s: float) -> None:
        self.kills = 0
        self.away: tuple[float, float] = (0.0, 0.0)
        """When PostgreSQL went and when it was back (``time.monotonic``)."""
        self._machine = machine
        self._every_s = every_s
        self._half_s = half_s

    def do(self, over: threading.Event) -> None:
        """Do harm until it is over."""
        chance, half = random.Random(1), time.monotonic() + self._half_s  # no secret
        while not over.wait(self._every_s * chance.uniform(0.75, 1.25)):
            with suppress(ProcessLookupError):
                os.kill(self._machine.worker_pid, signal.SIGKILL)
                self.kills += 1
            if not self.away[0] and time.monotonic() > half:
                went = time.monotonic()
                os.kill(self._machine.pid_of("postgres"), signal.SIGINT)
                time.sleep(0.5)
                wait_until(self._answers, 60.0)
                self.away = (went, time.monotonic())

    def _answers(self) -> bool:
        with suppress(psycopg.OperationalError), psycopg.connect(self._machine.environment["DATABASE_URL"]):
            return True
        return False


def main() -> int:
    """Do it, print what became of everything, and keep the report; returns 1 where something is wrong."""
    report, hooks = Report("mixed"), Counter[str]()
    report.open(f"{MINUTES:g} minutes of imports, saves, searches and kills")
    settings = {"WEBHOOK_ALLOW_LOOPBACK": "true", **SETTINGS}
    with (
        new_folder() as folder,
        served(_ENTRIES, lambda edition: hooks.update([edition])) as port,
        RunningMachine(folder / "machine", settings=settings) as machine,
    ):
        wrong = _measure(report, machine, port, hooks)
    report.table("wrong", [{name: len(found) for name, found in wrong.items()}])
    for name, found in wrong.items():
        print("\n".join(f"   {name}: {one}" for one in found[:_SHOWN]), flush=True)
    report.keep()
    return 1 if any(wrong.values()) else 0


def _measure(report: Report, machine: RunningMachine, port: int, hooks: Counter[str]) -> dict[str, list[str]]:
    url, load_s = machine.environment["DATABASE_URL"], MINUTES * 60
    report.tell(durability(url))
    calls: list[Call] = []
    importer, *readers = people = [
        _Person(name, machine.client(_metered_user(url, name)), port, calls)
        for name in ("importer", "ada", "bela", "cleo")
    ]
    harm = _Harm(machine, min(60.0, load_s / 3), load_s / 2)
    with _lasting(load_s) as start:
        for live in (importer.import_feeds, *(reader.live for reader in readers), harm.do):
            start(live)
        start(lambda over: _together(readers, over))
    ended = time.monotonic()
    with psycopg.connect(url, autocommit=True) as connection:
        wait_until(lambda: not restless(connection), _QUIET_PATIENCE_S, step_s=0.5)
        report.tell({"kills": harm.kills, "PostgreSQL away s": round(harm.away[1] - harm.away[0], 1)})
        report.tell({"quiet after s": round(time.monotonic() - ended, 1)})
        wrong = _audit(connection, machine, hooks)
        wrong["lost"] += [*importer.not_imported(), *(one for person in people for one in person.lost())]
        wrong["lost"] += [f"never quiet: {one}" for one in restless(connection)]
        held = "select status || coalesce(' ' || error_code, '') as contents, count(*)::int from contents group by 1"
        report.table("contents", [{"state": state, "contents": n} for state, n in connection.execute(held).fetchall()])
    wrong["deadlocks"] = _deadlocks(machine, url)
    wrong["5xx"] = [f"{call.kind}: {call.status or 'no answer'}" for call in calls if _failed(call, harm.away)]
    report.table("requests", [_row(kind, calls, harm.away) for kind in sorted({call.kind for call in calls})])
    return wrong


@contextmanager
def _lasting(seconds: float) -> Iterator[Callable[[Callable[[threading.Event], None]], object]]:
    """Yield what starts a thread; at the end of the block they are left alone for a while, told to end, and joined.

    What one of them raises is raised here.
    """
    over = threading.Event()
    with ThreadPoolExecutor(16) as pool:
        futures = []
        yield lambda work: futures.append(pool.submit(work, over))
        until = time.monotonic() + seconds
        wait_until(lambda: any(one.done() for one in futures) or time.monotonic() > until, seconds, step_s=0.5)
        over.set()
    for future in futures:
        future.result()


def _metered_user(url: str, name: str) -> str:
    """Make a user with credits, so that charges are written and can be doubled; returns the token."""
    database = SingleConnection(url)
    made = make_user(database, name)
    with database.transaction() as connection:
        grant(connection, made.id, 1_000_000)
    database.close()
    return made.token


def _audit(connection: psycopg.Connection[Any], machine: RunningMachine, hooks: Counter[str]) -> dict[str, list[str]]:
    """Return what breaks an invariant, by what it comes to."""
    with environment(machine.environment):
        urls = QueueSettings().queue_urls()
    with machine.sqs() as sqs:
        depths = outstanding(SqsQueues(sqs, urls, {}), urls)
    vectors = stored_vectors(machine.environment["QDRANT_URL"], machine.environment["QDRANT_API_KEY"])
    found = violations(connection, depths, vectors=vectors)
    doubled = [f"{rule}: {row[0]}" for rule, query in _DOUBLED.items() for row in connection.execute(query).fetchall()]
    deliveries = connection.execute(_DELIVERIES).fetchall()
    return {
        "deadlocks": [],
        "lost": [
            *(one for one in found if one.startswith(("I1", "I2"))),
            *(
                f"edition {one} was sent and did not arrive"
                for one, state, _ in deliveries
                if state == "sent" and not hooks[one]
            ),
        ],
        "doubled": [
            *(one for one in found if one.startswith("I3")),
            *doubled,
            *(f"edition {one} came more often than was begun" for one, _, begun in deliveries if hooks[one] > begun),
        ],
        "other invariants": [one for one in found if one.startswith(("I4", "I5"))],
        "5xx": [],
    }


def _deadlocks(machine: RunningMachine, url: str) -> list[str]:
    """Return a line for each deadlock: PostgreSQL counts them, and tells in its log what stood in which."""
    told = (machine.folder / "postgres" / "postgres.log").read_text(errors="replace").split("deadlock detected")[1:]
    return [one[:600] for one in told] + ["counted, not in the log"] * (deadlocks(url) - len(told))


def _failed(call: Call, away: tuple[float, float]) -> bool:
    without_database = call.began < away[1] and call.ended > away[0]
    excused = without_database and (call.status == 503 or call.by_gateway)
    return call.status == 0 or (call.status >= 500 and not excused)


def _row(kind: str, calls: Sequence[Call], away: tuple[float, float]) -> Mapping[str, Any]:
    mine = [call for call in calls if call.kind == kind]
    seconds = [call.ended - call.began for call in mine]
    failed = sum(_failed(call, away) for call in mine)
    return {
        "kind": kind,
        "requests": len(mine),
        "2xx": sum(200 <= call.status < 300 for call in mine),
        "4xx": json.dumps(Counter(str(call.status) for call in mine if 400 <= call.status < 500)),
        "5xx without PostgreSQL": sum(call.status >= 500 for call in mine)
        - sum(_failed(c, away) for c in mine if c.status),
        "failed": failed,
        "median s": round(statistics.median(seconds), 2),
        "longest s": round(max(seconds), 2),
    }
