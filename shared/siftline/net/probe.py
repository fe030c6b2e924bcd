"""Asking whether a server of ours answers at all."""

from siftline.kit.errors import TransientError


class NoAnswerError(TransientError):
    """The server could not be reached, or says itself that it is not well."""

    code = "no_answer"


def check_answers(url: str, *, timeout_s: float = 3.0) -> None:
    """Raise ``NoAnswerError`` unless ``url`` answers below 500. For operators' addresses only, never for users'."""
    import httpx  # noqa: PLC0415 - for a deep look at the health only, so not at every start of the API

    try:
        status = httpx.get(url, timeout=timeout_s, trust_env=False).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NoAnswerError("The server could not be reached.") from error
    if status >= 500:
        raise NoAnswerError(f"The server answered {status}.")
