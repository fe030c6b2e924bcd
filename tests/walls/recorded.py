"""In place of a network namespace, where none can be had: every connect of every process is written down and refused.

Python itself tells of a connect before it is made (audit events, PEP 578), whoever makes it and however it got there.
What is let through are the run's own servers and the one that answers for public addresses; a name's addresses are told
by our zone, and public ones lead to that server. What the C library of PostgreSQL does is not told; it asks for nothing
but the database.
"""

import errno
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from tests.walls.inside import PUBLIC, Site, Zone, served

_CONNECTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_RECORD = "connects.txt"
_allowed: set[object] = set()


def watched(folder: Path) -> str:
    """Return an entry of ``PYTHONPATH`` that has each interpreter, and those it starts, watched from its beginning."""
    record = folder / _RECORD
    record.touch()
    place = folder / "watch"
    place.mkdir()
    (place / "sitecustomize.py").write_text(f"from tests.walls.recorded import watch\nwatch({str(record)!r})\n")
    return str(place)


def watch(record: str) -> None:
    """Write down, one a line, where this process would connect to, and refuse it, but for what is allowed."""
    file = os.open(record, os.O_WRONLY | os.O_APPEND)

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _CONNECTS or arguments[1] is None or arguments[1] in _allowed:
            return
        os.write(file, f"{_spelt(arguments[1])}\n".encode())
        raise ConnectionRefusedError(errno.ECONNREFUSED, "recorded and refused")

    sys.addaudithook(note)


def let_through(port: int) -> None:
    """Refuse no more what goes to this port of this machine, and write none of it down."""
    _allowed.add(("127.0.0.1", port))


def _spelt(address: object) -> str:
    return f"{address[0]}:{address[1]}" if isinstance(address, tuple) else repr(address)


class Recorder:
    """What was written down so far, of this process and of those that it started."""

    def __init__(self, record: Path) -> None:
        self._record = record

    @property
    def reached(self) -> list[str]:
        """The addresses, in their order."""
        return self._record.read_text().splitlines()


@contextmanager
def recording(folder: Path, services: Sequence[int], *, site: Site, zone: Zone) -> Iterator[Recorder]:
    """Name and serve what is public for the length of a block, in a process that is watched."""
    with served(site) as public:
        for port in (*services, public):
            let_through(port)
        resolve, kind = socket.getaddrinfo, socket.socket
        socket.getaddrinfo, socket.socket = _resolver(zone), _routed(public)  # type: ignore[misc]  # the machine's, for a while
        try:
            yield Recorder(folder / _RECORD)
        finally:
            socket.getaddrinfo, socket.socket = resolve, kind  # type: ignore[misc]  # as they were


def _resolver(zone: Zone) -> Any:
    asked = socket.getaddrinfo

    def resolve(host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> Any:  # noqa: A002 - its name in the library
        name = host if isinstance(host, str) else (host or b"").decode()
        known = zone(name.encode("idna").decode().lower().rstrip("."), True) if name else None
        # What the zone does not know may still be an address in some spelling; nobody is asked for names.
        numeric = flags | (socket.AI_NUMERICHOST if name else 0)
        return [
            answer
            for address in known or [host]
            if not known or family in (0, socket.AF_INET if ip_address(address).version == 4 else socket.AF_INET6)
            for answer in asked(address, port, family, type, proto, numeric)
        ]

    return resolve


def _routed(port: int) -> type[socket.socket]:
    class Routed(socket.socket):
        """Leads what goes to the public address to the server of that port."""

        def connect(self, address: Any) -> None:
            super().connect(("127.0.0.1", port) if address[0] == PUBLIC else address)

    return Routed
