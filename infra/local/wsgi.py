"""An HTTP server on 127.0.0.1 for a WSGI application: until a signal in a process of its own, or for a block."""

import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import waitress  # type: ignore[import-untyped]  # it ships no types
from waitress import wasyncore

from infra.local.half_sent import CONNECTIONS_MAX, HEAD_READ_BYTES, ImpatientChannel
from siftline.net.loopback import HALF_SENT_S
from siftline.operate.set_up_error import SetUpError

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

_DRAIN_S = 5.0
# In a block the handlers' threads outlive the server, so that none may be left: it would write to a closed descriptor.
_BLOCK_DRAIN_S = 60.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class _Signalled(BaseException):
    """A signal asked to stop."""


class LoopbackServer:
    """Serves ``application`` with ``threads`` threads; ``port`` 0 takes a free one. Raises ``SetUpError`` if taken.

    A body above ``body_limit_bytes`` is refused with 413 before the application sees it; a request that is not whole
    within ``half_sent_s`` is dropped.
    """

    def __init__(
        self,
        application: "WSGIApplication",
        *,
        port: int = 0,
        threads: int = 8,
        body_limit_bytes: int = 64 * 1024 * 1024,
        half_sent_s: float = HALF_SENT_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sockets: dict[int, Any] = {}
        """What the server waits for: given to it, so that the loop is ours to end."""
        try:
            self._server = waitress.create_server(
                application,
                map=self._sockets,
                host="127.0.0.1",
                port=port,
                threads=threads,
                ident=None,
                max_request_body_size=body_limit_bytes,
                max_request_header_size=HEAD_READ_BYTES,
                connection_limit=CONNECTIONS_MAX,
            )
        except OSError as error:
            raise SetUpError(f"Port {port} is in use: stop the program that uses it, or choose another.") from error
        self._server.channel_class = partial(ImpatientChannel, patience_s=half_sent_s, now=now)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="wsgi")

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._server.effective_port}"

    def run_until_signal(self) -> None:
        """Serve until SIGTERM or SIGINT, then let requests under way end (at most 5 seconds)."""

        def stop(_: int, __: FrameType | None) -> NoReturn:
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            raise _Signalled

        self._thread.start()
        with suppress(_Signalled):
            for number in _SIGNALS:
                signal.signal(number, stop)
            while self._thread.is_alive():
                self._thread.join(1.0)  # not for ever: a signal just before would go unseen
        self._stop(_DRAIN_S)

    def __enter__(self) -> Self:
        """Serve in a thread."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let requests under way end, close every connection and wait for the thread."""
        self._stop(_BLOCK_DRAIN_S)

    def _loop(self) -> None:
        while not self._stopping.is_set():
            wasyncore.loop(timeout=1.0, use_poll=True, map=self._sockets, count=1)
        deadline = time.monotonic() + _DRAIN_S
        while any(one.writable() for one in self._sockets.values()) and time.monotonic() < deadline:
            wasyncore.loop(timeout=0.1, use_poll=True, map=self._sockets, count=1)

    def _stop(self, drain_s: float) -> None:
        """End the handlers, then the loop that sends what they answer, and only then close what both of them use."""
        self._server.task_dispatcher.shutdown(timeout=drain_s)
        self._stopping.set()
        self._server.pull_trigger()
        self._thread.join()
        for one in list(self._sockets.values()):
            one.handle_close()
