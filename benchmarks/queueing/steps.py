"""Where a job's time goes: each step of the job store and of the hand-written loop, on one connection each, in turn.

First the steps as they are, by the clock and by the processors of both ends; then one batch more under the server's
own eyes: what each step executes and writes, and what it sends over the wire.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from benchmarks.profile import Executed, Spent, Wire, executed, largest, parts, wire
from benchmarks.queueing import loop
from benchmarks.queueing.ours import complete
from siftline.contracts import JobType, Priority, queue_of
from siftline.jobs import jobs_store, lease_store, outbox_store
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Connection, Database, SingleConnection, settled_after
from siftline.kit.ids import new_id
from siftline.settings.functions import JobSettings

BATCHES, WARM = 10, 2
BATCH, HANDED, TENANTS = 100, 10, 50
_TYPE = JobType.CLUSTER_USER


@dataclass
class _Way:
    """One way to work off jobs, and what its steps were seen to cost."""

    name: str
    connection: Connection
    spent: dict[str, Spent] = field(default_factory=lambda: defaultdict(Spent))
    seen: dict[str, list[Executed]] = field(default_factory=lambda: defaultdict(list))
    sent: dict[str, Wire] = field(default_factory=lambda: defaultdict(Wire))
    watched: bool = False

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        with ExitStack() as stack:
            if self.watched:
                told = stack.enter_context(executed(self.connection))
                went = stack.enter_context(wire(self.connection))
            else:
                stack.enter_context(self.spent[name].taken(self.connection))
            yield
        if self.watched:
            self.seen[name] += told
            self.sent[name].add(went)


def tell(ours_url: str, loop_url: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
    """Measure both and return the steps, the parts of what they execute, and in words what the difference is made of.

    Milliseconds a job. Both databases stand ready, and nobody else works there.
    """
    database = SingleConnection(ours_url)
    with database.statement() as connection:
        ours, floor = _Way("store", connection), _Way("hand-written loop", loop.connect(loop_url))
    floor.connection.execute(loop.TABLE)
    for number in range(WARM + BATCHES + 1):
        if number == WARM:
            ours.spent.clear()
            floor.spent.clear()
        ours.watched = floor.watched = number == WARM + BATCHES
        _work_ours(ours, database)
        _work_loop(floor, loop_url)
    database.close()
    return [*_rows(ours), *_rows(floor)], [_parts(ours), _parts(floor)], _why(ours, floor)


def _work_ours(way: _Way, database: Database) -> None:
    jobs = [NewJob(_TYPE, new_id(), f"user:{place % TENANTS}") for place in range(BATCH)]
    with way.step("enqueue"), database.transaction() as connection:
        jobs_store.enqueue(connection, jobs)
    share = JobSettings().job_tenant_share
    for _ in range(BATCH // HANDED):
        with way.step("hand out"):
            taken = settled_after(
                database,
                lambda connection: outbox_store.in_turn(connection, queue_of(_TYPE, Priority.OLDER), counted_to=1_000),
                lambda connection, _: outbox_store.take_turns(
                    connection, queue_of(_TYPE, Priority.OLDER), limit=HANDED, share=share
                ),
            )
        for each in taken:
            _one(way, database, each.id)


def _one(way: _Way, database: Database, job_id: UUID) -> None:
    with way.step("claim"), database.statement() as connection:
        job = lease_store.claim(connection, job_id, _TYPE, lease_s=600, grace_s=1)
    assert job is not None
    with way.step("complete"):
        complete(database, job)


def _work_loop(way: _Way, url: str) -> None:
    with way.step("enqueue"):
        loop.enqueue(url, [[new_id() for _ in range(BATCH)]])
    for _ in range(BATCH):
        with way.step("claim"):
            row = loop.claim(url)
        assert row is not None
        with way.step("complete"):
            loop.finish(url, row[0])


def _rows(way: _Way) -> list[dict[str, Any]]:
    steps = [_row(way, name, way.spent[name], way.sent[name], way.seen[name]) for name in way.spent]
    whole = {name: round(sum(row[name] for row in steps), 3) for name in steps[0] if name not in ("way", "step")}
    return [*steps, {"way": way.name, "step": "whole job", **whole}]


def _row(way: _Way, name: str, spent: Spent, sent: Wire, seen: Sequence[Executed]) -> dict[str, Any]:
    jobs = BATCH * BATCHES
    return {
        "way": way.name,
        "step": name,
        "ms": round(spent.wall_ms / jobs, 3),
        "client cpu ms": round(spent.client_cpu_ms / jobs, 3),
        "server cpu ms": round(spent.server_cpu_ms / jobs, 3),
        "executing ms": round(sum(statement.ms for statement in seen) / BATCH, 3),
        "round trips": sent.round_trips / BATCH,
        "statements": sent.statements / BATCH,
        "commits": sent.commits / BATCH,
        "rows and index entries": sum(statement.wal_records for statement in seen) / BATCH,
    }


def _parts(way: _Way) -> dict[str, Any]:
    shares = _shares(way)
    return {"way": way.name, "of the executing ms a job": largest(shares, count=7, per=BATCH)}


def _shares(way: _Way) -> Counter[str]:
    return parts([statement for seen in way.seen.values() for statement in seen])


def _why(ours: _Way, floor: _Way) -> str:
    def whole(way: _Way, value: Callable[[Spent], float]) -> float:
        return sum(value(spent) for spent in way.spent.values()) / (BATCH * BATCHES)

    def compared(name: str, value: Callable[[Spent], float]) -> str:
        return f"{name} {whole(ours, value):.2f} : {whole(floor, value):.2f} ms"

    def trips(ways: Mapping[str, Wire]) -> float:
        return sum(sent.round_trips for sent in ways.values()) / BATCH

    dearest = max(ours.spent, key=lambda name: ours.spent[name].client_cpu_ms + ours.spent[name].server_cpu_ms)
    more = _shares(ours) - _shares(floor)
    return (
        f"store : loop, a job: {compared('client cpu', lambda spent: spent.client_cpu_ms)}, "
        f"{compared('server cpu', lambda spent: spent.server_cpu_ms)}, "
        f"round trips {trips(ours.sent):.2f} : {trips(floor.sent):.2f}; the dearest step is {dearest}; "
        f"of what only the store executes: {largest(more, per=BATCH)} ms"
    )
