"""Commands of ``make`` print their answer alone on stdout; what their parts log and print meanwhile goes to stderr."""

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from siftline.settings import process_environment
from tests.functions import make_queues, sample_event

ROOT = Path(__file__).resolve().parents[2]
NOISY = """
import os, subprocess, sys
from aws_lambda_powertools import Logger
from infra.local.answer import {name}
early = Logger(service="early")

def noise():
    early.warning("early")
    print("printed" if {loud} else "", end="")
    os.write(1, b"written")
    subprocess.run(["echo", "told by a child"], check=True)

{rest}
"""


def said(code: str) -> subprocess.CompletedProcess[str]:
    environment = {**process_environment(), "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_whatever_is_written_meanwhile_goes_to_stderr_and_the_answer_alone_to_stdout() -> None:
    rest = "with logs_apart() as out:\n    noise()\n    print('answer', file=out)\n    noise()\nprint('after')"
    done = said(NOISY.format(name="logs_apart", loud=True, rest=rest))
    assert (done.returncode, done.stdout) == (0, "answer\nafter\n"), done.stderr
    assert done.stderr.count("printed") == done.stderr.count("written") == done.stderr.count("told by a child") == 2
    assert done.stderr.count('"early"') >= 2


def test_a_command_prints_its_answer_alone_and_ends_with_its_code() -> None:
    rest = "def main(arguments):\n    noise()\n    print('answer')\n    return 3\n\nrun(main)"
    done = said(NOISY.format(name="run", loud=False, rest=rest))
    assert (done.returncode, done.stdout) == (3, "answer\n"), done.stderr
    assert "told by a child" in done.stderr


@pytest.fixture
def kept(tmp_path: Path, database_url: str, aws_environment: dict[str, str], sqs) -> Mapping[str, str]:  # type: ignore[no-untyped-def]  # boto3's
    """What ``make run`` would have kept: the environment of the parts, in ``tmp_path``."""
    variables = {
        **aws_environment,
        **make_queues(sqs, tmp_path.name.replace("_", "-")[:40]),
        "DATABASE_URL": database_url,
        "QDRANT_URL": "http://127.0.0.1:1",
    }
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in variables.items()]
    (tmp_path / "environment").write_text("".join(lines))
    return variables


def test_invoke_prints_the_answer_of_the_function_alone(tmp_path: Path, kept: Mapping[str, str]) -> None:
    """``make invoke … | jq`` must work, though a function logs and tells metrics on stdout, as Lambda wants it."""
    event = sample_event("fetch.malformed", kept["FETCH_QUEUE_URL"])
    (tmp_path / "event.json").write_text(json.dumps(event))
    command = [sys.executable, "-m", "infra.local.invoke", "fetch", str(tmp_path / "event.json"), "--folder"]
    environment = {**process_environment(), "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    done = subprocess.run(
        [*command, str(tmp_path)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"batchItemFailures": []}
    assert "malformed_message" in done.stderr


def test_redrive_prints_its_answer_alone(kept: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "infra.local.redrive", "--queue", "analysis"]
    environment = {**process_environment(), **kept, "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "jobs are pending again" in done.stdout.splitlines()[0]
    assert not [line for line in done.stdout.splitlines() if line.startswith("{")]
