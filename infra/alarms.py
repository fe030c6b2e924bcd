"""The alarms and the dashboard, from which ``infra/observability.yaml`` is written: ``make alarms``.

Written out there in plain CloudFormation: the SAM command line stops at ``Fn::ForEach`` and MiniStack at metric math.
A house test compares the file with what this would write. Each kind of alarm has a drill (``infra/drill.py``) and a
place in the runbook.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from siftline.contracts import Queue, Tick
from siftline.jobs.statistics import BACKLOG_HIGH
from siftline.kit.log import NAMESPACE, SERVICE
from siftline.worker.template import Template

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "infra" / "observability.yaml"
FUNCTIONS = [function.name for function in Template.read(ROOT / "template.yaml").functions.values()]
_RARE_TICKS = {Tick.RESOLUTIONS, Tick.CLUSTERINGS, Tick.CLEAN_UP, Tick.EXTRA_RUN}
"""Ticks of which each counts; of the others one comes every minute, and one that fails is made good by the next."""
_BREAKING = (Queue.ANALYSIS, Queue.ANALYSIS_BACKGROUND)
_DUE_S = {Queue.RESOLUTION: 172_800}
"""Organisations are looked up 100 an hour: a list of them may take its time. Elsewhere an hour is late."""
_HEAD = """AWSTemplateFormatVersion: "2010-09-09"
Description: Siftline's alarms and its dashboard, a nested stack of template.yaml

# Written by `make alarms` from infra/alarms.py; do not edit.

Parameters:
  Stage: {Type: String}
  HttpApiId: {Type: String}
  AlarmTopicArn: {Type: String, Default: ""}
  AlarmEmail: {Type: String, Default: ""}
  DatabaseClusterId: {Type: String, Default: ""}

Conditions:
  HasTopic: !Not [!Equals [!Ref AlarmTopicArn, ""]]
  MakesTopic: !And [!Not [!Condition HasTopic], !Not [!Equals [!Ref AlarmEmail, ""]]]
  HasDatabaseCluster: !Not [!Equals [!Ref DatabaseClusterId, ""]]

Resources:
  # For whoever gives a mail address and no topic. Amazon asks that address to confirm the subscription.
  AlarmTopic:
    Type: AWS::SNS::Topic
    Condition: MakesTopic
    Properties:
      TopicName: !Sub siftline-${Stage}-alarms
      Subscription: [{Protocol: email, Endpoint: !Ref AlarmEmail}]
"""
_ALARM = """
  {logical_id}:
    Type: AWS::CloudWatch::Alarm
{condition}    Properties:
      AlarmName: !Sub siftline-${{Stage}}-{name}
      AlarmDescription: {about}
      Namespace: {namespace}
      MetricName: {metric}
      Dimensions:
{dimensions}
      {statistic_kind}: {statistic}
      Period: {period_s}
      EvaluationPeriods: {periods}
      Threshold: {threshold}
      ComparisonOperator: {comparison}
      TreatMissingData: {missing}
      AlarmActions: !If [HasTopic, [!Ref AlarmTopicArn], !If [MakesTopic, [!Ref AlarmTopic], []]]
      OKActions: !If [HasTopic, [!Ref AlarmTopicArn], !If [MakesTopic, [!Ref AlarmTopic], []]]
"""
_DASHBOARD = """
  # One widget a question.
  Dashboard:
    Type: AWS::CloudWatch::Dashboard
    Properties:
      DashboardName: !Sub siftline-${{Stage}}
      DashboardBody: !Sub |
        {{"widgets": [
{widgets}
        ]}}
"""


@dataclass(frozen=True, slots=True)
class Window:
    """What an alarm looks at: the statistic of each of the last ``periods`` periods."""

    statistic: str
    period_s: int
    periods: int


_NOW, _LASTING = Window("Maximum", 60, 1), Window("Maximum", 60, 5)
_COUNTED, _EACH_MINUTE = Window("Sum", 300, 1), Window("Sum", 60, 5)


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm: it rings when every period of its window is above ``threshold``, or for ``silence`` below it."""

    kind: str
    subject: str
    """The queue, function or tick that it watches; empty for the whole stage."""
    about: str
    metric: str
    dimensions: Mapping[str, str]
    threshold: float
    window: Window = _LASTING
    namespace: str = NAMESPACE
    unit: str = "Count"
    silence: bool = False
    """Whether it rings for what is missing; missing data is then no excuse."""
    condition: str = ""

    @property
    def name(self) -> str:
        """What follows ``siftline-<stage>-``."""
        return f"{self.subject.replace('_', '-')}-{self.kind}".removeprefix("-")


