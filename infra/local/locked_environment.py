"""Virtual environments of their own, for programs that pin what the product must not be bound to."""

import fcntl
import subprocess
import sys
from pathlib import Path

from siftline.operate.set_up_error import SetUpError

_INFRA = Path(__file__).resolve().parents[1]
_MAKE = _INFRA / "local" / "venv.sh"


def is_ready(folder: Path, lock: Path) -> bool:
    """Whether the environment in ``folder`` holds what the lock names now."""
    mark = folder / ".ready"
    return mark.exists() and mark.stat().st_mtime >= lock.stat().st_mtime


def locked_python(folder: Path, lock: Path) -> Path:
    """Return the interpreter of the environment in ``folder``, made on first use and made anew when the lock changed.

    ``make`` makes the same one, with the same mark. Every package is checked against its hash. Two callers at once make
    it once. Raises ``SetUpError``.
    """
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not is_ready(folder, lock):
            command = ["bash", str(_MAKE), sys.executable, str(folder), str(lock)]
            result = subprocess.run(command, capture_output=True, check=False)
            if result.returncode:
                last = result.stderr.decode(errors="replace").strip().rpartition("\n")[2]
                raise SetUpError(last.removeprefix("siftline: ") or f"{lock.stem} could not be installed.")
            (folder / ".ready").touch()
    return folder / "bin" / "python"
