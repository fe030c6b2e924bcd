"""What the tests of ``siftline.kit.confined`` have done in a child process."""

import os
import signal
import socket
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from siftline.ingest.page_model import EmptyContentError
from siftline.kit.confined_child import ANSWER, RETURNED
from siftline.kit.errors import TransientError
from siftline.net.blocks import BlockedBySiteError

_kept: list[bytes] = []
_calls: list[str] = []


class Pair(NamedTuple):
    name: str
    number: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    at: datetime
    pairs: tuple[Pair, ...]
    hours: frozenset[int]
    share: float


ANSWER_OF_ALL = Answer(
    "\0 \U0001f600 é", datetime(2026, 11, 29, 4, 5, 6, tzinfo=UTC), (Pair("a", None),), frozenset({3, 1}), 0.5
)


def process_id() -> int:
    _calls.append("process_id")
    return os.getpid()


def echo(value: int) -> int:
    return value


def answer_of_all() -> Answer:
    return ANSWER_OF_ALL


def half_a_pair() -> str:
    return "a\ud800b"


def length_and_bytes(body: bytes) -> bytes:
    return len(body).to_bytes(8) + body


def meet(go: str) -> int:
    """Tell that the call is under way, and return once this file is there."""
    sys.stderr.write(f"here {os.getpid()}\n")
    sys.stderr.flush()
    while not Path(go).exists():
        time.sleep(0.01)
    return os.getpid()


def environment() -> dict[str, str]:
    return dict(os.environ)  # noqa: TID251 - what is asked about


def refused() -> list[str]:
    """Try what a process taken over by a stranger's bytes would; return what the system allowed."""
    tried: dict[str, Callable[[], object]] = {
        "connect": lambda: socket.create_connection(("127.0.0.1", 9), timeout=1),
        "socket": lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
        "unix socket": lambda: socket.socket(socket.AF_UNIX),
        "socket pair": socket.socketpair,
        "write": lambda: Path("/tmp/siftline-confined").write_text("x"),  # noqa: S108 - refused, that is the test
        "program": lambda: subprocess.run(["/bin/true"], check=True),
        "parent's environment": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
        "parent's memory": lambda: os.open(f"/proc/{os.getppid()}/mem", os.O_RDONLY),
        "signal": lambda: os.kill(os.getppid(), 0),
    }
    allowed = []
    for name, act in tried.items():
        try:
            act()
        except PermissionError:
            continue
        allowed.append(name)
    return allowed


def forge(body: bytes) -> int:
    """Answer by hand, as a process taken over could."""
    _to_parent(ANSWER.pack(RETURNED, False, len(body)) + body)
    return 0


def claim_length(length: int) -> int:
    """Announce an answer of this length."""
    _to_parent(ANSWER.pack(RETURNED, False, length))
    return 0


def _to_parent(data: bytes) -> None:
    for place in Path("/proc/self/fd").iterdir():
        if int(place.name) > 2 and str(place.readlink()).startswith("pipe:"):
            os.write(int(place.name), data)


def hang_in_c() -> int:
    """Hang where no Python code runs, no thread is let in and no signal handler is called."""
    sys.stderr.write(f"here {os.getpid()}\n")
    sys.stderr.flush()
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
    raise EmptyContentError("The page contains no text.", code="no_text")


def fail_for_now() -> None:
    raise TransientError("Come back.", retry_after_s=7.0)


def fail_unexpectedly() -> None:
    raise LookupError


def die_by(number: int) -> None:
    os.kill(os.getpid(), number)


def fail_with_facts() -> None:
    raise BlockedBySiteError("The site refused.", status=403)


def die_with_a_past() -> int:
    """End the process where it was called before."""
    if _calls:
        os.kill(os.getpid(), signal.SIGSEGV)
    return os.getpid()
