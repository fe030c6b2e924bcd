"""Writes ``docs/settings.md`` from ``siftline.settings`` and ``template.yaml``: ``make settings``.

A house test compares the page with what this would write.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from siftline.settings import functions
from siftline.worker.template import Function, Template

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "settings.md"
_HEAD = """# Settings

Written by `make settings` out of `shared/siftline/settings/` and `template.yaml`; do not edit it here.

A setting is an environment variable. A wrong value, or none where there is no default, stops the function that asks for
it, and its log names the setting. Lists and tables are written as JSON.

- **On AWS** `template.yaml` sets those marked **t**, from its parameters and resources. To change any other, add it to
  the function's `Environment` there.
- **On one machine** put it before the command: `TOPICS_MAX=5 make run`. What has no default `make run` sets itself, and
  so it does with `DATABASE_POOL_SIZE`, `FIRST_IMPORT`, `HTTP_ALLOW_LOOPBACK` and `WORKER_POLL_S`.
"""
_SHARED = {
    "DatabaseSettings": "Database",
    "QueueSettings": "Queues",
    "DeadLetterSettings": "Dead-letter queues",
    "JobSettings": "Jobs",
    "HttpSettings": "HTTP",
    "EntitySettings": "Names in texts",
    "ResolutionSettings": "Who names are",
    "ArchiveSettings": "The page archive",
    "MediaSettings": "Videos and audio",
    "LlmSettings": "Language model",
    "PacingSettings": "Pacing",
    "ModelSettings": "Model",
    "RelevanceSettings": "Relevance",
    "ScoreSettings": "Scores",
    "EmbeddingSettings": "Embeddings",
    "TopicSettings": "Topics",
    "AddressSettings": "Address",
    "FeedSettings": "Feed",
    "SwitchSettings": "Schedules",
    "ReprocessSettings": "Reading again",
    "VectorSettings": "Vectors",
    "RequestSettings": "Requests",
    "WrongTokenSettings": "Wrong tokens",
    "HoldingSettings": "What a user may have",
}
_PROGRAMS = {"WorkerSettings": "worker", "LocalSettings": "make run"}


def page() -> str:
    """Return the whole page."""
    functions = {f"{item.name.title()}Settings": item for item in _functions()}
    parts = [_HEAD]
    for name, function in functions.items():
        parts.append(_section(f"`{function.name}`", _class(name), {function.name: function}))
    for name, title in _PROGRAMS.items():
        parts.append(_section(f"`{title}`", _class(name), {}))
    parts.append("# What several functions share\n")
    for name, title in _SHARED.items():
        users = {item.name: item for key, item in functions.items() if issubclass(_class(key), _class(name))}
        parts.append(_section(title, _class(name), users))
    return "\n".join(parts)


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


def _section(title: str, described: type[BaseSettings], users: dict[str, Function]) -> str:
    """Return a class's heading, its first sentence, the tables it shares, and its own fields."""
    lines = [f"## {title}", (described.__doc__ or "").strip().splitlines()[0].replace("``", "`")]
    shared = [text for name, text in _SHARED.items() if _inherits(described, name)]
    if shared:
        lines += ["", f"Besides: {', '.join(shared)}."]
    elif described.__name__ in _SHARED:
        programs = [title for name, title in _PROGRAMS.items() if issubclass(_class(name), described)]
        lines += ["", f"Taken by: {', '.join(f'`{name}`' for name in [*users, *programs])}."]
    own = {name: field for name, field in described.model_fields.items() if name in described.__annotations__}
    if own:
        lines += ["", "| variable | default | allowed | meaning |", "|---|---|---|---|"]
        lines += [_row(name, field, users) for name, field in own.items()]
    return "\n".join(lines) + "\n"


def _inherits(described: type[BaseSettings], name: str) -> bool:
    return described.__name__ != name and issubclass(described, _class(name))


def _row(name: str, field: FieldInfo, users: dict[str, Function]) -> str:
    variable = name.upper()
    given = any({*user.environment, *user.references} >= {variable} for user in users.values())
    cells = [f"`{variable}`{' **t**' if given else ''}", _default(field), _allowed(field), field.description or ""]
    return f"| {' | '.join(cell.replace('|', '&#124;').replace('<', '&lt;') for cell in cells)} |"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return ""
    value: Any = field.default
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value is None or value == "":
        return "empty"
    if isinstance(value, str):
        return f"`{value.replace(tempfile.gettempdir(), '/tmp')}`"  # noqa: S108  -- shown, not opened
    return f"`{json.dumps(value)}`"


def _allowed(field: FieldInfo) -> str:
    return ", ".join(_limits(field))


def _limits(field: FieldInfo) -> Iterator[str]:
    words = {"ge": "at least {}", "gt": "above {}", "le": "at most {}", "max_length": "at most {} characters"}
    for limit in field.metadata:
        for attribute, text in words.items():
            value = getattr(limit, attribute, None)
            if value is not None:
                yield text.format(f"{value:,}")
        if pattern := getattr(limit, "pattern", None):
            yield f"`{pattern}`"


if __name__ == "__main__":
    sys.exit(main())
