"""MiniStack's own virtual environment: it pins a botocore of its own, so it cannot share ours."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

from infra.local.errors import SetUpError

LOCK = Path(__file__).resolve().parents[1] / "locks" / "ministack.txt"


def ministack_python(folder: Path, say: Callable[[str], None] = lambda _: None) -> Path:
    """Return the interpreter of the environment in ``folder``, made on first use and made anew when the lock changed.

    Every package is checked against its hash. Raises ``SetUpError``.
    """
    stamp = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if _stamp_of(folder) != stamp:
            say("Installing MiniStack (SQS, SES and CloudWatch on this machine) …")
            _make(folder)
            (folder / "stamp").write_text(stamp, encoding="ascii")
    return folder / "bin" / "python"


def _stamp_of(folder: Path) -> str | None:
    try:
        return (folder / "stamp").read_text(encoding="ascii")
    except OSError:
        return None


def _make(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True, symlinks=True)
    log = folder.with_name("ministack-install.log")
    with log.open("wb") as output:
        command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
        options = ["--require-hashes", "--only-binary", ":all:", "-r", str(LOCK)]
        result = subprocess.run([*command, *options], stdout=output, stderr=output, check=False)
    if result.returncode:
        raise SetUpError(
            f"MiniStack could not be installed: is there a network, and can pip reach its package index? ({log})"
        )
    log.unlink()
