"""Makes an alarm of a deployed stage ring, and tidies up: ``make drill ALARM=fetch-age STAGE=staging``.

Each kind of alarm has its drill: the real cause where that harms nobody, else metric data that say the same, or, for
metrics that only AWS may write, the alarm's own threshold lowered for a moment. It acts with the caller's own rights.
"""

import argparse
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache, partial
from typing import Any
from uuid import uuid4

import httpx
from botocore.exceptions import BotoCoreError, ClientError

from infra.alarms import Alarm, alarms
from infra.stage import Stage, answered
from siftline.contracts import Tick
from siftline.kit.clock import Clock, SystemClock
from siftline.operate.set_up_error import SetUpError

LOOK_S = 15
"""CloudWatch judges an alarm once a minute."""
PATIENCE_S = 900
"""How much longer than its own periods an alarm may take: metrics come late, and missing ones are waited for."""
FAILING_EVENT = b'"drill"'
"""An event that is none: every handler raises for it before it does anything."""
_SILENT_ADDRESS = "http://192.0.2.1/"  # nobody's (RFC 5737, TEST-NET-1)
_GATEWAY_WAITS_MS = 10_000
_AT_ONCE = 200
"""More than a route takes in one burst (``ThrottlingBurstLimit``)."""
_PUT = (
    *("AlarmName", "AlarmDescription", "ActionsEnabled", "OKActions", "AlarmActions", "InsufficientDataActions"),
    *("MetricName", "Namespace", "Statistic", "ExtendedStatistic", "Dimensions", "Period", "Unit"),
    *("EvaluationPeriods", "DatapointsToAlarm", "Threshold", "ComparisonOperator", "TreatMissingData"),
)


class DrillError(Exception):
    """The drill cannot be held, or the alarm did not ring."""


def ask(url: str, times: int) -> None:
    """Ask for an address so many times at once, whatever is answered."""

    def once(_: int) -> None:
        with suppress(httpx.HTTPError):  # a failure is what the drill is after, and API Gateway counts it
            httpx.get(url, timeout=30)

    with ThreadPoolExecutor(times) as threads:
        list(threads.map(once, range(times)))


@dataclass(frozen=True)
class DrilledStage:
    """A deployed stage, its stack in CloudFormation, and how it is reached."""

    name: str
    stack: str
    client: Callable[[str], Any]
    clock: Clock = field(default_factory=SystemClock)
    wait: Callable[[float], None] = time.sleep
    ask: Callable[[str, int], None] = ask

    def alarm(self, alarm: Alarm) -> dict[str, Any]:
        """Return the alarm as it is deployed, with its state. Raises ``DrillError`` and ``SetUpError``."""
        name = f"siftline-{self.name}-{alarm.name}"
        cloudwatch = self.client("cloudwatch")
        with answered(cloudwatch, f"The alarm {name} cannot be looked at"):
            found: list[dict[str, Any]] = cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"]
        if not found:
            raise DrillError(f"There is no alarm {name}: it is not deployed, or its parameters are not given.")
        return found[0]

    def resource(self, logical_id: str) -> str:
        """Return the name or id that a resource of the template has in AWS."""
        asked = {"StackName": self.stack, "LogicalResourceId": logical_id}
        found = self.client("cloudformation").describe_stack_resource(**asked)
        return str(found["StackResourceDetail"]["PhysicalResourceId"])


Again = Callable[[], None]
"""What a cause has to do at each look, to last."""


def _once() -> None:
    """Nothing: the cause lasts, or has happened."""


@contextmanager
def _put(stage: DrilledStage, alarm: Alarm) -> Iterator[Again]:
    """Write metric data above the threshold for every period that the alarm looks at."""
    deployed, window = stage.alarm(alarm), alarm.window
    data = [
        {
            "MetricName": deployed["MetricName"],
            "Dimensions": deployed["Dimensions"],
            "Timestamp": stage.clock.now() - timedelta(seconds=period * window.period_s),
            "Value": alarm.threshold + 1,
            "Unit": alarm.unit,
        }
        for period in range(window.periods + 1)
    ]
    stage.client("cloudwatch").put_metric_data(Namespace=deployed["Namespace"], MetricData=data)
    yield _once


