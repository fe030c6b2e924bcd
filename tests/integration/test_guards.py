"""What listens beside a running system answers who has its secret, by a name of this machine, and no page."""

import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import httpx
import pytest
from botocore.exceptions import ClientError

from infra.local.aws import MiniStack
from infra.local.guard import guarded
from infra.local.ministack_environment import ministack_python
from infra.local.ports import free_port
from infra.local.processes import wait_until
from infra.local.programs import answers
from infra.local.queues import create_queues, sqs_client
from infra.local.wsgi import LoopbackServer
from siftline.models.vectors import VectorsRefusedError, open_collections
from siftline.settings.functions import process_environment
from siftline.worker.health_page import serve_health
from siftline.worker.template import QueueResource
from siftline.worker.worker import Worker
from tests.stack import MINISTACK

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

ROOT = Path(__file__).resolve().parents[2]
KEY, ANOTHER = "a" * 32, "b" * 32
QUEUE = QueueResource("Q", "guarded-queue", {"VisibilityTimeout": "30"}, None, None)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PAGES = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Host": "evil.example"},
]


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniStack]:
    home = tmp_path_factory.mktemp("aws")
    with MiniStack(ministack_python(MINISTACK), home, access_key=KEY, persists=False) as running:
        client = sqs_client(running.endpoint, KEY)
        create_queues(client, [QUEUE])
        client.close()
        yield running


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("vectors"), free_port()
    command = [sys.executable, "-m", "infra.local.vectors", "--folder", str(folder), "--port", str(port)]
    environment = {**process_environment(), "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}", "QDRANT_API_KEY": KEY}
    with subprocess.Popen(command, cwd=ROOT, env=environment) as process:
        assert wait_until(lambda: answers(port, "/healthz", KEY), 300)
        made = httpx.put(
            f"http://127.0.0.1:{port}/collections/contents_m",
            json={"vectors": {"size": 4, "distance": "Cosine"}},
            headers={"api-key": KEY},
        )
        assert made.status_code == 200
        yield f"http://127.0.0.1:{port}"
        process.terminate()


def queues(aws: MiniStack, key: str = KEY) -> list[str]:
    with closing(sqs_client(aws.endpoint, key)) as client:
        return [url.rpartition("/")[2] for url in client.list_queues().get("QueueUrls", [])]


def test_queues_answer_only_who_signs_with_the_key_of_this_run(aws: MiniStack) -> None:
    assert queues(aws) == [QUEUE.name]
    for other in (ANOTHER, "test", "local", "000000000000"):
        with pytest.raises(ClientError, match="403"):
            queues(aws, other)


@pytest.mark.parametrize("page", [{}, *PAGES])
def test_no_page_and_no_stranger_deletes_a_queue(aws: MiniStack, page: dict[str, str]) -> None:
    """A form of another site needs no leave of CORS: it would be enough that the request is done."""
    query = f"Action=DeleteQueue&QueueUrl={aws.endpoint}/000000000000/{QUEUE.name}"
    key = {"Authorization": f"Bearer {KEY}"} if page else {}
    for path in ("/", f"/000000000000/{QUEUE.name}"):
        answer = httpx.post(aws.endpoint + path, content=query, headers={**FORM, **key, **page})
        assert answer.status_code == 403
        assert httpx.get(f"{aws.endpoint}{path}?{query}", headers={**key, **page}).status_code == 403
    assert queues(aws) == [QUEUE.name]


@pytest.mark.parametrize(
    "path", ["/_ministack/health", "/_ministack/reset", "/_localstack/health", "/health", "/ready"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "DELETE"])
