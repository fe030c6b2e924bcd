"""Spans for X-Ray: what its daemon receives of real calls, and what it never does."""

import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from siftline.kit.db import Database, DatabaseUnavailableError, Pool, SingleConnection
from siftline.kit.trace import span
from siftline.models.vectors import VectorsUnavailableError, open_collections
from siftline.net.http import HttpClient
from siftline.net.http_model import ConnectionFailedError, HttpLimits, Requester
from siftline.net.urls import origin_of

ROOT, PARENT = "1-5759e988-bd862e3fe1be46a994272793", "53995c3f42cd8ad8"


class Daemon:
    """Listens as X-Ray's daemon does beside a function."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(30)
        self.address = "{}:{}".format(*self.socket.getsockname())

    def received(self) -> dict[str, Any]:
        """Return the next segment document, checked by X-Ray's rules for them."""
        header, _, body = self.socket.recv(65_535).decode().partition("\n")
        assert json.loads(header) == {"format": "json", "version": 1}
        document: dict[str, Any] = json.loads(body)
        assert re.fullmatch(r"[\w\s.:/%&#=+\-@]{1,200}", document["name"])
        assert re.fullmatch(r"[0-9a-f]{16}", document["id"])
        assert document["type"] == "subsegment"
        assert (document["trace_id"], document["parent_id"]) == (ROOT, PARENT)
        assert document["start_time"] <= document["end_time"]
        return document

    def is_silent(self) -> bool:
        self.socket.settimeout(0)
        try:
            self.socket.recv(65_535)
        except BlockingIOError:
            return True
        return False


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    listening = Daemon()
    monkeypatch.setenv("_X_AMZN_TRACE_ID", f"Root={ROOT};Parent={PARENT};Sampled=1;Lineage=a87bd80c:0")
    monkeypatch.setenv("AWS_XRAY_DAEMON_ADDRESS", listening.address)
    yield listening
    listening.socket.close()


def test_a_transaction_is_a_span_with_the_servers_name_and_no_statement(database_url: str, daemon: Daemon) -> None:
    for opened in (SingleConnection(database_url), Pool(database_url, size=2)):
        with opened.transaction() as connection:
            connection.execute("select 'private'")
        opened.close()
        told = daemon.received()
        assert (told["name"], told["namespace"]) == ("PostgreSQL", "remote")
        assert "private" not in json.dumps(told)
        assert "fault" not in told


def test_a_call_that_fails_is_a_fault_with_the_kind_of_error_alone(daemon: Daemon) -> None:
    gone = SingleConnection("postgresql://user:secret@127.0.0.1:1/siftline", connect_timeout_s=2)
    with pytest.raises(DatabaseUnavailableError), gone.transaction():
        pass
    told = daemon.received()
    assert (told["fault"], told["annotations"]) == (True, {"host": "127.0.0.1"})
    assert [one["type"] for one in told["cause"]["exceptions"]] == ["OperationalError"]
    assert "secret" not in json.dumps(told)


def test_a_call_of_qdrant_is_a_span(daemon: Daemon) -> None:
    with pytest.raises(VectorsUnavailableError):
        open_collections("http://127.0.0.1:1", api_key="secret", timeout_s=2)
    told = daemon.received()
    assert (told["name"], told["fault"]) == ("Qdrant", True)
    assert "secret" not in json.dumps(told)


def test_a_request_to_a_site_is_a_span_with_the_host_and_nothing_else_of_the_address(daemon: Daemon) -> None:
    url = "http://127.0.0.1:1/private/path?token=private"
    client = HttpClient(allow_loopback=True, limits=HttpLimits(retries=0))
    with pytest.raises(ConnectionFailedError):
        client.get(url, requester=Requester(typed_origin=origin_of(url)))
    client.close()
    told = daemon.received()
    assert (told["name"], told["annotations"], told["fault"]) == ("Site", {"host": "127.0.0.1"}, True)
    assert "private" not in json.dumps(told)


@pytest.mark.parametrize(
    "trace", ["", f"Root={ROOT};Parent={PARENT};Sampled=0", f"Root={ROOT};Parent={PARENT}", f"Root={ROOT};Sampled=1"]
)
def test_nothing_is_sent_outside_lambda_or_where_the_invocation_is_not_sampled(
    trace: str, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", trace)
    with span("PostgreSQL"):
        pass
    assert daemon.is_silent()


def test_a_daemon_that_is_away_or_named_wrongly_costs_no_call(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    for address in ("127.0.0.1:1", "nowhere", "", "127.0.0.1:port"):
        monkeypatch.setenv("AWS_XRAY_DAEMON_ADDRESS", address)
        with span("PostgreSQL"), database.transaction() as connection:
            connection.execute("select 1")
