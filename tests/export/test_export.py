"""The export itself, with torch and optimum, on a tiny DeBERTa-v2 of random weights: ``make test-export``."""

import subprocess
from pathlib import Path

import pytest

from layers.model.export import main
from siftline.analyze.topics.nli import EntailmentModel
from siftline.models.model_folders import ModelFolder, is_whole

pytestmark = pytest.mark.timeout(1_800)
ROOT = Path(__file__).resolve().parents[2]
EXPORT = ROOT / ".local" / "export" / "bin" / "python"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    if not EXPORT.is_file():
        pytest.skip("make test-export installs what exports models")
    scratch = tmp_path_factory.mktemp("export")
    program = Path(__file__).with_name("random_deberta.py")
    subprocess.run([EXPORT, "-P", program, scratch / "tiny"], check=True, capture_output=True)
    assert main(["--model", str(scratch / "tiny"), "--out", str(scratch / "out"), "--unproven"]) == 0
    return scratch / "out"


def test_a_deberta_becomes_a_folder_that_the_second_pass_reads(exported, tmp_path):
    manifest = ModelFolder(str(exported), tmp_path).manifest
    assert is_whole(exported)
    assert (manifest.task, manifest.labels) == ("nli", ("entailment", "neutral", "contradiction"))
    assert (manifest.entailment, manifest.contradiction, manifest.max_tokens) == (0, 2, 512)
    assert manifest.report["same_answer"] > 0.5

    judge = EntailmentModel(str(exported), tmp_path)
    answers = {judge.entailment("The parliament voted on a budget.", f"This is about {it}.") for it in ("sport", "law")}
    assert len(answers) == 2
    assert all(0 < answer < 1 for answer in answers)


def test_a_model_of_random_weights_fails_the_golden_set(exported, tmp_path, capsys):
    """Case A13: what tells nothing apart is not kept unless one says so."""
    tiny = exported.parent / "tiny"

    assert main(["--model", str(tiny), "--out", str(tmp_path / "out")]) == 1
    assert "needed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