def test_its_own_doors_are_closed_too_and_no_answer_names_an_origin(aws: MiniStack, method: str, path: str) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-amz-target"}
    for headers in ({}, {"Origin": "https://evil.example", **asked}):
        answer = httpx.request(method, aws.endpoint + path, headers=headers)
        assert answer.status_code == 403
        assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_what_is_answered_names_no_origin_either(aws: MiniStack) -> None:
    answer = httpx.get(f"{aws.endpoint}/_ministack/health", headers={"Authorization": f"Bearer {KEY}"})
    assert answer.status_code == 200
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_a_web_socket_is_refused(aws: MiniStack) -> None:
    where = urlsplit(aws.endpoint)
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=60) as wire:
        wire.sendall(
            b"GET /mqtt HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://evil.example\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert b" 403 " in wire.recv(1_000).partition(b"\r\n")[0] + b" "


def test_who_shows_no_secret_in_time_is_dropped_whatever_was_sent(tmp_path: Path) -> None:
    head = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    sent = [b"", b"GET /hea", head, head + b"Content-Length: 9\r\n\r\nhalf", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
    with MiniStack(ministack_python(MINISTACK), tmp_path, persists=False, half_sent_s=0.5) as one, ExitStack() as stack:
        where = urlsplit(one.endpoint)
        for words in sent:
            wire = stack.enter_context(socket.create_connection((where.hostname or "", where.port or 0), timeout=60))
            wire.sendall(words)
            with suppress(ConnectionError):
                while wire.recv(1_000):
                    """It may be refused first."""


def test_a_length_of_too_many_digits_is_refused_by_ministack(aws: MiniStack) -> None:
    where = urlsplit(aws.endpoint)
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=60) as wire:
        wire.sendall(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\n")
        assert b" 400 " in wire.recv(1_000).partition(b"\r\n")[0]


def test_the_next_run_with_another_key_finds_the_queues_of_this_one(tmp_path: Path) -> None:
    python = ministack_python(MINISTACK)
    for key in (KEY, ANOTHER):
        with MiniStack(python, tmp_path, access_key=key) as one, closing(sqs_client(one.endpoint, key)) as client:
            url = create_queues(client, [QUEUE])["Q"]
            if key == KEY:
                client.send_message(QueueUrl=url, MessageBody="kept")
            else:
                assert [m["Body"] for m in client.receive_message(QueueUrl=url)["Messages"]] == ["kept"]
        for kept in ("secret", "state", "s3"):
            assert (tmp_path / kept).stat().st_mode & 0o077 == 0


def test_vectors_answer_only_who_has_their_key(vectors: str) -> None:
    assert [index.collection for index in open_collections(vectors, api_key=KEY)] == ["contents_m"]
    for key in (None, ANOTHER):
        with pytest.raises(VectorsRefusedError):
            open_collections(vectors, api_key=key)


@pytest.mark.parametrize("page", [{}, *PAGES])
def test_no_page_and_no_stranger_drops_a_collection(vectors: str, page: dict[str, str]) -> None:
    headers = {**({"api-key": KEY} if page else {}), **page}
    assert httpx.delete(f"{vectors}/collections/contents_m", headers=headers).status_code == 403
    assert httpx.get(f"{vectors}/healthz", headers=headers).status_code == 403
    assert len(open_collections(vectors, api_key=KEY)) == 1


class WellWorker:
    """A worker of which nothing but its state is asked."""

    def state(self) -> dict[str, Any]:
        return {"healthy": True, "queues": {}, "unbuildable": {}}


@pytest.fixture
def health() -> Iterator[str]:
    server = serve_health(cast("Worker", WellWorker()), {}, 0, token=KEY)
    yield f"http://127.0.0.1:{server.server_port}/ready"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", "DELETE", "TRACE", "NONE"])
def test_the_workers_health_is_no_matter_of_strangers_whatever_the_method(health: str, method: str) -> None:
    key = {"Authorization": f"Bearer {KEY}"}
    for headers in ({}, {"Authorization": f"Bearer {ANOTHER}"}, *(key | page for page in PAGES)):
        answer = httpx.request(method, health, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (403, "application/json")
        assert answer.headers["server"] == "siftline"
    answer = httpx.request(method, health, headers=key)
    assert (answer.status_code, answer.headers.get("allow")) == ((200, None) if method == "GET" else (405, "GET"))
    assert bool(answer.content) == (method != "HEAD")


def test_what_is_no_request_is_told_so_without_a_page_and_without_versions(health: str) -> None:
    for sent in (
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 70_000,
        b"GET / HTTP/1.1\r\n" + b"a:\r\n" * 200,
    ):
        with socket.create_connection(("127.0.0.1", urlsplit(health).port or 0), timeout=60) as wire:
            wire.sendall(sent)
            said = b"".join(iter(lambda: wire.recv(4_000), b""))
        assert b'{"detail": ' in said
        assert b"<" not in said
        assert b"Python" not in said


def test_a_service_with_pages_answers_its_own_and_no_other_name() -> None:
    def greets(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        start_response("200 OK", [("Content-Length", "5")])
        return [b"hello"]

    with LoopbackServer(guarded(greets, names={"127.0.0.1", "news.example"}, has_pages=True)) as server:
        for headers, status in (
            ({}, 200),
            ({"Origin": server.url}, 200),
            ({"Sec-Fetch-Site": "cross-site"}, 200),
            ({"Host": "news.example"}, 200),
            ({"Host": "evil.example"}, 403),
            ({"Origin": "https://evil.example"}, 403),
        ):
            assert httpx.get(server.url, headers=headers).status_code == status


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://127.0.0.1/v1/me", 200),
        ("HTTP://LOCALHOST:{port}/v1/me", 200),
        ("http://evil.example/v1/me", 403),
        ("https://evil.example:443/v1/me", 403),
        ("http://127.0.0.1@evil.example/v1/me", 403),
        ("http:///v1/me", 403),
        ("//evil.example/v1/me", 200),
        ("/http://evil.example/v1/me", 200),
    ],
)
def test_the_host_of_a_whole_address_in_the_first_line_counts(target: str, status: int) -> None:
    """RFC 9112, section 3.2.2: ``Host`` counts for nothing then. ``//name`` is a path of this host."""

    def greets(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        start_response("200 OK", [("Content-Length", "5")])
        return [b"hello"]

    with LoopbackServer(guarded(greets, has_pages=True)) as server:
        port = server.url.rpartition(":")[2]
        with socket.create_connection(("127.0.0.1", int(port)), timeout=60) as wire:
            wire.sendall(f"GET {target.format(port=port)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            assert wire.recv(100).startswith(f"HTTP/1.1 {status} ".encode())
