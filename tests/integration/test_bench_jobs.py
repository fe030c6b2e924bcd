"""The benchmark of jobs runs, in small, and works each job once whatever the crowd."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from benchmarks import jobs
from benchmarks.queueing import ours


def test_a_tiny_run_tells_each_way_with_each_crowd_and_no_deadlock(make_database: Callable[..., str]) -> None:
    urls = {jobs.OURS: make_database(), jobs.CONTENTS: make_database(), jobs.LOOP: make_database(migrated=False)}
    with ProcessPoolExecutor(2, get_context("spawn"), ours.keep_quiet) as processes:
        ways = jobs.Crew(processes, jobs=20, batch=5).ways(urls)
        told, broken = jobs.measure(ways, urls, jobs=20, rounds=1, crowds=(1, 2))
    rows = jobs.rows(told, broken)
    assert {(row["way"], row["at once"]) for row in rows} == {(name, crowd) for name in ways for crowd in (1, 2)}
    assert {row["deadlocks"] for row in rows} == {0}
    assert [row["at once"] for row in jobs.reach(told, (1, 2))] == [1, 2]
