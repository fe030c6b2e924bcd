"""MiniStack's own virtual environment: it pins a botocore of its own, so it cannot share ours."""

import fcntl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from infra.local.errors import SetUpError

_INFRA = Path(__file__).resolve().parents[1]
LOCK = _INFRA / "locks" / "ministack.txt"
_MAKE = _INFRA / "local" / "venv.sh"


def ministack_python(folder: Path, say: Callable[[str], None] = lambda _: None) -> Path:
    """Return the interpreter of the environment in ``folder``, made on first use and made anew when the lock changed.

    ``make`` makes the same one, with the same mark. Every package is checked against its hash. Raises ``SetUpError``.
    """
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    ready = folder / ".ready"
    with folder.with_suffix(".lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not ready.exists() or ready.stat().st_mtime < LOCK.stat().st_mtime:
            say("Installing MiniStack (SQS, SES and CloudWatch on this machine) …")
            command = ["bash", str(_MAKE), sys.executable, str(folder), str(LOCK)]
            result = subprocess.run(command, capture_output=True, check=False)
            if result.returncode:
                last = result.stderr.decode(errors="replace").strip().rpartition("\n")[2]
                raise SetUpError(last.removeprefix("siftline: ") or "MiniStack could not be installed.")
            ready.touch()
    return folder / "bin" / "python"
