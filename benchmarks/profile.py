"""Where the time of a piece of work on PostgreSQL goes, asked in the very run that reports it.

The server's own ``auto_explain`` tells each statement's plan with times and WAL as notices; libpq's trace tells what
went over the wire; Linux tells the processor time of both ends, which a busy machine bears best.
"""

import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psycopg.errors import Diagnostic

from siftline.kit.db import Connection

_ON = {"log_min_duration": "0", "log_analyze": "on", "log_wal": "on", "log_triggers": "on", "log_format": "json"}
_ON |= {"log_level": "notice", "log_parameter_max_length": "0"}
_VERB = re.compile(r"\b(insert into|update|delete from)\s+(\w+)", re.IGNORECASE)
_ASKED = re.compile(r"\bfrom\s+(\w+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Executed:
    """One statement as the server executed it; planning and the wire are not in it."""

    name: str
    """Its first write, as in ``insert into jobs``, or what it reads."""
    ms: float
    wal_records: int
    """Row versions and index entries written, about one record each."""
    wal_bytes: int
    parts: Mapping[str, float]
    """Milliseconds of each write (its index entries included), of each trigger and foreign key, and of the search."""


@dataclass(slots=True)
class Wire:
    """What went over the wire."""

    statements: int = 0
    round_trips: int = 0
    """Times that the server answered after the client had written.

    An answer that comes while the rest is still being written counts too, though nobody waited for it.
    """
    commits: int = 0
    """Transactions that ended, be it by a statement of their own or with their only one."""

    def add(self, other: "Wire") -> None:
        """Add what went meanwhile."""
        self.statements += other.statements
        self.round_trips += other.round_trips
        self.commits += other.commits


@dataclass(slots=True)
class Spent:
    """Milliseconds that a step took, summed, and how often it was taken."""

    times: int = 0
    wall_ms: float = 0.0
    client_cpu_ms: float = 0.0
    server_cpu_ms: float = 0.0

    @contextmanager
    def taken(self, connection: Connection) -> Iterator[None]:
        """Measure one more time."""
        server, client, wall = server_cpu_ms(connection), time.process_time(), time.perf_counter()
        yield
        wall_ms = (time.perf_counter() - wall) * 1000
        self.times += 1
        self.wall_ms += wall_ms
        self.client_cpu_ms += (time.process_time() - client) * 1000
        self.server_cpu_ms += server_cpu_ms(connection) - server


def server_cpu_ms(connection: Connection) -> float:
    """Return the processor time that this connection's server process has used; 0 where there is no Linux to ask."""
    try:
        told = Path(f"/proc/{connection.info.backend_pid}/schedstat").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return int(told.split()[0]) / 1e6


@contextmanager
def executed(connection: Connection) -> Iterator[list[Executed]]:
    """Collect every statement that is executed meanwhile. Needs a superuser's connection, outside a transaction."""
    told: list[Executed] = []

    def heard(notice: Diagnostic) -> None:
        _, found, plan = (notice.message_primary or "").partition("plan:")
        if found:
            told.append(_read(json.loads(plan)))

    connection.execute("load 'auto_explain'")
    for name, value in _ON.items():
        connection.execute("select set_config(%s, %s, false)", [f"auto_explain.{name}", value])
    connection.add_notice_handler(heard)
    try:
        told.clear()
        yield told
    finally:
        connection.remove_notice_handler(heard)
        connection.execute("set auto_explain.log_min_duration = -1")


@contextmanager
def wire(connection: Connection) -> Iterator[Wire]:
    """Count what goes over the wire meanwhile; the figures stand once the block has ended."""
    counted = Wire()
    with tempfile.NamedTemporaryFile("rb") as file, Path(file.name).open("wb") as target:
        connection.pgconn.trace(target.fileno())
        try:
            yield counted
        finally:
            connection.pgconn.untrace()
        _count(file.read().decode(errors="replace"), counted)


def parts(statements: Sequence[Executed]) -> Counter[str]:
    """Return the milliseconds of all parts, the most first when asked so."""
    total: Counter[str] = Counter()
    for statement in statements:
        total.update(dict(statement.parts))
    return total


def largest(shares: Mapping[str, float], *, count: int = 4, per: float = 1.0, digits: int = 2) -> str:
    """Return the largest of these as words: ``write of jobs 0.12, …``, each divided by ``per``."""
    return ", ".join(f"{name} {value / per:.{digits}f}" for name, value in Counter(shares).most_common(count))


def profile_of(connection: Connection, work: Callable[[], object], times: int = 10) -> dict[str, Any]:
    """Return, as a table's row, what ``work`` costs a time: first as it is, then under the server's own eyes."""
    spent = Spent()
    for _ in range(times):
        with spent.taken(connection):
            work()
    with executed(connection) as told:
        for _ in range(times):
            work()
    with wire(connection) as sent:
        work()
    return {
        "ms": round(spent.wall_ms / times, 2),
        "client cpu ms": round(spent.client_cpu_ms / times, 2),
        "server cpu ms": round(spent.server_cpu_ms / times, 2),
        "executing ms": round(sum(statement.ms for statement in told) / times, 2),
        "statements": sent.statements,
        "rows and index entries": round(sum(statement.wal_records for statement in told) / times, 1),
        "of the executing ms": largest(parts(told), per=times),
    }


def _count(trace: str, counted: Wire) -> None:
    asked = False
    for line in trace.splitlines():
        columns = line.split("\t")
        if len(columns) < 4 or columns[1] not in {"F", "B"}:
            continue
        message = columns[3]
        if columns[1] == "F":
            counted.statements += message in ("Execute", "Query")
            asked = True
        else:
            counted.round_trips += asked
            asked = False
            counted.commits += message == "ReadyForQuery" and columns[4].strip() == "I"


def _read(told: Mapping[str, Any]) -> Executed:
    found: Counter[str] = Counter()
    top = told["Plan"]
    _writes(top, found)
    written_ms = sum(found.values())
    for trigger in told.get("Triggers", []):
        name = trigger.get("Constraint Name")
        found[f"foreign key {name}" if name else f"trigger {trigger['Trigger Name']}"] += trigger["Time"]
    top_ms = top["Actual Total Time"] * top["Actual Loops"]
    found["search"] += max(0.0, top_ms - written_ms)
    return Executed(
        name=_name(told["Query Text"]),
        ms=max(top_ms, written_ms) + sum(trigger["Time"] for trigger in told.get("Triggers", [])),
        wal_records=top.get("WAL Records", 0),
        wal_bytes=top.get("WAL Bytes", 0),
        parts=found,
    )


def _writes(node: Mapping[str, Any], found: Counter[str]) -> None:
    below = node.get("Plans", [])
    if node["Node Type"] == "ModifyTable":
        fed = [child for child in below if child.get("Parent Relationship") == "Outer"]
        fed_ms = sum(child["Actual Total Time"] * child["Actual Loops"] for child in fed)
        own_ms = node["Actual Total Time"] * node["Actual Loops"] - fed_ms
        found[f"write of {node['Relation Name']}"] += max(0.0, own_ms)
    for child in below:
        _writes(child, found)


def _name(text: str) -> str:
    match = _VERB.search(text)
    if match:
        return f"{match[1].lower()} {match[2]}"
    asked = _ASKED.search(text)
    return f"select from {asked[1]}" if asked else text.strip().split()[0].lower()
