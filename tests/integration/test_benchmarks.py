"""Every benchmark runs: each of them at the smallest sizes, as ``make bench BENCH=… QUICK=1`` runs it."""

import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from benchmarks import mixed
from benchmarks.quick import SIZES
from infra.local.processes import tethered
from siftline.settings.functions import process_environment

ROOT = Path(__file__).resolve().parents[2]
_MINILM = ROOT / ".local" / "model-minilm" / "manifest.json"
# One has a small form of its own, with what must hold: test_bench_jobs.py.
NAMES = [name for name in SIZES if name != "jobs"]
# Those that tell of the same walk make it once, in one process; and those that share nothing but their imports, which
# cost more than most of them.
TOGETHER = [
    ["walk", "cost"],
    ["poll", "sync", "parse", "hostile", "million", "http"],
    ["extraction", "entities", "stories", "score", "search", "topics"],
]
RUNS = [*TOGETHER, *([name] for name in NAMES if name not in chain(*TOGETHER))]
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("names", RUNS, ids=" ".join)
def test_a_benchmark_runs_at_its_smallest(names: list[str]) -> None:
    if names == ["reindex"] and not _MINILM.exists():
        pytest.skip("the model to come from is not assembled here, which takes minutes: make bench BENCH=reindex")
    done = subprocess.run(
        tethered([sys.executable, "-m", "benchmarks", *names, "--quick"]),
        cwd=ROOT,
        env={**process_environment(), "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-4_000:]
    assert all(f"== {name}" in done.stdout or name in done.stdout for name in names), done.stdout[-2_000:]


@pytest.mark.parametrize(
    ("status", "by_gateway", "at", "failed"),
    [
        (200, False, (12, 13), False),
        (404, False, (12, 13), False),
        (503, False, (12, 13), False),
        (500, True, (12, 13), False),
        (500, True, (8, 11), False),  # began before, and met the beginning
        (500, False, (12, 13), True),  # of a function: nothing that an outage explains
        (503, False, (21, 22), True),
        (500, True, (21, 22), True),
        (0, False, (12, 13), True),
    ],
)
def test_only_what_an_outage_explains_is_excused(
    status: int, at: tuple[float, float], *, by_gateway: bool, failed: bool
) -> None:
    assert mixed._failed(mixed.Call("list", *at, status, by_gateway), (10.0, 20.0)) is failed
