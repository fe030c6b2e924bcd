"""The one way a client of OpenAI's API is opened: of the operator's address, reading nothing of the environment.

It follows no redirect and tries nothing a second time: the job's own tries do. The package is loaded with the first
call: that takes most of a second, and most processes never need it.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openai import OpenAI

WRONG_SET_UP = frozenset({"model_not_found", "unsupported_model", "invalid_model", "insufficient_quota"})
"""Codes of errors that an operator must mend, whatever their status."""
_CONNECT_S = 10.0
_NO_KEY = "none"
"""The library insists on one, a server of one's own need not."""


class OpenAiOpener:
    """Opens a client at the first call and keeps it. Thread-safe. ``api_key`` is asked for then."""

    def __init__(self, *, base_url: str, api_key: Callable[[], str], timeout_s: float) -> None:
        self._base_url = base_url
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._client: OpenAI | None = None
        self._lock = threading.Lock()

    def client(self) -> "OpenAI":
        """Return the client."""
        import httpx2  # noqa: PLC0415 - loaded with the first call, as said above
        from openai import OpenAI  # noqa: PLC0415 - as said

        with self._lock:
            if self._client is None:
                http = httpx2.Client(
                    timeout=httpx2.Timeout(self._timeout_s, connect=min(_CONNECT_S, self._timeout_s)),
                    trust_env=False,
                    follow_redirects=False,
                )
                self._client = OpenAI(
                    api_key=self._api_key() or _NO_KEY, base_url=self._base_url, max_retries=0, http_client=http
                )
                self._client.organization = self._client.project = None  # what the environment says of them is not ours
            return self._client

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._client is not None:
                self._client.close()
