"""Every benchmark can be made quick: the suite runs each so, that none rots."""

from pathlib import Path

import pytest

from benchmarks.quick import SIZES, make_quick
from tests.house.reading import ROOT

FOLDER = ROOT / "benchmarks"
PROGRAMS = {"__main__", "spacy_peer"}
"""What has a ``main`` and is no benchmark: the command itself, and what a benchmark starts."""


def test_every_benchmark_has_a_quick_form() -> None:
    found = {path.stem for path in FOLDER.glob("*.py") if "\ndef main() ->" in path.read_text("utf-8")}
    assert found - PROGRAMS == set(SIZES)


def test_a_size_that_is_not_there_any_longer_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.report.RESULTS", tmp_path)
    monkeypatch.setitem(SIZES, "http", {"http.GONE": 1})
    with pytest.raises(AttributeError, match=r"benchmarks\.http\.GONE"):
        make_quick("http", tmp_path)
