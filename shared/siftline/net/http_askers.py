"""Resolves names in threads that are kept: ``getaddrinfo`` cannot be told how long it may take, only be left behind."""

import queue
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from ipaddress import ip_address
from typing import Protocol

from siftline.net.ip_addresses import Address

_IDLE_MAX = 4
"""Threads that are kept to wait for the next name."""
_Question = tuple[str, "Future[Sequence[Address]]"]


class Resolver(Protocol):
    """Turns a name into addresses."""

    def __call__(self, host: str) -> Sequence[Address]:
        """Return the addresses of a name, best first; raises ``OSError`` as ``socket.getaddrinfo`` does."""
        ...


def resolve(host: str) -> list[Address]:
    """Resolve a name with the machine's own name service."""
    answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(answer[4][0]) for answer in answers))


class Askers:
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
