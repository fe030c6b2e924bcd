"""The benchmark of jobs runs, in small, and works each job once whatever the crowd."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from benchmarks import jobs
from benchmarks.queueing import ours
from siftline.contracts import JobType

TINY = jobs.Size(jobs=20, batch=5, rounds=1, crowds=(1, 2))


def test_a_tiny_run_tells_each_way_with_each_crowd_and_no_deadlock(
    make_database: Callable[..., str], sqs_endpoint: str
) -> None:
    urls = {jobs.OURS: make_database(), jobs.CONTENTS: make_database(), jobs.SQS: make_database()}
    urls[jobs.LOOP] = make_database(migrated=False)
    with ProcessPoolExecutor(2, get_context("spawn"), ours.keep_quiet) as processes:
        crew = jobs.Crew(processes, TINY, sqs_endpoint)
        ways: dict[str, tuple[str, jobs.Way]] = {
            jobs.OURS: (urls[jobs.OURS], partial(crew.store, urls[jobs.OURS], JobType.CLUSTER_USER)),
            jobs.CONTENTS: (urls[jobs.CONTENTS], partial(crew.store, urls[jobs.CONTENTS], JobType.ANALYZE_CONTENT)),
            jobs.LOOP: (urls[jobs.LOOP], partial(crew.loop, urls[jobs.LOOP])),
            jobs.SQS: (urls[jobs.SQS], partial(crew.sqs, urls[jobs.SQS])),
        }
        told, broken = jobs.measure({name: way for name, (_, way) in ways.items()}, TINY, jobs.deadlocks_of(ways))
    rows = jobs.rows(told, broken)
    assert {(row["way"], row["at once"]) for row in rows} == {(name, crowd) for name in ways for crowd in TINY.crowds}
    assert {row["deadlocks"] for row in rows} == {0}
    assert [row["at once"] for row in jobs.reach(told, TINY.crowds)] == [1, 2]
