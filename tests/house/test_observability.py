"""No queue and no function without its alarms, its place on the dashboard, its trace and its kept log."""

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from infra.alarms import FILE, alarms, page
from siftline.contracts import Queue, Tick
from siftline.jobs.statistics import BACKLOG_HIGH
from siftline.kit.log import NAMESPACE, SERVICE
from siftline.settings.functions import JobSettings
from siftline.worker.template import Evaluator, Reference
from tests.house.reading import (
    ROOT,
    SOURCE,
    document,
    function_resources,
    imported,
    observability,
    python_files,
    relative,
    resources,
    template,
    tree,
)

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
    """Return an alarm's metric, and of what it is: a queue, function or tick; of a metric of ours without them ""."""
    dimensions = {one["Name"]: one["Value"] for one in alarm["Dimensions"]}
    if alarm["Namespace"] == NAMESPACE:
        assert dimensions.pop("service") == SERVICE
        assert dimensions.pop("stage") == {"Fn::Sub": STAGE}
    found = [value["Fn::Sub"] if isinstance(value, dict) else value for value in dimensions.values()] or [""]
    assert len(found) == 1
    return alarm["MetricName"], found[0]


def _dashboard() -> list[dict[str, Any]]:
    body = observability()["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"]
    widgets: list[dict[str, Any]] = json.loads(body)["widgets"]
    return widgets


def _widgets() -> dict[str, str]:
    """Return each widget's metrics as JSON text, by title."""
    return {widget["properties"]["title"]: json.dumps(widget["properties"]) for widget in _dashboard()}


def test_the_file_is_what_make_alarms_would_write() -> None:
    assert FILE.read_text(encoding="utf-8") == page(), "run `make alarms`"


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


@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_has_alarms_on_late_jobs_and_on_jobs_that_nobody_works_on(queue: str) -> None:
    watched = {_watched(alarm): alarm for alarm in ALARMS.values()}

    assert watched["OldestDueAge", f"siftline-{STAGE}-{queue}-queue"]["Threshold"] >= 3_600
    if queue == Queue.RESOLUTION:  # handed out by the hour: its jobs are due while nobody works
        assert ("UnattendedAge", f"siftline-{STAGE}-{queue}-queue") not in watched
        return
    unattended = watched["UnattendedAge", f"siftline-{STAGE}-{queue}-queue"]
    # What a batch tells in between is 0, and must count.
    assert unattended["Statistic"] == "Minimum"
    assert unattended["Period"] * unattended["EvaluationPeriods"] == 300


@pytest.mark.parametrize("tick", sorted(Tick))
def test_a_tick_has_an_alarm_on_its_failures(tick: Tick) -> None:
    watched = {_watched(alarm): alarm for alarm in ALARMS.values()}

    by_the_minute = tick in {Tick.SWEEP, Tick.BACKGROUND, Tick.DUE_SOURCES, Tick.DUE_BRIEFINGS}
    assert watched["StepFailures", tick]["Threshold"] == (4 if by_the_minute else 0)


def test_five_minutes_of_silence_ring() -> None:
    watched = {_watched(alarm): alarm for alarm in ALARMS.values()}

    for silent in (watched["Ticks", Tick.SWEEP], watched["Invocations", f"siftline-{STAGE}-schedule"]):
        assert (silent["ComparisonOperator"], silent["Threshold"]) == ("LessThanThreshold", 1)
        assert silent["TreatMissingData"] == "breaching"
        assert silent["Period"] * silent["EvaluationPeriods"] == 300


def test_what_the_stage_cannot_do_without_has_alarms() -> None:
    watched = {_watched(alarm) for alarm in ALARMS.values()}
    api = {(metric, "${HttpApiId}") for metric in ("5xx", "Latency")}

    assert (
        api | {(metric, "") for metric in ("TooManyRequests", "DatabaseUnavailable", "VectorsUnavailable")} <= watched
    )
    assert ALARMS["DatabaseCapacityAlarm"]["Dimensions"][0]["Value"] == {"Fn::Sub": "${DatabaseClusterId}"}
    assert observability()["Resources"]["DatabaseCapacityAlarm"]["Condition"] == "HasDatabaseCluster"


