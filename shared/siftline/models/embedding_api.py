"""Vectors of texts from a model behind OpenAI's API, or one that speaks the same, and what they cost.

``EmbeddingApi`` makes one request a call, with a batch of texts; nothing is tried again there, and no money counted.
What comes back is checked: as many vectors as texts, each of the dimensions that were asked for, with a direction and
no value that is not a finite number. ``PricedEmbedder`` pays for it, and tells whoever needs a vector meanwhile to
wait. Where a text is refused, one of our own is asked about at once: only if that is refused too is the set-up wrong,
and for everybody.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from siftline.kit.clock import Clock
from siftline.kit.db import Database
from siftline.kit.errors import ConfigurationError, NotTriedError, PermanentError
from siftline.kit.ids import new_id
from siftline.models import spending_store
from siftline.models.openai_client import (
    BUSY_S,
    CONTROL_TEXT,
    CallFailedError,
    Failure,
    FailureKind,
    ModelBusyError,
    ModelRefusedError,
    ModelUnavailableError,
    OpenAiOpener,
    count_of,
    failure_of,
)
from siftline.models.paid_call import NotAskedError, PaidCalls
from siftline.models.spending_store import Caps
from siftline.models.unit_vector import UnusableVectorError, Vector, unit_vector

if TYPE_CHECKING:
    from openai import OpenAIError

PROVIDER = "embedding"
_SET_UP_FIELDS = frozenset({"model", "dimensions", "encoding_format"})
"""Parameters in which nothing of a text is sent."""


class EmbeddingMisconfiguredError(CallFailedError, ConfigurationError):
    """Key, model or dimensions are refused or wrong, or the account has no money left."""

    code = "embedding_misconfigured"
    provider = PROVIDER


class EmbeddingBusyError(ModelBusyError):
    """The model wants to be asked later, or cannot be reached; nothing was billed."""

    code = "embedding_busy"


class EmbeddingUnavailableError(ModelUnavailableError):
    """The model gave an unexpected answer. ``billed``: the call may have been paid for all the same."""

    code = "embedding_unavailable"


class EmbeddingUselessError(EmbeddingUnavailableError):
    """The model answered in time and form, and with a vector without direction or with what is no finite number."""

    code = "unusable_vector"


class EmbeddingRefusedError(ModelRefusedError, PermanentError):
    """The model does not take this call."""

    code = "embedding_refused"


@dataclass(frozen=True, slots=True)
class ApiModel:
    """Which model, and how it is asked. ``shortened``: the dimensions are fewer than its own and asked for."""

    name: str
    dimensions: int
    shortened: bool = False
    query_prefix: str = ""
    passage_prefix: str = ""
    chars_max: int = 8_000
    """What a text has beyond is not sent."""

    @property
    def version(self) -> str:
        """Names everything that changes the vectors, and is no longer than a model's version may be."""
        prefixes = f"{self.query_prefix}\0{self.passage_prefix}"
        marked = f"-{hashlib.sha256(prefixes.encode()).hexdigest()[:6]}" if prefixes != "\0" else ""
        return f"api-{self.name[-80:]}-{self.dimensions}{marked}"


@dataclass(frozen=True, slots=True)
class Embedded:
    """A call's vectors, in the order of the texts (``None``: no usable one came), and the tokens that were counted."""

    vectors: Sequence[Vector | None]
    tokens: int | None

    def one(self) -> Vector:
        """Return the vector of a single text. Raises ``EmbeddingUselessError``: another try may bring one."""
        vector = self.vectors[0]
        if vector is None:
            detail = "The embedding model's vector is zero or not finite."
            raise EmbeddingUselessError(detail, billed=True)
        return vector