def alarms() -> list[Alarm]:
    """Return every alarm, in the file's order."""
    found = [*_of_the_stage(), *_of_the_api()]
    found += [alarm for queue in Queue for alarm in _of_queue(queue)]
    found += [alarm for function in FUNCTIONS for alarm in _of_function(function)]
    return found + [_of_tick(tick) for tick in Tick]


def _ours(**dimensions: str) -> dict[str, str]:
    """Return the dimensions of a metric of ours (``siftline.kit.metrics``)."""
    return {**dimensions, "service": SERVICE, "stage": "${Stage}"}


def _real(name: str) -> str:
    return f"siftline-${{Stage}}-{name}"


def _of_the_stage() -> Iterator[Alarm]:
    about = "No sweep was completed for 5 minutes; nothing heals meanwhile"
    yield Alarm("no-sweep", "", about, "Ticks", _ours(tick=Tick.SWEEP), 1, _EACH_MINUTE, silence=True)
    about, schedule = "No schedule invoked anything for 5 minutes", {"FunctionName": _real("schedule")}
    yield Alarm("no-tick", "", about, "Invocations", schedule, 1, _EACH_MINUTE, namespace="AWS/Lambda", silence=True)
    about = "PostgreSQL cannot be reached, has no connection left or accepts no writes"
    yield Alarm("database-unavailable", "", about, "DatabaseUnavailable", _ours(), 4, _COUNTED)
    yield Alarm(
        kind="database-capacity",
        subject="",
        about="Aurora has used over 90 % of its highest capacity for 15 minutes",
        metric="ACUUtilization",
        dimensions={"DBClusterIdentifier": "${DatabaseClusterId}"},
        threshold=90,
        window=Window("Average", 300, 3),
        namespace="AWS/RDS",
        condition="HasDatabaseCluster",
    )
    about = "Qdrant has not answered for 3 minutes; searches go by words meanwhile"
    yield Alarm("vectors-unavailable", "", about, "VectorsUnavailable", _ours(), 0, Window("Maximum", 60, 3))
    # Of all queues: a queue that nobody knows has no name here, and this one stands for the stage.
    about = "A newer release left jobs of a type unknown to this one; see unknown_jobs in GET /v1/ops/queues"
    stage = _ours(queue=_real("content-processing-queue"))
    yield Alarm("unknown-jobs", "", about, "UnknownJobs", stage, 0, Window("Maximum", 300, 1))


def _of_the_api() -> Iterator[Alarm]:
    api = {"ApiId": "${HttpApiId}"}
    about = "The API failed to answer more than 5 requests in 5 minutes"
    yield Alarm("api-5xx", "", about, "5xx", api, 5, _COUNTED, namespace="AWS/ApiGateway")
    about = "The API refused more than 20 requests in 5 minutes because there were too many"
    yield Alarm("api-429", "", about, "TooManyRequests", _ours(), 20, _COUNTED)
    about = "One in a hundred requests took longer than 5 seconds, for 15 minutes"
    yield Alarm("api-latency", "", about, "Latency", api, 5_000, Window("p99", 300, 3), namespace="AWS/ApiGateway")


