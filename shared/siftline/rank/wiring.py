"""Where search is put together."""

from functools import cache

from siftline.kit.aws import secret
from siftline.kit.db import open_database
from siftline.kit.embedder import open_embedder
from siftline.kit.vectors import VectorIndex
from siftline.rank.search import Meaning, Search
from siftline.settings import SearchSettings


def open_search(settings: SearchSettings) -> Search:
    """Return the search of the ``search`` function. Model and vectors are opened at the first search that can."""

    @cache  # keeps what was opened; what failed is tried again
    def open_meaning() -> Meaning:
        embedder = open_embedder(
            settings.model_uri,
            settings.model_cache_dir,
            tokens_max=settings.embedding_tokens,
            threads=settings.model_threads,
        )
        index = VectorIndex(
            settings.qdrant_url,
            model_version=embedder.model_version,
            dimensions=embedder.dimensions,
            api_key=secret(settings.qdrant_api_key.get_secret_value()),
            timeout_s=settings.search_timeout_s,
        )
        return Meaning(embedder, index)

    database = open_database(secret(settings.database_url.get_secret_value()), settings.database_pool_size)
    return Search(database, open_meaning)
