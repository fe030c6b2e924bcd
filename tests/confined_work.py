"""What the tests of ``siftline.kit.confined`` have done in a child process."""

import os
import signal
import sys
import time
import unicodedata
from pathlib import Path

from siftline.ingest.errors import EmptyContentError
from siftline.kit.errors import TransientError

_kept: list[bytes] = []


def process_id() -> int:
    return os.getpid()


def echo(value: object) -> object:
    return value


def meet(folder: str, callers: int) -> int:
    """Return once so many calls are under way at the same time."""
    Path(folder, str(os.getpid())).touch()
    while len(list(Path(folder).iterdir())) < callers:
        time.sleep(0.01)
    return os.getpid()


def hang_in_c(began: str) -> int:
    """Hang where no Python code runs, no thread is let in and no signal handler is called."""
    Path(began).write_text(str(os.getpid()))
    return len(unicodedata.normalize("NFC", "a" + "\u0301\u0327" * 2_000_000))


def swell(size_bytes: int) -> int:
    return len(bytearray(size_bytes))


def keep(size_bytes: int) -> int:
    _kept.append(bytes(size_bytes))
    return os.getpid()


def chatter() -> str:
    sys.stdout.write("what a library prints")
    sys.stdout.flush()
    return "answer"


def fail_for_good() -> None:
    raise EmptyContentError("The page holds no text.", code="no_text")


def fail_for_now() -> None:
    raise TransientError("Come back.", retry_after_s=7.0)


def fail_unexpectedly() -> None:
    raise LookupError


def die_by(number: int) -> None:
    os.kill(os.getpid(), number)


def die_once(marker: str) -> int:
    """End the process at the first call, answer at the second."""
    path = Path(marker)
    if path.exists():
        return os.getpid()
    path.touch()
    os.kill(os.getpid(), signal.SIGSEGV)
    return 0