def test_every_alarm_watches_something_that_is_deployed_and_tells_when_it_is_over() -> None:
    known = {f"siftline-{STAGE}-{queue}-{kind}" for queue in QUEUES for kind in ("queue", "dlq")}
    known |= {f"siftline-{STAGE}-{function}" for function in FUNCTIONS}
    known |= {"", "${HttpApiId}", "${DatabaseClusterId}", *Tick}

    assert {_watched(alarm)[1] for alarm in ALARMS.values()} <= known
    for name, alarm in ALARMS.items():
        assert alarm["AlarmActions"] == alarm["OKActions"], name
        assert (alarm["TreatMissingData"] == "breaching") == (alarm["ComparisonOperator"] == "LessThanThreshold"), name


def test_alarms_notify_the_topic_that_is_given_else_one_made_for_a_mail_address() -> None:
    alarm, topic = observability()["Resources"]["NoSweepAlarm"], observability()["Resources"]["AlarmTopic"]

    def notified(**given: str) -> list[str]:
        evaluator = Evaluator(observability(), {"Stage": "house", "HttpApiId": "api", **given})
        made = evaluator.condition(topic["Condition"])
        actions = [str(one) for one in evaluator.value(alarm["Properties"]["AlarmActions"])]
        return [*actions, *(["made"] if made else [])]

    assert notified() == []
    assert notified(AlarmTopicArn="arn:mine") == ["arn:mine"]
    assert notified(AlarmTopicArn="arn:mine", AlarmEmail="ops@news.example") == ["arn:mine"]
    assert notified(AlarmEmail="ops@news.example") == [str(Reference("AlarmTopic")), "made"]
    assert topic["Properties"]["Subscription"] == [{"Protocol": "email", "Endpoint": {"Ref": "AlarmEmail"}}]


def test_an_alarms_kind_has_its_line_among_the_alarms_and_its_place_in_the_runbook() -> None:
    operating = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    runbook = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
    table = operating.partition("**Alarms**")[2].partition("**Metrics**")[0]
    kinds = {"errors": "<function>-", "throttles": "<function>-", "failures": "<tick>-"}
    expected = {f"{kinds.get(alarm.kind, '<queue>-') if alarm.subject else ''}{alarm.kind}" for alarm in alarms()}

    assert _named_first(table) == expected
    assert _named_first(runbook.partition("\n## Alarms\n")[2].partition("\n## ")[0]) == expected


def _named_first(table: str) -> set[str]:
    """Return what stands as code in the first cells of a table."""
    cells = re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`((?:<\w+>-)?[a-z0-9-]+)`", cell)}


def test_metrics_are_told_in_one_place_which_adds_service_and_stage() -> None:
    makers = {
        relative(path)
        for path in python_files(SOURCE, ROOT / "functions")
        if any(name.startswith("aws_lambda_powertools.metrics") for _, name in imported(path))
    }
    assert makers == {"shared/siftline/kit/metrics.py"}


