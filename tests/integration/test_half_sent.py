"""A request that never ends is dropped after ten seconds, on a real socket; what is answered or idle is not."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from infra.local.wsgi import LoopbackServer

WHOLE = b"POST /%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody"
PATIENT_S = 60.0


class Site:
    """Answers 200 with the body; a request for ``/slow`` waits until it is told."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.time = 0.0

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"] == "/slow":
            self.begun.set()
            self.go_on.wait(PATIENT_S)
        body = environ["wsgi.input"].read()
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    def now(self) -> float:
        return self.time


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def server(site: Site) -> Iterator[LoopbackServer]:
    with LoopbackServer(site, now=site.now) as server:
        yield server


@contextmanager
def connected(server: LoopbackServer) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), PATIENT_S) as connection:
        yield connection


def answered(connection: socket.socket) -> bool:
    """Return whether a request was answered with its body; false where the connection was dropped."""
    said = b""
    with suppress(ConnectionError):
        while not said.endswith(b"body"):
            if not (more := connection.recv(4096)):
                return False
            said += more
        return said.startswith(b"HTTP/1.1 200")
    return False


def dropped(connection: socket.socket) -> bool:
    """Wait until the far side has closed."""
    with suppress(ConnectionError):
        return connection.recv(1) == b""
    return True


@pytest.mark.parametrize("sent", [0, 1, 20, len(WHOLE) - 5], ids=["nothing", "a byte", "of the head", "of the body"])
def test_a_request_that_is_not_whole_after_ten_seconds_is_dropped(server, site, sent):
    with connected(server) as connection:
        connection.sendall((WHOLE % b"")[:sent])
        site.time = 9.9
        connection.sendall((WHOLE % b"")[sent:])
        assert answered(connection)
    with connected(server) as connection, connected(server) as other:
        other.sendall(WHOLE % b"")
        assert answered(other)
        connection.sendall((WHOLE % b"")[:sent])
        other.sendall(WHOLE % b"")
        assert answered(other)  # the first one was read too by now
        site.time += 10.1
        assert dropped(connection)
        other.sendall(WHOLE % b"")
        assert answered(other)


def test_a_byte_now_and_then_keeps_no_connection(server, site):
    with connected(server) as connection:
        connection.settimeout(0.1)
        for letter in b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 1_000:
            site.time += 1
            try:
                connection.send(bytes([letter]))
                assert connection.recv(1) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                pass
            return
        pytest.fail("It was kept.")


def test_what_is_answered_or_idle_is_not_dropped(server, site):
    with connected(server) as connection:
        connection.sendall(WHOLE % b"slow")
        assert site.begun.wait(PATIENT_S)
        site.time += 1_000
        site.go_on.set()
        assert answered(connection)
        site.time += 1_000
        connection.sendall(WHOLE % b"")
        assert answered(connection)


def test_those_who_were_answered_and_stay_connected_make_room_for_others(server, site):
    with ExitStack() as stack:
        idle = [stack.enter_context(connected(server)) for _ in range(300)]
        for connection in idle:
            connection.sendall(WHOLE % b"")
            assert answered(connection)
        site.time += 2
        assert dropped(idle[0])
        connection = stack.enter_context(connected(server))
        connection.sendall(WHOLE % b"")
        assert answered(connection)
