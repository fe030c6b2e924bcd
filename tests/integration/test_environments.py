"""Environments that ``make`` and we ourselves make: once, whoever wants them at the same time."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infra.local.locked_environment import locked_python

ROOT = Path(__file__).resolve().parents[2]
MAKE = ROOT / "infra" / "local" / "venv.sh"
# Stands for Python: notes when it makes an environment and when it fills one, and takes a while over it.
PYTHON = """#!/usr/bin/env bash
note() {{ printf '%s %s\\n' "$1" "$PPID" >> {notes}; }}
case "$*" in
  "-m venv "*) note begin; sleep 0.3; mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; note end ;;
  "-m pip install"*) note begin; sleep 0.3; note end ;;
esac
"""


def test_two_makes_at_once_do_not_work_on_one_environment_together(tmp_path: Path) -> None:
    """Else one removes what the other has half made: two suites in one tree, or two targets of one make."""
    python, notes, lock = tmp_path / "python", tmp_path / "notes", tmp_path / "some.txt"
    python.write_text(PYTHON.format(notes=notes))
    python.chmod(0o755)
    lock.touch()
    command = ["bash", str(MAKE), str(python), "env", str(lock)]
    environment = {"PATH": os.defpath, "TMPDIR": str(tmp_path)}
    made = [
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for one in made:
        _, errors = one.communicate(timeout=120)
        assert one.returncode == 0, errors
    steps = notes.read_text().split()
    whose = steps[1::2]
    assert steps[::2] == ["begin", "end"] * (len(whose) // 2)
    assert [one for place, one in enumerate(whose) if place == 0 or one != whose[place - 1]] == list(
        dict.fromkeys(whose)
    )
    assert len(set(whose)) == 3


def test_an_environment_of_ones_own_is_made_once_by_two_that_want_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python, notes, lock = tmp_path / "python", tmp_path / "notes", tmp_path / "some.txt"
    python.write_text(PYTHON.format(notes=notes))
    python.chmod(0o755)
    lock.touch()
    monkeypatch.setattr("sys.executable", str(python))
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        made = set(pool.map(lambda _: locked_python(tmp_path / ".local" / "env", lock), range(2)))
    assert made == {tmp_path / ".local" / "env" / "bin" / "python"}
    assert notes.read_text().split()[::2] == ["begin", "end"] * 2  # made and filled, once each