def test_every_metric_of_ours_is_explained_and_every_one_that_is_explained_is_told_or_counted() -> None:
    text = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8").partition("**Metrics** are")[2]
    cells = re.findall(r"^\| ([^|]*) \|", text.partition("\nLog events")[0], re.MULTILINE)
    explained = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    told = {
        key.value
        for path in python_files(SOURCE)
        for call in ast.walk(tree(path))
        if isinstance(call, ast.Dict)
        for key, value in zip(call.keys, call.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(value, ast.Tuple) and _unit(value)
    }
    counted = {
        made["MetricName"]
        for one in resources("AWS::Logs::MetricFilter").values()
        for made in one["MetricTransformations"]
    }

    assert told | counted == explained


def _unit(figure: ast.Tuple) -> bool:
    """Whether this is a figure with its unit, as ``siftline.kit.metrics.emit`` takes it."""
    units = {"COUNT", "MILLISECONDS", "SECONDS", "PERCENT"}
    return any(isinstance(last, ast.Name) and last.id in units for last in figure.elts[-1:])


def test_every_line_of_the_access_log_is_json_whatever_is_in_it() -> None:
    """By the substitution that API Gateway documents: values as they are, and a hyphen where there is none."""
    log = document()["Resources"]["HttpApi"]["Properties"]["AccessLogSettings"]["Format"]["Fn::Sub"]
    told_by_strangers = 'said "no": C:\\path\n'
    free = {"error.message", "error.messageString", "integrationErrorMessage", "integration.error", "authorizer.error"}

    def written(log: str, text: str) -> Any:
        values = {f"$context.{name}": f'"{text}"' if name.endswith("String") else text for name in free}
        return json.loads(re.sub(r"\$context\.[\w.]+", lambda one: values.get(one[0], "-"), log))

    assert written(log, "-")["status"] == written(log, told_by_strangers)["status"] == "-"
    with pytest.raises(json.JSONDecodeError):
        written(log.replace("$context.error.responseType", "$context.error.messageString"), "Forbidden")
    with pytest.raises(json.JSONDecodeError):
        written(log.replace("$context.error.responseType", "$context.error.message"), told_by_strangers)


@pytest.mark.parametrize(("metric", "statuses"), [("TooManyRequests", "429"), ("ServerErrors", "5*")])
def test_answers_are_counted_from_the_access_log_under_our_dimensions(metric: str, statuses: str) -> None:
    log = document()["Resources"]["HttpApi"]["Properties"]["AccessLogSettings"]["Format"]["Fn::Sub"]
    line = json.loads(re.sub(r"\$context\.[\w.]+", "-", log))
    counted = resources("AWS::Logs::MetricFilter")[f"{metric}Filter"]
    (made,) = counted["MetricTransformations"]

    assert counted["FilterPattern"] == f'{{ $.status = "{statuses}" }}'
    assert (made["MetricNamespace"], made["MetricName"]) == (NAMESPACE, metric)
    assert {one["Key"]: line[one["Value"].removeprefix("$.")] for one in made["Dimensions"]} == {
        "service": SERVICE,
        "stage": STAGE,
    }


@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_stands_on_the_dashboard_in_every_widget_about_queues(queue: str) -> None:
    widgets = _widgets()

    for title in (
        "Messages waiting",
        "Age of the oldest message (s)",
        "Messages in flight",
        "Pending jobs",
        "Age of the oldest due job (s)",
        "Due while nobody works (s)",
        "Age of the longest-running job (s)",
    ):
        assert f"siftline-{STAGE}-{queue}-queue" in widgets[title], title
    assert f"siftline-{STAGE}-{queue}-dlq" in widgets["Dead letters"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_stands_on_the_dashboard_with_duration_and_failure_rate(function: str) -> None:
    widgets = _widgets()

    assert f"siftline-{STAGE}-{function}" in widgets["Duration (ms, p90)"]
    assert f"e_{function} / i_{function}" in widgets["Failure rate (%)"]


def test_the_dashboard_is_one_that_cloudwatch_takes_and_its_metrics_of_ours_carry_the_stage() -> None:
    """By "Dashboard body structure and syntax" of CloudWatch's API Reference."""
    taken: set[tuple[int, int]] = set()
    for widget in _dashboard():
        cells = {(widget["x"] + x, widget["y"] + y) for x in range(widget["width"]) for y in range(widget["height"])}
        assert not taken & cells
        taken |= cells
        assert max(x for x, _ in cells) < 24
        metrics = widget["properties"]["metrics"]
        assert 0 < len(metrics) <= 500
        for metric in metrics:
            if "expression" in metric[0]:
                continue
            namespace, name, *pairs, drawn = metric
            dimensions = dict(zip(pairs[::2], pairs[1::2], strict=True))
            assert name
            assert drawn["stat"] in {"Sum", "Maximum", "Minimum", "Average", "p90", "p99"}
            assert namespace != NAMESPACE or (dimensions["service"], dimensions["stage"]) == (SERVICE, STAGE)


def test_every_metric_that_an_alarm_watches_is_drawn() -> None:
    drawn = {metric[1] for widget in _dashboard() for metric in widget["properties"]["metrics"] if len(metric) > 1}

    # The cluster need not be one that the stack knows.
    assert {alarm["MetricName"] for alarm in ALARMS.values()} - drawn == {"ACUUtilization"}


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
    assert resources("AWS::CloudFormation::Stack")["Observability"]["TemplateURL"] == "infra/observability.yaml"
