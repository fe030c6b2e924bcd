"""Where outgoing bytes really go: each name resolved once, its address checked, the connection pinned to that address.

Names are resolved in threads that are kept: ``getaddrinfo`` cannot be told how long it may take, only be left behind.
Everything a connection does is held to the deadline of the request that uses it, so a server that drips one byte at a
time gains nothing.
"""

import copy
import queue
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any, Self

import httpcore

from siftline.kit.clock import Clock
from siftline.net.http_model import (
    AddressRefusedError,
    CertificateRefusedError,
    DnsFailedError,
    NotReachedError,
    NotReachedInTimeError,
    TimedOutError,
    TlsFailedError,
)
from siftline.net.ip_addresses import Address, literal_address, name_refusal, refusal
from siftline.net.urls import InvalidUrlError

_IDLE_MAX = 4
"""Threads that are kept to wait for the next name."""
Resolver = Callable[[str], Sequence[Address]]
"""Returns the addresses of a name, best first; raises ``OSError`` as ``socket.getaddrinfo`` does."""
_Question = tuple[str, "Future[Sequence[Address]]"]

_SOCKET_OPTION = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]


def resolve(host: str) -> list[Address]:
    """Resolve a name with the machine's own name service."""
    answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(answer[4][0]) for answer in answers))


class _Askers:
    """Threads that ask the resolver, as many as there are questions at once. Thread-safe.

    A question that hangs holds up its own thread and no other, and no process at its end.
    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._questions: queue.SimpleQueue[_Question | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0

    def ask(self, host: str) -> "Future[Sequence[Address]]":
        """Return what will hold a name's addresses, or the ``OSError`` or ``ValueError`` of the resolver."""
        answer: Future[Sequence[Address]] = Future()
        with self._lock:
            waiting = self._idle > 0
            self._idle -= waiting
        if not waiting:
            threading.Thread(target=self._work, name="resolve", daemon=True).start()
        self._questions.put((host, answer))
        return answer

    def close(self) -> None:
        """End the threads that wait; those at work end when they are done with it."""
        with self._lock:
            waiting, self._idle = self._idle, 0
        for _ in range(waiting):
            self._questions.put(None)

    def _work(self) -> None:
        while (question := self._questions.get()) is not None:
            host, answer = question
            try:
                addresses = self._resolver(host)
            except (OSError, ValueError) as error:
                answer.set_exception(error)
            else:
                answer.set_result(addresses)
            with self._lock:
                if self._idle >= _IDLE_MAX:
                    return
                self._idle += 1


class PinnedBackend(httpcore.NetworkBackend):
    """Opens connections to checked addresses only. Thread-safe; each thread has the deadline of its own request."""

    _allow_loopback = False

    def __init__(self, *, clock: Clock, resolver: Resolver = resolve, addresses_max: int = 4) -> None:
        self._clock = clock
        self._addresses_max = addresses_max
        self._askers = _Askers(resolver)
        self._sockets = httpcore.SyncBackend()
        self._request = threading.local()

    def close(self) -> None:
        """End the threads that wait to resolve names."""
        self._askers.close()

    def opened(self) -> Self:
        """Return this one as it is, but that it reaches loopback: the same threads, deadlines and end."""
        other = copy.copy(self)
        other._allow_loopback = True  # noqa: SLF001  -- of this very class
        return other

    @contextmanager
    def deadline(self, until_s: float) -> Iterator[None]:
        """Hold all network work of this thread to a moment of monotonic time; of one within another, to the earlier."""
        outer_s: float | None = getattr(self._request, "until_s", None)
        self._request.until_s = until_s if outer_s is None else min(outer_s, until_s)
        try:
            yield
        finally:
            self._request.until_s = outer_s

    def clip(self, timeout_s: float | None) -> float | None:
        """Return how long the next step may take; raises ``TimedOutError`` when nothing is left."""
        until_s: float | None = getattr(self._request, "until_s", None)
        if until_s is None:
            return timeout_s
        left_s = until_s - self._clock.monotonic()
        if left_s <= 0:
            raise TimedOutError("The answer took too long.")
        return left_s if timeout_s is None else min(timeout_s, left_s)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[_SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Resolve, check, and connect to the first permitted address that answers."""
        error: httpcore.NetworkError | httpcore.TimeoutException | None = None
        for address in self._permitted(host, timeout)[: self._addresses_max]:
            try:
                stream = self._sockets.connect_tcp(
                    str(address), port, self.clip(timeout), local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failed:
                error = failed
            else:
                return _Stream(stream, self)
        if isinstance(error, httpcore.TimeoutException):
            raise NotReachedInTimeError(f"{_named(host, port)} did not accept a connection in time.") from error
        raise NotReachedError(f"{_named(host, port)} could not be reached.") from error

    def _permitted(self, host: str, timeout_s: float | None) -> list[Address]:
        """Return the addresses of a host that may be reached, in the order of the answer."""
        addresses = self._addresses(host, timeout_s)
        reasons = [refusal(address, allow_loopback=self._allow_loopback) for address in addresses]
        permitted = [address for address, reason in zip(addresses, reasons, strict=True) if reason is None]
        if not permitted:
            raise AddressRefusedError(f"{host} resolves to an address that is not allowed ({reasons[0]}).")
        return permitted

    def _addresses(self, host: str, timeout_s: float | None) -> Sequence[Address]:
        try:
            literal = literal_address(host)
        except ValueError as error:
            raise InvalidUrlError(f"{host} is not a valid IP address.") from error
        if literal is not None:
            return [literal]
        if reason := name_refusal(host, allow_loopback=self._allow_loopback):
            raise AddressRefusedError(f"{host} is not a public host name ({reason}).")
        return self._resolve(host, self.clip(timeout_s))

    def _resolve(self, host: str, timeout_s: float | None) -> Sequence[Address]:
        try:
            addresses = self._askers.ask(host).result(timeout_s)
        except TimeoutError as error:
            raise NotReachedInTimeError(f"The host name {host} was not resolved in time.") from error
        except socket.gaierror as error:
            absent = error.errno in {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}
            raise DnsFailedError(f"The host name {host} could not be resolved.", exists_not=absent) from error
        except (OSError, ValueError) as error:
            raise DnsFailedError(f"The host name {host} could not be resolved.") from error
        if not addresses:
            raise DnsFailedError(f"The host name {host} has no address.", exists_not=True)
        return addresses


def _named(host: str, port: int) -> str:
    """Return a server as people write it: with its port, unless that is a web server's own."""
    shown = f"[{host}]" if ":" in host else host
    return shown if port in {80, 443} else f"{shown}:{port}"


class _Stream(httpcore.NetworkStream):
    """A connection whose every step is cut to what is left of the current request's time."""

    def __init__(self, inner: httpcore.NetworkStream, backend: PinnedBackend) -> None:
        self._inner = inner
        self._backend = backend

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._backend.clip(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._backend.clip(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        try:
            secure = self._inner.start_tls(ssl_context, server_hostname, self._backend.clip(timeout))
        except httpcore.ConnectError as error:
            if isinstance(error.__cause__, ssl.SSLCertVerificationError):
                reason = error.__cause__.verify_message
                raise CertificateRefusedError(
                    f"The certificate of {server_hostname} is not valid ({reason})."
                ) from error
            raise TlsFailedError(f"A secure connection to {server_hostname} could not be established.") from error
        return _Stream(secure, self._backend)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