class EmbeddingApi:
    """Calls one model. Thread-safe. The client is opened, and its key asked for, at the first call."""

    def __init__(
        self, model: ApiModel, *, base_url: str, api_key: Callable[[], str], timeout_s: float, clock: Clock
    ) -> None:
        self.model = model
        self._opener = OpenAiOpener(base_url=base_url, api_key=api_key, timeout_s=timeout_s)
        self._clock = clock

    def prepared(self, text: str, prefix: str) -> str:
        """Return a text as it is sent: cut, with what the model wants before it, and never empty."""
        return (prefix + text[: self.model.chars_max]).encode("utf-8", "ignore").decode().strip() or "."

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors of prepared texts. Raises the error classes of this module."""
        from openai import OpenAIError  # noqa: PLC0415 - loaded with the first call

        body: dict[str, Any] = {"model": self.model.name, "input": list(texts), "encoding_format": "float"}
        if self.model.shortened:
            body["dimensions"] = self.model.dimensions
        try:
            answer = self._opener.client().post("/embeddings", body=body, cast_to=dict[str, Any])
        except OpenAIError as error:
            raise self._meaning(error) from error
        except (ValueError, RecursionError) as error:  # the body is no JSON, or nested without end
            raise EmbeddingUnavailableError("The embedding model's answer could not be read.", billed=True) from error
        return self._read(answer, len(texts))

    def close(self) -> None:
        """Close the connections."""
        self._opener.close()

    def _read(self, body: Any, wanted: int) -> Embedded:
        rows = body.get("data") if isinstance(body, dict) else None
        if not isinstance(rows, list) or len(rows) != wanted or not all(isinstance(row, dict) for row in rows):
            raise EmbeddingUnavailableError("The embedding model did not return one vector per text.", billed=True)
        places = [row.get("index", place) for place, row in enumerate(rows)]
        if any(type(place) is not int for place in places) or sorted(places) != list(range(wanted)):
            raise EmbeddingUnavailableError("The embedding model's vectors have no index.", billed=True)
        vectors: list[Vector | None] = [None] * wanted
        for place, row in zip(places, rows, strict=True):
            vectors[place] = self._vector(row)
        usage = body.get("usage")
        counted: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
        tokens = count_of(counted.get("total_tokens"))
        return Embedded(vectors, count_of(counted.get("prompt_tokens")) if tokens is None else tokens)

    def _vector(self, row: Mapping[str, Any]) -> Vector | None:
        values = row.get("embedding")
        if not isinstance(values, list):
            raise EmbeddingUnavailableError("The embedding model's vector is not a list of numbers.", billed=True)
        if len(values) != self.model.dimensions:
            raise EmbeddingMisconfiguredError(
                f"The embedding model {self.model.name} returns vectors of {len(values)} dimensions, not "
                f"{self.model.dimensions}. Set EMBEDDING_API_DIMENSIONS accordingly."
            )
        if any(type(value) not in {int, float} for value in values):
            return None
        try:
            return unit_vector(np.array(values, dtype=np.float64))
        except (UnusableVectorError, OverflowError):
            return None

    def _meaning(self, error: "OpenAIError") -> Exception:
        failure = failure_of(error, self._clock.now(), set_up_fields=_SET_UP_FIELDS)
        match failure.kind:
            case FailureKind.AWAY:
                return EmbeddingBusyError("The embedding model could not be reached.", retry_after_s=BUSY_S)
            case FailureKind.BUSY:
                wait_s = failure.retry_after_s or BUSY_S
                return EmbeddingBusyError("The embedding model asked us to retry later.", retry_after_s=wait_s)
            case FailureKind.SILENT | FailureKind.UNREADABLE | FailureKind.FAILED:
                how = f"answered {failure.status}" if failure.status else "gave an unexpected answer"
                return EmbeddingUnavailableError(f"The embedding model {how}.", billed=failure.billed)
            case FailureKind.TEXT_REFUSED | FailureKind.REFUSED:
                detail = f"The embedding model does not accept this text (status {failure.status})."
                surely = failure.kind is FailureKind.TEXT_REFUSED
                return EmbeddingRefusedError(detail, set_up=None if surely else self._misconfigured(failure))
        return self._misconfigured(failure)

    def _misconfigured(self, failure: Failure) -> EmbeddingMisconfiguredError:
        return EmbeddingMisconfiguredError(
            f"The embedding model {self.model.name} rejected the request with {failure.status} "
            f"({failure.code or 'no code'})."
        )


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
