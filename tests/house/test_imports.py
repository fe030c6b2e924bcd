"""Imports go one way: functions -> rooms -> jobs -> kit; rooms share contracts and settings, never each other."""

import importlib
from pathlib import Path

import pytest

from tests.house.reading import FUNCTION_NAMES, ROOT, SOURCE, imported, python_files, relative

ROOMS = frozenset({"api", "fetch", "ingest", "analyze", "resolve", "cluster", "rank", "brief", "schedule"})
SHARED = frozenset({"contracts", "settings", "kit"})
# What a part may import besides itself. ``worker`` hosts the handlers of ``functions``, by name, at run time.
ALLOWED = {
    "contracts": frozenset(),
    "shared_settings": frozenset({"contracts"}),
    "cluster_settings": frozenset({"shared_settings"}),
    "embedding_settings": frozenset({"shared_settings"}),
    "llm_settings": frozenset({"shared_settings"}),
    "brief_settings": frozenset({"score_settings", "shared_settings"}),
    "feed_settings": frozenset({"shared_settings"}),
    "limit_settings": frozenset({"shared_settings"}),
    "entity_settings": frozenset({"shared_settings"}),
    "media_settings": frozenset({"shared_settings"}),
    "score_settings": frozenset({"shared_settings"}),
    "topic_settings": frozenset({"shared_settings"}),
    "schedule_settings": frozenset({"contracts", "shared_settings"}),
    "settings": frozenset(
        {
            "brief_settings",
            "contracts",
            "cluster_settings",
            "embedding_settings",
            "entity_settings",
            "feed_settings",
            "limit_settings",
            "llm_settings",
            "media_settings",
            "schedule_settings",
            "score_settings",
            "shared_settings",
            "topic_settings",
        }
    ),
    "kit": frozenset({"settings"}),
    "jobs": SHARED,
    **dict.fromkeys(ROOMS, SHARED | {"jobs"}),
    "worker": SHARED | {"jobs"},
}
PARTS = sorted({path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in python_files(SOURCE)} - {"__init__"})


def _part(dotted: str) -> str | None:
    """Return ``fetch`` for ``siftline.fetch.service.FetchSource``."""
    parts = dotted.split(".")
    return parts[1] if parts[0] == "siftline" and len(parts) > 1 else None


def _files(part: str) -> list[Path]:
    return python_files(SOURCE / part, SOURCE / f"{part}.py")


def test_every_part_of_the_package_has_its_place_in_the_order() -> None:
    assert set(PARTS) <= set(ALLOWED)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_imports_only_what_stands_below_it(part: str) -> None:
    for path in _files(part):
        for line, name in imported(path):
            assert not name.startswith(("functions", "infra", "tests")), f"{relative(path)}:{line}"
            target = _part(name)
            assert target in {None, part} | ALLOWED[part], f"{relative(path)}:{line} imports {name}"


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
