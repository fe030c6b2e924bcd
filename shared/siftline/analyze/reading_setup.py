"""What a text is read with at this moment: the reader, and the model whose vectors count."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from siftline.analyze.article_reader import Article, Derivation, Reader, Reading
from siftline.models.embedder import Embedder
from siftline.models.embedding_api import Payment
from siftline.models.embedding_store import Version
from siftline.models.vectors import Point

WITHOUT_VECTOR = "without_vector"
"""The notice of what was read, but has no vector that it is found by."""


class VectorIndex(Protocol):
    """Where vectors are found again; ``siftline.models.vectors.VectorIndex`` is one."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Store points, replacing those with the same ids but of no later version; durable when it returns."""
        ...


class PaidEmbedder(Protocol):
    """Makes vectors for money; ``siftline.models.embedding_api.PricedEmbedder`` is one."""

    def paid_by(self, payment: Payment) -> Embedder:
        """Return the same embedder whose calls are made for this."""
        ...


@dataclass(frozen=True, slots=True)
class ReadingSetup:
    """A reader, the version of the vectors that are kept, and where they go.

    ``keeper`` makes the vectors that are kept, where the reader's own model is not the one that does: topics, summary
    and tags are read with the reader's model all the same.
    """

    version: Version
    reader: Reader
    index: VectorIndex
    keeper: PaidEmbedder | None = None

    @classmethod
    def of(cls, reader: Reader, index: VectorIndex) -> Self:
        """Return a setup whose reader's own vectors are kept."""
        return cls(Version(reader.model_version, "", 1, reader.dimensions), reader, index)

    def kept(self, article: Article, reading: Reading, payment: Payment) -> tuple[Reading, NDArray[np.float32] | None]:
        """Return the vector that the keeper makes, and the reading with what made it."""
        if self.keeper is None:
            return reading, reading.vector
        embedder = self.keeper.paid_by(payment)
        vector = embedder.embed_passage(article.whole)
        made = Derivation("embedding", embedder.model_id, embedder.model_version)
        others = tuple(one for one in reading.derivations if one.kind != "embedding")
        return replace(reading, derivations=(*others, made)), vector


def without_vector(reading: Reading) -> Reading:
    """Return a reading of which the vector that is kept could not be made: it says so, and names nothing as its maker.

    A text that says too little says that first.
    """
    others = tuple(one for one in reading.derivations if one.kind != "embedding")
    return replace(reading, derivations=others, notice_code=reading.notice_code or WITHOUT_VECTOR)
