"""Figures for CloudWatch: what stands on a line of standard output."""

import io
import json
from contextlib import redirect_stdout

import pytest

from siftline.kit.metrics import COUNT, MILLISECONDS, emit


class _Written(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def write(self, text: str) -> int:
        self.pieces.append(text)
        return super().write(text)


def test_a_line_is_written_at_once_with_its_end_so_that_no_other_threads_comes_between() -> None:
    with redirect_stdout(_Written()) as written:
        emit({"Jobs": (2, COUNT), "Age": (7, MILLISECONDS)}, {"queue": "fetch"}, metadata={"provider": "model"})
    [piece] = written.pieces
    assert piece.endswith("}\n")
    told = json.loads(piece)
    assert (told["Jobs"], told["Age"], told["queue"], told["service"]) == ([2.0], [7.0], "fetch", "siftline")
    assert told["provider"] == "model"
    [about] = told["_aws"]["CloudWatchMetrics"]
    assert about["Namespace"] == "Siftline"
    assert {tuple(sorted(names)) for names in about["Dimensions"]} == {("queue", "service")}


def test_nothing_is_written_where_metrics_are_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "true")
    with redirect_stdout(_Written()) as written:
        emit({"Jobs": (2, COUNT)}, {"queue": "fetch"})
    assert written.pieces == []
