"""P13: the main walk from end to end. ``python -m benchmarks walk``

Starts the whole system as ``make run SAMPLES=1`` does, in a folder of its own, and does nothing by hand: how long until
all sample articles are READY, counted from the moment at which it says that it runs; and for each article, from the
claim of the poll that saw it to its own READY, as the timelines of its jobs say, and to its place in a story.
"""

import os
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from benchmarks.database import durability, new_folder
from benchmarks.report import Report, timed
from infra.local.processes import wait_until
from infra.local.sample_library import load_feeds
from siftline.kit.db import Connection
from tests.e2e.machine import Client, RunningMachine

PATIENCE_S = 600.0
ENOUGH = 1.0
"""Share of the articles that is waited for."""
_LOOK_EVERY_S = 0.25

# The poll that saw a content is its source's first one.
_SINCE_POLL = """
select extract(epoch from ready.at - polled.at)::float8 as poll_to_ready_s,
  extract(epoch from greatest(ready.at, joined.joined_at) - polled.at)::float8 as poll_to_story_s
from items left join story_items joined using (user_id, content_id)
join lateral (
  select min(job_events.at) as at from jobs join job_events on job_events.job_id = jobs.id
  where jobs.subject_id = items.source_id and jobs.job_type = 'fetch_source' and job_events.event = 'claimed'
) as polled on true
join lateral (
  select min(job_events.at) as at from jobs join job_events on job_events.job_id = jobs.id
  where jobs.subject_id = items.content_id and jobs.job_type = 'analyze_content' and job_events.event = 'completed'
) as ready on true
"""
_DURATIONS = """
select jobs.job_type, job_events.duration_ms
from jobs join job_events on job_events.job_id = jobs.id
where job_events.event = 'completed' and job_events.duration_ms is not null
"""


def main() -> None:
    report = Report("walk")
    report.open("the sample feeds, from the start of the system to READY")
    walked = walk()
    report.tell(walked.durability)
    report.table("seconds; the start makes a new database, the model is at hand", [_row(walked)])
    report.table("completed jobs, ms", [_kind(*each) for each in sorted(walked.durations_ms.items())])
    report.tell({"stopped in s": round(walked.stop_s, 1)})
    report.keep()


@dataclass(frozen=True)
class Walked:
    """What one walk took, and what its jobs' timelines say."""

    articles: int
    start_s: float
    ready_s: float
    stop_s: float
    durability: Mapping[str, Any]
    since_poll: Sequence[Mapping[str, Any]]
    clusters: int
    durations_ms: Mapping[str, Sequence[int]]
    """Of each completed job, by job type."""
    computed_ms: float
    """What the worker and its children computed until all were READY."""


@cache
def walk() -> Walked:
    """Let the sample articles walk through a new system, once a process: ``cost`` reckons with the same walk."""
    articles = round(ENOUGH * sum(len(feed.articles) for feed in load_feeds(datetime.now(UTC))))
    with new_folder() as folder:
        machine = RunningMachine(folder / "machine", samples=True)
        start_s, _ = timed(machine.__enter__)
        try:
            worker, url = machine.worker_pid, machine.environment["DATABASE_URL"]
            ready_s, _ = timed(lambda: _wait_until_ready(machine.client(), articles))
            computed_ms = _computed_ms(worker)
            durations: dict[str, list[int]] = defaultdict(list)
            with psycopg.connect(url, autocommit=True) as connection:
                for job_type, duration_ms in connection.execute(_DURATIONS).fetchall():
                    durations[job_type].append(duration_ms)
                # All that has a vector has its place in a story, half a minute at most: the last ones come together.
                wait_until(lambda: _number(connection, "story_items") >= articles, 30.0, step_s=_LOOK_EVERY_S)
                clusters = _number(connection, "clusters")
                with connection.cursor(row_factory=dict_row) as cursor:
                    rows = cursor.execute(_SINCE_POLL).fetchall()
            durable = durability(url)
        finally:
            stop_s, _ = timed(machine.stop)
    return Walked(articles, start_s, ready_s, stop_s, durable, rows, clusters, durations, computed_ms)


def _number(connection: Connection, table: str) -> int:
    [(rows,)] = connection.execute(f"select count(*) from {table}").fetchall()  # noqa: S608 - one of the two above
    return int(rows)


def _wait_until_ready(client: Client, articles: int) -> None:
    def ready() -> int:
        return [item["status"] for item in client.items()].count("READY")

    if not wait_until(lambda: ready() >= articles, PATIENCE_S, step_s=_LOOK_EVERY_S):
        raise SystemExit(f"Not all READY after {PATIENCE_S:.0f} s: {ready()} of {articles} articles.")


def _kind(job_type: str, durations_ms: Sequence[int]) -> Mapping[str, Any]:
    median = round(statistics.median(durations_ms))
    return {"job": job_type, "jobs": len(durations_ms), "median": median, "longest": max(durations_ms)}


def _row(walked: Walked) -> Mapping[str, Any]:
    rows = walked.since_poll
    seconds = [row["poll_to_ready_s"] for row in rows if row["poll_to_ready_s"] is not None]
    told = [row["poll_to_story_s"] for row in rows if row["poll_to_story_s"] is not None]
    return {
        "articles": walked.articles,
        "start s": round(walked.start_s, 1),
        "all READY s": round(walked.ready_s, 1),
        "poll to READY s, median": round(statistics.median(seconds), 1),
        "longest": round(max(seconds), 1),
        "in a story": len(told),
        "poll to story s, longest": round(max(told, default=0.0), 1),
        "100 at this rate s": round(100 * max(seconds) / walked.articles, 1),
        "clusters by then": walked.clusters,
    }


def _computed_ms(process: int) -> float:
    """Return the processor time that a process and its children have used so far, in ms."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if process in (int(stat.parent.name), int(fields[1])):
            ticks += int(fields[11]) + int(fields[12])
    return ticks * 1000 / os.sysconf("SC_CLK_TCK")
