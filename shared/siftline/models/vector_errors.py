"""What can go wrong with Qdrant, in our own words: the client's errors translated at the edge."""

from collections.abc import Iterator
from contextlib import contextmanager

from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from siftline.kit.errors import ConfigurationError, PermanentError, TransientError

_TRANSIENT_STATUSES = frozenset({408, 425, 429})


class VectorsUnavailableError(TransientError):
    """Qdrant could not be reached, did not answer in time, or asked to come back later."""

    code = "vectors_unavailable"
    provider = "vectors"


class VectorsRefusedError(ConfigurationError):
    """Qdrant refused the key or does not understand what it is asked: an operator must act."""

    code = "vectors_refused"
    provider = "vectors"


class CollectionMismatchError(ConfigurationError):
    """The collection, or a vector meant for it, has another number of dimensions or another distance."""

    code = "collection_mismatch"
    provider = "vectors"


class InvalidVectorError(PermanentError):
    """A vector without direction: all zero, or with a component that is not a finite number."""

    code = "invalid_vector"


class AbsentError(VectorsRefusedError):
    """There is no such collection."""


@contextmanager
def translated() -> Iterator[None]:
    """Raise this module's errors for those of ``qdrant_client``."""
    try:
        yield
    except ResourceExhaustedResponse as error:
        raise VectorsUnavailableError(
            "The vector store asked us to retry later.", retry_after_s=float(error.retry_after_s)
        ) from error
    except UnexpectedResponse as error:
        raise _of_status(error.status_code or 0) from error
    except (ResponseHandlingException, QdrantException, ValueError) as error:  # ValueError: the answer is not JSON
        raise VectorsUnavailableError(
            "The vector store could not be reached, or its answer could not be read."
        ) from error


def _of_status(status: int) -> Exception:
    if status == 404:
        return AbsentError("The vector store has no such collection.")
    if status >= 500 or status in _TRANSIENT_STATUSES:
        return VectorsUnavailableError(f"The vector store answered {status}.")
    return VectorsRefusedError(f"The vector store rejected the request ({status}).")
