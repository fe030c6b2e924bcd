"""The one way a client of OpenAI's API is opened: of the operator's address, reading nothing of the environment.

And what its errors mean, whatever was asked of it: whether a call cost money, and who has to wait.

It follows no redirect and tries nothing a second time: the job's own tries do. The package is loaded with the first
call: that takes most of a second, and most processes never need it.
"""

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from siftline.kit.errors import ConfigurationError, TransientError
from siftline.kit.lines import line
from siftline.net.http_model import retry_after_s


class CallFailedError(Exception):
    """A call that brought no answer. ``billed``: it may have been paid for all the same."""

    billed = False


class ModelBusyError(CallFailedError, TransientError):
    """The model wants to be asked in ``retry_after_s`` seconds, or cannot be reached; nothing was billed."""


class ModelUnavailableError(CallFailedError, TransientError):
    """The model gave an unexpected answer. ``billed``: the call may have been paid for all the same."""

    def __init__(self, detail: str, *, billed: bool, retry_after_s: float | None = None) -> None:
        super().__init__(detail, retry_after_s=retry_after_s)
        self.billed = billed


class ModelRefusedError(CallFailedError):
    """The model does not take this call.

    ``set_up`` is what that means where it takes no other text either; ``None``: it is surely for this text.
    """

    def __init__(self, detail: str, *, set_up: ConfigurationError | None) -> None:
        super().__init__(detail)
        self.set_up = set_up


if TYPE_CHECKING:
    from openai import OpenAI, OpenAIError

WRONG_SET_UP = frozenset(
    {"invalid_api_key", "model_not_found", "unsupported_model", "invalid_model", "insufficient_quota"}
    | {"unsupported_parameter", "unknown_parameter"}
)
"""Codes of errors that an operator must mend, whatever their status."""
_OF_THE_TEXT = frozenset(
    {"content_filter", "content_policy_violation", "context_length_exceeded", "string_above_max_length"}
)
"""Codes of refusals that are about this text and no other."""
CONTROL_TEXT = "The town library opens at nine in the morning and closes at six. On Sundays it stays shut."
"""A text that nobody has a reason to refuse: a server that refuses it too is set up wrongly."""
_CODE_CHARS = 80
COUNT_MAX = 2**31 - 1
"""More tokens than any call has: what a server counts beyond is not worth keeping."""
BUSY_S = 60.0
"""A model that answers 429 and names no time, or that cannot be reached at all, is left alone this long."""
_CONNECT_S = 10.0
_NO_KEY = "none"
"""The library insists on one, a server of one's own need not."""


class OpenAiOpener:
    """Opens a client at the first call and keeps it. Thread-safe. ``api_key`` is asked for then.

    ``timeout_s`` is for a whole call, however its bytes come.
    """

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

        from siftline.models.openai_transport import BoundedTransport  # noqa: PLC0415 - as said

        with self._lock:
            if self._client is None:
                http = httpx2.Client(
                    timeout=httpx2.Timeout(self._timeout_s, connect=min(_CONNECT_S, self._timeout_s)),
                    trust_env=False,
                    follow_redirects=False,
                    transport=BoundedTransport(self._timeout_s),
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


class FailureKind(StrEnum):
    """What became of a call that was not answered."""

    AWAY = "away"
    """The server cannot be reached; nothing was sent."""
    SILENT = "silent"
    """It did not answer in time, and may have billed the call."""
    UNREADABLE = "unreadable"
    """What it answered is no answer, and may have been billed."""
    BUSY = "busy"
    """It wants to be asked later."""
    FAILED = "failed"
    """It answered with an error of its own."""
    SET_UP_WRONGLY = "set_up_wrongly"
    """Key, model or a parameter is refused, surely whatever the text: an operator must act."""
    TEXT_REFUSED = "text_refused"
    """It does not take this text, surely for what it is."""
    REFUSED = "refused"
    """It does not take this call: for its text or for how it is set up, which another text tells."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of the library, told apart; ``status`` is 0 where there was no answer."""

    kind: FailureKind
    status: int = 0
    code: str | None = None
    retry_after_s: float | None = None
    billed: bool = False


def failure_of(error: "OpenAIError", now: datetime, *, set_up_fields: Collection[str]) -> Failure:
    """Return what an error means; ``set_up_fields`` are the parameters in which nothing of a text is sent.

    Words and statuses are no proof: servers answer 403 or 404 to one text, name fields of their own, and write what
    they like. Only what no text can bring about counts as a fault of the set-up without another text being asked about.
    """
    import httpx2  # noqa: PLC0415 - loaded already
    from openai import APIConnectionError, APIStatusError  # noqa: PLC0415 - loaded already

    if isinstance(error, APIConnectionError):
        if isinstance(error.__cause__, httpx2.DecodingError | httpx2.RemoteProtocolError):
            return Failure(FailureKind.UNREADABLE, billed=True)
        unsent = isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout)
        return Failure(FailureKind.AWAY if unsent else FailureKind.SILENT, billed=not unsent)
    if not isinstance(error, APIStatusError):
        return Failure(FailureKind.UNREADABLE, billed=True)
    status, code, param = error.status_code, _word(error.code), _word(error.param)
    if status in {401, 402} or 300 <= status < 400 or code in WRONG_SET_UP:
        return Failure(FailureKind.SET_UP_WRONGLY, status, code)
    if status == 429:
        return Failure(FailureKind.BUSY, status, code, retry_after_s(error.response.headers, now))
    if status in {408, 409} or status >= 500:
        return Failure(FailureKind.FAILED, status, code, billed=status in {408, 504})
    if code in _OF_THE_TEXT:
        return Failure(FailureKind.TEXT_REFUSED, status, code)
    kind = FailureKind.SET_UP_WRONGLY if param in set_up_fields else FailureKind.REFUSED
    return Failure(kind, status, code or param)


def count_of(value: object) -> int | None:
    """Return a number of tokens as a server counted them, ``COUNT_MAX`` at most; ``None`` where it is none."""
    return min(value, COUNT_MAX) if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _word(value: object) -> str | None:
    """Return a code or a name as it can be stored and shown; servers send numbers and lists, too."""
    if not isinstance(value, str | int):
        return None
    return line(str(value), _CODE_CHARS) or None
