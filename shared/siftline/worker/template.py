"""What ``template.yaml`` says, as plain values: functions, queues, event sources, schedules, routes, authorizers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siftline.worker.cloudformation import Evaluator, Reference, TemplateError, load

_SERVERLESS_FUNCTION = "AWS::Serverless::Function"
_LAMBDA_TIMEOUT_S = 3
_LAMBDA_MEMORY_MB = 128


@dataclass(frozen=True, slots=True)
class Function:
    """One Lambda function. ``environment`` holds what the template alone decides; ``references`` the rest."""

    logical_id: str
    handler: str
    """``module.path.attribute``."""
    timeout_s: int
    memory_mb: int
    environment: Mapping[str, str]
    references: Mapping[str, Reference]

    @property
    def name(self) -> str:
        """The folder's name: ``ingest`` for ``functions.ingest.app.handler``."""
        parts = self.handler.split(".")
        return parts[-3] if len(parts) > 2 else parts[0]


@dataclass(frozen=True, slots=True)
class QueueResource:
    """One SQS queue with the attributes that ``CreateQueue`` takes, as text."""

    logical_id: str
    name: str
    attributes: Mapping[str, str]
    dead_letter: str | None
    """The logical id of its dead-letter queue."""
    max_receive_count: int | None


@dataclass(frozen=True, slots=True)
class QueueSource:
    """An event source mapping: one queue feeds one function."""

    function: Function
    queue: str
    """The queue's logical id."""
    batch_size: int
    reports_failures: bool
    concurrency: int | None
    """``MaximumConcurrency``, where the template sets one."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A tick: a constant event for a function, at a rate or on a calendar."""

    name: str
    function: Function
    expression: str
    """``rate(1 minute)`` or ``cron(0 3 * * ? *)``."""
    time_zone: str
    input: str
    """JSON text."""


@dataclass(frozen=True, slots=True)
class Route:
    """A route of the HTTP API. ``method`` may be ``ANY``; ``path`` is ``$default`` or like ``/v1/{proxy+}``."""

    method: str
    path: str
    function: Function
    authorizer: str | None


@dataclass(frozen=True, slots=True)
class Authorizer:
    """A Lambda authorizer with simple responses (payload format 2.0)."""

    name: str
    function: Function
    identity_headers: tuple[str, ...]
    """In lower case; a request without one of them is 401 and the function is not asked."""
    ttl_s: int


