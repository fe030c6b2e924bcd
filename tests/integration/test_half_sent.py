"""Who ends no request, or takes no answer, is dropped after ten seconds, on real sockets; who is idle is not."""

import json
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from infra.local.wsgi import LoopbackServer

WHOLE = b"POST /%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody"
BIG = b"GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n"
BIG_BYTES = 12 * 1024 * 1024
"""More than the system takes in between."""
PATIENT_S = 60.0


class Site:
    """Answers 200 with the body, or with much for ``/big``; a request for ``/slow`` waits until it is told."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.time = 0.0

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"] == "/slow":
            self.begun.set()
            self.go_on.wait(PATIENT_S)
        body = environ["wsgi.input"].read()
        if environ["PATH_INFO"] == "/big":
            body = b"x" * BIG_BYTES
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


def everything(connection: socket.socket) -> bytes:
    """Return what is said until the far side closes."""
    said = b""
    with suppress(ConnectionError):
        while more := connection.recv(4096):
            said += more
    return said


def dropped(connection: socket.socket) -> bool:
    """Wait until the far side has closed."""
    with suppress(ConnectionError):
        return connection.recv(1) == b""
    return True


def asked_for_much(server: LoopbackServer, stack: ExitStack, times: int) -> socket.socket:
    """Return a connection that asked so many times at once and takes nothing."""
    connection = stack.enter_context(socket.socket())
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(PATIENT_S)
    connection.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
    connection.sendall(BIG * times)
    return connection


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


def test_in_a_crowd_a_request_that_is_not_whole_makes_room_sooner(server, site):
    with ExitStack() as stack:
        half = [stack.enter_context(connected(server)) for _ in range(300)]
        for connection in half:
            connection.sendall((WHOLE % b"")[:20])
        for seconds in (0, 2.1):
            site.time += seconds
            newcomer = stack.enter_context(connected(server))
            newcomer.sendall(WHOLE % b"")
            assert answered(newcomer)  # all before it were read too by now
        assert all(dropped(connection) for connection in half[:50])


def test_who_asks_for_much_and_takes_nothing_keeps_no_thread_and_is_dropped(server, site):
    with ExitStack() as stack:
        takers = [asked_for_much(server, stack, 30) for _ in range(20)]  # the server has 8 threads
        for _ in range(3):
            with connected(server) as connection:
                connection.sendall(WHOLE % b"")
                assert answered(connection)
        ends = select.poll()
        for taker in takers:
            ends.register(taker, 0)  # it is told when the far side is gone, and takes nothing
        patient_until = time.monotonic() + PATIENT_S
        while len(ends.poll(0)) < len(takers):
            assert time.monotonic() < patient_until, "Some were kept."
            site.time += 1
            time.sleep(0.01)
        with connected(server) as connection:
            connection.sendall(WHOLE % b"")
            assert answered(connection)


def test_who_takes_an_answer_late_gets_all_of_it(server, site):
    with ExitStack() as stack:
        taker = asked_for_much(server, stack, 2)
        with connected(server) as connection:
            for _ in range(3):
                connection.sendall(WHOLE % b"")
                assert answered(connection)
                site.time += 3
        taken = 0
        while taken < 2 * BIG_BYTES:
            more = taker.recv(1 << 20)
            assert more
            taken += len(more)


def test_requests_sent_at_once_are_answered_one_after_the_other(server):
    with connected(server) as connection:
        whole = WHOLE % b""
        connection.sendall(whole + b"\r\n" + whole[:-4] + b"next" + whole[:-4] + b"last" + whole[:30])
        said = b""
        while b"last" not in said:
            said += connection.recv(4096)
        assert [said.count(body) for body in (b"HTTP/1.1 200", b"body", b"next", b"last")] == [3, 1, 1, 1]
        assert said.index(b"body") < said.index(b"next") < said.index(b"last")
        connection.sendall(whole[30:])
        assert answered(connection)


@pytest.mark.parametrize(
    "head",
    [b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 5_000, b"GET http://[ HTTP/1.1\r\nHost: localhost"],
    ids=["a length of 5,000 digits", "half of an IPv6 address"],
)
def test_a_head_that_python_cannot_read_is_answered_with_400(server, caplog, head):
    with connected(server) as connection:
        connection.sendall(head + b"\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 400 ")
    assert "uncaptured" not in caplog.text


@pytest.mark.parametrize(
    "form", [b"GET /?%s HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nA: %s\r\n\r\n"], ids=["query", "header"]
)
@pytest.mark.parametrize("kib", [300, 900])
def test_a_head_that_is_too_long_is_read_to_its_end_and_answered_with_431(server, form, kib):
    with connected(server) as connection:
        for begins in range(0, len(head := form % (b"a" * kib * 1024)), 50_000):
            connection.sendall(head[begins : begins + 50_000])
            time.sleep(0.001)  # as over a network: the answer could come before the rest is sent
        assert everything(connection).startswith((b"HTTP/1.0 431 ", b"HTTP/1.1 431 "))


def test_a_head_without_an_end_is_dropped(server):
    with connected(server) as connection, suppress(ConnectionError):
        while True:
            connection.sendall(b"a" * 65_536)


@pytest.mark.parametrize(
    "head",
    [
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:\r\nContent-Length: 4\r\n\r\nbody",
        b"POST / HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_a_body_of_two_lengths_is_refused_and_nothing_behind_it_is_read(server, head):
    with connected(server) as connection:
        connection.sendall(head + b"GET /behind HTTP/1.1\r\nHost: localhost\r\n\r\n")
        said = everything(connection)
    assert said.startswith((b"HTTP/1.1 400", b"HTTP/1.0 400"))
    assert said.count(b"HTTP/1.") == 1


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (
            "GET /?q=münchen HTTP/1.1",
            "Bad Request: Bad URI: percent-encode what is not ASCII (curl -G --data-urlencode)",
        ),
        ("POST / HTTP/1.1\r\nContent-Length: many", "Bad Request: Content-Length is invalid"),
    ],
)
def test_a_request_that_is_none_is_answered_in_the_gateways_form(server, head, told):
    with connected(server) as connection:
        connection.sendall(head.encode() + b"\r\nHost: localhost\r\n\r\n")
        headers, _, body = everything(connection).partition(b"\r\n\r\n")
    assert b"Content-Type: application/json" in headers
    assert json.loads(body) == {"message": told}


def test_a_body_in_chunks_is_read(server):
    with connected(server) as connection:
        connection.sendall(
            b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
        )
        assert answered(connection)
