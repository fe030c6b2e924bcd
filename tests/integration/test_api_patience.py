"""The API while SQS takes requests and never answers: what is committed is accepted, and nobody else waits."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from infra.local.aws import CREDENTIALS, REGION
from siftline.api.api_wiring import open_api
from siftline.contracts import Queue
from siftline.kit.aws import sqs_client
from siftline.kit.db import Database, open_database
from siftline.kit.log import logger
from siftline.settings.functions import ApiSettings, environment
from tests.api_client import ApiClient
from tests.factories import make_user


class SilentServer:
    """Takes connections and requests, and answers none."""

    def __init__(self) -> None:
        self.taken: list[socket.socket] = []
        self.asked = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def hang_up(self) -> None:
        """Break every connection off."""
        for connection in self.taken:
            connection.close()

    def stop(self) -> None:
        """Take no more."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(5)
        self.hang_up()

    def _take(self) -> None:
        try:
            while True:
                connection, _ = self._listening.accept()
                self.taken.append(connection)
                self.asked.set()
        except OSError:
            return


@pytest.fixture
def silent() -> Iterator[SilentServer]:
    server = SilentServer()
    yield server
    server.stop()


@pytest.fixture
def user_of(silent: SilentServer, database: Database, database_url: str) -> Iterator[Callable[[float], ApiClient]]:
    """Make a user of an API whose SQS is the silent server, asked for this long."""
    names = {f"{queue.name}_QUEUE_URL": f"{silent.url}/1/{queue}" for queue in Queue}
    names |= {f"{queue.name}_DLQ_URL": f"{silent.url}/1/{queue}-dead" for queue in Queue}
    rest = {"DATABASE_URL": database_url, "QDRANT_URL": silent.url, "AWS_ENDPOINT_URL": silent.url}
    clients = []

    def make(sqs_timeout_s: float) -> ApiClient:
        sqs_client.cache_clear()
        with environment({**CREDENTIALS, **names, **rest, "AWS_DEFAULT_REGION": REGION}):
            api = open_api(ApiSettings(), logger("api"), sqs_timeout_s=sqs_timeout_s)
            clients.append(sqs_client(sqs_timeout_s))
        with database.transaction() as connection:
            user_id = make_user(connection)
        return ApiClient(api, user_id, ["read", "write", "ops"])

    yield make
    open_database(database_url, 1).close()
    for client in clients:
        client.close()
    sqs_client.cache_clear()


def jobs(database: Database) -> list[tuple[str, bool]]:
    with database.transaction() as connection:
        return connection.execute("select state, published_at is null from jobs").fetchall()


def test_a_save_is_accepted_and_its_job_waits_for_the_sweep(
    user_of: Callable[[float], ApiClient], database: Database
) -> None:
    answer = user_of(0.2).post("/v1/items", {"url": "https://news.example/a"})
    assert answer.status == 202
    assert jobs(database) == [("pending", True)]


def test_a_batch_waits_for_each_silent_queue_once_and_not_once_a_message(
    user_of: Callable[[float], ApiClient], database: Database, silent: SilentServer
) -> None:
    items = [{"url": f"https://news.example/{number}"} for number in range(130)]
    answer = user_of(0.2).post("/v1/items/batch", {"items": items})
    assert {one["status_code"] for one in answer.json["items"]} == {202}
    assert jobs(database) == [("pending", True)] * 130
    assert len(silent.taken) == 2  # of each queue: the first ten go ahead, the rest is read in the background


def test_others_are_answered_while_one_waits(user_of: Callable[[float], ApiClient], silent: SilentServer) -> None:
    user = user_of(20)
    with ThreadPoolExecutor(1) as threads:
        save = threads.submit(user.post, "/v1/items", {"url": "https://news.example/a"})
        assert silent.asked.wait(60)
        assert user.get("/v1/items").json["items"][0]["status"] == "PENDING"
        assert not save.done()
        silent.hang_up()
        assert save.result(60).status == 202


def test_the_depth_of_silent_queues_is_unknown_and_the_rest_is_told(user_of: Callable[[float], ApiClient]) -> None:
    user = user_of(0.2)
    user.post("/v1/items", {"url": "https://news.example/a"})
    answer = user.get("/v1/ops/queues")
    assert answer.status == 200
    assert [(queue["name"], queue["depth"], queue["dead_letters"]) for queue in answer.json["queues"]] == [
        (queue.value, None, None) for queue in Queue
    ]
    assert {one["job_type"]: one["pending"] for one in answer.json["jobs"]}["ingest_content"] == 1
