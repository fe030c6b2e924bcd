"""The connections under a client of OpenAI's API: a whole call has one deadline, and an answer only so many bytes.

The timeouts of HTTP libraries count from one byte to the next, so a server that drips one a second would hold a thread
for as long as it likes, and one that sends without end would fill the memory.
"""

import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore2
import httpx2

from siftline.kit.clock import Clock, SystemClock
from siftline.kit.trace import span

_SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
BODY_BYTES_MAX = 16 * 2**20
"""More than the largest answer that anybody asks for: 64 vectors of 4,096 numbers, written out."""


class BoundedTransport(httpx2.BaseTransport):
    """Makes calls of at most ``timeout_s`` each and reads them whole. Thread-safe; nothing of the environment counts.

    Raises httpx2's errors: ``ReadTimeout`` and the like past the deadline, ``DecodingError`` for an answer that is
    packed though none was asked for, ``RemoteProtocolError`` for one that is too long.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._clock: Clock = SystemClock()
        self._call = threading.local()
        self._pool = httpcore2.ConnectionPool(
            ssl_context=httpx2.create_ssl_context(trust_env=False),
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            network_backend=_Backend(self.clip),
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return its answer, read to its end."""
        self._call.until_s = self._clock.monotonic() + self._timeout_s
        request.headers["Accept-Encoding"] = "identity"
        url = request.url
        asked = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _translated(), span("Model API", url.host):
            answer = self._pool.handle_request(asked)
            try:
                headers = httpx2.Headers(answer.headers)
                body = self._read(answer.iter_stream(), headers)
            finally:
                answer.close()
        return httpx2.Response(answer.status, headers=headers, stream=httpx2.ByteStream(body))

    def clip(self, timeout_s: float | None) -> float:
        """Return how long the next step of this thread's call may take. Raises where nothing is left."""
        left_s: float = self._call.until_s - self._clock.monotonic()
        if left_s <= 0:
            raise httpcore2.ReadTimeout("The call took too long.")
        return left_s if timeout_s is None else min(timeout_s, left_s)

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _read(self, chunks: Iterable[bytes], headers: httpx2.Headers) -> bytes:
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise httpx2.DecodingError("The answer is compressed, which was not requested.")
        body = bytearray()
        for chunk in chunks:
            body += chunk
            if len(body) > BODY_BYTES_MAX:
                raise httpx2.RemoteProtocolError(f"The answer is longer than {BODY_BYTES_MAX} bytes.")
        return bytes(body)


class _Backend(httpcore2.SyncBackend):
    def __init__(self, clip: Callable[[float | None], float]) -> None:
        self._clip = clip

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[_SocketOption] | None = None,
    ) -> httpcore2.NetworkStream:
        stream = super().connect_tcp(host, port, self._clip(timeout), local_address, socket_options)
        return _Stream(stream, self._clip)


class _Stream(httpcore2.NetworkStream):
    """A connection whose every step is cut to what is left of the call's time."""

    def __init__(self, inner: httpcore2.NetworkStream, clip: Callable[[float | None], float]) -> None:
        self._inner = inner
        self._clip = clip

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._clip(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._clip(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, self._clip(timeout)), self._clip)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


@contextmanager
def _translated() -> Iterator[None]:
    """Raise the errors of the connections as those of the same name that the client's library knows."""
    try:
        yield
    except (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        kind: type[Exception] = getattr(httpx2, type(error).__name__, httpx2.TransportError)
        raise kind(str(error)) from error
