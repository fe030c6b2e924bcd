"""An AWS account with our stack in it, as far as drills touch it: what its services publish, and alarms judged by it.

A stand-in for AWS, not for code of ours. Calls are checked by botocore's own descriptions of the services; the metrics
are those that the services' documentation and ``siftline.kit.metrics`` name, a minute at a time.
"""

# ruff: noqa: N803  -- the services' own names of what they are asked

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatch
from functools import cache
from typing import Any

from botocore import xform_name
from botocore.exceptions import ClientError
from botocore.model import ServiceModel
from botocore.session import get_session
from botocore.validate import validate_parameters

from infra.alarms import FUNCTIONS
from siftline.contracts import MESSAGE, Queue, Tick
from siftline.worker.template import Evaluator, Template
from tests import alarm_math
from tests.alarm_math import Points
from tests.house.reading import document, observability, resources

STAGE = "drilled"
API, CLUSTER = "a1b2c3d4e5", "siftline-cluster"
BURST = 100
"""``ThrottlingBurstLimit`` of the template's routes."""
_KEPT = timedelta(hours=2)
_START = datetime(2026, 11, 27, 12, tzinfo=UTC)
Place = tuple[str, str, frozenset[tuple[str, str]]]


def place(namespace: str, metric: str, dimensions: Mapping[str, str]) -> Place:
    return namespace, metric, frozenset(dimensions.items())


def deployed_alarms() -> dict[str, dict[str, Any]]:
    """Return the alarms of ``infra/observability.yaml`` by their names, with every parameter given."""
    given = {"Stage": STAGE, "HttpApiId": API, "DatabaseClusterId": CLUSTER, "AlarmTopicArn": "arn:aws:sns:::topic"}
    evaluator = Evaluator(observability(), given)
    bodies = [body for body in observability()["Resources"].values() if body["Type"] == "AWS::CloudWatch::Alarm"]
    found = [evaluator.value(body["Properties"]) for body in bodies]
    return {alarm["AlarmName"]: alarm for alarm in found}


