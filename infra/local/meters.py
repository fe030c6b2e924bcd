"""CloudWatch's part on this machine: the metrics that SQS publishes by itself on AWS, and alarms judged by them.

MiniStack keeps metrics and alarms, but judges one queue by another's figures: it looks at no dimension.
So alarms are judged here, as AWS does it, and MiniStack is told the outcome: ``describe-alarms`` shows what AWS would.
"""

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from infra.local.aws import CLIENT_OPTIONS, CREDENTIALS
from infra.local.queues import sqs_client
from siftline.contracts import Queue
from siftline.jobs import counts_store
from siftline.jobs.statistics import measured, unattended
from siftline.kit.db import Database
from siftline.kit.errors import SiftlineError
from siftline.kit.log import NAMESPACE, SERVICE
from siftline.worker.template import Evaluator, QueueResource, load

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_sqs import SQSClient

_SQS = "AWS/SQS"
_COUNTS = {
    "ApproximateNumberOfMessagesVisible": "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible": "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed": "ApproximateNumberOfMessagesDelayed",
}
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": lambda value, threshold: value > threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
}
_PER_CALL = 500

Place = tuple[str, str, tuple[tuple[str, str], ...]]
"""Namespace, metric and dimensions by name."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm of the template."""

    name: str
    description: str
    place: Place
    periods: int
    threshold: float
    comparison: str
    properties: Mapping[str, Any]

    def rings(self, values: Sequence[float]) -> bool:
        """Whether the newest ``periods`` values all breach; where there are fewer, what is missing does not."""
        newest = list(values)[-self.periods :]
        breaches = _COMPARISONS[self.comparison]
        return len(newest) == self.periods and all(breaches(value, self.threshold) for value in newest)


def read_alarms(path: Path, stage: str) -> list[Alarm]:
    """Return the alarms of ``infra/observability.yaml``, without actions: here there is nobody to notify."""
    document = load(path)
    evaluator = Evaluator(document, {"Stage": stage, "HttpApiId": "local"})
    found = []
    for body in document["Resources"].values():
        deployed = evaluator.condition(body["Condition"]) if "Condition" in body else True
        if body["Type"] == "AWS::CloudWatch::Alarm" and deployed:
            own = evaluator.value(body["Properties"]) | {"AlarmActions": [], "OKActions": []}
            dimensions = tuple(sorted((one["Name"], one["Value"]) for one in own["Dimensions"]))
            found.append(
                Alarm(
                    name=own["AlarmName"],
                    description=own["AlarmDescription"],
                    place=(own["Namespace"], own["MetricName"], dimensions),
                    periods=own["EvaluationPeriods"],
                    threshold=own["Threshold"],
                    comparison=own["ComparisonOperator"],
                    properties=own,
                )
            )
    return found


def measure(sqs: "SQSClient", queues: Sequence[QueueResource], database: Database) -> dict[Place, float]:
    """Return SQS's figures of every queue, and those that the sweep tells of PostgreSQL."""
    with database.transaction() as connection:
        jobs = counts_store.counts(connection)
        ages = counts_store.oldest_messages_s(connection)
        unknown = counts_store.unknown(connection)
    found: dict[Place, float] = {}
    for queue in queues:
        url = sqs.get_queue_url(QueueName=queue.name)["QueueUrl"]
        attributes: Mapping[Any, str] = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        own = (("QueueName", queue.name),)
        for metric, attribute in _COUNTS.items():
            found[_SQS, metric, own] = float(attributes.get(attribute, 0))
    names = {queue.name.split("-", 2)[2].removesuffix("-queue"): queue.name for queue in queues if queue.dead_letter}
    for logical, name in names.items():
        mine = [row for row in jobs if row.queue == logical]
        found[_SQS, "ApproximateAgeOfOldestMessage", (("QueueName", name),)] = ages.get(logical, 0.0)
        for figure, (value, _) in {**measured(mine), **unattended(mine)}.items():
            found[NAMESPACE, figure, _ours(name)] = float(value)
    waiting = _ours(names[Queue.CONTENT_PROCESSING.value])
    found[NAMESPACE, "UnknownJobs", waiting] = float(sum(one.jobs for one in unknown))
    return found


