"""No queue and no function without its alarms, its place on the dashboard, its trace and its kept log."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from siftline.jobs.statistics import BACKLOG_HIGH
from siftline.kit.log import NAMESPACE, SERVICE
from siftline.settings.functions import JobSettings
from tests.house.reading import document, function_resources, observability, resources, template

STAGE = "${Stage}"
QUEUES = sorted(
    queue.name.replace("siftline-house-", "").removesuffix("-queue")
    for queue in template().queues()
    if queue.name.endswith("-queue")
)
FUNCTIONS = sorted(function_resources())
ALARMS = {
    name: body["Properties"]
    for name, body in observability()["Resources"].items()
    if body["Type"] == "AWS::CloudWatch::Alarm"
}


def _watched(alarm: Mapping[str, Any]) -> tuple[str, str]:
    dimension, *common = alarm["Dimensions"]
    assert common == ([{"Name": "service", "Value": SERVICE}] if alarm["Namespace"] == NAMESPACE else [])
    return alarm["MetricName"], dimension["Value"]["Fn::Sub"]


def _widgets() -> dict[str, str]:
    """Return each widget's metrics as JSON text, by title."""
    body = observability()["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"]
    return {widget["properties"]["title"]: json.dumps(widget["properties"]) for widget in json.loads(body)["widgets"]}


@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_has_alarms_on_dead_letters_age_and_depth(queue: str) -> None:
    watched = {_watched(alarm): alarm for alarm in ALARMS.values()}
    dead = watched["ApproximateNumberOfMessagesVisible", f"siftline-{STAGE}-{queue}-dlq"]
    depth = watched["ApproximateNumberOfMessagesVisible", f"siftline-{STAGE}-{queue}-queue"]

    assert ("ApproximateAgeOfOldestMessage", f"siftline-{STAGE}-{queue}-queue") in watched
    assert dead["Threshold"] == 0
    assert depth["Threshold"] == 10_000
    assert queue in depth["AlarmDescription"]
    assert "Enrichment queue backlog high" in depth["AlarmDescription"]


@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_has_alarms_on_its_jobs_pending_and_on_the_longest_held(queue: str) -> None:
    watched = {_watched(alarm): alarm for alarm in ALARMS.values()}
    backlog = watched["JobsPending", f"siftline-{STAGE}-{queue}-queue"]
    running = watched["OldestRunningAge", f"siftline-{STAGE}-{queue}-queue"]

    assert backlog["Threshold"] == BACKLOG_HIGH
    assert f"Enrichment queue backlog high - {queue}" in backlog["AlarmDescription"]
    assert running["Threshold"] > JobSettings.model_fields["job_lease_s"].default


def test_one_job_that_a_newer_release_left_rings() -> None:
    """By the name that ``siftline.jobs.statistics`` tells it under."""
    watched = {_watched(alarm): alarm for alarm in ALARMS.values()}
    unknown = watched["UnknownJobs", f"siftline-{STAGE}-content-processing-queue"]

    assert (unknown["Threshold"], unknown["EvaluationPeriods"]) == (0, 1)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_has_alarms_on_errors_and_throttles(function: str) -> None:
    watched = {_watched(alarm) for alarm in ALARMS.values()}

    assert {("Errors", f"siftline-{STAGE}-{function}"), ("Throttles", f"siftline-{STAGE}-{function}")} <= watched


def test_every_alarm_watches_something_that_is_deployed_and_tells_when_it_is_over() -> None:
    known = {f"siftline-{STAGE}-{queue}-{kind}" for queue in QUEUES for kind in ("queue", "dlq")}
    known |= {f"siftline-{STAGE}-{function}" for function in FUNCTIONS}

    assert {_watched(alarm)[1] for alarm in ALARMS.values()} <= known
    for name, alarm in ALARMS.items():
        assert alarm["AlarmActions"] == alarm["OKActions"], name
        assert alarm["TreatMissingData"] == "notBreaching", name


@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_stands_on_the_dashboard_in_every_widget_about_queues(queue: str) -> None:
    widgets = _widgets()

    for title in (
        "Messages waiting",
        "Age of the oldest message (s)",
        "Messages in flight",
        "Pending jobs",
        "Age of the longest-running job (s)",
    ):
        assert f"siftline-{STAGE}-{queue}-queue" in widgets[title], title
    assert f"siftline-{STAGE}-{queue}-dlq" in widgets["Dead letters"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_stands_on_the_dashboard_with_duration_and_failure_rate(function: str) -> None:
    widgets = _widgets()

    assert f"siftline-{STAGE}-{function}" in widgets["Duration (ms, p90)"]
    assert f"e_{function} / i_{function}" in widgets["Failure rate (%)"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_writes_to_a_log_group_of_its_own_that_is_kept_for_a_stated_time(function: str) -> None:
    groups = resources("AWS::Logs::LogGroup")
    properties = function_resources()[function][1]
    group = groups[properties["LoggingConfig"]["LogGroup"]["Ref"]]

    assert group["LogGroupName"]["Fn::Sub"] == f"/aws/lambda/siftline-{STAGE}-{function}"
    assert group["RetentionInDays"] == {"Ref": "LogRetentionDays"}


def test_every_function_is_traced() -> None:
    assert document()["Globals"]["Function"]["Tracing"] == "Active"
    assert not [name for name, (_, properties) in function_resources().items() if "Tracing" in properties]


def test_the_alarms_are_deployed_with_the_template() -> None:
    (stack,) = resources("AWS::CloudFormation::Stack").values()

    assert stack["TemplateURL"] == "infra/observability.yaml"
    assert set(stack["Parameters"]) == set(observability()["Parameters"])