def _of_queue(queue: Queue) -> Iterator[Alarm]:
    """Dead letters: somebody has to look. Age: the queue is not drained. Depth: it is drained too slowly.

    Backlog and due: the same from PostgreSQL, where jobs wait beyond what is handed out. Running: somebody holds a job
    too long. Unattended: jobs wait, and nobody holds any.
    """
    messages, age, sqs = "ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage", "AWS/SQS"
    dead, waiting = {"QueueName": _real(f"{queue}-dlq")}, {"QueueName": _real(f"{queue}-queue")}
    about = "A job has used up its attempts, or a message is malformed; see GET /v1/ops/queues"
    yield Alarm("dead-letters", queue, about, messages, dead, 0, _NOW, namespace=sqs)
    about = "The oldest message has been waiting for half an hour"
    yield Alarm("age", queue, about, age, waiting, 1_800, namespace=sqs)
    high = f"Enrichment queue backlog high - {queue}, more than {BACKLOG_HIGH:,}"
    yield Alarm("depth", queue, f"{high} messages", messages, waiting, BACKLOG_HIGH, namespace=sqs)

    jobs = _ours(queue=_real(f"{queue}-queue"))
    yield Alarm("backlog", queue, f"{high} jobs pending in PostgreSQL", "JobsPending", jobs, BACKLOG_HIGH)
    about, late_s = "The oldest due job is late", _DUE_S.get(queue, 3_600)
    yield Alarm("due", queue, about, "OldestDueAge", jobs, late_s, unit="Seconds")
    about = "A job has been running for half an hour; check its worker"
    yield Alarm("running", queue, about, "OldestRunningAge", jobs, 1_800, unit="Seconds")
    if queue is not Queue.RESOLUTION:  # its jobs are handed out by the hour, and wait while nobody works
        about = "Jobs are due, and nobody has worked on this queue for 5 minutes"
        window = Window("Minimum", 60, 5)
        yield Alarm("unattended", queue, about, "UnattendedAge", jobs, 120, window, unit="Seconds")
    if queue in _BREAKING:
        about = "The model or the vector store is misconfigured or away, and all analysis waits; see breakers in"
        yield Alarm("breaker", queue, f"{about} GET /v1/ops/queues", "BreakersOpened", jobs, 0, _COUNTED)


def _of_function(function: str) -> Iterator[Alarm]:
    dimensions = {"FunctionName": _real(function)}
    about = "The function failed or timed out; its jobs are retried automatically"
    yield Alarm("errors", function, about, "Errors", dimensions, 2, _COUNTED, namespace="AWS/Lambda")
    about = "The account's concurrency is used up"
    yield Alarm("throttles", function, about, "Throttles", dimensions, 0, _COUNTED, namespace="AWS/Lambda")


def _of_tick(tick: Tick) -> Alarm:
    about, failures = f"Parts of the tick {tick} failed; the next tick repeats them", 0 if tick in _RARE_TICKS else 4
    return Alarm("failures", tick, about, "StepFailures", _ours(tick=tick), failures, _COUNTED)


Series = list[object]
"""A metric of a widget as CloudWatch writes it: namespace, name, dimensions by turns, and how it is drawn."""


def widgets() -> dict[str, list[Series]]:
    """Return the metrics of every widget, by its title."""
    queues = [(queue.value, _real(f"{queue}-queue")) for queue in Queue]
    dead = [(queue.value, _real(f"{queue}-dlq")) for queue in Queue]
    functions = [(name, _real(name)) for name in FUNCTIONS]
    ticks = [(tick.value, tick.value) for tick in Tick]
    api = {"ApiId": "${HttpApiId}"}

    def each(namespace: str, metric: str, dimension: str, found: Sequence[tuple[str, str]], stat: str) -> list[Series]:
        ours = _ours if namespace == NAMESPACE else dict
        return [_series(namespace, metric, ours(**{dimension: value}), stat, label) for label, value in found]

    return {
        "Messages waiting": each("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", queues, "Maximum"),
        "Age of the oldest message (s)": each(
            "AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", queues, "Maximum"
        ),
        "Messages in flight": each("AWS/SQS", "ApproximateNumberOfMessagesNotVisible", "QueueName", queues, "Maximum"),
        "Dead letters": each("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", dead, "Maximum"),
        "Pending jobs": each(NAMESPACE, "JobsPending", "queue", queues, "Maximum"),
        "Age of the oldest due job (s)": each(NAMESPACE, "OldestDueAge", "queue", queues, "Maximum"),
        "Due while nobody works (s)": each(NAMESPACE, "UnattendedAge", "queue", queues, "Minimum"),
        "Age of the longest-running job (s)": each(NAMESPACE, "OldestRunningAge", "queue", queues, "Maximum"),
        "Duration (ms, p90)": each("AWS/Lambda", "Duration", "FunctionName", functions, "p90"),
        "Failure rate (%)": [one for name, real in functions for one in _failure_rate(name, real)],
        "API responses": [
            _series("AWS/ApiGateway", "Count", api, "Sum", "all"),
            _series("AWS/ApiGateway", "4xx", api, "Sum", "4xx"),
            _series("AWS/ApiGateway", "5xx", api, "Sum", "5xx"),
            _series(NAMESPACE, "TooManyRequests", _ours(), "Sum", "429"),
        ],
        "API latency (ms, p99)": [_series("AWS/ApiGateway", "Latency", api, "p99", "latency")],
        "Ticks completed": each(NAMESPACE, "Ticks", "tick", ticks, "Sum"),
        "Failed parts of ticks": each(NAMESPACE, "StepFailures", "tick", ticks, "Sum"),
        "What is unavailable": [
            _series(NAMESPACE, "DatabaseUnavailable", _ours(), "Sum", "database, failed calls"),
            _series(NAMESPACE, "VectorsUnavailable", _ours(), "Maximum", "vectors"),
            *(
                _series(NAMESPACE, "BreakersOpened", _ours(queue=_real(f"{queue}-queue")), "Sum", f"breakers, {queue}")
                for queue in _BREAKING
            ),
        ],
        "Throttled invocations": each("AWS/Lambda", "Throttles", "FunctionName", functions, "Sum"),
        "Jobs of unknown types": [
            _series(NAMESPACE, "UnknownJobs", _ours(queue=_real("content-processing-queue")), "Maximum", "jobs")
        ],
        "Duplicates in the last 24 hours (%)": [
            _series(
                NAMESPACE,
                "Duplicates",
                _ours(kind=kind, queue=_real("content-processing-queue")),
                "Average",
                label,
            )
            for kind, label in (
                ("exact", "the same text"),
                ("near", "nearly the same text"),
                ("url", "the same page"),
            )
        ],
    }


