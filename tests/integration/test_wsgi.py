"""The loopback server of WSGI applications: what it does when it stops."""

import http.client
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from infra.local.wsgi import LoopbackServer

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_ROUNDS = 500
_CLIENTS = 4


def greets(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
    start_response("200 OK", [("Content-Length", "5")])
    return [b"hello"]


def ask(server: LoopbackServer) -> bytes:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=60)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read()
    finally:
        connection.close()


def test_a_server_stops_cleanly_whatever_its_clients_do_at_that_moment() -> None:
    """Hundreds of times: the answers of the last requests wake the loop just as it is told to end."""
    for _ in range(_ROUNDS):
        with LoopbackServer(greets, threads=_CLIENTS) as server, ThreadPoolExecutor(_CLIENTS) as clients:
            answers = list(clients.map(ask, [server] * _CLIENTS))
        assert answers == [b"hello"] * _CLIENTS


def test_a_request_under_way_is_answered_before_the_server_is_gone() -> None:
    """Also a large answer, which no single write takes."""
    begun, go_on = threading.Event(), threading.Event()
    body = b"x" * 8_000_000

    def slow(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        begun.set()
        go_on.wait(60)
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    answers: list[bytes] = []
    with LoopbackServer(slow) as server:
        client = threading.Thread(target=lambda: answers.append(ask(server)))
        client.start()
        assert begun.wait(60)
        releaser = threading.Timer(0.05, go_on.set)
        releaser.start()
    client.join()
    releaser.join()
    assert answers == [body]
