"""How a caller narrows down what they hold, the same wherever they look: the parameters, and what they come to."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import AfterValidator

from siftline.api.http.paging import Time
from siftline.kit.lines import line

ByLang = Annotated[
    str | None, Query(pattern="^[a-z]{2,3}$", description="A language: ISO 639-1, as `en`", examples=["en"])
]
ByTopic = Annotated[str | None, Query(max_length=200, description="A topic, everybody's or your own")]
ByTag = Annotated[
    str | None,
    Query(max_length=64, description="A tag, yours or found by reading"),
    AfterValidator(lambda tag: tag and line(tag)),  # as it was kept (``siftline.api.http.shapes.Label``)
]
ByEntity = Annotated[
    str | None, Query(max_length=200, description="One whom it names: a canonical id, or a temporary one")
]
BySource = Annotated[
    UUID | None, Query(description="The source that brought it, or one that you follow and that lists it too")
]
ByFolder = Annotated[UUID | None, Query(description="A folder of yours: a source in it brought it, or lists it too")]
BySince = Annotated[Time | None, Query(description="Not older than this (`sort_at`)")]
ByUntil = Annotated[Time | None, Query(description="Older than this (`sort_at`)")]
ByUnread = Annotated[bool | None, Query(description="Only unread ones, or only read ones")]
ByStarred = Annotated[bool | None, Query(description="Only starred ones, or only others")]


@dataclass(frozen=True, slots=True)
class Filters:
    """Which of the caller's items are meant; ``None`` means any."""

    topic: str | None = None
    tag: str | None = None
    source_id: UUID | None = None
    folder_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    unread: bool | None = None
    starred: bool | None = None