def _series(namespace: str, metric: str, dimensions: Mapping[str, str], stat: str, label: str) -> Series:
    named = [part for pair in dimensions.items() for part in pair]
    return [namespace, metric, *named, {"stat": stat, "label": label}]


def _failure_rate(name: str, real: str) -> list[Series]:
    def hidden(metric: str, letter: str) -> Series:
        drawn = {"stat": "Sum", "id": f"{letter}_{name}", "visible": False}
        return ["AWS/Lambda", metric, "FunctionName", real, drawn]

    ratio = f"IF(i_{name} > 0, 100 * e_{name} / i_{name}, 0)"
    return [
        hidden("Errors", "e"),
        hidden("Invocations", "i"),
        [{"expression": ratio, "id": f"r_{name}", "label": name}],
    ]


def page() -> str:
    """Return the whole file."""
    return _HEAD + "".join(map(_alarm, alarms())) + _dashboard()


def main() -> int:
    """Write the file."""
    FILE.write_text(page(), encoding="utf-8")
    return 0


def _alarm(alarm: Alarm) -> str:
    window = alarm.window
    return _ALARM.format(
        logical_id="".join(word[:1].upper() + word[1:] for word in alarm.name.split("-")) + "Alarm",
        condition=f"    Condition: {alarm.condition}\n" if alarm.condition else "",
        name=alarm.name,
        about=json.dumps(alarm.about),
        namespace=alarm.namespace,
        metric=alarm.metric,
        dimensions="\n".join(
            f"        - {{Name: {name}, Value: {_value(value)}}}" for name, value in alarm.dimensions.items()
        ),
        statistic_kind="ExtendedStatistic" if window.statistic.startswith("p") else "Statistic",
        statistic=window.statistic,
        period_s=window.period_s,
        periods=window.periods,
        threshold=alarm.threshold,
        comparison="LessThanThreshold" if alarm.silence else "GreaterThanThreshold",
        missing="breaching" if alarm.silence else "notBreaching",
    )


def _value(value: str) -> str:
    return f'!Sub "{value}"' if "${" in value else value


def _dashboard() -> str:
    found = []
    for place, (title, metrics) in enumerate(widgets().items()):
        x, y = 12 * (place % 2), 6 * (place // 2)
        lines = ",\n".join(f"              {json.dumps(one)}" for one in metrics)
        found.append(
            f'          {{"type": "metric", "x": {x}, "y": {y}, "width": 12, "height": 6, "properties": {{\n'
            f'            "title": "{title}", "region": "${{AWS::Region}}", "view": "timeSeries", "period": 60, '
            f'"metrics": [\n{lines}]}}}}'
        )
    return _DASHBOARD.format(widgets=",\n".join(found))


if __name__ == "__main__":
    sys.exit(main())