class Account:
    """Quiet by itself: a few requests, a few jobs, all schedules on time."""

    def __init__(self) -> None:
        self.time = _START
        # CloudWatch keeps numbers as floats
        self.alarms = {
            name: {**alarm, "Threshold": float(alarm["Threshold"])} for name, alarm in deployed_alarms().items()
        }
        self.points: dict[Place, list[tuple[float, float]]] = defaultdict(list)
        self.routes: dict[str, str] = {}
        self.integrations: dict[str, int] = {}
        self.concurrency: dict[str, int] = {}
        self.dead: dict[str, list[str]] = defaultdict(list)
        template = Template(document(), {"Stage": STAGE, "ExtraRunEnabled": "true"})
        self.schedules: dict[str, dict[str, Any]] = {
            f"ScheduleFunction{one.name}": {
                "Name": f"siftline-ScheduleFunction{one.name}-1X2Y3Z",
                "ScheduleExpression": one.expression,
                "Input": one.input,
                "State": "ENABLED",
            }
            for one in template.schedules()
        }
        self._bucket: Counter[int] = Counter()

    # --- time ---

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()

    def wait(self, seconds: float) -> None:
        """Let time pass; each minute that begins is published."""
        until = self.time + timedelta(seconds=seconds)
        old_s = (self.time - _KEPT).timestamp()
        for where, points in self.points.items():
            self.points[where] = [point for point in points if point[0] > old_s]
        while (minute := self.time.replace(second=0) + timedelta(minutes=1)) <= until:
            self.time = minute
            self._minute()
        self.time = until

    def ringing(self) -> set[str]:
        return {name.removeprefix(f"siftline-{STAGE}-") for name in self.alarms if self._state(name) == "ALARM"}

    def settings(self) -> Any:
        """Return all that a drill may change and has to put back."""
        kept = (self.alarms, self.schedules, self.routes, self.integrations, self.concurrency, self.dead)
        return json.loads(json.dumps([{name: one for name, one in part.items() if one != []} for part in kept]))

    def record(self, where: Place, value: float, at: datetime | None = None) -> None:
        self.points[where].append(((at or self.time).timestamp(), value))

    # --- what a quiet minute publishes ---

    def _minute(self) -> None:
        for queue in Queue:
            name, dead = f"siftline-{STAGE}-{queue}-queue", f"siftline-{STAGE}-{queue}-dlq"
            for metric in ("ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"):
                self.record(place("AWS/SQS", metric, {"QueueName": name}), 0)
            visible = place("AWS/SQS", "ApproximateNumberOfMessagesVisible", {"QueueName": dead})
            self.record(visible, len(self.dead[dead]))
        ticked = [one for one in map(self._ticked, Tick) if one]
        self._invoked(ticks=len(ticked))
        for metric, value in (("5xx", 0), ("Count", 20)):
            self._gateway(metric, value)
        for latency_ms in (*[60] * 19, 900):
            self._gateway("Latency", latency_ms)
        self.record(place("AWS/RDS", "ACUUtilization", {"DBClusterIdentifier": CLUSTER}), 12)
        for tick in ticked:
            self._ours("Ticks", 1, tick=tick)
        if Tick.SWEEP in ticked:
            self._swept()
        if Tick.BACKGROUND in ticked:
            self._ours("VectorsUnavailable", 0)

    def _invoked(self, *, ticks: int) -> None:
        for function in FUNCTIONS:
            invoked = ticks if function == "schedule" else 3
            for metric, value in (("Invocations", invoked), ("Errors", 0), ("Throttles", 0)):
                if invoked:  # Lambda publishes nothing of a function that is not invoked
                    self._lambda(function, metric, value)

    def _ticked(self, tick: Tick) -> Tick | None:
        """Return a tick that comes in this minute."""
        (one,) = [one for one in self.schedules.values() if json.loads(one["Input"])["tick"] == tick]
        minutes = {"rate(1 minute)": 1, "rate(5 minutes)": 5, "rate(1 hour)": 60}.get(one["ScheduleExpression"], 1440)
        comes = int(self.time.timestamp()) // 60 % minutes == 0
        return tick if comes and one["State"] == "ENABLED" else None

    def _swept(self) -> None:
        for queue in Queue:
            name = f"siftline-{STAGE}-{queue}-queue"
            for metric, value in (("JobsPending", 3), ("OldestDueAge", 2), ("OldestRunningAge", 4)):
                self._ours(metric, value, queue=name)
            self._ours("UnattendedAge", 0, queue=name)
        self._ours("UnknownJobs", 0, queue=f"siftline-{STAGE}-content-processing-queue")

    def _ours(self, metric: str, value: float, **dimensions: str) -> None:
        self.record(place("Siftline", metric, {**dimensions, "service": "siftline", "stage": STAGE}), value)

    def _lambda(self, function: str, metric: str, value: float) -> None:
        self.record(place("AWS/Lambda", metric, {"FunctionName": f"siftline-{STAGE}-{function}"}), value)

    def _gateway(self, metric: str, value: float) -> None:
        self.record(place("AWS/ApiGateway", metric, {"ApiId": API}), value)

    # --- what drills ask ---

    def ask(self, url: str, times: int) -> None:
        """Answer requests for a route that leads nowhere; what its bucket cannot take is refused and logged."""
        path = url.removeprefix(f"https://{API}.execute-api.us-east-1.amazonaws.com")
        integration = self.routes[f"GET {path}"].removeprefix("integrations/")
        second = int(self.time.timestamp())
        taken = min(times, BURST - self._bucket[second])
        self._bucket[second] += taken
        for _ in range(taken):
            self._gateway("5xx", 1)
            self._gateway("Latency", self.integrations[integration])
            self.logged(status="503")
        for _ in range(times - taken):
            self.logged(status="429")

    def logged(self, *, status: str) -> None:
        """Write an access log line, and count it where one of the template's metric filters takes it."""
        log = document()["Resources"]["HttpApi"]["Properties"]["AccessLogSettings"]["Format"]["Fn::Sub"]
        line = log.replace("${Stage}", STAGE).replace("$context.status", status)
        written = json.loads(re.sub(r"\$context\.[\w.]+", "-", line))
        for counted in resources("AWS::Logs::MetricFilter").values():
            field, wanted = re.findall(r'\$\.(\w+) = "([\w*]+)"', counted["FilterPattern"])[0]
            if fnmatch(written[field], wanted):
                (made,) = counted["MetricTransformations"]
                dimensions = {one["Key"]: written[one["Value"].removeprefix("$.")] for one in made["Dimensions"]}
                self.record(place(made["MetricNamespace"], made["MetricName"], dimensions), float(made["MetricValue"]))

    def client(self, service: str) -> "Client":
        return Client(self, service)

    def _state(self, name: str) -> str:
        alarm = self.alarms[name]
        dimensions = {one["Name"]: one["Value"] for one in alarm["Dimensions"]}
        points: Points = self.points[place(alarm["Namespace"], alarm["MetricName"], dimensions)]
        return alarm_math.state(alarm, points, self.time.timestamp())

    # CloudWatch

    def describe_alarms(self, AlarmNames: list[str]) -> dict[str, Any]:
        known = [name for name in AlarmNames if name in self.alarms]
        return {"MetricAlarms": [{**self.alarms[name], "StateValue": self._state(name)} for name in known]}

    def put_metric_alarm(self, **alarm: Any) -> dict[str, Any]:
        self.alarms[alarm["AlarmName"]] = alarm
        return {}

    def put_metric_data(self, Namespace: str, MetricData: list[dict[str, Any]]) -> dict[str, Any]:
        for one in MetricData:
            dimensions = {own["Name"]: own["Value"] for own in one["Dimensions"]}
            self.record(place(Namespace, one["MetricName"], dimensions), one["Value"], one["Timestamp"])
        return {}

    # SQS, with the function that consumes the queue behind it

    def get_queue_url(self, QueueName: str) -> dict[str, Any]:
        return {"QueueUrl": f"https://sqs/{QueueName}"}

    def send_message(self, QueueUrl: str, MessageBody: str) -> dict[str, Any]:
        queue = QueueUrl.removeprefix("https://sqs/")
        try:
            MESSAGE.validate_json(MessageBody)
        except ValueError:  # parked, as siftline.jobs.consume does
            self.dead[f"{queue.removesuffix('-queue')}-dlq"].append(MessageBody)
        return {}

    def receive_message(self, QueueUrl: str, **_: Any) -> dict[str, Any]:
        dead = self.dead[QueueUrl.removeprefix("https://sqs/")]
        return {"Messages": [{"Body": body, "ReceiptHandle": body} for body in dead[:10]]}

    def delete_message(self, QueueUrl: str, ReceiptHandle: str) -> dict[str, Any]:
        self.dead[QueueUrl.removeprefix("https://sqs/")].remove(ReceiptHandle)
        return {}

    # Lambda

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:
        function = FunctionName.removeprefix(f"siftline-{STAGE}-")
        if self.concurrency.get(FunctionName) == 0:
            self._lambda(function, "Throttles", 1)
            raise ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke")
        self._lambda(function, "Invocations", 1)
        if isinstance(json.loads(Payload), dict):
            return {"StatusCode": 200}
        self._lambda(function, "Errors", 1)
        return {"StatusCode": 200, "FunctionError": "Unhandled"}

    def get_function_concurrency(self, FunctionName: str) -> dict[str, Any]:
        found = self.concurrency.get(FunctionName)
        return {} if found is None else {"ReservedConcurrentExecutions": found}

    def put_function_concurrency(self, FunctionName: str, ReservedConcurrentExecutions: int) -> dict[str, Any]:
        self.concurrency[FunctionName] = ReservedConcurrentExecutions
        return {}

    def delete_function_concurrency(self, FunctionName: str) -> dict[str, Any]:
        del self.concurrency[FunctionName]
        return {}

    # CloudFormation, EventBridge, API Gateway

    def describe_stack_resource(self, StackName: str, LogicalResourceId: str) -> dict[str, Any]:
        physical = API if LogicalResourceId == "HttpApi" else self.schedules[LogicalResourceId]["Name"]
        return {"StackResourceDetail": {"PhysicalResourceId": physical}}

    def describe_rule(self, Name: str) -> dict[str, Any]:
        (found,) = [one for one in self.schedules.values() if one["Name"] == Name]
        return found

    def enable_rule(self, Name: str) -> dict[str, Any]:
        self.describe_rule(Name)["State"] = "ENABLED"
        return {}

    def disable_rule(self, Name: str) -> dict[str, Any]:
        self.describe_rule(Name)["State"] = "DISABLED"
        return {}

    def get_api(self, ApiId: str) -> dict[str, Any]:
        return {"ApiEndpoint": f"https://{ApiId}.execute-api.us-east-1.amazonaws.com"}

    def create_integration(self, TimeoutInMillis: int, **_: Any) -> dict[str, Any]:
        self.integrations["i1"] = TimeoutInMillis
        return {"IntegrationId": "i1"}

    def create_route(self, RouteKey: str, Target: str, **_: Any) -> dict[str, Any]:
        self.routes[RouteKey] = Target
        return {"RouteId": RouteKey}

    def delete_route(self, RouteId: str, **_: Any) -> dict[str, Any]:
        del self.routes[RouteId]
        return {}

    def delete_integration(self, IntegrationId: str, **_: Any) -> dict[str, Any]:
        assert IntegrationId not in {target.removeprefix("integrations/") for target in self.routes.values()}
        del self.integrations[IntegrationId]
        return {}


@cache
def _service(name: str) -> ServiceModel:
    return get_session().get_service_model(name)


class Client:
    """A client of one service; what it is asked must be what botocore would send."""

    def __init__(self, account: Account, service: str) -> None:
        self._account = account
        self._model = _service(service)
        self._operations = {xform_name(name): name for name in self._model.operation_names}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        shape = self._model.operation_model(self._operations[name]).input_shape
        assert shape is not None

        def call(**arguments: Any) -> Any:
            validate_parameters(arguments, shape)
            return getattr(self._account, name)(**arguments)

        return call
