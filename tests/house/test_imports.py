"""Imports go one way, from what stands above to what stands below it; a room does not import another room."""

import importlib
from collections import Counter
from pathlib import Path

import pytest

from tests.house.reading import FUNCTION_NAMES, ROOT, SOURCE, imported, python_files, relative

ROOMS = (
    *("analyze", "api", "brief", "cluster", "fetch", "ingest"),
    *("operate", "rank", "reprocess", "resolve", "schedule", "worker"),
)
# Each part may import what stands in a line above its own. ``worker`` hosts the handlers of ``functions``, by name, at
# run time.
ORDER = (
    ("contracts",),
    ("settings",),
    ("kit",),
    ("net", "text"),
    ("catalog",),
    ("jobs",),
    ("models",),
    ROOMS,
)
# The services of other rooms that a room calls by their plain names.
CALLED = {"api": {"ingest", "reprocess"}, "operate": {"api", "reprocess"}, "schedule": {"reprocess"}}
ALLOWED = {
    part: {below for parts in ORDER[:place] for below in parts} | CALLED.get(part, set())
    for place, parts in enumerate(ORDER)
    for part in parts
}
PARTS = sorted({path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in python_files(SOURCE)} - {"__init__"})


def _part(dotted: str) -> str | None:
    """Return ``fetch`` for ``siftline.fetch.fetch_service.FetchSource``."""
    parts = dotted.split(".")
    return parts[1] if parts[0] == "siftline" and len(parts) > 1 else None


def _files(part: str) -> list[Path]:
    return python_files(SOURCE / part, SOURCE / f"{part}.py")


def test_every_part_of_the_package_has_its_place_in_the_order() -> None:
    assert set(PARTS) == set(ALLOWED)


def test_no_two_modules_have_one_name() -> None:
    names = Counter(path.stem for path in python_files(SOURCE) if not path.stem.startswith("__"))
    assert [name for name, times in names.items() if times > 1] == []


@pytest.mark.parametrize("part", PARTS)
def test_a_part_imports_only_what_stands_below_it(part: str) -> None:
    for path in _files(part):
        for line, name in imported(path):
            assert not name.startswith(("functions", "infra", "tests")), f"{relative(path)}:{line}"
            target = _part(name)
            assert target is None or target == part or target in ALLOWED[part], (
                f"{relative(path)}:{line} imports {name}"
            )


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_no_function_imports_another_function_or_the_worker(name: str) -> None:
    path = ROOT / "functions" / name / "app.py"
    for line, target in imported(path):
        assert not target.startswith(("functions", "siftline.worker", "infra")), f"{relative(path)}:{line}"


def test_functions_have_no_import_that_the_worker_would_need_to_know() -> None:
    for path in python_files(SOURCE / "worker"):
        assert not [name for _, name in imported(path) if name.startswith("functions")], relative(path)


def test_the_benchmarks_find_what_they_use_of_the_product_and_its_tests() -> None:
    assert importlib.import_module("benchmarks.__main__").main
