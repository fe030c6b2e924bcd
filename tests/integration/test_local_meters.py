"""Alarms of the template, judged on this machine by what the queues and PostgreSQL hold."""

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from infra.local.aws import CLIENT_OPTIONS
from infra.local.meters import Alarm, Meters, read_alarms
from infra.local.processes import wait_until
from infra.local.queues import create_queues
from siftline.kit.db import SingleConnection
from siftline.worker.template import Template
from tests.factories import make_job
from tests.faults.postgres_proxy import PostgresProxy

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

ROOT = Path(__file__).resolve().parents[2]


class Local:
    """Meters of a stage of its own, and what they said."""

    def __init__(self, sqs: "SQSClient", endpoint: str, database_url: str, *, every_s: float = 60.0) -> None:
        self.stage = f"t{secrets.token_hex(4)}"
        queues = Template.read(ROOT / "template.yaml", {"Stage": self.stage}).queues()
        self.urls = create_queues(sqs, queues)
        self.said: list[str] = []
        self.cloudwatch = boto3.client("cloudwatch", endpoint_url=endpoint, **CLIENT_OPTIONS)
        self.meters = Meters(
            endpoint=endpoint,
            queues=queues,
            database=SingleConnection(database_url),
            alarms=read_alarms(ROOT / "infra" / "observability.yaml", self.stage),
            say=self.said.append,
            every_s=every_s,
        )

    def name(self, alarm: str) -> str:
        return f"siftline-{self.stage}-{alarm}"

    def state(self, alarm: str) -> str:
        (found,) = self.cloudwatch.describe_alarms(AlarmNames=[self.name(alarm)])["MetricAlarms"]
        return str(found["StateValue"])

    def newest(self, namespace: str, metric: str, **dimensions: str) -> Any:
        found = self.cloudwatch.get_metric_statistics(
            Namespace=namespace,
            MetricName=metric,
            Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
            StartTime="2020-01-01T00:00:00Z",
            EndTime="2100-01-01T00:00:00Z",
            Period=60,
            Statistics=["Maximum"],
        )
        return max((point["Maximum"] for point in found["Datapoints"]), default=None)


@pytest.fixture
def local(sqs: "SQSClient", sqs_endpoint: str, database: object, database_url: str) -> Any:
    made = Local(sqs, sqs_endpoint, database_url)
    yield made
    made.meters.stop()
    made.cloudwatch.close()


def test_a_dead_letter_rings_its_own_queues_alarm_and_no_other_until_it_is_gone(local: Local, sqs: "SQSClient") -> None:
    assert local.meters.look() == set()
    assert local.state("fetch-dead-letters") == "OK"
    sqs.send_message(QueueUrl=local.urls["FetchDeadLetterQueue"], MessageBody="{}")
    assert local.meters.look() == {local.name("fetch-dead-letters")}
    assert (local.state("fetch-dead-letters"), local.state("analysis-dead-letters")) == ("ALARM", "OK")
    sqs.purge_queue(QueueUrl=local.urls["FetchDeadLetterQueue"])
    assert local.meters.look() == set()
    assert local.state("fetch-dead-letters") == "OK"
    assert [line.partition(":")[0] for line in local.said] == [
        f"Alarm {local.name('fetch-dead-letters')}",
        f"Alarm {local.name('fetch-dead-letters')} (over)",
    ]


def test_the_figures_of_sqs_and_of_postgresql_are_published_by_queue(
    local: Local, sqs: "SQSClient", database: Any
) -> None:
    make_job(database)
    with database.transaction() as connection:
        connection.execute("update jobs set published_at = now() - interval '90 s', due_at = now() - interval '2 min'")
    sqs.send_message(QueueUrl=local.urls["AnalysisQueue"], MessageBody="{}")
    sqs.send_message(QueueUrl=local.urls["AnalysisQueue"], MessageBody="{}", DelaySeconds=600)
    local.meters.look()
    queue = local.name("analysis-queue")
    assert local.newest("AWS/SQS", "ApproximateNumberOfMessagesVisible", QueueName=queue) == 1
    assert local.newest("AWS/SQS", "ApproximateNumberOfMessagesDelayed", QueueName=queue) == 1
    assert local.newest("AWS/SQS", "ApproximateAgeOfOldestMessage", QueueName=queue) >= 90
    assert local.newest("Siftline", "JobsPending", queue=queue, service="siftline", stage=local.stage) == 1


def test_that_the_queues_cannot_be_measured_is_told_once_and_that_they_can_again(
    sqs: "SQSClient", sqs_endpoint: str, database: object, database_url: str
) -> None:
    proxy = PostgresProxy(database_url)
    with proxy.running():
        proxy.refusing = True
        local = Local(sqs, sqs_endpoint, proxy.url, every_s=0.05)
        local.meters.start()
        try:
            assert wait_until(lambda: bool(local.said), 300)
            proxy.refusing = False
            assert wait_until(lambda: len(local.said) > 1, 300)
        finally:
            local.meters.stop()
            local.cloudwatch.close()
    assert local.said == [
        "Queues cannot be measured (PostgreSQL is unavailable); alarms are paused until then.",
        "Queues are measured and alarms evaluated again.",
    ]


def test_jobs_of_a_kind_that_nobody_here_knows_ring_until_they_are_gone(local: Local, database: Any) -> None:
    job_id = make_job(database)
    assert local.meters.look() == set()
    with database.transaction() as connection:
        connection.execute("update jobs set job_type = 'future_kind', queue = 'future-queue' where id = %s", [job_id])
    assert local.meters.look() == {local.name("unknown-jobs")}
    with database.transaction() as connection:
        connection.execute("delete from jobs")
    assert local.meters.look() == set()


def test_an_alarm_rings_after_its_periods_and_by_its_own_threshold() -> None:
    (backlog,) = [
        alarm
        for alarm in read_alarms(ROOT / "infra" / "observability.yaml", "x")
        if alarm.name == "siftline-x-fetch-backlog"
    ]
    assert isinstance(backlog, Alarm)
    assert not backlog.rings([10_001] * 4)
    assert backlog.rings([0, *[10_001] * 5])
    assert not backlog.rings([10_001, 10_001, 10_000, 10_001, 10_001])
