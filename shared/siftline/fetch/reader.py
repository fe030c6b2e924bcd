"""Parses feeds in a child process that is kept warm and can be killed: a stranger's XML may hang or swell only there.

Pipes and ``subprocess`` only, because Lambda has no shared memory for ``multiprocessing``. Each child answers one
request after the other: a frame of lengths, metadata and body goes in, a frame of status and JSON comes out. A child
that takes too long is killed, one that swells beyond its memory limit gives the feed up; either way only that feed
fails. Every feed goes this way, small ones too: a warm child costs a millisecond or two, and one path is to be trusted.
"""

import contextlib
import json
import queue
import resource
import struct
import subprocess
import sys
import threading
import weakref
from typing import IO, Self, cast

from pydantic import TypeAdapter

from siftline.fetch import feeds
from siftline.fetch.feeds import Feed, FeedTooComplexError, FeedUnreadableError, NotAFeedError

MEMORY_BYTES = 512 * 1024 * 1024
"""Address space of a child; what a feed at the size cap needs, several times over."""

_FEED = TypeAdapter(Feed)
_FRAME = struct.Struct(">II")
_ANSWER = struct.Struct(">BI")
_PARSED, *_FAILED = range(4)
_ERRORS = dict(zip(_FAILED, (NotAFeedError, FeedTooComplexError, FeedUnreadableError), strict=True))
_STATUS = {error: status for status, error in _ERRORS.items()}
# The child finds its modules where this process does (a Lambda layer is on no PYTHONPATH).
_BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from siftline.fetch.reader import serve; serve()"


class FeedReader:
    """Parses feeds, each in a child of its own while it lasts. Thread-safe: as many children as callers at once."""

    def __init__(self, *, timeout_s: float = 15.0, max_entries: int = 50_000) -> None:
        self._timeout_s = timeout_s
        self._max_entries = max_entries
        self._idle: queue.LifoQueue[_Child] = queue.LifoQueue()
        self._finalizer = weakref.finalize(self, _close_all, self._idle)

    def read(self, body: bytes, *, url: str, content_type: str = "") -> Feed:
        """Return what a feed says; as ``siftline.fetch.feeds.parse``, and under a limit of time and memory.

        Raises ``NotAFeedError``, ``FeedTooComplexError`` (also when the time is up) and ``FeedUnreadableError``.
        """
        request = {"url": url, "content_type": content_type, "max_entries": self._max_entries}
        try:
            status, answer = self._ask(json.dumps(request).encode(), body)
        except _ChildDiedError as error:
            if error.timed_out:
                raise FeedTooComplexError(f"The feed took longer than {self._timeout_s:g} seconds to read.") from error
            raise FeedUnreadableError("The feed could not be read.") from error
        if status == _PARSED:
            return _FEED.validate_json(answer)
        raise _ERRORS[status](answer.decode())

    def close(self) -> None:
        """End the children."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, request: bytes, body: bytes) -> tuple[int, bytes]:
        """Ask an idle child, else a new one; an idle child that dies may have died of something else than this feed."""
        try:
            return self._ask_child(self._idle.get_nowait(), request, body)
        except queue.Empty:
            pass
        except _ChildDiedError as error:
            if error.timed_out:
                raise
        return self._ask_child(_Child(), request, body)

    def _ask_child(self, child: "_Child", request: bytes, body: bytes) -> tuple[int, bytes]:
        answer = child.ask(request, body, self._timeout_s)
        self._idle.put(child)
        return answer


class _ChildDiedError(Exception):
    def __init__(self, *, timed_out: bool) -> None:
        super().__init__("timed out" if timed_out else "died")
        self.timed_out = timed_out


class _Child:
    """One parser process and its two pipes."""

    def __init__(self) -> None:
        # A session of its own, so that Ctrl-C at a terminal reaches only its parent; it ends when its input does.
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our own code
            [sys.executable, "-c", _BOOT, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._input = cast("IO[bytes]", self._process.stdin)
        self._output = cast("IO[bytes]", self._process.stdout)

    def ask(self, request: bytes, body: bytes, timeout_s: float) -> tuple[int, bytes]:
        """Hand over one feed and wait for the answer; kills the child when it takes too long."""
        rang = threading.Event()

        def ring() -> None:
            rang.set()
            self._process.kill()

        alarm = threading.Timer(timeout_s, ring)
        alarm.start()
        try:
            self._input.write(_FRAME.pack(len(request), len(body)) + request)
            self._input.write(body)
            self._input.flush()
            status, length = _ANSWER.unpack(_exactly(self._output, _ANSWER.size))
            return status, _exactly(self._output, length)
        except (OSError, EOFError) as error:
            self.close()
            raise _ChildDiedError(timed_out=rang.is_set()) from error
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


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def serve() -> None:
    """Answer requests until the input ends: the child's whole life."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while head := source.read(_FRAME.size):
        request_bytes, body_bytes = _FRAME.unpack(head)
        request = json.loads(_exactly(source, request_bytes))
        try:
            status, answer = _PARSED, _FEED.dump_json(feeds.parse(_exactly(source, body_bytes), **request))
        except (NotAFeedError, FeedTooComplexError, FeedUnreadableError) as error:
            status, answer = _STATUS[type(error)], error.detail.encode()
        except MemoryError:
            status, answer = _STATUS[FeedTooComplexError], b"The feed needs more memory to read than a feed may."
        sink.write(_ANSWER.pack(status, len(answer)) + answer)
        sink.flush()
