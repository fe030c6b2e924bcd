"""Where search is put together."""

from uuid import UUID

from siftline.kit.aws import secret
from siftline.kit.clock import SystemClock
from siftline.kit.db import open_database
from siftline.models.embedding_api import Payment, PricedEmbedder
from siftline.models.embedding_models import EmbeddingModels, Opened
from siftline.rank.search import Meaning, Search
from siftline.settings.functions import SearchSettings

_VECTORS_TIMEOUT_S = 5
"""The longest wait for one answer of Qdrant: somebody waits for the search."""


def open_search(settings: SearchSettings) -> Search:
    """Return the search of the ``search`` function.

    Which model's vectors count is asked at each search; model and vectors are opened at the first one that can.
    """
    database = open_database(secret(settings.database_url.get_secret_value()), settings.database_pool_size)
    models = EmbeddingModels(settings, database, vectors_timeout_s=_VECTORS_TIMEOUT_S)
    return Search(database, lambda user_id: meaning_of(models.active(), user_id), SystemClock())


def meaning_of(opened: Opened, user_id: UUID) -> Meaning:
    """Return what a user's search asks; where its model costs money it is the user's."""
    embedder = opened.embedder
    if isinstance(embedder, PricedEmbedder):
        embedder = embedder.paid_by(Payment(user_id, user_id))
    return Meaning(embedder, opened.index)
