"""How well a page's text is found, on pages annotated by others."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCORER = ROOT.parent / "shared" / "tools" / "score_extraction.py"
_SCORE_EACH = """
import runpy, sys
sys.path[:0] = ['.', 'shared']
_, scorer, *names = sys.argv
for name in names:
    sys.argv = [scorer, name]
    runpy.run_path(scorer, run_name='__main__')
"""


@pytest.mark.slow
@pytest.mark.skipif(not SCORER.exists(), reason="../shared with its annotated pages is not here")
def test_the_text_of_annotated_pages_is_found_better_than_by_trafilatura_in_the_same_run() -> None:
    names = [f"tests.extraction:{name}" for name in ("extract", "precise", "default")]
    answer = subprocess.run(
        [sys.executable, "-c", _SCORE_EACH, str(SCORER), *names], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    ours, precise, default = map(float, re.findall(r"F1 ([0-9.]+)", answer.stdout))
    assert ours > max(precise, default), answer.stdout
