"""P13: the main walk from end to end. ``python -m benchmarks.walk``

Starts the whole system as ``make run SAMPLES=1`` does, in a folder of its own, and does nothing by hand: how long until
all sample articles are READY, counted from the moment at which it says that it runs; and for each article, from the
claim of the poll that saw it to its own READY, as the timelines of its jobs say, and to its place in a story.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from benchmarks.report import Report, durability, timed
from infra.local.sample_library import load_feeds
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
_BY_TYPE = """
select jobs.job_type, count(*)::int as jobs,
  percentile_cont(0.5) within group (order by job_events.duration_ms)::int as median_ms,
  max(job_events.duration_ms) as longest_ms
from jobs join job_events on job_events.job_id = jobs.id
where job_events.event = 'completed' group by jobs.job_type order by jobs.job_type
"""
_DURATIONS = """
select jobs.job_type, job_events.duration_ms
from jobs join job_events on job_events.job_id = jobs.id
where job_events.event = 'completed' and job_events.duration_ms is not null
"""
_STORIES = "select count(*)::int as clusters, count(distinct user_id)::int as users from clusters"


def main() -> None:
    report = Report("walk")
    report.open("the sample feeds, from the start of the system to READY")
    walked = walk()
    report.tell(walked.durability)
    report.table("seconds; the start makes a new database, the model is at hand", [_row(walked)])
    report.table("completed jobs", walked.kinds)
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
    kinds: Sequence[Mapping[str, Any]]
    clusters: int
    durations_ms: Sequence[Mapping[str, Any]]
    """Of each completed job, with its type."""
    computed_ms: float
    """What the worker and its children computed until all were READY."""


@cache
def walk() -> Walked:
    """Let the sample articles walk through a new system, once a process: ``cost`` reckons with the same walk."""
    articles = wanted()
    with tempfile.TemporaryDirectory(prefix="siftline-bench-") as folder:
        Path(folder).chmod(0o711)  # PostgreSQL runs as another user when this one is root
        machine = RunningMachine(Path(folder) / "machine", samples=True)
        start_s, _ = timed(machine.__enter__)
        try:
            worker, url = machine.worker_pid, machine.environment["DATABASE_URL"]
            ready_s, _ = timed(lambda: wait_until_ready(machine.client(), articles))
            computed_ms = _computed_ms(worker)
            with psycopg.connect(url, row_factory=dict_row) as connection:
                durations = connection.execute(_DURATIONS).fetchall()
            wait_until_told(url, articles)
            with psycopg.connect(url, row_factory=dict_row) as connection:
                rows = connection.execute(_SINCE_POLL).fetchall()
                kinds = connection.execute(_BY_TYPE).fetchall()
                stories = connection.execute(_STORIES).fetchone() or {}
            with psycopg.connect(url) as plain:
                durable = durability(plain)
        finally:
            stop_s, _ = timed(machine.stop)
    return Walked(
        articles, start_s, ready_s, stop_s, durable, rows, kinds, stories.get("clusters", 0), durations, computed_ms
    )


def wanted() -> int:
    """Return how many of the sample articles are waited for."""
    return round(ENOUGH * sum(len(feed.articles) for feed in load_feeds(datetime.now(UTC))))


def wait_until_ready(client: Client, articles: int) -> None:
    """Wait until so many items are READY."""
    until = time.monotonic() + PATIENCE_S
    states: Sequence[str] = ()
    while time.monotonic() < until:
        states = [item["status"] for item in client.items()]
        if states.count("READY") >= articles:
            return
        time.sleep(_LOOK_EVERY_S)
    raise SystemExit(f"Not all READY after {PATIENCE_S:.0f} s: {states.count('READY')} of {articles} articles.")


def wait_until_told(database_url: str, articles: int) -> None:
    """Wait until all that has a vector has its place in a story, half a minute at most: the last ones come together."""
    until = time.monotonic() + 30.0
    with psycopg.connect(database_url, autocommit=True) as connection:
        while time.monotonic() < until:
            [(told,)] = connection.execute("select count(*) from story_items").fetchall()
            if told >= articles:
                return
            time.sleep(_LOOK_EVERY_S)


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


if __name__ == "__main__":
    main()
