"""A passage through the wall of a network namespace: Unix sockets are of the file system and go through, TCP does not.

Outside, ``outlets`` hands what comes over a Unix socket to a TCP port of loopback; inside, ``inlets`` listens on the
very same port and hands to the Unix socket. Programs inside find the run's servers where they are told they are; the
Unix sockets are named as PostgreSQL's are, for its clients can do without the way by a port.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextmanager
def outlets(folder: Path, ports: Sequence[int]) -> Iterator[None]:
    """Serve each port's Unix socket in a folder for the length of a block."""
    with _serving(
        [
            partial(
                asyncio.start_unix_server,
                _forward(partial(asyncio.open_connection, "127.0.0.1", port)),
                _socket(folder, port),
            )
            for port in ports
        ]
    ):
        yield


@contextmanager
def inlets(folder: Path, ports: Sequence[int]) -> Iterator[None]:
    """Listen on each port for the length of a block."""
    with _serving(
        [
            partial(
                asyncio.start_server,
                _forward(partial(asyncio.open_unix_connection, _socket(folder, port))),
                "127.0.0.1",
                port,
            )
            for port in ports
        ]
    ):
        yield


def _socket(folder: Path, port: int) -> Path:
    """Return where libpq looks for a server that is in a folder, so to speak, at this port."""
    return folder / f".s.PGSQL.{port}"


@contextmanager
def _serving(starts: Sequence[Callable[[], Coroutine[Any, Any, asyncio.Server]]]) -> Iterator[None]:
    ready = threading.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        servers = [await start() for start in starts]
        ready.set()
        try:
            await asyncio.gather(*(server.serve_forever() for server in servers))
        finally:
            for server in servers:
                server.close()

    def run() -> None:
        asyncio.set_event_loop(loop)
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        left = asyncio.all_tasks(loop)
        for one in left:
            one.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.close()

    task = loop.create_task(serve())
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(60)


def _forward(onward: Callable[[], Coroutine[Any, Any, _Streams]]) -> Callable[..., Coroutine[Any, Any, None]]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await onward()
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))

    return serve


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, asyncio.CancelledError):  # one side left, or all is over: so it ends
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()
