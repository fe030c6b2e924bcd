"""Vectors over an API: what a call may cost, what it did cost, and what somebody who needs it meanwhile is told.

Where a text is refused, one of our own is asked about at once: only if that is refused too is the set-up wrong, and for
everybody.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from uuid import UUID

from siftline.kit.clock import Clock
from siftline.kit.db import Database
from siftline.kit.errors import NotTriedError
from siftline.kit.ids import new_id
from siftline.models import spending_store
from siftline.models.embedding_api import PROVIDER, Embedded, EmbeddingApi, EmbeddingRefusedError
from siftline.models.openai_client import CONTROL_TEXT
from siftline.models.paid_call import NotAskedError, PaidCalls
from siftline.models.spending_store import Caps
from siftline.models.unit_vector import Vector

BATCH = 64
"""Texts that one call takes at most."""
_TOKENS_BESIDES = 8
"""What a model may add to each text: its beginning and its end."""


class EmbeddingPausedError(NotTriedError):
    """The model asked somebody to wait; so does everybody."""

    code = "embedding_paused"


class EmbeddingBudgetError(NotTriedError):
    """What a day may cost is used up; the next day (UTC) has its own."""

    code = "embedding_over_budget"


@dataclass(frozen=True, slots=True)
class Payment:
    """For what a call is made (a content, a user who searches), and whose money it is; ``None``: everybody's."""

    subject_id: UUID
    user_id: UUID | None = None
    job_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class PricedEmbedder:
    """An embedder (``siftline.models.embedder.Embedder``) over an API. Thread-safe."""

    database: Database
    api: EmbeddingApi
    usd_per_million: float
    caps: Caps
    clock: Clock
    payment: Payment | None = None

    @property
    def model_id(self) -> str:
        """The model's name."""
        return self.api.model.name

    @property
    def model_version(self) -> str:
        """Model and dimensions."""
        return self.api.model.version

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        return self.api.model.dimensions

    def paid_by(self, payment: Payment) -> "PricedEmbedder":
        """Return the same embedder whose calls are made for this."""
        return replace(self, payment=payment)

    def embed_passage(self, text: str) -> Vector:
        """Return the unit vector of a text that is kept and found. Raises what the API does, and ``NotTriedError``s."""
        return self._embed([self.api.prepared(text, self.api.model.passage_prefix)]).one()

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of what somebody looks for. Raises likewise."""
        return self._embed([self.api.prepared(text, self.api.model.query_prefix)]).one()

    def embed_passages(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vectors of texts, ``BATCH`` a call; ``None`` where the model makes none. Raises likewise."""
        prepared = [self.api.prepared(text, self.api.model.passage_prefix) for text in texts]
        return [vector for embedded in self._batches(prepared) for vector in embedded.vectors]

    def measured(self, texts: Sequence[str]) -> tuple[float, int]:
        """Embed texts once, and pay for it.

        Returns what that costs, in millionths of a dollar, and for how many texts no usable vector came.
        """
        prepared = [self.api.prepared(text, self.api.model.passage_prefix) for text in texts]
        made = list(self._batches(prepared))
        counted = [embedded.tokens for embedded in made if embedded.tokens is not None]
        tokens = sum(counted) if len(counted) == len(made) else _most_tokens(prepared)
        return self.usd_per_million * tokens, sum(vector is None for embedded in made for vector in embedded.vectors)

    def micro_usd(self, tokens: int) -> int:
        """Return what so many tokens cost, in millionths of a dollar, rounded up."""
        return math.ceil(round(tokens * self.usd_per_million, 6))

    def _batches(self, prepared: Sequence[str]) -> Iterator[Embedded]:
        """Embed texts, ``BATCH`` a call; where one of them is refused, it is found by asking for each."""
        for start in range(0, len(prepared), BATCH):
            batch = prepared[start : start + BATCH]
            try:
                yield self._embed(batch)
            except EmbeddingRefusedError:
                yield from map(self._one_or_none, batch)

    def _one_or_none(self, text: str) -> Embedded:
        with suppress(EmbeddingRefusedError):
            return self._embed([text])
        return Embedded([None], 0)

    def _embed(self, texts: Sequence[str]) -> Embedded:
        """Make a call; where a single text is refused, ask about one of our own, to know whose fault it is."""
        try:
            return self._call(texts)
        except EmbeddingRefusedError as error:
            if error.set_up is not None and len(texts) == 1:
                try:
                    self._call([self.api.prepared(CONTROL_TEXT, self.api.model.passage_prefix)])
                except EmbeddingRefusedError as refused:
                    raise error.set_up from refused
            raise

    def _call(self, texts: Sequence[str]) -> Embedded:
        """Make one call and settle it."""
        calls = PaidCalls(self.database, PROVIDER, self.model_id, self.caps, self.clock)
        payment = self.payment or Payment(new_id())
        tokens_max = _most_tokens(texts)
        cost_max = self.micro_usd(tokens_max)
        try:
            with calls.reserved(cost_max, payment.subject_id, lambda _: payment.user_id, payment.job_id) as spending:
                embedded = self.api.embed(texts)
        except NotAskedError as error:
            if error.reason == "paused":
                detail = "The embedding model asked us to retry later."
                raise EmbeddingPausedError(detail, retry_after_s=error.retry_after_s) from error
            whose = "for all users" if error.reason == "over_budget" else "for one user"
            detail = f"Today's embedding budget {whose} is spent. It continues tomorrow (UTC)."
            raise EmbeddingBudgetError(detail, retry_after_s=error.retry_after_s + 1) from error
        counted = calls.believed(embedded.tokens, tokens_max)
        cost = cost_max if counted is None else self.micro_usd(counted)
        with self.database.transaction() as connection:
            spending_store.settle(connection, spending.id, cost, tokens_in=counted, tokens_out=0)
        return replace(embedded, tokens=counted)


def _most_tokens(texts: Iterable[str]) -> int:
    """Return the most tokens that texts can be: no tokeniser makes more of a text than it has bytes."""
    return sum(len(text.encode()) + _TOKENS_BESIDES for text in texts)
