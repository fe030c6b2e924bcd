"""What the house tests read: the template as it stands, and the code as a syntax tree; never a copy of either."""

import ast
import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from siftline.settings import functions
from siftline.worker.template import Template, load

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "shared" / "siftline"
FUNCTIONS = ROOT / "functions"
_IN_CHILD = re.compile(r"siftline(\.\w+)+:\w+")
FUNCTION_NAMES = sorted(path.parent.name for path in FUNCTIONS.glob("*/app.py"))


@cache
def document() -> Mapping[str, Any]:
    """The template as written; ``!Ref x`` reads ``{"Ref": "x"}``, ``!GetAtt x.y`` ``{"Fn::GetAtt": ["x", "y"]}``."""
    return load(ROOT / "template.yaml")


@cache
def observability() -> Mapping[str, Any]:
    """The nested stack of alarms and the dashboard."""
    return load(ROOT / "infra" / "observability.yaml")


@cache
def stacks() -> Mapping[str, Mapping[str, Any]]:
    """Every nested stack's template, by its logical id."""
    return {name: load(ROOT / body["TemplateURL"]) for name, body in resources("AWS::CloudFormation::Stack").items()}


@cache
def template() -> Template:
    """The template with every parameter at its default and a stage of its own."""
    return Template.read(ROOT / "template.yaml", {"Stage": "house"})


def resources(kind: str) -> dict[str, Mapping[str, Any]]:
    """Return the properties of every resource of a kind, by logical id."""
    return {name: body["Properties"] for name, body in document()["Resources"].items() if body["Type"] == kind}


def function_resources() -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return logical id and properties of every function, by its folder's name; all functions' variables included."""
    common = document()["Globals"]["Function"]["Environment"]["Variables"]
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for name, properties in resources("AWS::Serverless::Function").items():
        variables = {**common, **properties["Environment"]["Variables"]}
        found[properties["Handler"].split(".")[1]] = (name, {**properties, "Environment": {"Variables": variables}})
    return found


def task() -> Mapping[str, Any]:
    """Return the worker's container, as its task defines it."""
    [(_, properties)] = resources("AWS::ECS::TaskDefinition").items()
    container: Mapping[str, Any]
    [container] = properties["ContainerDefinitions"]
    return container


def settings_of(name: str) -> type[functions.Settings]:
    """Return the class that a function's ``app.py`` itself builds, which carries the function's name."""
    names = {node.id for node in ast.walk(tree(FUNCTIONS / name / "app.py")) if isinstance(node, ast.Name)}
    expected = f"{name.title()}Settings"
    assert expected in names, f"functions/{name}/app.py does not use {expected}"
    found = getattr(functions, expected)
    assert issubclass(found, functions.Settings)
    return found


def logical_id(value: Any) -> str:
    """Return the resource that a ``Ref`` or ``GetAtt`` names."""
    return str(value["Ref"] if "Ref" in value else value["Fn::GetAtt"][0])


def references(node: Any) -> Iterator[tuple[str, str]]:
    """Yield resource and attribute of every ``GetAtt`` and ``Ref``, those within texts included; a ``Ref`` has none."""
    if isinstance(node, dict):
        if isinstance(node.get("Ref"), str):
            yield node["Ref"], ""
        if "Fn::GetAtt" in node:
            yield tuple(node["Fn::GetAtt"])
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)
    elif isinstance(node, str):
        yield from re.findall(r"\$\{(\w+)\.?([\w.]*)\}", node)


@cache
def tracked_files() -> tuple[Path, ...]:
    """Return every file of the repository, those not yet added included, ignored ones not."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return tuple(ROOT / name for name in listed if (ROOT / name).is_file())


def python_files(*places: Path) -> list[Path]:
    """Return the Python files below these folders."""
    return [path for path in tracked_files() if path.suffix == ".py" and any(map(path.is_relative_to, places))]


@cache
def tree(path: Path) -> ast.Module:
    """Return a file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of everything a file imports, ``TYPE_CHECKING`` blocks included.

    What it names as ``module:function`` is imported too: by a child process (``siftline.kit.confined``).
    """
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _IN_CHILD.fullmatch(node.value):
            yield node.lineno, node.value.replace(":", ".")


def module_file(dotted: str) -> Path | None:
    """Return the file of a module of ours, or of the module that a dotted name lies in."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        base = ROOT / "shared" if parts[0] == "siftline" else ROOT
        path = base.joinpath(*parts[:length])
        for candidate in (path.with_suffix(".py"), path / "__init__.py"):
            if candidate.is_file() and (parts[0] in ("siftline", "functions")):
                return candidate
    return None


@cache
def reachable(start: Path) -> frozenset[Path]:
    """Return every file of ours that importing ``start`` imports, itself included."""
    found: set[Path] = set()
    waiting = [start]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        waiting += [file for _, name in imported(path) if (file := module_file(name)) is not None]
    return frozenset(found)


def relative(path: Path) -> str:
    """Return a path as the messages of tests name it."""
    return str(path.relative_to(ROOT))
