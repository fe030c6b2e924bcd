"""Migrations go forward only, in one order, and are safe under the release before them, which runs meanwhile.

A release expands the schema (a table, a column that may be null or has a default, an index); what nothing uses any more
goes in a later one, in a file named ``NNNN_contract_….sql``.
"""

import re

import pytest

from tests.house.reading import ROOT, tracked_files

FOLDER = ROOT / "infra" / "migrations"
MIGRATIONS = sorted(path.name for path in tracked_files() if path.parent == FOLDER)
# Written before there was a release whose code could run on their schema.
BEFORE_RELEASES = 4
_LOCKS = re.compile(r"\s*set local lock_timeout = '\d{1,2}s';", re.IGNORECASE)
_INDEX = re.compile(r"create\s+(?:unique\s+)?index\s+(concurrently)?.*?\son\s+(\w+)", re.IGNORECASE | re.DOTALL)
_REMOVES = {
    "drops a table": r"drop\s+(table|view|function|type)\b",
    "drops a column": r"drop\s+column\b",
    "renames": r"\brename\b",
    "changes a type": r"alter\s+column\s+\w+\s+(set\s+data\s+)?type\b",
    "forbids null": r"alter\s+column\s+\w+\s+set\s+not\s+null",
    "drops a default": r"drop\s+default\b",
    "adds a column that the old code does not fill": r"add\s+column\s+(?![^,;]*\bdefault\b)[^,;]*\bnot\s+null\b",
}


def _faults(name: str, text: str) -> list[str]:
    """Return what the release before could not bear of a migration, in words."""
    apart = bool(re.search(r"^--\s*transactional:\s*false", text, re.MULTILINE | re.IGNORECASE))
    code = re.sub(r"--[^\n]*", "", text)
    found = [] if apart or _LOCKS.match(code) else ["waits for locks without an end"]
    if not re.match(r"\d{4}_contract_", name):
        found += [what for what, form in _REMOVES.items() if re.search(form, code, re.IGNORECASE)]
    made = set(re.findall(r"create\s+table\s+(?:if\s+not\s+exists\s+)?(\w+)", code, re.IGNORECASE))
    for concurrently, table in _INDEX.findall(code):
        if table not in made and not concurrently:
            found.append("locks a table while its index is made")
        if concurrently and not apart:
            found.append("makes an index concurrently inside a transaction")
    for one in re.findall(r"add\s+constraint\s+[^;]*?(?=,\s*add\s|;|\Z)", code, re.IGNORECASE):
        if not one.rstrip().endswith("not valid"):
            found.append("reads a table while it is locked")
    return found


def test_no_file_undoes_a_migration() -> None:
    assert not [name for name in MIGRATIONS if "rollback" in name]


def test_migrations_are_numbered_in_order_without_gaps() -> None:
    numbers = [re.fullmatch(r"(\d{4})_[a-z0-9_]+\.sql", name) for name in MIGRATIONS]
    assert [number and int(number[1]) for number in numbers] == list(range(1, len(MIGRATIONS) + 1))


def test_a_migration_is_safe_while_the_release_before_it_runs() -> None:
    texts = {name: (FOLDER / name).read_text(encoding="utf-8") for name in MIGRATIONS}
    assert {name: faults for name in MIGRATIONS[BEFORE_RELEASES:] if (faults := _faults(name, texts[name]))} == {}
    # Of those before, what holds for them as well.
    for name in MIGRATIONS[1:BEFORE_RELEASES]:
        assert "reads a table while it is locked" not in _faults(name, texts[name]), name


_SAFE = "set local lock_timeout = '5s';\n"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("create table t (id uuid);", ["waits for locks without an end"]),
        (_SAFE + "create table t (id uuid primary key); create index on t (id);", []),
        (_SAFE + "alter table t add column a int;", []),
        (_SAFE + "alter table t add column a int not null default 0;", []),
        (_SAFE + "alter table t add column a int not null;", ["adds a column that the old code does not fill"]),
        (_SAFE + "alter table t drop column a;", ["drops a column"]),
        (_SAFE + "drop table if exists t;", ["drops a table"]),
        (_SAFE + "alter table t rename column a to b;", ["renames"]),
        (_SAFE + "alter table t alter column a type bigint;", ["changes a type"]),
        (_SAFE + "alter table t alter column a set not null;", ["forbids null"]),
        (_SAFE + "create unique index i on t (a);", ["locks a table while its index is made"]),
        (_SAFE + "create index concurrently i on t (a);", ["makes an index concurrently inside a transaction"]),
        ("-- transactional: false\ncreate index concurrently i on t (a);", []),
        (_SAFE + "alter table t add constraint c check (a > 0);", ["reads a table while it is locked"]),
        (_SAFE + "alter table t add constraint c check (a > 0) not valid;", []),
        (_SAFE + "-- drop table t\nselect 1;", []),
    ],
)
def test_what_the_release_before_could_not_bear_is_recognised(text: str, faults: list[str]) -> None:
    assert _faults("0099_more.sql", text) == faults


def test_a_later_release_may_remove_what_nothing_uses() -> None:
    assert _faults("0099_contract_old_columns.sql", _SAFE + "alter table t drop column a;") == []
    assert _faults("0099_contract_old_columns.sql", "alter table t drop column a;") == [
        "waits for locks without an end"
    ]
