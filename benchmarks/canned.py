"""A server of ready-made answers in a process of its own: it costs as little as Python lets it, for all alike."""

import asyncio
import multiprocessing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from multiprocessing.connection import Connection


@dataclass(frozen=True)
class Canned:
    """What a path answers. With an ETag it answers 304 to whoever sends it back."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def serving(answers: Mapping[str, Canned]) -> Iterator[str]:
    """Serve these paths for the length of a block; yields the address without a path."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(answers, theirs), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()
        process.join()


class _Protocol(asyncio.Protocol):
    def __init__(self, answers: Mapping[bytes, tuple[bytes, bytes, bytes]]) -> None:
        self._answers = answers
        self._left = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._left += data
        while b"\r\n\r\n" in self._left:
            head, _, self._left = self._left.partition(b"\r\n\r\n")
            path = head.split(b" ", 2)[1]
            answer, unchanged, etag = self._answers.get(path, _NOTHING)
            self._transport.write(unchanged if etag and etag in head else answer)
            if b"connection: close" in head.lower():
                self._transport.close()


def _serve(answers: Mapping[str, Canned], ready: Connection) -> None:
    asyncio.run(_served({path.encode(): _bytes(answer) for path, answer in answers.items()}, ready))


async def _served(answers: Mapping[bytes, tuple[bytes, bytes, bytes]], ready: Connection) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: _Protocol(answers), "127.0.0.1", 0, backlog=512)
    ready.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def _bytes(answer: Canned) -> tuple[bytes, bytes, bytes]:
    """Return the whole answer, the one to who has it already, and the validator that says so."""
    etag = answer.headers.get("ETag", "")
    told = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
    line = f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\n"
    whole = f"{line}{told}Content-Length: {len(answer.body)}\r\n\r\n".encode() + answer.body
    return whole, f"HTTP/1.1 304 Not Modified\r\n{told}\r\n".encode(), etag.encode()


_NOTHING = _bytes(Canned(status=404))
