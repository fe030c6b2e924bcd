"""A session of PostgreSQL keeps nothing of ours after a transaction: behind a pooler the next one is another's."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.reading import ROOT, SOURCE, python_files, tree

# Restoring replaces a database from outside: on a server's own address, in its database ``postgres``.
DIRECT = {ROOT / "infra" / "local" / "swap.py"}
KEPT = {
    "a lock of the session": r"pg_(try_)?advisory_(lock|unlock)",
    "a setting of the session": r"\A\s*set\s+(session\s+)?(?!local\s)[a-z_.]+\s*(=|to\b)",
    "a setting of the session by function": r"set_config\([^()]*,\s*false\s*\)",
    "a statement prepared by name": r"\A\s*(prepare|deallocate)\s+\w",
    "a temporary table": r"create\s+(local\s+|global\s+)?temp",
    "a channel that is listened to": r"\A\s*(un)?listen\s+\w",
    "a cursor that outlives its transaction": r"with\s+hold\b",
}


def _texts(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _kept(text: str) -> list[str]:
    return [what for what, form in KEPT.items() if re.search(form, text)]


@pytest.mark.parametrize("path", [*python_files(SOURCE), *python_files(ROOT / "infra")], ids=str)
def test_no_statement_leaves_anything_in_its_session(path: Path) -> None:
    if path not in DIRECT:
        assert not [text for text in _texts(path) if _kept(text)]


def test_no_connection_asks_for_options_at_its_start() -> None:
    calls = [node for path in python_files(SOURCE) for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
    connecting = [node for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr == "connect"]
    assert connecting
    assert not [word for node in connecting for word in node.keywords if word.arg == "options"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("select pg_advisory_lock(1)", "a lock of the session"),
        ("select pg_try_advisory_lock(1, 2)", "a lock of the session"),
        ("set statement_timeout = '5s'", "a setting of the session"),
        ("set session timezone to 'UTC'", "a setting of the session"),
        ("select set_config('jit', 'off', false)", "a setting of the session by function"),
        ("prepare one as select 1", "a statement prepared by name"),
        ("create temp table t (a int)", "a temporary table"),
        ("listen jobs", "a channel that is listened to"),
        ("declare c cursor with hold for select 1", "a cursor that outlives its transaction"),
    ],
)
def test_what_a_session_would_keep_is_recognised(text: str, what: str) -> None:
    assert _kept(text) == [what]


@pytest.mark.parametrize(
    "text",
    [
        "select pg_advisory_xact_lock(1)",
        "set local lock_timeout = '5s'",
        "set transaction isolation level repeatable read",
        "update jobs set state = 'done' where id = 1",
        "select set_config('enable_sort', 'off', true)",
    ],
)
def test_what_ends_with_a_transaction_is_let_pass(text: str) -> None:
    assert _kept(text) == []
