"""What a server at the other end of an OpenAI client may do with our time and memory: real sockets on loopback."""

import gzip
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from itertools import repeat
from typing import Any

import pytest
from openai import APIConnectionError, APITimeoutError

from siftline.ingest.media.audio_model import AudioModel
from siftline.kit.clock import SystemClock
from siftline.kit.errors import TransientError
from siftline.models.embedding_api import ApiModel, EmbeddingApi
from siftline.models.llm import LanguageModel
from tests.servers import Answer, LoopbackServer, QuietServer, drip, serving

TIMEOUT_S = 0.4
SLOWLY_S = 0.05
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
PATHS = {"llm": "/chat/completions", "embedding": "/embeddings", "audio": "/audio/transcriptions"}


def call(client: str, base_url: str, timeout_s: float) -> None:
    """Make one call with one of the three clients."""
    made: dict[str, Any] = {
        "base_url": base_url,
        "api_key": lambda: "k",
        "timeout_s": timeout_s,
        "clock": SystemClock(),
    }
    if client == "llm":
        language = LanguageModel(model="m", **made)
        try:
            language.ask([{"role": "user", "content": "hello"}], {}, tokens_max=9)
        finally:
            language.close()
    elif client == "embedding":
        embedding = EmbeddingApi(ApiModel("m", 4), **made)
        try:
            embedding.embed(["hello"])
        finally:
            embedding.close()
    else:
        audio = AudioModel(model="m", **made)
        try:
            audio.hear(b"sound", ending="mp3", language=None)
        finally:
            audio.close()


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serving() as loopback:
        yield loopback


@pytest.fixture
def slow_head() -> Iterator[str]:
    """Serve a head that comes byte by byte; returns the address."""

    class Slow(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            for byte in HEAD:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(SLOWLY_S)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    slow = QuietServer(lambda _: None, Slow)
    thread = threading.Thread(target=slow.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{slow.server_address[1]}/v1"
    slow.shutdown()
    slow.server_close()
    thread.join(5)


@pytest.mark.parametrize("client", PATHS)
def test_a_body_that_drips_is_left_when_the_calls_time_is_up(server: LoopbackServer, client: str) -> None:
    server.answers[f"/v1{PATHS[client]}"] = Answer(
        drip(b" " * 30 + b"{}", SLOWLY_S), headers={"Content-Type": "application/json"}
    )
    with pytest.raises(TransientError) as found:
        call(client, server.url("/v1"), TIMEOUT_S)
    assert isinstance(found.value.__cause__, APITimeoutError)


@pytest.mark.parametrize("client", PATHS)
def test_a_head_that_drips_is_left_when_the_calls_time_is_up(slow_head: str, client: str) -> None:
    with pytest.raises(TransientError) as found:
        call(client, slow_head, TIMEOUT_S)
    assert isinstance(found.value.__cause__, APITimeoutError)


@pytest.mark.parametrize("client", PATHS)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_an_answer_without_end_is_not_read_whole(server: LoopbackServer, client: str, packed: bool) -> None:
    sent, block = [], b" " * 2**20

    def blocks() -> Iterator[bytes]:
        for one in [gzip.compress(block * 40)] if packed else repeat(block, 40):
            sent.append(len(one))
            yield one

    headers = {"Content-Type": "application/json", **({"Content-Encoding": "gzip"} if packed else {})}
    server.answers[f"/v1{PATHS[client]}"] = Answer(blocks(), headers=headers)
    with pytest.raises(TransientError) as found:
        call(client, server.url("/v1"), 20)
    assert isinstance(found.value.__cause__, APIConnectionError)
    assert len(sent) < 40
