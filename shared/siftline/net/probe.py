"""Asking whether a server of ours answers at all."""

from siftline.kit.errors import TransientError


class NoAnswerError(TransientError):
    """The server could not be reached, or says itself that it is not well."""

    code = "no_answer"


def count_points(url: str, collection: str, *, api_key: str = "", timeout_s: float = 10.0) -> int:
    """Return about how many points a collection of Qdrant's has; 0 where there is no such collection.

    It costs no client of Qdrant's own, which takes a second to import. Raises ``NoAnswerError``.
    """
    import httpx  # noqa: PLC0415 - as below

    headers = {"api-key": api_key} if api_key else {}
    try:
        answer = httpx.get(f"{url}/collections/{collection}", headers=headers, timeout=timeout_s, trust_env=False)
        if answer.status_code == 404:
            return 0
        answer.raise_for_status()
        return int(answer.json()["result"]["points_count"] or 0)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
        raise NoAnswerError("The vector store did not say what it holds.") from error


def check_answers(url: str, *, timeout_s: float = 3.0) -> None:
    """Raise ``NoAnswerError`` unless ``url`` answers below 500. For operators' addresses only, never for users'."""
    import httpx  # noqa: PLC0415 - for a deep look at the health only, so not at every start of the API

    try:
        status = httpx.get(url, timeout=timeout_s, trust_env=False).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NoAnswerError("The server could not be reached.") from error
    if status >= 500:
        raise NoAnswerError(f"The server answered {status}.")
