"""What ``template.yaml`` says, as plain values: functions, queues, event sources, schedules, routes, authorizers.

First CloudFormation's YAML: the short forms of its functions, and their values where the template alone decides them
(CloudFormation User Guide, "Intrinsic function reference" and "Condition functions").
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from siftline.kit.errors import ConfigurationError

_PSEUDO_PARAMETERS = {
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::Region": "us-east-1",
    "AWS::AccountId": "000000000000",
    "AWS::StackName": "siftline-local",
}
_VARIABLE = re.compile(r"\$\{(!?)([^}]+)\}")
_ARN_BY_NAME = re.compile(r".*:function:\$\{(\w+)\}(:\w+)?")
_TRUE = ("true", "1", "yes")
_SERVERLESS_FUNCTION = "AWS::Serverless::Function"
_LAMBDA_TIMEOUT_S = 3
_LAMBDA_MEMORY_MB = 128


class TemplateError(ConfigurationError):
    """The template says something that cannot be understood here."""

    code = "template_not_understood"


@dataclass(frozen=True, slots=True)
class Reference:
    """A ``Ref`` or ``Fn::GetAtt`` to a resource: its value is known only where the stack is deployed.

    A text that has one in it is one, too, named by the text.
    """

    logical_id: str
    attribute: str | None = None


class _Loader(yaml.CSafeLoader):
    """Reads ``!Name value`` as ``{"Fn::Name": value}`` (``Ref`` and ``Condition`` have no prefix).

    By libyaml, which every wheel of PyYAML holds: the template is read at each start, in an eighth of the time.
    """


def _construct(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)  # type: ignore[arg-type]  # the third and last kind
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


yaml.add_multi_constructor("!", _construct, Loader=_Loader)


def load(path: Path) -> dict[str, Any]:
    """Read a template file. Raises ``TemplateError`` when it is not YAML or not a template."""
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506  -- a SafeLoader's child
    except yaml.YAMLError as error:
        raise TemplateError(f"{path} is not YAML: {error}") from error
    if not isinstance(document, dict) or "Resources" not in document:
        raise TemplateError(f"{path} is not a CloudFormation template.")
    return document


class Evaluator:
    """Works out values of one template under given parameters; the template's defaults hold for the rest."""

    def __init__(self, document: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
        self._document = document
        declared = document.get("Parameters", {})
        defaults = {name: str(body["Default"]) for name, body in declared.items() if "Default" in body}
        self._parameters = {**_PSEUDO_PARAMETERS, **defaults, **parameters}
        self._lists = {name for name, body in declared.items() if body["Type"] == "CommaDelimitedList"}
        self._functions: dict[str, Callable[[Any], Any]] = {
            "Ref": self._ref,
            "Condition": self.condition,
            "Fn::GetAtt": lambda path: Reference(path[0], path[1]),
            "Fn::Sub": self._sub,
            "Fn::Join": self._join,
            "Fn::If": self._if,
            "Fn::FindInMap": self._find_in_map,
            "Fn::Select": lambda pair: self.value(pair[1])[int(self.value(pair[0]))],
            "Fn::Split": lambda pair: str(self.value(pair[1])).split(pair[0]),
            "Fn::Equals": lambda pair: self.value(pair[0]) == self.value(pair[1]),
            "Fn::Not": lambda one: not self._holds(one[0]),
            "Fn::And": lambda all_of: all(self._holds(one) for one in all_of),
            "Fn::Or": lambda any_of: any(self._holds(one) for one in any_of),
        }

    def value(self, raw: Any) -> Any:
        """Return ``raw`` with every function in it worked out; resources become ``Reference``.

        What ``AWS::NoValue`` stands for is left out of its mapping or list. Raises ``TemplateError`` for a function
        that is not known here.
        """
        if isinstance(raw, list):
            return [value for item in raw if (value := self.value(item)) is not None]
        if not isinstance(raw, dict):
            return raw
        if len(raw) == 1:
            [(name, argument)] = raw.items()
            if name in self._functions:
                return self._functions[name](argument)
            if name.startswith("Fn::"):
                raise TemplateError(f"{name} is not supported.")
        return {key: value for key, item in raw.items() if (value := self.value(item)) is not None}

    def condition(self, name: str) -> bool:
        """Whether a named condition of the template holds."""
        try:
            return self._holds(self._document["Conditions"][name])
        except KeyError as error:
            raise TemplateError(f"There is no condition {name}.") from error

    def _holds(self, raw: Any) -> bool:
        value = self.value(raw)
        return value if isinstance(value, bool) else str(value).lower() in _TRUE

    def _ref(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return None
        if name in self._lists:
            return self._parameters[name].split(",")
        return self._parameters[name] if name in self._parameters else Reference(name)

    def _sub(self, argument: Any) -> Any:
        text, variables = (argument, {}) if isinstance(argument, str) else argument
        single = _VARIABLE.fullmatch(text)
        if single and not single[1]:
            return self._variable(single[2], variables)
        values = {name: self._variable(name, variables) for literal, name in _VARIABLE.findall(text) if not literal}
        if any(isinstance(value, Reference) for value in values.values()):
            return Reference(text)
        return _VARIABLE.sub(lambda m: f"${{{m[2]}}}" if m[1] else str(values[m[2]]), text)

    def _variable(self, name: str, variables: Mapping[str, Any]) -> Any:
        if name in variables:
            return self.value(variables[name])
        logical_id, _, attribute = name.partition(".")
        return Reference(logical_id, attribute) if attribute else self._ref(name)

    def _join(self, argument: Any) -> str:
        separator, parts = argument
        return str(separator).join(str(part) for part in self.value(parts))

    def _if(self, argument: Any) -> Any:
        name, when_true, when_false = argument
        return self.value(when_true if self.condition(name) else when_false)

    def _find_in_map(self, argument: Any) -> Any:
        name, top, second = (self.value(part) for part in argument)
        try:
            return self.value(self._document["Mappings"][name][top][second])
        except KeyError as error:
            raise TemplateError(f"There is no {top}.{second} in the mapping {name}.") from error


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
        """Return the schedules of both SAM kinds (rules, and EventBridge Scheduler's), switched-off ones left out."""
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
                function=self.functions[_function_of_arn(body["FunctionArn"])],
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


def _function_of_arn(value: Any) -> str:
    """Return the logical id of the function that an ARN names by ``Fn::GetAtt``, or by its name in an ``Fn::Sub``.

    The name may be followed by an alias.
    """
    by_name = _ARN_BY_NAME.fullmatch(value.logical_id) if isinstance(value, Reference) else None
    return by_name[1] if by_name else _logical_id(value)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
