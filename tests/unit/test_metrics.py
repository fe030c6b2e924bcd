"""Figures for CloudWatch: what stands on a line of standard output."""

import io
import json
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from siftline.kit.metrics import COUNT, MILLISECONDS, emit

ROOT = Path(__file__).resolve().parents[2]


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
    assert {tuple(sorted(names)) for names in about["Dimensions"]} == {("queue", "service", "stage")}
    assert told["stage"] == "local"


@pytest.mark.parametrize(("given", "told"), [({}, "local"), ({"SIFTLINE_STAGE": "prod"}, "prod")])
def test_a_line_carries_the_stage_so_that_two_of_one_account_do_not_add_up(given: dict[str, str], told: str) -> None:
    code = "from siftline.kit.metrics import COUNT, emit; emit({'Jobs': (2, COUNT)}, {})"
    environment = {"PYTHONPATH": str(ROOT / "shared"), **given}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)

    line = json.loads(done.stdout)
    assert line["stage"] == told
    assert line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["stage", "service"]]


def test_nothing_is_written_where_metrics_are_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "true")
    with redirect_stdout(_Written()) as written:
        emit({"Jobs": (2, COUNT)}, {"queue": "fetch"})
    assert written.pieces == []