class Template:
    """Reads one template under given parameters. Raises ``TemplateError`` for what it cannot make sense of."""

    def __init__(self, document: Mapping[str, Any], parameters: Mapping[str, str] | None = None) -> None:
        self._document = document
        self._evaluator = Evaluator(document, parameters or {})
        self._globals = document.get("Globals", {})
        self.functions = {name: self._function(name, body) for name, body in self._of_type(_SERVERLESS_FUNCTION)}

    @classmethod
    def read(cls, path: Path, parameters: Mapping[str, str] | None = None) -> "Template":
        """Read a file."""
        return cls(load(path), parameters)

    def queues(self) -> list[QueueResource]:
        """Return the queues, dead-letter queues first, so that they can be created in this order."""
        queues = [self._queue(name, body) for name, body in self._of_type("AWS::SQS::Queue")]
        return sorted(queues, key=lambda queue: queue.dead_letter is not None)

    def queue_sources(self) -> list[QueueSource]:
        """Return the event source mappings, switched-off ones left out."""
        found = []
        for function, _, properties in self._events("SQS"):
            if not properties.get("Enabled", True):
                continue
            batch_size = int(properties.get("BatchSize", 10))
            source = QueueSource(
                function=function,
                queue=_logical_id(properties["Queue"]),
                batch_size=batch_size,
                reports_failures="ReportBatchItemFailures" in properties.get("FunctionResponseTypes", ()),
                concurrency=properties.get("ScalingConfig", {}).get("MaximumConcurrency"),
            )
            found.append(source)
        return found

    def schedules(self) -> list[Schedule]:
        """Return the schedules of both SAM kinds, switched-off ones left out."""
        found = []
        for kind, expression in (("ScheduleV2", "ScheduleExpression"), ("Schedule", "Schedule")):
            for function, name, properties in self._events(kind):
                off = str(properties.get("State", "ENABLED")) == "DISABLED" or properties.get("Enabled", True) is False
                if not off:
                    found.append(
                        Schedule(
                            name=name,
                            function=function,
                            expression=properties[expression],
                            time_zone=properties.get("ScheduleExpressionTimezone", "UTC"),
                            input=properties.get("Input", "{}"),
                        )
                    )
        return found

    def authorizers(self) -> dict[str, Authorizer]:
        """Return the Lambda authorizers of the HTTP API by name."""
        found = {}
        for name, body in self._api().get("Auth", {}).get("Authorizers", {}).items():
            if "FunctionArn" not in body:
                raise TemplateError(f"{name} is not a Lambda authorizer.")
            identity = body.get("Identity", {})
            found[name] = Authorizer(
                name=name,
                function=self.functions[_logical_id(body["FunctionArn"])],
                identity_headers=tuple(header.lower() for header in identity.get("Headers", ["Authorization"])),
                ttl_s=int(identity.get("ReauthorizeEvery", 300)),
            )
        return found

    def routes(self) -> list[Route]:
        """Return the HTTP API's routes."""
        default = self._api().get("Auth", {}).get("DefaultAuthorizer")
        found = []
        for function, _, properties in self._events("HttpApi"):
            authorizer = properties.get("Auth", {}).get("Authorizer", default)
            found.append(
                Route(
                    method=str(properties.get("Method", "ANY")).upper(),
                    path=properties.get("Path", "$default"),
                    function=function,
                    authorizer=None if authorizer == "NONE" else authorizer,
                )
            )
        return found

    def variable_of(self, queue: str) -> str:
        """Return the environment variable that carries a queue's URL, as some function's environment says."""
        for function in self.functions.values():
            for variable, reference in function.references.items():
                if reference == Reference(queue) or reference == Reference(queue, "QueueUrl"):
                    return variable
        raise TemplateError(f"No function's environment contains the URL of {queue}.")

    def _of_type(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for name, body in self._document["Resources"].items():
            if body.get("Type") == kind and ("Condition" not in body or self._evaluator.condition(body["Condition"])):
                yield name, body.get("Properties", {})

    def _function(self, name: str, body: Mapping[str, Any]) -> Function:
        properties = _merged(self._globals.get("Function", {}), body)
        raw = properties.get("Environment", {}).get("Variables", {})
        variables = {key: value for key, item in raw.items() if (value := self._evaluator.value(item)) is not None}
        return Function(
            logical_id=name,
            handler=str(self._evaluator.value(properties["Handler"])),
            timeout_s=int(self._evaluator.value(properties.get("Timeout", _LAMBDA_TIMEOUT_S))),
            memory_mb=int(self._evaluator.value(properties.get("MemorySize", _LAMBDA_MEMORY_MB))),
            environment={key: _text(value) for key, value in variables.items() if not isinstance(value, Reference)},
            references={key: value for key, value in variables.items() if isinstance(value, Reference)},
        )

    def _queue(self, logical_id: str, body: Mapping[str, Any]) -> QueueResource:
        properties = self._evaluator.value(dict(body))
        redrive = properties.pop("RedrivePolicy", None)
        name = properties.pop("QueueName", logical_id)
        plain = {key: _text(value) for key, value in properties.items() if isinstance(value, str | int | bool)}
        return QueueResource(
            logical_id=logical_id,
            name=name,
            attributes=plain,
            dead_letter=_logical_id(redrive["deadLetterTargetArn"]) if redrive else None,
            max_receive_count=int(redrive["maxReceiveCount"]) if redrive else None,
        )

    def _events(self, kind: str) -> Iterator[tuple[Function, str, dict[str, Any]]]:
        for logical_id, body in self._of_type(_SERVERLESS_FUNCTION):
            for name, event in body.get("Events", {}).items():
                if event["Type"] == kind:
                    yield self.functions[logical_id], name, self._evaluator.value(event.get("Properties", {}))

    def _api(self) -> dict[str, Any]:
        common = self._evaluator.value(self._globals.get("HttpApi", {}))
        apis = [self._evaluator.value(dict(body)) for _, body in self._of_type("AWS::Serverless::HttpApi")]
        if len(apis) > 1:
            raise TemplateError("More than one HTTP API is not supported.")
        return _merged(common, apis[0] if apis else {})


def _merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Lay a resource's own values over the globals, maps within maps included (SAM, "Overridable properties").

    A map that is a function of the template (one key, ``Ref`` or ``Fn::…``) is a value, not a map.
    """
    merged = {**common, **own}
    for key in common.keys() & own.keys():
        pair = (common[key], own[key])
        if all(isinstance(value, Mapping) and not _is_function(value) for value in pair):
            merged[key] = _merged(*pair)
    return merged


def _is_function(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith(("Ref", "Fn::"))


def _logical_id(value: Any) -> str:
    if not isinstance(value, Reference):
        raise TemplateError(f"{value!r} is not a reference to a resource of the template.")
    return value.logical_id


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
