"""Writes ``docs/settings.md`` from ``siftline.settings`` and ``template.yaml``: ``make settings``.

A house test compares the page with what this would write.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from siftline.settings import functions
from siftline.worker.template import Function, Template

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "settings.md"
_HEAD = """# Settings

Generated from `siftline.settings` and `template.yaml` by `make settings`; do not edit.

A setting is an environment variable; an empty one counts as not set. A function that lacks a required one, or gets a
wrong value, does not start; its log names the setting. Lists and tables are JSON. Budgets and prices are in US dollars.
What is no setting is a constant beside its use ([limits](limits.md)).

- **On AWS** `template.yaml` sets those marked **t** from its parameters and resources. To change another, add it to the
  function's `Environment` there.
- **On one machine** put it before the command: `TOPICS_MAX=5 make run`. That sets all required ones itself, and also
  `SIFTLINE_STAGE`, `DATABASE_POOL_SIZE`, `FIRST_IMPORT`, `HTTP_ALLOW_LOOPBACK`, `WORKER_POLL_S`, `QDRANT_API_KEY`,
  `WORKER_HEALTH_URL` and `WORKER_HEALTH_TOKEN`, whatever you set. `PUBLIC_URL` is its own address unless you set it.
"""
_SECTIONS = {
    "Stage": ("StageSettings",),
    "Database and queues": ("DatabaseSettings", "QueueSettings", "DeadLetterSettings"),
    "Jobs": ("JobSettings",),
    "Outgoing requests": ("HttpSettings", "PacingSettings"),
    "API": ("ApiSettings", "RequestSettings", "AddressSettings", "RelevanceSettings"),
    "Schedules": ("ScheduleSettings", "ReprocessSettings"),
    "Fetching": ("FetchSettings",),
    "Pages and transcripts": ("IngestSettings", "ArchiveSettings"),
    "Topics, summaries and language model": ("AnalyzeSettings", "ClusterSettings"),
    "Vectors": ("EmbeddingSettings", "VectorSettings"),
    "Organisations and other names": ("EntitySettings", "ResolveSettings"),
    "Mail and webhooks": ("BriefSettings",),
    "Operators": ("OperateSettings", "UserSettings"),
    "Worker": ("WorkerSettings",),
    "`make run`": ("LocalSettings",),
}


def page() -> str:
    """Return the whole page."""
    functions = {_class(f"{item.name.title()}Settings"): item for item in _functions()}
    return "\n".join([_HEAD, *(_section(title, names, functions) for title, names in _SECTIONS.items())])


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


def _functions() -> list[Function]:
    """Return the template's functions in the order of its flow."""
    return list(Template.read(ROOT / "template.yaml", {"Stage": "local"}).functions.values())


def _class(name: str) -> type[BaseSettings]:
    found: type[BaseSettings] = getattr(functions, name)
    return found


def _section(title: str, names: Sequence[str], functions: Mapping[type[BaseSettings], Function]) -> str:
    """Return a heading, who reads the settings below it, and their table; those of one meaning are one row."""
    rows: dict[str, list[str]] = {}
    readers: dict[str, None] = {}
    for described in map(_class, names):
        users = [item for read, item in functions.items() if issubclass(read, described)]
        readers |= dict.fromkeys(f"`{item.name}`" for item in users)
        for name in described.__annotations__:
            if name in described.model_fields:
                mark = f"`{name.upper()}`{' **t**' if _is_given(name.upper(), users) else ''}"
                rows.setdefault(_told(described.model_fields[name]), []).append(mark)
    lines = [f"## {title}", *([f"Read by {', '.join(readers)}."] if readers else [])]
    lines += ["", "| variable | default | allowed | meaning |", "|---|---|---|---|"]
    lines += [f"| {', '.join(marks)} | {told} |" for told, marks in rows.items()]
    return "\n".join(lines) + "\n"


def _is_given(variable: str, users: Sequence[Function]) -> bool:
    return any(variable in {*user.environment, *user.references} for user in users)


def _told(field: FieldInfo) -> str:
    cells = [_default(field), ", ".join(_limits(field)), field.description or ""]
    return " | ".join(cell.replace("|", "\\|") for cell in cells)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value: Any = field.default
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value is None or value == "":
        return "empty"
    if isinstance(value, str):
        return f"`{value.replace(tempfile.gettempdir(), '/tmp')}`"  # noqa: S108  -- shown, not opened
    return f"`{json.dumps(value)}`"


def _limits(field: FieldInfo) -> Iterator[str]:
    counted = "characters" if isinstance(field.default, str) else "entries"
    words = {
        "ge": "≥ {}",
        "gt": "> {}",
        "le": "≤ {}",
        "lt": "< {}",
        "max_length": f"≤ {{}} {counted}",
    }
    for limit in field.metadata:
        for attribute, text in words.items():
            value = getattr(limit, attribute, None)
            if value is not None:
                yield text.format(f"{value:,}")
    if get_origin(field.annotation) is Literal:
        yield ", ".join(f"`{word}`" for word in get_args(field.annotation))


if __name__ == "__main__":
    sys.exit(main())
