"""Runs functions in a child process that is kept warm and can be killed: strangers' bytes hang or swell only there.

Pipes and ``subprocess`` only, because Lambda has no shared memory for ``multiprocessing``, and a process with threads
is not to be forked. Each child answers one call after the other; callers at once have a child each. A child that takes
too long is killed, one that wants more memory than it may gives the call up; either way only that call fails.

A child ends when its input does, so an idle one goes with its parent, however that ends; a busy one goes at its
deadline at the latest. Limits of address space are Linux's, and so is ``/proc``.

It starts without this process's environment, and takes from itself the network, all files to write and all processes
outside, where the kernel allows it (``siftline.kit.sandbox``). It answers in JSON, which is checked against the type
that the caller expects: nothing that it says is run.
"""

import contextlib
import fcntl
import os
import pickle
import queue
import select
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from functools import cache
from typing import IO, Any, Self, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from siftline.kit.confined_child import ANSWER, NO_MEMORY, RAISED, REQUEST, RETURNED, arguments
from siftline.kit.errors import PermanentError, SiftlineError, TransientError
from siftline.kit.log import logger
from siftline.kit.sandbox import FILES, NETWORK
from siftline.settings.functions import process_environment

_START_S = 30.0
"""A child that has not imported its functions by then never will."""
_PIPE_BYTES = 1024 * 1024
"""So that most bodies and answers pass at once; Linux's default is 64 KiB."""
_ANSWER_MAX_BYTES = 128 * 1024 * 1024
"""More than any body within our limits makes; beyond, what answers is no code of ours."""
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "LANG", "LC_ALL", "COVERAGE_PROCESS_CONFIG")
"""All that a child has of our environment: where Lambda's Python finds its library, and how a child is measured."""
_ADAPTERS: dict[type, TypeAdapter[Any]] = {}
T = TypeVar("T")
_log = logger("confined")


class TooSlowError(PermanentError):
    """The call took longer than it may, and its child was killed."""

    code = "too_slow"


class TooMuchMemoryError(PermanentError):
    """The call wanted more memory than it may have."""

    code = "too_much_memory"


class ChildLostError(TransientError):
    """The child ended of something else than its limits."""

    code = "child_lost"


class ChildNotStartedError(TransientError):
    """The child could not be started: no fault of what it was to read."""

    code = "child_not_started"


class UnexpectedInChildError(TransientError):
    """The function raised what is no ``SiftlineError``; its traceback is in our log."""

    code = "unexpected_error"


