"""Connections that owe a request, or take no answer: dropped after a while.

Waitress drops what is silent; who sends a letter of a header every few seconds would keep a connection for ever, and
hundreds of them all there are. Who asks for much and reads nothing would keep the thread that answers. Connections
that were answered and are kept open make room where there are many.
"""

import json
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from waitress.channel import HTTPChannel  # type: ignore[import-untyped]  # it ships no types
from waitress.parser import HTTPRequestParser, ParsingError  # type: ignore[import-untyped]  # it ships no types
from waitress.task import ErrorTask  # type: ignore[import-untyped]  # it ships no types
from waitress.utilities import RequestHeaderFieldsTooLarge  # type: ignore[import-untyped]  # it ships no types

from siftline.net.loopback import HALF_SENT_S

UNTAKEN_S = 10.0
CONNECTIONS_MAX = 1_000
HEAD_MAX_BYTES = 256 * 1024
HEAD_READ_BYTES = 4 * HEAD_MAX_BYTES
"""A longer head is not even read. Up to here it is, or its sender would meet a broken connection instead of a 431."""
_CROWD = 200
"""So many connections there may be before those that are kept open for nothing make room for others."""
_IDLE_S = 1.0
_CROWDED_RATIO = 0.2
"""In a crowd a request is to be whole in this part of the time, for newcomers wait where all connections are taken."""
# What the system still holds for a connection goes with it: whoever takes nothing would keep that, too.
_AT_ONCE = struct.pack("ii", 1, 0)


class _OneRequest(HTTPRequestParser):  # type: ignore[misc]  # it ships no types
    """Reads one request; what came behind it is handed back."""

    def __init__(self, adj: object, *, behind: Callable[[bytes], None]) -> None:
        super().__init__(adj)
        self._behind = behind

    def parse_header(self, header_plus: bytes) -> None:
        """Read the head; the host of a target such as ``http://host/path`` counts, not ``Host`` (RFC 9112, 3.2.2).

        What Python refuses besides, such as a number of too many digits, is answered with 400.
        """
        try:
            super().parse_header(header_plus)
        except ValueError as error:
            raise ParsingError("The head cannot be read.") from error
        # Two lengths of one body: who forwarded this may have read the other one (RFC 9112, section 6.1).
        names = {line.partition(b":")[0].lower() for line in header_plus.split(b"\r\n")}
        if b"transfer-encoding" in names and (b"content-length" in names or self.version != "1.1"):
            raise ParsingError("Transfer-Encoding and Content-Length exclude each other.")
        if self.proxy_scheme or self.proxy_netloc:
            self.headers["HOST"] = self.proxy_netloc

    def received(self, data: bytes) -> int:
        """Take bytes; returns how many."""
        taken: int = super().received(data)
        if self.headers_finished and self.header_bytes_received > HEAD_MAX_BYTES:
            self.error = RequestHeaderFieldsTooLarge(f"A head may have {HEAD_MAX_BYTES} bytes.")
            self.completed = True
        if not self.completed or self.empty:
            return taken
        self._behind(data[taken:])
        return len(data)


class _Refusal(ErrorTask):  # type: ignore[misc]  # it ships no types
    """Answers a request that is none, as API Gateway words what it answers itself."""

    def execute(self) -> None:
        """Write the answer."""
        error = self.request.error
        advice = ": percent-encode what is not ASCII (curl -G --data-urlencode)" if error.body == "Bad URI" else ""
        body = json.dumps({"message": f"{error.reason}: {error.body}{advice}"}).encode()
        self.status = f"{error.code} {error.reason}"
        self.response_headers.append(("Content-Type", "application/json"))
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)


class ImpatientChannel(HTTPChannel):  # type: ignore[misc]  # it ships no types
    """A connection whose requests must each be whole ``patience_s`` after their first byte, sooner in a crowd.

    The first one, after the connection was made. What is answered, or waits for its turn, owes nothing. An answer is
    to be taken, a byte of it every ``UNTAKEN_S`` at least, and only then is the next request read: so no more than one
    answer waits for anybody.
    """

    error_task_class = _Refusal

    def __init__(
        self,
        server: object,
        sock: socket.socket,
        addr: object,
        adj: object,
        map: dict[int, Any] | None = None,  # noqa: A002  -- waitress names it so
        *,
        patience_s: float = HALF_SENT_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._patience_s = patience_s
        self._now = now
        self._owes_since: float | None = now()
        self._heard_at = now()
        self._untaken_since: float | None = None
        self._ahead = b""
        self.parser_class = partial(_OneRequest, behind=self._keep)
        super().__init__(server, sock, addr, adj, map=map)

    def received(self, data: bytes) -> bool:
        """Take bytes, and note since when a request is owed."""
        self._heard_at = self._now()
        before = self.request
        taken: bool = super().received(data)
        if self.request is not before or self.requests:
            self._owes_since = None if self.request is None else self._now()
        return taken

    def send(self, data: bytes, do_close: bool = True) -> int:  # noqa: FBT001, FBT002  -- waitress calls it so
        """Send what the far side has room for; returns how many bytes."""
        sent: int = super().send(data, do_close)
        if sent:
            self._untaken_since = None
        return sent

    def readable(self) -> bool:
        """Say whether to read on; asked every second at least."""
        self._drop_who_takes_nothing()
        if self._ahead and super().readable():
            ahead, self._ahead = self._ahead, b""
            self.received(ahead)
        crowded = len(self.server.active_channels) > _CROWD
        if self._owes_since is not None:
            patience_s = self._patience_s * (_CROWDED_RATIO if crowded else 1)
            if self.requests:
                self._owes_since = self._now()  # not read before those are answered
            elif self._now() - self._owes_since > patience_s:
                self.will_close = True
        elif crowded and not self.requests:
            self.close_when_flushed |= self._now() - self._heard_at > _IDLE_S
        reads: bool = super().readable()
        return reads

    def _keep(self, data: bytes) -> None:
        self._ahead = data

    def _drop_who_takes_nothing(self) -> None:
        since = self._untaken_since  # the thread that answers sets it too
        if not self.total_outbufs_len:
            self._untaken_since = None
        elif since is None:
            self._untaken_since = self._now()
        elif self._now() - since > UNTAKEN_S and not self.will_close:
            self.will_close = True
            # There is no room to write to it: only so does it become one that is written to, and thereby closed.
            with suppress(OSError):  # it is gone already, which closes it as well
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                self.socket.shutdown(socket.SHUT_RDWR)
