"""Half-sent requests to the worker's health port, and to the samples: dropped, and few at a time."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, cast

import pytest

from infra.local.samples import SampleServer
from siftline.net.loopback import ImpatientServer
from siftline.worker.health_page import CONNECTIONS_MAX, serve_health
from siftline.worker.worker import Worker

WHOLE = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
PATIENT_S = 60.0


class FakeWorker:
    """Well; says so when it may, if it ``waits``."""

    def __init__(self) -> None:
        self.asked, self.go_on = threading.Semaphore(0), threading.Event()
        self.waits = False
        self.time = 0.0

    def state(self) -> dict[str, Any]:
        self.asked.release()
        if self.waits:
            self.go_on.wait(PATIENT_S)
        return {"healthy": True}

    def now(self) -> float:
        return self.time


@pytest.fixture
def worker() -> FakeWorker:
    return FakeWorker()


@pytest.fixture
def server(worker: FakeWorker) -> Iterator[ImpatientServer]:
    server = serve_health(cast("Worker", worker), {}, 0, now=worker.now)
    yield server
    worker.go_on.set()
    server.shutdown()
    server.server_close()


@contextmanager
def connected(port: int, sent: bytes = b"") -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), PATIENT_S) as connection:
        connection.sendall(sent)
        yield connection


def said(connection: socket.socket) -> bytes:
    """Return what was answered until the far side closed."""
    words = b""
    with suppress(ConnectionError):
        while more := connection.recv(4096):
            words += more
    return words


def answered(connection: socket.socket) -> bool:
    return said(connection).startswith(b"HTTP/1.0 200")


@pytest.mark.parametrize("sent", [0, 1, 14, len(WHOLE) - 2], ids=["nothing", "a byte", "a line", "no end"])
def test_a_request_that_is_not_whole_after_ten_seconds_is_dropped(server, worker, sent):
    with connected(server.server_port, WHOLE[:sent]) as late, connected(server.server_port, WHOLE) as other:
        assert answered(other)  # the first one was taken too by now
        worker.time = 9.9
        late.sendall(WHOLE[sent:])
        assert answered(late)
    with connected(server.server_port, WHOLE[:sent]) as late, connected(server.server_port, WHOLE) as other:
        assert answered(other)
        worker.time += 10.1
        assert not answered(late)


def test_a_byte_now_and_then_keeps_no_connection(server, worker):
    with connected(server.server_port) as connection:
        connection.settimeout(0.1)
        for letter in b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 1_000:
            worker.time += 1
            try:
                connection.send(bytes([letter]))
                assert not connection.recv(4096).startswith(b"HTTP/1.0 200")
            except TimeoutError:
                continue
            except ConnectionError:
                pass
            return
        pytest.fail("It was kept.")


def test_of_many_half_sent_ones_the_oldest_go_and_who_asks_is_answered(server):
    with ExitStack() as stack:
        half = [stack.enter_context(connected(server.server_port, WHOLE[:9])) for _ in range(10 * CONNECTIONS_MAX)]
        while True:  # it may be refused while the threads of those that were dropped still end
            with connected(server.server_port, WHOLE) as one:
                if answered(one):
                    break
        threads = [one for one in threading.enumerate() if "process_request_thread" in one.name]
        assert len(threads) <= 2 * CONNECTIONS_MAX
        for connection in half[: 9 * CONNECTIONS_MAX]:
            assert not answered(connection)


def test_what_is_being_answered_is_kept_and_where_all_are_one_more_is_closed_at_once(server, worker):
    worker.waits = True
    with ExitStack() as stack:
        asking = [stack.enter_context(connected(server.server_port, WHOLE)) for _ in range(CONNECTIONS_MAX)]
        for _ in asking:
            assert worker.asked.acquire(timeout=PATIENT_S)
        worker.time += 1_000
        with connected(server.server_port) as one_more:
            assert said(one_more) == b""
        worker.go_on.set()
        assert [answered(connection) for connection in asking] == [True] * CONNECTIONS_MAX
        with connected(server.server_port, WHOLE) as later:
            assert answered(later)


def test_half_sent_requests_to_the_samples_make_room_too():
    samples = SampleServer().start()
    port = int(samples.base_url.rpartition(":")[2])
    with ExitStack() as stack:
        half = [stack.enter_context(connected(port, WHOLE[:9])) for _ in range(150)]
        assert not answered(half[0])
        with connected(port, WHOLE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")) as one:
            assert said(one).startswith(b"HTTP/1.1 404")
    samples.stop()
