"""An HTTP server on 127.0.0.1 for a WSGI application: until a signal in a process of its own, or for a block."""

import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Self

import waitress  # type: ignore[import-untyped]  # it ships no types
from waitress import wasyncore

from infra.local.errors import SetUpError
from infra.local.half_sent import HALF_SENT_S, ImpatientChannel

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


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
        try:
            self._server = waitress.create_server(
                application,
                host="127.0.0.1",
                port=port,
                threads=threads,
                ident=None,
                max_request_body_size=body_limit_bytes,
            )
        except OSError as error:
            raise SetUpError(f"Port {port} is taken: end what uses it, or choose another.") from error
        self._server.channel_class = partial(ImpatientChannel, patience_s=half_sent_s, now=now)
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._server.effective_port}"

    def run_until_signal(self) -> None:
        """Serve until SIGTERM or SIGINT, then let requests under way end (at most 5 seconds)."""

        def stop(_: int, __: FrameType | None) -> None:
            raise SystemExit(0)

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        self._server.run()

    def __enter__(self) -> Self:
        """Serve in a thread."""
        self._thread = threading.Thread(target=self._server.run, name="wsgi")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every connection and wait for the thread."""
        if self._thread is not None:
            self._server.trigger.pull_trigger(lambda: wasyncore.close_all(self._server._map))  # noqa: SLF001  -- no public way
            self._thread.join()
            self._server.task_dispatcher.shutdown()
