"""Vectors of texts from a model behind OpenAI's API, or one that speaks the same. No money is counted here.

One call is one request with a batch of texts: nothing is tried again here. What comes back is checked: as many vectors
as texts, each of the dimensions that were asked for, with a direction and no value that is not a finite number.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from siftline.kit.clock import Clock
from siftline.kit.errors import ConfigurationError, PermanentError
from siftline.models.call_errors import CallFailedError, ModelBusyError, ModelRefusedError, ModelUnavailableError
from siftline.models.openai_client import Failure, FailureKind, OpenAiOpener, count_of, failure_of
from siftline.models.unit_vector import UnusableVectorError, Vector, unit_vector

if TYPE_CHECKING:
    from openai import OpenAIError

PROVIDER = "embedding"
_SET_UP_FIELDS = frozenset({"model", "dimensions", "encoding_format"})
"""Parameters in which nothing of a text is sent."""
BUSY_S = 60.0
"""A model that answers 429 and names no time, or that cannot be reached at all, is left alone this long."""


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
