"""Cursor paging: a list continues after the last row that was shown, however many came or went meanwhile."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Annotated, Any, TypeVar
from uuid import UUID

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import AfterValidator, AwareDatetime, BeforeValidator

from siftline.api.http.problems import Fault, faulty
from siftline.api.http.request_checks import UNSTORABLE

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
# What PostgreSQL takes for an integer after rounding, and more places than any kept order has: anybody can make up a
# cursor.
_RANK_MAX = 2**31 - 2
_PLACES_MAX = 1_000_000
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
T = TypeVar("T")
_NO_CURSOR = "`next` is not valid for this list. Send it unchanged, with the same parameters as the previous request."

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Maximum number of results")]
Next = Annotated[
    str | None,
    Query(
        max_length=256,
        description="`next` of the previous page; keep all other parameters unchanged",
    ),
]

# Not an argument: each of a dozen routes would have to take it from its request and hand it to whatever reads a
# cursor and to whatever writes one, and one that forgot to would take the cursor of another list.
_list: ContextVar[str] = ContextVar("list", default="")


def _utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("Must lie between the years 1 and 9999 in UTC") from error


@contextmanager
def paging(path: str, query: Mapping[str, str]) -> Iterator[None]:
    """Tell which list a request is about, while it is answered: a ``next`` goes on only where it was made.

    What is asked for is the path and all parameters but ``next`` and ``limit``.
    """
    asked = sorted((name, value) for name, value in query.items() if name not in {"next", "limit"})
    token = _list.set(blake2b(json.dumps([path, asked]).encode(), digest_size=6).hexdigest())
    try:
        yield
    finally:
        _list.reset(token)


def _rfc3339(given: Any) -> Any:
    if isinstance(given, datetime) or (isinstance(given, str) and _RFC3339.fullmatch(given)):
        return given
    raise ValueError("Must be a date and time with an offset (RFC 3339), such as 2026-11-28T09:30:00Z")


Time = Annotated[AwareDatetime, BeforeValidator(_rfc3339), AfterValidator(_utc)]
"""A time of the caller's: RFC 3339 with an offset, kept and shown in UTC."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place of a row in an order by time and id, newest first."""

    at: datetime
    id: UUID

    def encode(self) -> str:
        """Return it as an opaque word that needs no escaping in a URL."""
        return _encoded([self.at.astimezone(UTC).isoformat(), self.id.hex])


def decode(word: str | None) -> Cursor | None:
    """Return the cursor that ``encode`` wrote; ``None`` for none. Raises 422 for anything else."""
    return _read(word, lambda at, key: Cursor(_time(at), UUID(hex=key)))


def behind(after: Cursor | None) -> dict[str, Any]:
    """Return the place behind which a page begins, as the statements of lists take it."""
    return {"after_at": after and after.at, "after_id": after and after.id}


@dataclass(frozen=True, slots=True)
class RankCursor:
    """The place of a row in an order by rank and id, as the ranks were at a moment: they change as time passes."""

    at: datetime
    rank: float
    id: UUID

    def encode(self) -> str:
        """Return it as an opaque word that needs no escaping in a URL."""
        return _encoded([self.at.astimezone(UTC).isoformat(), self.rank, self.id.hex])


def decode_ranked(word: str | None) -> RankCursor | None:
    """Return the cursor that ``RankCursor.encode`` wrote; ``None`` for none. Raises 422 for anything else."""
    return _read(word, lambda at, rank, key: RankCursor(_time(at), _rank(rank), UUID(hex=key)))


def encode_rank(number: float, key: UUID) -> str:
    """Return the place after a row in an order by number and id, as an opaque word."""
    return _encoded([number, key.hex])


def decode_rank(word: str | None) -> tuple[float, UUID] | None:
    """Return the place that ``encode_rank`` wrote; ``None`` for none. Raises 422 for anything else."""
    return _read(word, lambda number, key: (_rank(number), UUID(hex=key)))


@dataclass(frozen=True, slots=True)
class OrderCursor:
    """The next place of an order that was kept as it was at a moment (``feed_orders``)."""

    order_id: UUID
    place: int

    def encode(self) -> str:
        """Return it as an opaque word that needs no escaping in a URL."""
        return _encoded([self.order_id.hex, self.place])


def decode_order(word: str | None) -> OrderCursor | None:
    """Return the cursor that ``OrderCursor.encode`` wrote; ``None`` for none. Raises 422 for anything else."""

    def read(key: Any, place: Any) -> OrderCursor:
        if type(place) is not int or not 0 <= place <= _PLACES_MAX:
            raise ValueError(place)
        return OrderCursor(UUID(hex=key), place)

    return _read(word, read)


@dataclass(frozen=True, slots=True)
class SectionCursor:
    """The place after a key in one of several lists that follow one another; no key: its beginning."""

    section: str
    after: str | None

    def encode(self) -> str:
        """Return it as an opaque word that needs no escaping in a URL."""
        return _encoded([self.section, self.after])


def decode_section(word: str | None, sections: Collection[str]) -> SectionCursor | None:
    """Return the cursor that ``SectionCursor.encode`` wrote; ``None`` for none. Raises 422 for anything else."""

    def read(section: Any, after: Any) -> SectionCursor:
        if section not in sections or not isinstance(after, str):
            raise ValueError(section)
        return SectionCursor(section, after)

    return _read(word, read)


def page(rows: Sequence[T], limit: int, place: Callable[[T], str]) -> tuple[Sequence[T], str | None]:
    """Split ``limit + 1`` rows asked for into the page and the word for the next one, if there is one.

    ``place`` returns the word for the place behind a row.
    """
    if len(rows) <= limit:
        return rows, None
    return rows[:limit], place(rows[limit - 1])


def _encoded(place: list[Any]) -> str:
    bound = [*place, _list.get()]
    return base64.urlsafe_b64encode(json.dumps(bound, separators=(",", ":")).encode()).decode().rstrip("=")


def _read(word: str | None, form: Callable[..., T]) -> T | None:
    """Return a place in the form of its list; ``None`` for none. Raises 422 for what this list never wrote."""
    if word is None:
        return None
    try:
        *place, bound_to = json.loads(base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True))
        if bound_to != _list.get() or any(isinstance(part, str) and UNSTORABLE.search(part) for part in place):
            raise ValueError(word)
        return form(*place)
    except (binascii.Error, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise faulty([Fault(code="invalid_cursor", detail=_NO_CURSOR, parameter="next")], "invalid_cursor") from error


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.utcoffset() is None:
        raise ValueError(text)
    return time.astimezone(UTC)


def _rank(number: Any) -> float:
    if isinstance(number, int | float) and not isinstance(number, bool) and abs(number) <= _RANK_MAX:
        return number
    raise ValueError(number)
