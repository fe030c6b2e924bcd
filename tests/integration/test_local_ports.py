"""A port that was chosen is nobody else's before its server listens, nor while that starts again."""

import errno
import socket
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from infra.local.ports import free_port, hold_port


def test_no_two_ports_are_the_same():
    """Of so many that were only looked up, some were, and a part then never came up beside the other."""
    many = "from infra.local.ports import free_port; print(len({free_port() for _ in range(500)}))"
    assert subprocess.check_output([sys.executable, "-c", many], text=True) == "500\n"


def test_who_asks_for_it_without_a_right_is_refused():
    port = free_port()
    with socket.socket() as other, pytest.raises(OSError, match="in use") as refused:
        other.bind(("127.0.0.1", port))
    assert refused.value.errno == errno.EADDRINUSE


def test_a_server_listens_on_it_again_and_again():
    port = free_port()
    for _ in range(2):
        with HTTPServer(("127.0.0.1", port), BaseHTTPRequestHandler), socket.create_connection(("127.0.0.1", port)):
            pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


def test_what_a_server_listens_on_cannot_be_held():
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(OSError, match="in use"):
        hold_port(server.getsockname()[1])