@contextmanager
def _lower(stage: DrilledStage, alarm: Alarm) -> Iterator[Again]:
    """Set the threshold below nought for the while, and back to what the template says."""
    cloudwatch, deployed = stage.client("cloudwatch"), stage.alarm(alarm)
    settings = {name: deployed[name] for name in _PUT if name in deployed}
    cloudwatch.put_metric_alarm(**settings | {"Threshold": -1.0})
    try:
        yield _once
    finally:
        cloudwatch.put_metric_alarm(**settings | {"Threshold": float(alarm.threshold)})


@contextmanager
def _send_malformed(stage: DrilledStage, alarm: Alarm) -> Iterator[Again]:
    """Send what no function understands; it is parked, and deleted there afterwards."""
    sqs, body = stage.client("sqs"), f"drill {uuid4()}"
    queue = f"siftline-{stage.name}-{alarm.subject}"
    dead = sqs.get_queue_url(QueueName=f"{queue}-dlq")["QueueUrl"]
    sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=f"{queue}-queue")["QueueUrl"], MessageBody=body)
    try:
        yield _once
    finally:
        _delete(sqs, dead, body)


def _delete(sqs: Any, url: str, body: str) -> None:
    """Delete one message; others that come meanwhile are hidden for some seconds only."""
    for _ in range(20):
        asked = {"QueueUrl": url, "MaxNumberOfMessages": 10, "VisibilityTimeout": 10, "WaitTimeSeconds": 1}
        for message in sqs.receive_message(**asked).get("Messages", []):
            if message["Body"] == body:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                return


@contextmanager
def _fail(stage: DrilledStage, alarm: Alarm) -> Iterator[Again]:
    """Invoke the function with an event that is none, as often as it takes."""
    function = f"siftline-{stage.name}-{alarm.subject}"
    for _ in range(int(alarm.threshold) + 1):
        answer = stage.client("lambda").invoke(FunctionName=function, Payload=FAILING_EVENT)
        if "FunctionError" not in answer:
            raise DrillError(f"{function} took an event that is none.")
    yield _once


@contextmanager
def _throttle(stage: DrilledStage, alarm: Alarm) -> Iterator[Again]:
    """Leave the function no concurrency for as long as one invocation takes."""
    functions, function = stage.client("lambda"), f"siftline-{stage.name}-{alarm.subject}"
    before = functions.get_function_concurrency(FunctionName=function).get("ReservedConcurrentExecutions")
    functions.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=0)
    try:
        functions.invoke(FunctionName=function, Payload=FAILING_EVENT)
    except ClientError as error:
        if error.response["Error"]["Code"] != "TooManyRequestsException":
            raise
    finally:
        if before is None:
            functions.delete_function_concurrency(FunctionName=function)
        else:
            functions.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=before)
    yield _once


@contextmanager
def _rest(stage: DrilledStage, alarm: Alarm, ticks: Collection[Tick]) -> Iterator[Again]:  # noqa: ARG001 - causes take two
    """Switch schedules off for the while."""
    events = stage.client("events")
    with ExitStack() as undo:
        for tick in ticks:
            name = stage.resource(f"ScheduleFunction{tick.value.title().replace('_', '')}")
            if events.describe_rule(Name=name)["State"] == "ENABLED":
                undo.callback(events.enable_rule, Name=name)
                events.disable_rule(Name=name)
        yield _once


@contextmanager
def _ask_in_vain(stage: DrilledStage, alarm: Alarm, at_once: int) -> Iterator[Again]:  # noqa: ARG001 - causes take two
    """Add a route to the API that leads nowhere, and ask for it; nobody else's requests are touched."""
    gateway, api = stage.client("apigatewayv2"), stage.resource("HttpApi")
    url = gateway.get_api(ApiId=api)["ApiEndpoint"] + "/drill"
    with ExitStack() as undo:
        integration = gateway.create_integration(
            ApiId=api,
            IntegrationType="HTTP_PROXY",
            IntegrationMethod="GET",
            IntegrationUri=_SILENT_ADDRESS,
            PayloadFormatVersion="1.0",
            TimeoutInMillis=_GATEWAY_WAITS_MS,
        )["IntegrationId"]
        undo.callback(gateway.delete_integration, ApiId=api, IntegrationId=integration)
        made = gateway.create_route(ApiId=api, RouteKey="GET /drill", Target=f"integrations/{integration}")
        undo.callback(gateway.delete_route, ApiId=api, RouteId=made["RouteId"])
        yield partial(stage.ask, url, at_once)


@dataclass(frozen=True, slots=True)
class Drill:
    """How an alarm is made to ring."""

    does: str
    cause: Callable[[DrilledStage, Alarm], AbstractContextManager[Again]]


