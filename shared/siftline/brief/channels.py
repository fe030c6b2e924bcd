"""What a channel is (it takes one edition to one place, and says what became of it), and the webhook.

A webhook is an address of the user's own: a signed POST of the frozen document, through the safe HTTP client. The mail
stands in ``mail``.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any, Protocol

from siftline.brief.deliveries_store import Delivery
from siftline.kit.clock import Clock
from siftline.kit.errors import PermanentError, TransientError
from siftline.net.http_model import (
    Http,
    HttpTransientError,
    InvalidResponseError,
    RedirectRefusedError,
    Requester,
    StatusRefusedError,
    StatusTransientError,
    TooLargeError,
    TooManyRedirectsError,
)
from siftline.net.urls import typed_origin


class UnansweredError(TransientError):
    """It was handed over and no answer came: the far side may have taken it or not."""

    code = "unanswered"


class DeliveryChannel(Protocol):
    """Delivers by mail, by webhook."""

    def send(self, delivery: Delivery) -> str | None:
        """Hand it over once and return the far side's id for it, if it gives one.

        Raises ``UnansweredError`` where it may have been taken, any other of our errors where it surely was not.
        """
        ...


ANSWER_MAX_BYTES = 64 * 1024
"""More than this of an answer is not read; the status alone counts."""


class WebhookGoneError(PermanentError):
    """The address answered 410: it wants no more."""

    code = "gone"


class WebhookChannel:
    """Posts editions. The client must follow no redirect and ask once (``brief_wiring``)."""

    def __init__(self, http: Http, clock: Clock) -> None:
        self._http = http
        self._clock = clock

    def send(self, delivery: Delivery) -> None:
        """Post an edition; see ``DeliveryChannel``. Raises ``WebhookGoneError`` for 410: nothing more is to come."""
        body = body_of(delivery.document)
        timestamp = str(int(self._clock.now().timestamp()))
        headers = {
            "Content-Type": "application/json",
            "X-Siftline-Edition-Id": str(delivery.edition_id),
            "X-Siftline-Timestamp": timestamp,
            "X-Siftline-Signature": signature(delivery.signing_key or "", timestamp, body),
        }
        try:
            # Whoever made the briefing typed it; loopback is open to webhooks by a setting of their own.
            requester = Requester(typed_origin=typed_origin(delivery.destination))
            self._http.post(
                delivery.destination, body=body, requester=requester, headers=headers, max_bytes=ANSWER_MAX_BYTES
            )
        except (TooLargeError, InvalidResponseError):
            return  # a 2xx whose body nobody asked for
        except TooManyRedirectsError as error:
            raise RedirectRefusedError("The webhook redirects. Use the target address instead.") from error
        except StatusRefusedError as error:
            if error.status == 410:
                raise WebhookGoneError("The webhook answered 410 (Gone). Delivery was stopped.") from error
            raise
        except StatusTransientError:
            raise
        except HttpTransientError as error:
            if error.unsent:
                raise
            raise UnansweredError(error.detail, code=error.error_code) from error


def body_of(document: Mapping[str, Any]) -> bytes:
    """Return a document as it is posted, the same bytes each time."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def signature(key: str, timestamp: str, body: bytes) -> str:
    """Return ``v1=`` and the HMAC-SHA256 of ``<timestamp>.<body>`` in hex.

    >>> signature("key", "1764300000", b"{}")[:11]
    'v1=735e4ec4'
    """
    digest = hmac.new(key.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"v1={digest.hexdigest()}"
