"""Workers are killed with SIGKILL in mid-work, again and again: the small form of ``make bench BENCH=kills``."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.killing.ours import Siftline
from benchmarks.killing.trial import SMALL, run


@pytest.mark.slow
def test_killed_workers_strand_no_job_and_no_effect_comes_twice(
    tmp_path: Path, make_database: Callable[[], str], sqs_endpoint: str
) -> None:
    """GIVEN 40 saved pages WHEN two workers are killed in mid-work THEN each page is read to its end, once."""
    outcome = run(
        Siftline(sqs_endpoint), replace(SMALL, slow_s=(0.3, 0.6), patience_s=600.0), tmp_path, make_database()
    )

    assert outcome.kills == 2
    assert outcome.completed == 40
    assert outcome.stranded == 0
    assert outcome.twice == 0
    assert outcome.faults == []
