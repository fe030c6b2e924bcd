"""The child's side of ``siftline.kit.confined``: one request after the other, until the input ends.

It imports little, so that a child costs what its own functions import and no more.
"""

import importlib
import json
import os
import pickle
import resource
import signal
import struct
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from siftline.kit.errors import SiftlineError

REQUEST = struct.Struct(">dQ")
"""Seconds that the call may take, bytes of the pickled ``(function, positional, named)`` that follow."""
ANSWER = struct.Struct(">B?Q")
"""One of the states below, whether the child ends now, bytes of the pickled value that follows."""
READY, RETURNED, RAISED, NO_MEMORY, UNEXPECTED = range(5)

_GRACE_S = 1.0
"""How long after its deadline a child whose parent is gone ends by itself; a living parent has killed it by then."""


def serve() -> None:
    """Answer requests: the child's whole life. Its arguments are ``sys.path`` and ``[functions, memory_bytes]``."""
    functions, memory_bytes = json.loads(sys.argv[2])
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints, or our log writes, must not get between the answers
    known = {name: _function(name) for name in functions}
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    base_bytes = _address_space_bytes()
    resource.setrlimit(resource.RLIMIT_AS, (base_bytes + memory_bytes,) * 2)
    _answer(sink, READY, None, last=False)
    last = False
    while not last and (head := source.read(REQUEST.size)):
        within_s, length = REQUEST.unpack(head)
        # The default action of the signal ends the process, in the midst of a C function too.
        signal.setitimer(signal.ITIMER_REAL, within_s + _GRACE_S)
        state, value = _outcome(known, source, length)
        signal.setitimer(signal.ITIMER_REAL, 0)
        # What a big call leaves behind would be missing to the next.
        last = state == NO_MEMORY or _address_space_bytes() > base_bytes + memory_bytes // 2
        _answer(sink, state, value, last=last)


def exactly(stream: IO[bytes], length: int) -> bytes:
    """Return this many bytes. Raises ``EOFError``."""
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def _outcome(known: dict[str, Any], source: IO[bytes], length: int) -> tuple[int, bytes | None]:
    try:
        name, positional, named = pickle.loads(exactly(source, length))  # noqa: S301 - from our own parent
        return RETURNED, pickle.dumps(known[name](*positional, **named))
    except MemoryError:
        return NO_MEMORY, None
    except Exception as error:  # noqa: BLE001 - the child's own loop: the parent raises what happened here
        if isinstance(error, SiftlineError):
            return RAISED, pickle.dumps(error)
        return UNEXPECTED, pickle.dumps((type(error).__name__, traceback.format_exc()))


def _answer(sink: IO[bytes], state: int, value: bytes | None, *, last: bool) -> None:
    body = value or b""
    try:
        sink.write(ANSWER.pack(state, last, len(body)))
        sink.write(body)
        sink.flush()
    except BrokenPipeError:
        os._exit(0)  # the parent is gone, and with it whoever would read a traceback


def _function(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _address_space_bytes() -> int:
    pages = Path("/proc/self/statm").read_bytes().split(maxsplit=1)[0]
    return int(pages) * resource.getpagesize()


def arguments(functions: Sequence[str], memory_bytes: int) -> list[str]:
    """Return what the interpreter is started with to become such a child.

    It finds its modules where this process does: a Lambda layer is on no ``PYTHONPATH``.
    """
    boot = "import json, sys; sys.path[:] = json.loads(sys.argv[1])"
    boot += "; from siftline.kit.confined_child import serve; serve()"
    return ["-P", "-c", boot, json.dumps(sys.path), json.dumps([list(functions), memory_bytes])]
