"""A proxy in front of PostgreSQL that reads the client's side of the wire: it knows which transaction commits.

Frontend/backend protocol 3.0 (PostgreSQL's manual, chapter "Message Formats"): after the start-up packet every message
is one type byte, a length that counts itself, and the rest.
"""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from tests.faults.traps import Armed, Trap

_ENCRYPTION_REQUESTS = frozenset({80877103, 80877104})  # SSLRequest, GSSENCRequest
_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Commit:
    """A transaction that is about to commit: what was said in it."""

    statements: tuple[str, ...]

    def says(self, *words: str) -> bool:
        """Tell whether one statement holds all of these words."""
        return any(all(word in statement for word in words) for statement in self.statements)


@dataclass(frozen=True)
class _Harm:
    when: Literal["before", "after"]
    act: Callable[[], None]


class PostgresProxy:
    """Listens on loopback in front of the server of ``database_url``; ``url`` is that URL through the proxy."""

    def __init__(self, database_url: str) -> None:
        parts = urlsplit(database_url)
        assert parts.hostname is not None
        self._target = (parts.hostname, parts.port or 5432)
        self.armed: Armed[Commit] = Armed()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        credentials = parts.netloc.rpartition("@")[0]
        port = self._listener.getsockname()[1]
        self.url = urlunsplit(parts._replace(netloc=f"{credentials}@127.0.0.1:{port}"))
        self._links: set[_Link] = set()
        self._lock = threading.Lock()
        self.refusing = False
        """New connections are reset at once."""

    @contextmanager
    def running(self) -> Iterator["PostgresProxy"]:
        """Serve for the length of a block."""
        threading.Thread(target=self._accept, daemon=True, name="postgres-proxy").start()
        try:
            yield self
        finally:
            self._listener.close()
            self.reset_connections()

    def on_commit(
        self,
        matches: Callable[[Commit], bool],
        when: Literal["before", "after"],
        act: Callable[[], None],
        times: int = 1,
    ) -> Trap[Commit]:
        """Arm a trap at a commit: ``before`` it reaches the server, or ``after`` it succeeded and before it is told.

        Either way ``act`` is called, and then the connection is reset.
        """
        trap = Trap(matches, times=times)
        self.armed.add(trap, _Harm(when, act))
        return trap

    def clear(self) -> None:
        """Take every trap away and let everybody in."""
        self.armed.clear()
        self.refusing = False

    def reset_connections(self) -> None:
        """Reset every connection there is."""
        with self._lock:
            links = list(self._links)
        for link in links:
            link.cut()

    def forget(self, link: "_Link") -> None:
        """Drop an ended link."""
        with self._lock:
            self._links.discard(link)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.refusing:
                    _reset(client)
                    continue
                try:
                    server = socket.create_connection(self._target, timeout=10)
                except OSError:
                    _reset(client)
                    continue
                server.settimeout(None)
                link = _Link(self, client, server)
                with self._lock:
                    self._links.add(link)
                link.start()


class _Link:
    """One client's connection."""

    def __init__(self, proxy: PostgresProxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._prepared: dict[bytes, str] = {}
        self._said: list[str] = []
        self._in_block = False
        self._awaited: _Harm | None = None
        for side in (client, server):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def start(self) -> None:
        """Pump both ways, each in a thread."""
        for pump in (self._to_server, self._to_client):
            threading.Thread(target=self._run, args=[pump], daemon=True, name="postgres-link").start()

    def cut(self) -> None:
        """Reset both sides."""
        self._proxy.forget(self)
        _reset(self._client)
        _reset(self._server)

    def _run(self, pump: Callable[[], None]) -> None:
        with suppress(OSError, EOFError):
            pump()
        self.cut()

    def _to_server(self) -> None:
        with self._client.makefile("rb") as stream:
            while True:
                size = _read(stream, 4)
                rest = _read(stream, int.from_bytes(size) - 4)
                if int.from_bytes(rest[:4]) not in _ENCRYPTION_REQUESTS:
                    break
                self._client.sendall(b"N")
            self._server.sendall(size + rest)
            while True:
                head = _read(stream, 5)
                content = _read(stream, int.from_bytes(head[1:]) - 4)
                harm = self._look(head[:1], content)
                if harm is not None and harm.when == "before":
                    harm.act()
                    return
                self._awaited = harm or self._awaited
                self._server.sendall(head + content)

    def _to_client(self) -> None:
        with self._server.makefile("rb") as stream:
            while True:
                head = _read(stream, 5)
                content = _read(stream, int.from_bytes(head[1:]) - 4)
                if self._awaited is None:
                    self._client.sendall(head + content)
                elif head[:1] == b"Z" or (head[:1] == b"C" and content == b"COMMIT\0"):  # the commit is done
                    self._awaited.act()
                    return

    def _look(self, kind: bytes, content: bytes) -> _Harm | None:
        """Follow what is said in the transaction; return the harm that its commit springs.

        Outside a transaction block each statement is one, committed by the Sync after it ("Extended Query").
        """
        if kind == b"P":
            name, query = content.split(b"\0")[:2]
            self._prepared[name] = query.decode()
        elif kind == b"B":
            return self._hear(self._prepared.get(content.split(b"\0")[1], ""))
        elif kind == b"Q":
            return self._hear(content.rstrip(b"\0").decode())
        elif kind == b"S" and not self._in_block:
            return self._committing()
        return None

    def _hear(self, statement: str) -> _Harm | None:
        word = statement.partition(" ")[0].upper()
        if word in ("BEGIN", "COMMIT", "ROLLBACK"):
            self._in_block = word == "BEGIN"
            if word == "COMMIT":
                return self._committing()
            self._said = []
        else:
            self._said.append(statement)
        return None

    def _committing(self) -> _Harm | None:
        harm = self._proxy.armed.sprung_by(Commit(tuple(self._said)))
        self._said = []
        return harm if isinstance(harm, _Harm) else None


def _read(stream: object, size: int) -> bytes:
    data: bytes = stream.read(size)  # type: ignore[attr-defined]  # a socket's file
    if len(data) < size:
        raise EOFError
    return data


def _reset(side: socket.socket) -> None:
    with suppress(OSError):
        side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        side.shutdown(socket.SHUT_RDWR)
    side.close()