class Confined:
    """Calls functions in children of this process. Thread-safe.

    ``functions`` are named as ``module:function``; no other can be called. ``memory_bytes`` is what a call may take
    beyond what a child has when it is ready. ``what`` is the thing they read, for codes (``page_too_slow``,
    ``page_too_much_memory``) and sentences; without it the codes are those of the error classes.
    """

    def __init__(self, *functions: str, memory_bytes: int, what: str = "") -> None:
        self._functions = functions
        self._memory_bytes = memory_bytes
        self._what = what
        self._idle: queue.LifoQueue[_Child] = queue.LifoQueue()
        self._finalizer = weakref.finalize(self, _close_all, self._idle)

    def call(self, returns: type[T], function: str, *args: object, within_s: float, **named: object) -> T:
        """Return what a function returns for these arguments, which must be picklable.

        ``returns`` is its type: ``bytes``, or what JSON can say and pydantic can read, as dataclasses of texts,
        numbers, times, tuples and sets. The start of a child does not count against ``within_s``. Raises what the
        function raises if it is a ``SiftlineError``, else ``UnexpectedInChildError``; ``TooSlowError``,
        ``TooMuchMemoryError``, ``ChildLostError`` (also where the answer is none of that type) or
        ``ChildNotStartedError``.
        """
        request = pickle.dumps((function, args, named))
        left_s, began = within_s, time.monotonic()
        used = self._used()
        if used is not None:
            try:
                return self._ask(returns, used, request, within_s, left_s)
            except (TooMuchMemoryError, ChildLostError) as error:
                # Calls before this one may be to blame: it is tried once more, by a child without a past.
                _log.info("confined_child_replaced", error_code=error.error_code)
                left_s = max(within_s - (time.monotonic() - began), 0.001)
        try:
            child = _Child(arguments(self._functions, self._memory_bytes))
        except OSError as error:
            raise _not_started() from error
        return self._ask(returns, child, request, within_s, left_s)

    def close(self) -> None:
        """End the idle children."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _used(self) -> "_Child | None":
        with contextlib.suppress(queue.Empty):
            while True:
                child = self._idle.get_nowait()
                if child.alive:
                    return child
                child.close()
        return None

    def _ask(self, returns: type[T], child: "_Child", request: bytes, within_s: float, left_s: float) -> T:
        try:
            state, last, body = child.ask(request, left_s)
        except _ChildDiedError as error:
            raise self._died(error, within_s) from error
        if last:
            child.close()
        else:
            self._idle.put(child)
        if state == NO_MEMORY:
            raise self._too_much_memory()
        if state == RETURNED and returns is bytes:
            return cast("T", body)
        try:
            if state == RETURNED:
                return _reads(returns).validate_json(body)
            if state == RAISED:
                raise _raised(*_reads(tuple[str, str, dict[str, str | float | None]]).validate_json(body))
            name, trace = _reads(tuple[str, str]).validate_json(body)
        except ValidationError as error:
            raise ChildLostError(
                f"The {self._what or 'work'} could not be read: its process returned no valid answer."
            ) from error
        _log.error("unexpected_in_child", error_code=name, exception=trace)
        raise UnexpectedInChildError(f"Unexpected error ({name}).")

    def _died(self, error: "_ChildDiedError", within_s: float) -> SiftlineError:
        if error.timed_out:
            detail = f"The {self._what or 'work'} took longer than {within_s:g} seconds to read."
            return TooSlowError(detail, code=f"{self._what}_too_slow" if self._what else None)
        # SIGKILL is the kernel's way when the machine has no memory left, SIGABRT a C++ library's when it gets no more.
        if error.exit_code in (-signal.SIGKILL, -signal.SIGABRT):
            return self._too_much_memory()
        return ChildLostError(f"The {self._what or 'work'} could not be read: its process ended ({error.exit_code}).")

    def _too_much_memory(self) -> TooMuchMemoryError:
        detail = f"The {self._what or 'work'} needs more memory to read than allowed."
        return TooMuchMemoryError(detail, code=f"{self._what}_too_much_memory" if self._what else None)


@cache
def _say_once(kept: tuple[str, ...]) -> None:
    _log.warning("confined_child_keeps", kept=kept)


def _not_started() -> ChildNotStartedError:
    return ChildNotStartedError("The process that parses untrusted content could not be started.")


def _reads(kind: type[T]) -> TypeAdapter[T]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def _raised(name: str, detail: str, facts: dict[str, str | float | None]) -> SiftlineError:
    """Return an error as the child raised it; where its class is not loaded here, of the family that it is of."""
    kind = _errors(SiftlineError).get(name) or (TransientError if "retry_after_s" in facts else PermanentError)
    error = kind.__new__(kind, detail)
    vars(error).update(facts)
    return error


def _errors(base: type[SiftlineError]) -> dict[str, type[SiftlineError]]:
    below = [_errors(kind) for kind in base.__subclasses__()]
    found = {f"{base.__module__}:{base.__qualname__}": base}
    return found | {name: kind for kinds in below for name, kind in kinds.items()}


class _ChildDiedError(Exception):
    def __init__(self, exit_code: int | None, *, timed_out: bool) -> None:
        super().__init__("timed out" if timed_out else f"ended with {exit_code}")
        self.exit_code = exit_code
        self.timed_out = timed_out


class _Child:
    """One process and its two pipes, which never block for longer than a call may take."""

    def __init__(self, arguments: list[str]) -> None:
        # A session of its own, so that Ctrl-C at a terminal reaches only its parent; it ends when its input does.
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our own code
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={name: value for name, value in process_environment().items() if name in _KEPT_VARIABLES},
            start_new_session=True,
            bufsize=0,
        )
        self._input = cast("IO[bytes]", self._process.stdin)
        self._output = cast("IO[bytes]", self._process.stdout)
        for pipe in (self._input, self._output):
            os.set_blocking(pipe.fileno(), False)
            with contextlib.suppress(OSError):  # a user may have only so much of it; smaller ones do as well
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._ready = False

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self._process.poll() is None

    def ask(self, request: bytes, within_s: float) -> tuple[int, bool, bytes]:
        """Hand over one call and wait for the answer: its state, whether it was the last, its pickled value.

        Raises ``_ChildDiedError`` and ``ChildNotStartedError``; the child is gone then.
        """
        if not self._ready:
            self._start()
        until = time.monotonic() + within_s
        with self._gone_if_it_fails():
            self._write(REQUEST.pack(within_s, len(request)) + request, until)
            return self._answer(until)

    def _start(self) -> None:
        try:
            with self._gone_if_it_fails():
                _, _, body = self._answer(time.monotonic() + _START_S)
        except _ChildDiedError as error:
            raise _not_started() from error
        if kept := {FILES, NETWORK} - set(_reads(tuple[str, ...]).validate_json(body)):
            _say_once(tuple(sorted(kept)))
        self._ready = True

    def _answer(self, until: float) -> tuple[int, bool, bytes]:
        state, last, length = ANSWER.unpack(self._read(ANSWER.size, until))
        if length > _ANSWER_MAX_BYTES:
            raise EOFError
        return state, last, self._read(length, until)

    def _write(self, data: bytes, until: float) -> None:
        rest = memoryview(data)
        while rest:
            _wait(self._input, select.POLLOUT, until)
            rest = rest[self._input.write(rest) or 0 :]

    def _read(self, length: int, until: float) -> bytes:
        parts: list[bytes] = []
        while length:
            _wait(self._output, select.POLLIN, until)
            part = self._output.read(min(length, _PIPE_BYTES))
            if part == b"":
                raise EOFError
            parts.append(part or b"")
            length -= len(parts[-1])
        return b"".join(parts)

    @contextlib.contextmanager
    def _gone_if_it_fails(self) -> Iterator[None]:
        """End the child when the block is too late, or finds its pipes at their end: ``_ChildDiedError``."""
        try:
            yield
        except (OSError, EOFError) as error:
            timed_out = isinstance(error, TimeoutError)
            if timed_out:
                self._process.kill()
            self.close()
            raise _ChildDiedError(self._process.returncode, timed_out=timed_out) from error

    def close(self) -> None:
        """End the process: by the end of its input, or else by force."""
        for pipe in (self._input, self._output):
            with contextlib.suppress(OSError):  # what a dead child did not take is lost, rightly
                pipe.close()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _wait(pipe: IO[bytes], event: int, until: float) -> None:
    """Return when a pipe is ready for what is to be done to it, or at its end. Raises ``TimeoutError``."""
    poll = select.poll()
    poll.register(pipe, event)
    if not poll.poll(max(until - time.monotonic(), 0) * 1000):
        raise TimeoutError


def _close_all(idle: "queue.LifoQueue[_Child]") -> None:
    with contextlib.suppress(queue.Empty):
        while True:
            idle.get_nowait().close()
