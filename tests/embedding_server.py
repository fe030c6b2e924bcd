"""An embedding model in the form of OpenAI's API, on loopback: words make vectors, or it says what a test says."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Database
from siftline.models.embedding_api import ApiModel, EmbeddingApi, PricedEmbedder
from siftline.models.spending_store import Caps
from tests.models import WordEmbedder
from tests.servers import Answer, LoopbackServer, Request

PATH = "/v1/embeddings"
MODEL = "word-model"
DIMENSIONS = WordEmbedder.dimensions
DOLLAR = Caps(1_000_000)
ONE = [1.0, *[0.0] * (DIMENSIONS - 1)]


class EmbeddingServer:
    """Ten tokens a text; ``script`` answers instead where it is set. ``asked`` are the bodies of all calls."""

    def __init__(self, server: LoopbackServer) -> None:
        self.server = server
        self.script: Callable[[dict[str, Any]], Answer] | None = None
        self.asked: list[dict[str, Any]] = []
        self.opened: list[PricedEmbedder] = []
        server.answers[PATH] = self._answer

    @property
    def base_url(self) -> str:
        """Where it answers."""
        return self.server.url("/v1")

    def embedder(
        self, database: Database, *, caps: Caps = DOLLAR, clock: Clock | None = None, **model: Any
    ) -> PricedEmbedder:
        """Return what asks it, at 10 dollars a million tokens: a text costs 100 millionths."""
        clock = clock or SystemClock()
        asked = ApiModel(MODEL, **{"dimensions": DIMENSIONS, **model})
        api = EmbeddingApi(asked, base_url=self.base_url, api_key=lambda: "a-key", timeout_s=60, clock=clock)
        self.opened.append(PricedEmbedder(database, api, 10.0, caps, clock))
        return self.opened[-1]

    def close(self) -> None:
        """Close the connections of all that ask it."""
        for embedder in self.opened:
            embedder.api.close()

    def _answer(self, request: Request) -> Answer:
        body = json.loads(request.body)
        self.asked.append(body)
        if self.script is not None:
            return self.script(body)
        return vectors([WordEmbedder().embed_passage(text).tolist() for text in body["input"]])


def vectors(rows: Sequence[Any], *, tokens: int | None = None, turned: bool = False) -> Answer:
    """Return vectors as the API gives them; ``turned``: the last first, as their places say."""
    data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
    counted = 10 * len(rows) if tokens is None else tokens
    usage = {"prompt_tokens": counted, "total_tokens": counted}
    body = {"object": "list", "model": MODEL, "data": data[::-1] if turned else data, "usage": usage}
    return Answer(json.dumps(body).encode(), headers={"Content-Type": "application/json"})