_WRITES = Drill("writes metric data above its threshold", _put)
_LOWERS = Drill("lowers its threshold below 0 until it rings; the real cause takes long or does harm", _lower)
DRILLS: Mapping[str, Drill] = {
    "no-sweep": Drill("switches the sweep off until it rings, about 8 minutes", partial(_rest, ticks=[Tick.SWEEP])),
    "no-tick": Drill("switches all schedules off until it rings, about 8 minutes", partial(_rest, ticks=[*Tick])),
    "database-unavailable": _WRITES,
    "database-capacity": _LOWERS,
    "vectors-unavailable": _WRITES,
    "unknown-jobs": _WRITES,
    "api-5xx": Drill(
        "adds a route that leads nowhere and asks for it, 10 times every 15 seconds", partial(_ask_in_vain, at_once=10)
    ),
    "api-429": Drill(
        f"adds a route that leads nowhere and asks for it {_AT_ONCE} times at once; api-5xx rings as well",
        partial(_ask_in_vain, at_once=_AT_ONCE),
    ),
    "api-latency": Drill(
        "adds a route that waits 10 seconds in vain and asks for it until it rings, about 20 minutes; api-5xx rings as "
        "well. With over 10,000 requests in 5 minutes it takes more than these to ring",
        partial(_ask_in_vain, at_once=10),
    ),
    "dead-letters": Drill("sends a malformed message to the queue, and deletes the dead letter", _send_malformed),
    "age": _LOWERS,
    "depth": _LOWERS,
    "backlog": _WRITES,
    "due": _WRITES,
    "running": _WRITES,
    "unattended": _LOWERS,
    "breaker": _WRITES,
    "errors": Drill("invokes the function three times with an event for which it raises", _fail),
    "throttles": Drill("leaves the function no concurrency for one invocation, about a second", _throttle),
    "failures": _WRITES,
}
"""By the alarm's kind."""


def hold(stage: DrilledStage, alarm: Alarm) -> float:
    """Make an alarm ring and undo what made it; return after how many seconds it rang. Raises ``DrillError``."""
    if stage.alarm(alarm)["StateValue"] == "ALARM":
        raise DrillError(f"{alarm.name} rings already: see the runbook.")
    started_s = stage.clock.monotonic()
    until_s = started_s + 2 * alarm.window.period_s * alarm.window.periods + PATIENCE_S
    with DRILLS[alarm.kind].cause(stage, alarm) as again:
        while stage.alarm(alarm)["StateValue"] != "ALARM":
            if stage.clock.monotonic() > until_s:
                raise DrillError(f"{alarm.name} did not ring within {round((until_s - started_s) / 60)} minutes.")
            again()
            stage.wait(LOOK_S)
    return stage.clock.monotonic() - started_s


def deployed_stage(name: str) -> DrilledStage:
    """Return a stage of ``samconfig.toml``. Raises ``SetUpError``."""
    stage = Stage(name)
    return DrilledStage(name, stage.stack, cache(stage.client))


def main(arguments: Sequence[str] | None = None) -> int:
    """Hold a drill, or say what each does; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="make drill", usage="make drill ALARM=fetch-age STAGE=staging YES=1", description=__doc__
    )
    parser.add_argument("--stage", default="staging")
    parser.add_argument("--alarm", default="")
    parser.add_argument("--yes", action="store_true")
    options = parser.parse_args(arguments)
    known = {alarm.name: alarm for alarm in alarms()}
    if not options.alarm:
        listed = "".join(f"{name:<34}{DRILLS[alarm.kind].does}\n" for name, alarm in known.items())
        sys.stdout.write(f"Which alarm? ALARM=…, one of:\n{listed}")
        return 0
    if options.alarm not in known:
        sys.stderr.write(f"siftline: There is no alarm {options.alarm}: make drill lists them.\n")
        return 2
    alarm = known[options.alarm]
    sys.stdout.write(f"siftline-{options.stage}-{alarm.name}: {DRILLS[alarm.kind].does}.\n")
    if not options.yes:
        sys.stdout.write("Add YES=1 to do it. Whoever the alarm notifies will be notified.\n")
        return 0
    try:
        rang_s = hold(deployed_stage(options.stage), alarm)
    except (DrillError, SetUpError, BotoCoreError, ClientError) as error:
        sys.stderr.write(f"siftline: {error}\n")
        return 1
    sys.stdout.write(f"It rang after {round(rang_s / 60, 1)} minutes. All is as before; it ends by itself.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
