"""A language model in the form of OpenAI's API, on loopback: says what a test tells it to say."""

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from siftline.kit.clock import SystemClock
from siftline.models.llm import LanguageModel
from tests.servers import Answer, LoopbackServer, Request

PATH = "/v1/chat/completions"
MODEL = "small-model"


@dataclass(frozen=True)
class Asked:
    """One call, as the model sees it."""

    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def system(self) -> str:
        """What it is told to do."""
        return str(self.body["messages"][0]["content"])

    @property
    def article(self) -> str:
        """The fenced article."""
        return str(self.body["messages"][1]["content"])

    @property
    def receipt(self) -> str:
        """The word that the answer must carry."""
        found = re.search(r"the word (\w+)", self.system)
        assert found
        return found[1]

    @property
    def last(self) -> str:
        """The last message."""
        return str(self.body["messages"][-1]["content"])


Said = Callable[[Asked], Any]


def reply(asked: Asked, **fields: Any) -> dict[str, Any]:
    """Return a good reply about the late goal of ``test_analyze``, some fields otherwise."""
    return {
        "topics": [{"topic": "sport", "confidence": 0.93}],
        "summary": "The home team won the match with a goal in the last minute, and its coach praised the match.",
        "tags": ["home team", "late goal"],
        "entities": [],
        "receipt": asked.receipt,
        **fields,
    }


def completion(content: Any, *, tokens: tuple[int, int] | None = (900, 100), **choice: Any) -> Answer:
    """Return a completion as the API gives it; ``tokens``: those counted, sent and answered."""
    text = content if content is None or isinstance(content, str) else json.dumps(content)
    message = {"role": "assistant", "content": text, **choice.pop("message", {})}
    body: dict[str, Any] = {
        "id": "c",
        "object": "chat.completion",
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", **choice}],
    }
    if tokens is not None:
        body["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    return Answer(json.dumps(body).encode(), headers={"Content-Type": "application/json"})


def problem(status: int, message: str = "no", *, headers: Mapping[str, str] | None = None, **error: Any) -> Answer:
    """Return an error as the API gives it."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": None, "param": None, **error}})
    return Answer(body.encode(), status=status, headers={"Content-Type": "application/json", **(headers or {})})


class LanguageServer:
    """The model's side. ``says`` are asked one after the other; the last stays. Each may return an ``Answer``."""

    def __init__(self, server: LoopbackServer) -> None:
        self.server = server
        self.says: list[Said] = [reply]
        self.calls: list[Asked] = []
        self._lock = threading.Lock()
        server.answers[PATH] = self._answer

    def client(self, *, timeout_s: float = 20.0, base_url: str | None = None, **more: Any) -> LanguageModel:
        """Return a client of it."""
        return LanguageModel(
            model=MODEL,
            base_url=base_url or self.server.url("/v1"),
            api_key=lambda: "secret",
            timeout_s=timeout_s,
            clock=SystemClock(),
            **more,
        )

    def _answer(self, request: Request) -> Answer:
        asked = Asked(json.loads(request.body), request.headers)
        with self._lock:
            self.calls.append(asked)
            say = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        said = say(asked)
        return said if isinstance(said, Answer) else completion(said)
