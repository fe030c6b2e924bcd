"""Tasks without a container: the steps of the worker's Dockerfile, the worker as it runs there, the health checks."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.local.ports import free_port
from infra.local.processes import wait_until
from infra.local.programs import answers
from siftline.worker.template import load

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "infra" / "worker" / "Dockerfile").read_text(encoding="utf-8")
INSTALLED = "/srv/siftline"
PORT = "8080"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first stage makes in ``/srv/siftline``: from the files alone that the Dockerfile copies."""
    source = tmp_path_factory.mktemp("source")
    for copied in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE):
        path, target = copied.split()
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, source / target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (source / target).mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, source / target)
    [step] = re.findall(r"^RUN (.+)$", DOCKERFILE, re.MULTILINE)
    installed = source / "installed"
    command = [str(installed) if word == INSTALLED else word for word in shlex.split(step)]
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "PYTHON": sys.executable}
    done = subprocess.run(command, cwd=source, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return installed


def _natively(words: list[str], image: Path, port: int) -> list[str]:
    """Return a command of the image as it is said here."""
    return [word.replace(INSTALLED, str(image)).replace(PORT, str(port)) for word in words]


@pytest.fixture
def start(image: Path, tmp_path: Path) -> Iterator[Any]:
    """Start the worker as the image does, with nothing in its environment but what is given."""
    [command] = re.findall(r"^CMD (.+)$", DOCKERFILE, re.MULTILINE)
    processes = []

    def start(port: int, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        with (tmp_path / "log").open("wb") as log:
            words = _natively(json.loads(command), image, port)
            environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **variables}
            processes.append(subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=log, stderr=log))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def test_the_worker_of_the_image_becomes_ready_and_is_found_healthy_by_the_tasks_own_command(
    image: Path,
    start: Any,
    tmp_path: Path,
    queue_variables: dict[str, str],
    database_url: str,
    model: Path,
    qdrant: str,
) -> None:
    port = free_port()
    task = load(ROOT / "template.yaml")["Resources"]["WorkerTask"]["Properties"]["ContainerDefinitions"][0]
    kind, *words = task["HealthCheck"]["Command"]
    check = _natively(words, image, port)
    assert kind == "CMD"
    assert subprocess.run(check, capture_output=True, check=False).returncode == 1

    variables = {**queue_variables, "DATABASE_URL": database_url, "QDRANT_URL": qdrant, "MODEL_URI": str(model)}
    process = start(port, {**variables, "WORKER_POLL_S": "1"})

    assert wait_until(lambda: process.poll() is not None or answers(port, "/ready"), 300), _log(tmp_path)
    assert process.poll() is None, _log(tmp_path)
    subprocess.run(check, check=True)
    state = httpx.get(f"http://127.0.0.1:{port}/ready").json()
    assert len(state["queues"]) == 8
    assert (state["schedules"], state["unbuildable"]) == ({}, {})
    process.terminate()
    assert process.wait(120) == 0


def test_the_worker_of_the_image_names_what_it_was_not_given(start: Any, tmp_path: Path) -> None:
    assert start(free_port(), {}).wait(120) == 2
    assert "These environment variables are not set: ANALYSIS_BACKGROUND_QUEUE_URL" in _log(tmp_path)


def test_nothing_runs_in_the_image_as_root_or_from_a_base_without_a_version() -> None:
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.MULTILINE) == ["nobody"]
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:3\.1[1-9]-slim-\w+", bases[0])


def _log(folder: Path) -> str:
    return (folder / "log").read_text(errors="replace")


def test_qdrants_own_command_finds_it_healthy_while_it_answers(qdrant: str) -> None:
    task = load(ROOT / "infra" / "vectors.yaml")["Resources"]["Task"]["Properties"]["ContainerDefinitions"][0]
    kind, *words = task["HealthCheck"]["Command"]

    def check(port: str) -> int:
        return subprocess.run(
            [word.replace("6333", port) for word in words], capture_output=True, check=False
        ).returncode

    assert kind == "CMD"
    assert check(qdrant.rpartition(":")[2]) == 0
    assert check(str(free_port())) != 0
