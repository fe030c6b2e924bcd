"""What alarms watch is told under those very dimensions: a metric of another name or dimension would never ring."""

import json

import pytest

from infra.local.meters import read_alarms
from siftline.contracts import JobType, Queue, Tick
from siftline.jobs.publish import Publisher
from siftline.jobs.statistics import Statistics
from siftline.jobs.sweep import Sweep, TickIncompleteError
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database, DatabaseUnavailableError, open_database
from siftline.kit.errors import TransientError
from siftline.settings.functions import JobSettings
from tests.factories import make_job
from tests.fakes import FakeSender
from tests.house.reading import ROOT
from tests.ticks import make_schedule

Place = tuple[str, tuple[tuple[str, str], ...]]
NAMES = {queue: f"siftline-local-{queue}-queue" for queue in Queue}
ELSEWHERE = {
    "TooManyRequests": "from the access log, by the template's metric filter (tests/house/test_observability.py)",
    "BreakersOpened": "by the loop over a queue (tests/integration/test_jobs_consume.py)",
}


def told(capsys: pytest.CaptureFixture[str]) -> set[Place]:
    """Return the metrics written since, with their dimensions."""
    found = set()
    for line in capsys.readouterr().out.splitlines():
        if '"_aws"' not in line:
            continue
        written = json.loads(line)
        (about,) = written["_aws"]["CloudWatchMetrics"]
        assert about["Namespace"] == "Siftline"
        for names in about["Dimensions"]:
            dimensions = tuple(sorted((name, written[name]) for name in names))
            found |= {(metric["Name"], dimensions) for metric in about["Metrics"]}
    return found


def test_every_metric_of_ours_that_an_alarm_watches_is_told(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    # GIVEN a job in every queue, and a sweep that tells of them
    for queue in Queue:
        make_job(database, job_type=JobType.ANALYZE_CONTENT, queue=queue)
    settings, sender = JobSettings(), FakeSender()
    statistics = Statistics(database, NAMES, SystemClock())
    Sweep(database, Publisher(database, sender, settings), settings, statistics=statistics).run()
    # WHEN every tick runs once, and once without a database
    schedule, _ = make_schedule(database)
    for tick in Tick:
        schedule.run(tick)
    gone = open_database("postgresql://127.0.0.1:1/gone", 1)
    broken, _ = make_schedule(gone)
    for tick in Tick:
        with pytest.raises((TickIncompleteError, DatabaseUnavailableError)):
            broken.run(tick)

    found = told(capsys)
    watched = {alarm.place for alarm in read_alarms(ROOT / "infra" / "observability.yaml", "local")}
    ours = {(metric, dimensions) for namespace, metric, dimensions in watched if namespace == "Siftline"}
    assert {place for place in ours if place[0] not in ELSEWHERE} - found == set()
    assert {metric for metric, _ in ours - found} == ELSEWHERE.keys()


def test_qdrant_that_does_not_answer_is_told_each_minute_and_fails_no_tick(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    def value() -> float:
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "VectorsUnavailable" in line]
        (told,) = [line["VectorsUnavailable"] for line in lines]
        return float(told[0])

    def away() -> None:
        raise TransientError("It is away.")

    assert make_schedule(database, check_vectors=away)[0].run(Tick.BACKGROUND)["vectors_unavailable"] == 1
    assert value() == 1
    assert make_schedule(database)[0].run(Tick.BACKGROUND)["vectors_unavailable"] == 0
    assert value() == 0


def test_a_tick_that_fails_is_no_completed_tick(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    broken, _ = make_schedule(open_database("postgresql://127.0.0.1:1/gone", 1))
    with pytest.raises(DatabaseUnavailableError):
        broken.run(Tick.DUE_SOURCES)

    metrics = {metric for metric, _ in told(capsys)}
    assert metrics == {"StepFailures", "DatabaseUnavailable"}
