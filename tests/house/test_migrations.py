"""Migrations go forward only, in one order."""

import re

from tests.house.reading import ROOT, tracked_files

MIGRATIONS = sorted(path.name for path in tracked_files() if path.parent == ROOT / "infra" / "migrations")


def test_no_file_undoes_a_migration() -> None:
    assert not [name for name in MIGRATIONS if "rollback" in name]


def test_migrations_are_numbered_in_order_without_gaps() -> None:
    numbers = [re.fullmatch(r"(\d{4})_[a-z0-9_]+\.sql", name) for name in MIGRATIONS]
    assert [number and int(number[1]) for number in numbers] == list(range(1, len(MIGRATIONS) + 1))


def test_a_constraint_is_added_without_reading_the_table_while_it_is_locked() -> None:
    for name in MIGRATIONS[1:]:
        text = (ROOT / "infra" / "migrations" / name).read_text(encoding="utf-8")
        added = re.findall(r"add constraint [^,;]*", text)
        assert [one for one in added if not one.rstrip().endswith("not valid")] == []
