"""How code reads here (house.md), as far as a program can tell."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.reading import FUNCTIONS, ROOT, SOURCE, python_files, relative, tracked_files, tree

# SQL stands in the rooms' stores. Elsewhere only, each with its reason:
SQL_ELSEWHERE = {
    "shared/siftline/jobs/subjects.py": "what a job's subject must show, in the job's own transaction",
    "shared/siftline/kit/db.py": "which server answers, and the probe of the health check",
    "shared/siftline/operate/migrate.py": "the history of migrations, and what a session begins with",
}
SQL = re.compile(
    r"^\s*(select\s.+\sfrom\s|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s|with\s+\w+\s+as\s*\()",
    re.IGNORECASE | re.DOTALL,
)
FORBIDDEN_NAMES = {"utils", "common", "helpers", "manager", "misc"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
OURS = [path for path in python_files(SOURCE, FUNCTIONS, ROOT / "infra", ROOT / "layers") if path.is_file()]
# Registries and mirrors belong to the machine that installs, never to a file of ours.
HOSTS = re.compile(r"\b(pypi\.org|pythonhosted\.org|registry\.npmjs|index-url|trusted-host|find-links)", re.IGNORECASE)
MACHINE = re.compile(r"(?<![\w./-])/(home|root|Users|work|tmp/v)/[\w.-]")
UNREASONED = re.compile(r"#\s*(noqa(:\s*[A-Z0-9, ]+)?|type:\s*ignore(\[[\w, -]+\])?|pragma: no cover)\s*$")
BLANKET = re.compile(r"#\s*(noqa(?!:)|type:\s*ignore(?!\[))")
TEXT = {".py", ".md", ".toml", ".yaml", ".yml", ".mk", ".txt", ".sql", ".sh", ".json", ".cfg", ""}


def _literals(path: Path) -> Iterator[tuple[int, str]]:
    """Yield every text in a file that is not a docstring, with its line; f-strings by their fixed parts."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def _written() -> list[Path]:
    """Return every text file of ours but the locks, which are written by a program and tested on their own."""
    generated = re.compile(r"(^|/)(locks/.*|requirements)\.txt$")
    return [
        p for p in tracked_files() if p.suffix in TEXT and not generated.search(relative(p)) and p != Path(__file__)
    ]


def test_sql_stands_only_in_stores() -> None:
    places = [
        path
        for path in OURS
        if not path.name.endswith("_store.py")
        and relative(path) not in SQL_ELSEWHERE
        and not path.is_relative_to(ROOT / "infra" / "local")  # makes databases, backs them up
    ]

    assert not [f"{relative(path)}:{line}" for path in places for line, text in _literals(path) if SQL.search(text)]


def test_only_settings_read_the_environment() -> None:
    files = [path for path in python_files(SOURCE, FUNCTIONS) if not path.is_relative_to(SOURCE / "settings")]

    assert not [f"{relative(path)}:{line}" for path in files for line in _environment_reads(path)]


def test_no_module_is_named_after_nothing() -> None:
    assert not [relative(path) for path in tracked_files() if path.stem in FORBIDDEN_NAMES]


@pytest.mark.parametrize("pattern", [UNFINISHED, HOSTS, MACHINE], ids=["unfinished", "registry", "machine"])
def test_no_file_of_ours_is_unfinished_or_names_a_registry_or_a_machine(pattern: re.Pattern[str]) -> None:
    # lock.py forbids uv to write the address of a registry, and so has to say the option's name
    files = [path for path in _written() if path != ROOT / "infra" / "lock.py"]

    assert not _lines(files, pattern)


def test_every_opt_out_of_lint_and_types_says_which_rule_and_why() -> None:
    files = [path for path in python_files(ROOT) if path != Path(__file__)]

    assert not _lines(files, UNREASONED)
    assert not _lines(files, BLANKET)


def _lines(files: list[Path], pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{relative(path)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


def _environment_reads(path: Path) -> Iterator[int]:
    for node in ast.walk(tree(path)):
        name = node.attr if isinstance(node, ast.Attribute) else node.name if isinstance(node, ast.alias) else ""
        if name in {"environ", "getenv"}:
            yield node.lineno  # type: ignore[attr-defined]  # both kinds have one
