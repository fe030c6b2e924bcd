"""What a channel is: takes one edition to one place, and says what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from siftline.kit.errors import TransientError


class UnansweredError(TransientError):
    """It was handed over and no answer came: the far side may have taken it or not."""

    code = "unanswered"


@dataclass(frozen=True, slots=True)
class Parcel:
    """One edition on its way to one destination."""

    delivery_id: UUID
    edition_id: UUID
    briefing_id: UUID
    destination: str
    document: Mapping[str, Any]
    html: str = field(repr=False)
    plain: str = field(repr=False)
    unsubscribe_token: str = field(repr=False)
    signing_key: str | None = field(repr=False)
    made_at: datetime


class Channel(Protocol):
    """Delivers by mail, by webhook."""

    def send(self, parcel: Parcel) -> str | None:
        """Hand it over once and return the far side's id for it, if it gives one.

        Raises ``UnansweredError`` where it may have been taken, any other of our errors where it surely was not.
        """
        ...