def _ours(queue: str) -> tuple[tuple[str, str], ...]:
    """Return the dimensions of a metric of ours for ``siftline-<stage>-…-queue`` (``siftline.kit.metrics``)."""
    return (("queue", queue), ("service", SERVICE), ("stage", queue.split("-")[1]))


class Meters:
    """Measures, publishes and judges once a period. ``say`` tells a person when an alarm begins and when it is over."""

    def __init__(
        self,
        *,
        endpoint: str,
        queues: Sequence[QueueResource],
        database: Database,
        alarms: Sequence[Alarm],
        say: Callable[[str], None],
        access_key: str = CREDENTIALS["AWS_ACCESS_KEY_ID"],
        every_s: float = 60.0,
    ) -> None:
        self._sqs = sqs_client(endpoint, access_key)
        options = {**CLIENT_OPTIONS, "aws_access_key_id": access_key}
        self._cloudwatch: CloudWatchClient = boto3.client("cloudwatch", endpoint_url=endpoint, **options)
        self._queues = queues
        self._database = database
        self._alarms = alarms
        self._say = say
        self._every_s = every_s
        self._values: dict[Place, deque[float]] = defaultdict(lambda: deque(maxlen=10))
        self._ringing: set[str] = set()
        self._troubled = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="meters", daemon=True)

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """End; a round under way is waited for."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)
        self._database.close()
        self._sqs.close()
        self._cloudwatch.close()

    def look(self) -> set[str]:
        """Do one round and return the names of the alarms that ring."""
        values = measure(self._sqs, self._queues, self._database)
        for place, value in values.items():
            self._values[place].append(value)
        self._publish(values)
        ringing = {alarm.name for alarm in self._alarms if alarm.rings(self._values[alarm.place])}
        self._tell(ringing)
        self._ringing = ringing
        return ringing

    def _run(self) -> None:
        while not self._stop.wait(self._every_s):
            try:
                self.look()
                if self._troubled:
                    self._say("Queues are measured and alarms evaluated again.")
                self._troubled = False
            except (BotoCoreError, ClientError, SiftlineError) as error:
                if not self._troubled:
                    part = "PostgreSQL" if isinstance(error, SiftlineError) else "MiniStack"
                    self._say(f"Queues cannot be measured ({part} is unavailable); alarms are paused until then.")
                self._troubled = True

    def _publish(self, values: Mapping[Place, float]) -> None:
        now = time.time()
        by_namespace: dict[str, list[Any]] = defaultdict(list)
        for (namespace, metric, dimensions), value in values.items():
            own = [{"Name": name, "Value": text} for name, text in dimensions]
            by_namespace[namespace].append({"MetricName": metric, "Dimensions": own, "Timestamp": now, "Value": value})
        for namespace, data in by_namespace.items():
            for start in range(0, len(data), _PER_CALL):
                self._cloudwatch.put_metric_data(Namespace=namespace, MetricData=data[start : start + _PER_CALL])

    def _tell(self, ringing: set[str]) -> None:
        """Tell MiniStack every alarm's state after its own judgement, and a person what has changed."""
        known = {
            alarm["AlarmName"]: alarm["StateValue"]
            for page in self._cloudwatch.get_paginator("describe_alarms").paginate()
            for alarm in page["MetricAlarms"]
        }
        for alarm in self._alarms:
            if alarm.name not in known:
                self._cloudwatch.put_metric_alarm(**alarm.properties)
            state: Any = "ALARM" if alarm.name in ringing else "OK"
            if known.get(alarm.name) != state:
                self._cloudwatch.set_alarm_state(AlarmName=alarm.name, StateValue=state, StateReason=alarm.description)
            if (alarm.name in ringing) != (alarm.name in self._ringing):
                is_over = "" if alarm.name in ringing else " (over)"
                self._say(f"Alarm {alarm.name}{is_over}: {alarm.description}")
