"""A ``requests`` session for libraries that want one; every request of it goes through the safe HTTP client.

The session has one adapter and reads nothing of the environment (no proxy, no netrc), so that whatever a library asks
of it is resolved once, checked and pinned as all that goes out (``siftline.net.http``), redirects included.
"""

import json
from collections.abc import Mapping
from typing import Any

import requests  # noqa: TID251  -- youtube-transcript-api takes no other client; no connection is opened by requests
from requests.adapters import BaseAdapter  # noqa: TID251  -- as above
from requests.structures import CaseInsensitiveDict  # noqa: TID251  -- as above

from siftline.net.http_model import Http, Requester, Response, StatusRefusedError, StatusTransientError

_OURS = frozenset({"accept", "accept-encoding", "connection", "content-length", "host", "user-agent"})


class SafeAdapter(BaseAdapter):
    """Sends a session's requests through the safe client, and remembers what came back.

    A status that the client raises for becomes an answer of that status; its other errors pass through to the caller.
    """

    def __init__(self, http: Http, requester: Requester, *, max_bytes: int) -> None:
        super().__init__()
        self._http = http
        self._requester = requester
        self._max_bytes = max_bytes
        self.page: Response | None = None
        """The newest answer that is a page."""
        self.facts: dict[str, Any] = {}
        """The newest answer that is a JSON object."""
        self.status: int | None = None
        """The newest answer's status."""
        self.refusal: StatusTransientError | None = None
        """The newest answer that may be another later, as 429 is."""

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        """Send one request; the session's own timeouts, proxies and certificates do not count."""
        headers = {name: str(value) for name, value in request.headers.items() if name.lower() not in _OURS}
        url = str(request.url)
        try:
            if request.method == "POST":
                body = request.body
                raw = body.encode() if isinstance(body, str) else body if isinstance(body, bytes) else b""
                answer = self._http.post(
                    url,
                    body=raw,
                    requester=self._requester,
                    headers=headers,
                    max_bytes=self._max_bytes,
                    repeatable=True,
                )
            else:
                answer = self._http.get(url, requester=self._requester, headers=headers, max_bytes=self._max_bytes)
        except (StatusRefusedError, StatusTransientError) as error:
            self.refusal = error if isinstance(error, StatusTransientError) else None
            return self._answered(request, error.status, error.answer.headers, error.answer.body_start, url)
        self._remember(answer)
        return self._answered(request, answer.status, answer.headers, answer.body, answer.url)

    def close(self) -> None:
        """Nothing of its own is open."""

    def _remember(self, answer: Response) -> None:
        if answer.content_type == "text/html":
            self.page = answer
        elif answer.content_type == "application/json":
            try:
                facts = json.loads(answer.body)
            except ValueError:
                return
            self.facts = facts if isinstance(facts, dict) else {}

    def _answered(
        self, request: requests.PreparedRequest, status: int, headers: Mapping[str, str], body: bytes, url: str
    ) -> requests.Response:
        self.status = status
        answer = requests.Response()
        answer.status_code = status
        answer.headers = CaseInsensitiveDict(headers)
        answer.encoding = "utf-8"
        answer.url = url
        answer.request = request
        answer._content = body  # noqa: SLF001  -- requests knows no public way to an answer without a connection
        return answer


def safe_session(adapter: SafeAdapter) -> requests.Session:
    """Return a session that has this adapter for https and none for anything else."""
    session = requests.Session()
    session.trust_env = False
    session.adapters.clear()
    session.mount("https://", adapter)
    return session
