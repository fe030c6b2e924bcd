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
    str | None, Query(pattern="^[a-z]{2,3}$", description="ISO 639-1 language code, such as `en`", examples=["en"])
]
ByTopic = Annotated[str | None, Query(max_length=200, description="A topic: a default one or your own")]
ByTag = Annotated[
    str | None,
    Query(max_length=64, description="A tag: your own or an automatic one"),
    AfterValidator(lambda tag: tag and line(tag)),  # as it was kept (``siftline.api.http.shapes.Label``)
]
ByEntity = Annotated[
    str | None, Query(max_length=200, description="An entity named in the item: canonical or temporary id")
]
BySource = Annotated[
    UUID | None, Query(description="The source that delivered it, or another source you follow that also lists it")
]
ByFolder = Annotated[
    UUID | None, Query(description="One of your folders: a source in it delivered or also lists the item")
]
BySince = Annotated[Time | None, Query(description="At or after this time (`sort_at`)")]
ByUntil = Annotated[Time | None, Query(description="Before this time (`sort_at`)")]
ByUnread = Annotated[bool | None, Query(description="true: only unread items; false: only read items")]
ByStarred = Annotated[bool | None, Query(description="true: only starred items; false: only items without a star")]


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
