"""Talks to the API as a user, through the events that API Gateway would send."""

import base64
import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from siftline.api.api_wiring import http_api
from siftline.api.http.resolver import HttpApi
from siftline.api.parts import Parts
from siftline.contracts import Queue
from siftline.jobs.dead_letters import DeadLetterQueues
from siftline.jobs.publish import Publisher, Sender
from siftline.jobs.queues import Depth
from siftline.kit.db import Database
from siftline.kit.errors import SiftlineError
from siftline.kit.ids import new_id
from siftline.kit.log import logger
from siftline.settings.functions import ApiSettings, JobSettings
from tests.factories import lambda_context, make_token, make_user
from tests.fakes import FakeClock, FakeSender, NoDeadLetters, nowhere
from tests.http_events import caller_context, http_event


@dataclass(frozen=True)
class Answered:
    """A response as its receiver sees it. Header names are in lower case."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        """The body's value."""
        return json.loads(self.text)

    @property
    def code(self) -> str:
        """The problem's code; fails unless this is a problem document."""
        assert self.headers["content-type"] == "application/problem+json", self.text
        assert self.json["status"] == self.status
        return str(self.json["code"])


class ApiClient:
    """One user of the API."""

    def __init__(self, api: HttpApi, user_id: UUID, scopes: Iterable[str] = ("read", "write")) -> None:
        self.user_id = user_id
        self.token_id = new_id()
        self._api = api
        self._context = caller_context(user_id, self.token_id, scopes)

    def get(self, path: str, **query: Any) -> Answered:
        """Send a GET."""
        return self.send("GET", path, query=query)

    def post(self, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answered:
        """Send a POST."""
        return self.send("POST", path, body=body, headers=headers)

    def put(self, path: str, body: Any) -> Answered:
        """Send a PUT."""
        return self.send("PUT", path, body=body)

    def patch(self, path: str, body: Any) -> Answered:
        """Send a PATCH."""
        return self.send("PATCH", path, body=body)

    def delete(self, path: str) -> Answered:
        """Send a DELETE."""
        return self.send("DELETE", path)

    def send(self, method: str, path: str, **parts: Any) -> Answered:
        """Send any request; ``parts`` as ``http_event`` takes them."""
        return sent(self._api, http_event(method, path, **({"context": self._context} | parts)))


def sent(api: HttpApi, event: Mapping[str, Any]) -> Answered:
    """Return what the API answers to an event."""
    response = json.loads(json.dumps(api(event, lambda_context())))
    headers = {name.lower(): value for name, value in response["headers"].items()}
    body = response["body"] or ""
    if response["isBase64Encoded"]:
        body = gzip.decompress(base64.b64decode(body)).decode()
    return Answered(response["statusCode"], headers, body)


class FakeDepths:
    """Says that every queue holds what it is told; raises ``error`` if there is one."""

    def __init__(self) -> None:
        self.depths: dict[Queue, Depth] = {}
        self.error: SiftlineError | None = None

    def depth(self, queue: Queue) -> Depth:
        """Return the set depth."""
        if self.error is not None:
            raise self.error
        return self.depths.get(queue, Depth(0, 0, 0, 0))


def api_settings(**changes: Any) -> ApiSettings:
    """Return settings of the API; nothing is where they say."""
    return ApiSettings(**{**nowhere(ApiSettings), **changes})


class World:
    """An API over a real database, with queues that keep what they are sent."""

    def __init__(
        self,
        database: Database,
        *,
        sender: Sender | None = None,
        dead_letter_queues: DeadLetterQueues | None = None,
        **settings: Any,
    ) -> None:
        """``settings`` are those of the API. Its clock stands still, and so does the minute of requests."""
        self.database = database
        self.sender = FakeSender()
        self.depths = FakeDepths()
        self.vectors_error: SiftlineError | None = None
        self.clock = FakeClock()
        here = {"public_url": "https://siftline.example", "requests_per_minute": 1_000_000}
        parts = Parts(
            api_settings(**{**here, **settings}),
            logger("api"),
            self.clock,
            database=database,
            publisher=Publisher(database, sender or self.sender, JobSettings()),
            queues=self.depths,
            dead_letter_queues=dead_letter_queues or NoDeadLetters(),
            check_vectors=self._check_vectors,
        )
        self.api = http_api(parts)

    def user(self, *scopes: str, name: str | None = None) -> ApiClient:
        """Return a new user of this world."""
        with self.database.transaction() as connection:
            user_id = make_user(connection, name=name)
        return self.client(user_id, *scopes)

    def client(self, user_id: UUID, *scopes: str, **columns: Any) -> ApiClient:
        """Return a user by a token of their own; further ``columns`` of it by name."""
        client = ApiClient(self.api, user_id, scopes or ("read", "write"))
        with self.database.transaction() as connection:
            make_token(connection, user_id, client.token_id, scopes or ("read", "write"), **columns)
        return client

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement in a transaction of its own and return its rows, if it has any."""
        with self.database.transaction() as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def _check_vectors(self) -> None:
        if self.vectors_error is not None:
            raise self.vectors_error
