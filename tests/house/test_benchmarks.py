"""Every benchmark is listed, and can be made quick: the suite runs each so, that none rots."""

import importlib
from pathlib import Path

import pytest

from benchmarks.quick import SIZES, make_quick
from tests.house.reading import ROOT

FOLDER = ROOT / "benchmarks"
HELPERS = {"random_deberta", "spacy_peer"}
"""Programs that benchmarks start."""


def test_every_benchmark_of_the_list_has_a_quick_form_and_is_a_module() -> None:
    listed = importlib.import_module("benchmarks.__main__")._ALL
    assert set(listed) == set(SIZES)
    assert all((FOLDER / f"{name}.py").exists() for name in listed)


def test_every_benchmark_that_can_be_run_is_of_the_list() -> None:
    runnable = {path.stem for path in FOLDER.glob("[a-z]*.py") if '__name__ == "__main__"' in path.read_text("utf-8")}
    assert runnable - HELPERS <= set(SIZES)


def test_a_size_that_is_not_there_any_longer_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.report.RESULTS", tmp_path)
    monkeypatch.setitem(SIZES, "http", {"http.GONE": 1})
    with pytest.raises(AttributeError, match=r"benchmarks\.http\.GONE"):
        make_quick("http", tmp_path)
