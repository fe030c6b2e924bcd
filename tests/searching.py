"""A search over a real index, for tests: users, what they hold, and questions over the API."""

import uuid
from typing import Any

from siftline.api.http.resolver import HttpApi
from siftline.api.search_routes import SearchRoutes
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.kit.log import logger
from siftline.models.vectors import Point, VectorIndex
from siftline.rank.search import Meaning, Search
from tests.api_client import ApiClient
from tests.factories import embed, make_content, make_item, make_user
from tests.models import WordEmbedder


class Library:
    """A search over a real index, and users who hold things."""

    def __init__(self, database: Database, url: str) -> None:
        self.database = database
        self.embedder = WordEmbedder()
        self.embedder.model_version = f"words-{new_id()}"  # a collection of its own
        self.index = VectorIndex(url, model_version=self.embedder.model_version, dimensions=self.embedder.dimensions)
        self.meaning: Meaning | Exception = Meaning(self.embedder, self.index)
        self.api = HttpApi([SearchRoutes(Search(database, self._open, SystemClock()))], logger("search"))

    def _open(self, user_id: uuid.UUID) -> Meaning:
        if isinstance(self.meaning, Exception):
            raise self.meaning
        return self.meaning

    def user(self, *scopes: str) -> ApiClient:
        with self.database.transaction() as connection:
            return ApiClient(self.api, make_user(connection), scopes or ("read",))

    def content(self, title: str, *, indexed: bool = True, **columns: Any) -> uuid.UUID:
        values = {"status": "READY", "title": title, "text": f"{title}.", "lang": "en", **columns}
        vector = self.embedder.embed_passage(title)
        with self.database.transaction() as connection:
            content_id = make_content(connection, **values)
            if indexed:
                embed(connection, content_id, vector, self.embedder.model_version)
        if indexed:
            self.index.upsert([Point(content_id, vector)])
        return content_id

    def hold(self, client: ApiClient, content_id: uuid.UUID) -> uuid.UUID:
        with self.database.transaction() as connection:
            return make_item(connection, client.user_id, content_id)

    def give(self, client: ApiClient, *texts: str, **columns: Any) -> list[uuid.UUID]:
        """Let the user hold new contents; returns the items' ids."""
        return [self.hold(client, self.content(text, **columns)) for text in texts]

    def sql(self, statement: str, *values: Any) -> None:
        with self.database.transaction() as connection:
            connection.execute(statement, values)


def titles(answer: Any) -> list[str]:
    assert answer.status == 200, answer.text
    return [item["title"] for item in answer.json["items"]]
