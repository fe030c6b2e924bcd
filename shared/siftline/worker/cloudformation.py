"""CloudFormation YAML: the short forms of its functions, and their values where the template alone decides them.

See the CloudFormation User Guide, "Intrinsic function reference" and "Condition functions".
"""

import re
from collections.abc import Callable, Mapping
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
_TRUE = ("true", "1", "yes")


class TemplateError(ConfigurationError):
    """The template says something that cannot be understood here."""

    code = "template_not_understood"


@dataclass(frozen=True, slots=True)
class Reference:
    """A ``Ref`` or ``Fn::GetAtt`` to a resource: its value is known only where the stack is deployed."""

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
        return self._parameters[name] if name in self._parameters else Reference(name)

    def _sub(self, argument: Any) -> Any:
        text, variables = (argument, {}) if isinstance(argument, str) else argument
        single = _VARIABLE.fullmatch(text)
        if single and not single[1]:
            return self._variable(single[2], variables)
        return _VARIABLE.sub(lambda m: f"${{{m[2]}}}" if m[1] else str(self._variable(m[2], variables)), text)

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
