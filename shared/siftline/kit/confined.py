"""Runs functions in a child process that is kept warm and can be killed: strangers' bytes hang or swell only there.

Pipes and ``subprocess`` only, because Lambda has no shared memory for ``multiprocessing``, and a process with threads
is not to be forked. Each child answers one call after the other; callers at once have a child each. A child that takes
too long is killed, one that wants more memory than it may gives the call up; either way only that call fails.

A child ends when its input does, so an idle one goes with its parent, however that ends; a busy one goes at its
deadline at the latest. Limits of address space are Linux's, and so is ``/proc``.
"""

import contextlib
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from typing import IO, Any, Self, cast

from siftline.kit.confined_child import ANSWER, NO_MEMORY, RAISED, REQUEST, RETURNED, arguments, exactly
from siftline.kit.errors import PermanentError, SiftlineError, TransientError
from siftline.kit.log import logger

_START_S = 30.0
"""A child that has not imported its functions by then never will."""
_log = logger("confined")


class TooSlowError(PermanentError):
    """The call took longer than it may, and its child was killed."""

    code = "too_slow"


class TooMuchMemoryError(PermanentError):
    """The call wanted more memory than it may have."""

    code = "too_much_memory"


class ChildLostError(TransientError):
    """The child ended of something else than its limits, or could not be started."""

    code = "child_lost"


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

    def call(self, function: str, *args: object, within_s: float, **named: object) -> Any:
        """Return what a function returns for these arguments; both must be picklable.

        The start of a child does not count against ``within_s``. Raises what the function raises if it is a
        ``SiftlineError``, else ``UnexpectedInChildError``; ``TooSlowError``, ``TooMuchMemoryError`` or
        ``ChildLostError``.
        """
        request = pickle.dumps((function, args, named))
        left_s, began = within_s, time.monotonic()
        used = self._used()
        if used is not None:
            try:
                return self._ask(used, request, within_s, left_s)
            except (TooMuchMemoryError, ChildLostError) as error:
                # Calls before this one may be to blame: it is tried once more, by a child without a past.
                _log.info("confined_child_replaced", error_code=error.error_code)
                left_s = max(within_s - (time.monotonic() - began), 0.001)
        return self._ask(_Child(arguments(self._functions, self._memory_bytes)), request, within_s, left_s)

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

    def _ask(self, child: "_Child", request: bytes, within_s: float, left_s: float) -> Any:
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
        value = pickle.loads(body)  # noqa: S301 - from our own child
        if state == RETURNED:
            return value
        if state == RAISED:
            raise cast("SiftlineError", value)
        name, trace = value
        _log.error("unexpected_in_child", error_code=name, exception=trace)
        raise UnexpectedInChildError(f"An unexpected fault ({name}).")

    def _died(self, error: "_ChildDiedError", within_s: float) -> SiftlineError:
        if error.timed_out:
            detail = f"The {self._what or 'work'} took longer than {within_s:g} seconds to read."
            return TooSlowError(detail, code=f"{self._what}_too_slow" if self._what else None)
        # SIGKILL is the kernel's way when the machine has no memory left, SIGABRT a C++ library's when it gets no more.
        if error.exit_code in (-signal.SIGKILL, -signal.SIGABRT):
            return self._too_much_memory()
        return ChildLostError(f"The {self._what or 'work'} could not be read: its process ended ({error.exit_code}).")

    def _too_much_memory(self) -> TooMuchMemoryError:
        detail = f"The {self._what or 'work'} needs more memory to be read than it may have."
        return TooMuchMemoryError(detail, code=f"{self._what}_too_much_memory" if self._what else None)


class _ChildDiedError(Exception):
    def __init__(self, exit_code: int | None, *, timed_out: bool) -> None:
        super().__init__("timed out" if timed_out else f"ended with {exit_code}")
        self.exit_code = exit_code
        self.timed_out = timed_out


class _Child:
    """One process and its two pipes."""

    def __init__(self, arguments: list[str]) -> None:
        # A session of its own, so that Ctrl-C at a terminal reaches only its parent; it ends when its input does.
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our own code
            [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._input = cast("IO[bytes]", self._process.stdin)
        self._output = cast("IO[bytes]", self._process.stdout)
        self._ready = False

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self._process.poll() is None

    def ask(self, request: bytes, within_s: float) -> tuple[int, bool, bytes]:
        """Hand over one call and wait for the answer: its state, whether it was the last, its pickled value.

        Raises ``_ChildDiedError`` and ``ChildLostError``; the child is gone then.
        """
        if not self._ready:
            self._start()
        with self._killed_after(within_s) as rang:
            self._input.write(REQUEST.pack(within_s, len(request)))
            self._input.write(request)
            self._input.flush()
            state, last, body = self._answer()
        return state, last or rang.is_set(), body

    def _start(self) -> None:
        try:
            with self._killed_after(_START_S):
                self._answer()
        except _ChildDiedError as error:
            raise ChildLostError("The process that reads what strangers wrote could not be started.") from error
        self._ready = True

    def _answer(self) -> tuple[int, bool, bytes]:
        state, last, length = ANSWER.unpack(exactly(self._output, ANSWER.size))
        return state, last, exactly(self._output, length)

    @contextlib.contextmanager
    def _killed_after(self, seconds: float) -> Iterator[threading.Event]:
        """Kill the child when the block takes longer; turns the end of its pipes into ``_ChildDiedError``."""
        rang = threading.Event()

        def ring() -> None:
            rang.set()
            self._process.kill()

        alarm = threading.Timer(seconds, ring)
        alarm.daemon = True
        alarm.start()
        try:
            yield rang
        except (OSError, EOFError) as error:
            self.close()
            raise _ChildDiedError(self._process.returncode, timed_out=rang.is_set()) from error
        finally:
            alarm.cancel()

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


def _close_all(idle: "queue.LifoQueue[_Child]") -> None:
    with contextlib.suppress(queue.Empty):
        while True:
            idle.get_nowait().close()
