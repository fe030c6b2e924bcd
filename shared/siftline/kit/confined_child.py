"""The child's side of ``siftline.kit.confined``: one request after the other, until the input ends.

It imports little, so that a child costs what its own functions import and no more. What it answers is JSON, or bytes:
a child that a stranger's bytes have taken over can say what is wrong, and have nothing run.
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
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import IO, Any

from siftline.kit.errors import SiftlineError
from siftline.kit.sandbox import enclose

REQUEST = struct.Struct(">dQ")
"""Seconds that the call may take, bytes of the pickled ``(function, positional, named)`` that follow."""
ANSWER = struct.Struct(">B?Q")
"""One of the states below, whether the child ends now, bytes of the value that follows.

It is JSON: when ready, what ``siftline.kit.sandbox`` took away; when returned, the value (a dataclass is an object, a
time ISO 8601, a set a list), unless that is bytes, which stand for themselves; when raised, the error's class, sentence
and facts; when unexpected, a name and a traceback.
"""
READY, RETURNED, RAISED, NO_MEMORY, UNEXPECTED = range(5)

_FIELDS: dict[type, tuple[str, ...]] = {}
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
    _answer(sink, READY, _json(enclose()), last=False)
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


def _outcome(known: dict[str, Any], source: IO[bytes], length: int) -> tuple[int, bytes]:
    try:
        name, positional, named = pickle.loads(exactly(source, length))  # noqa: S301 - from our own parent
        value = known[name](*positional, **named)
        return RETURNED, value if isinstance(value, bytes) else _json(value)
    except MemoryError:
        return NO_MEMORY, b""
    except Exception as error:  # noqa: BLE001 - the child's own loop: the parent raises what happened here
        if isinstance(error, SiftlineError):
            return RAISED, _json((f"{type(error).__module__}:{type(error).__qualname__}", error.detail, vars(error)))
        return UNEXPECTED, _json((type(error).__name__, traceback.format_exc()))


def _json(value: object) -> bytes:
    """Return a value as JSON; half a surrogate pair, which no text of ours may hold, becomes a question mark."""
    return json.dumps(value, default=_plain, ensure_ascii=False).encode("utf-8", "replace")


def _plain(value: object) -> object:
    if names := _fields(type(value)):
        return {name: getattr(value, name) for name in names}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, frozenset):
        return list(value)
    raise TypeError(f"A {type(value).__name__} cannot be returned.")


def _fields(kind: type) -> tuple[str, ...]:
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
    return _FIELDS[kind]


def _answer(sink: IO[bytes], state: int, body: bytes, *, last: bool) -> None:
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
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - pathlib is much to import for one line
        return int(file.read().split(maxsplit=1)[0]) * resource.getpagesize()


def arguments(functions: Sequence[str], memory_bytes: int) -> list[str]:
    """Return what the interpreter is started with to become such a child.

    It finds its modules where this process does: a Lambda layer is on no ``PYTHONPATH``.
    """
    boot = "import json, sys; sys.path[:] = json.loads(sys.argv[1])"
    boot += "; from siftline.kit.confined_child import serve; serve()"
    return ["-P", "-c", boot, json.dumps(sys.path), json.dumps([list(functions), memory_bytes])]
