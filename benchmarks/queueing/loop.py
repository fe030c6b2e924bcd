"""The floor: what one writes by hand. A table, and a loop that claims one row at a time with SKIP LOCKED."""

import time
from collections.abc import Sequence
from functools import cache

import psycopg

from benchmarks.queueing.round import Work

_TABLE = """
create table if not exists todo (
  id bigint generated always as identity primary key,
  kind text not null, subject_id uuid not null, state text not null default 'waiting',
  attempts smallint not null default 0, lease_until timestamptz, finished_at timestamptz);
create index if not exists todo_waiting on todo (id) where state = 'waiting'
"""
_ADD = "insert into todo (kind, subject_id) select 'no-op', unnest(%(subjects)b::uuid[])"
_CLAIM = """
update todo set state = 'working', attempts = attempts + 1, lease_until = now() + interval '10 minutes'
where id = (select id from todo where state = 'waiting' order by id limit 1 for update skip locked)
returning id, kind, subject_id
"""
_DONE = "update todo set state = 'done', finished_at = now(), lease_until = null where id = %s and state = 'working'"


def make_table(url: str) -> None:
    """Make the table unless it is there."""
    _connection(url).execute(_TABLE)


def enqueue(url: str, batches: Sequence[Sequence[object]]) -> None:
    """Add rows, a batch a commit."""
    for batch in batches:
        _connection(url).execute(_ADD, {"subjects": list(batch)})


def work(url: str) -> Work:
    """Claim and finish until nothing waits."""
    connection, spans = _connection(url), list[float]()
    started = time.time()
    while True:
        begun = time.perf_counter()
        row = connection.execute(_CLAIM).fetchone()
        if row is None:
            return Work(started, time.time(), spans)
        connection.execute(_DONE, [row[0]])
        spans.append(time.perf_counter() - begun)


@cache
def _connection(url: str) -> psycopg.Connection[tuple[object, ...]]:
    """Return this process's connection: each statement commits by itself."""
    return psycopg.connect(url, autocommit=True)
