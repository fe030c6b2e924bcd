"""Finding: search by meaning, and what resembles an item. Answered by the ``search`` function."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, Protocol
from uuid import UUID

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel, Field, StringConstraints

from siftline.api.http.auth import CurrentCaller
from siftline.api.http.paging import DEFAULT_LIMIT, Limit
from siftline.api.http.problems import not_found
from siftline.api.http.routing import Resource, route
from siftline.api.http.shapes import (
    EXAMPLE_ID,
    ByEntity,
    ByFolder,
    ByLang,
    BySince,
    BySource,
    ByStarred,
    ByTag,
    ByTopic,
    ByUnread,
    ByUntil,
    Cause,
    Filters,
    ListPage,
)
from siftline.api.items.item_models import Topic

QUERY_MAX_CHARS = 500


@dataclass(frozen=True, slots=True)
class Wanted(Filters):
    """Which of the caller's items may be found; ``None`` means any."""

    lang: str | None = None
    entity: str | None = None


class Finder(Protocol):
    """Finds among what a user holds (``siftline.rank.search.Search``), and returns what ``FoundItems`` shows."""

    def search(self, user_id: UUID, query: str, filters: Wanted, *, limit: int) -> object:
        """Return what is nearest to the query."""
        ...

    def similar(self, user_id: UUID, item_id: UUID, filters: Wanted, *, limit: int) -> object | None:
        """Return what is nearest to an item; ``None`` if it is not the user's."""
        ...


class FoundHighlight(BaseModel):
    """Where words of the query occur. Plain text, never HTML."""

    field: Literal["title", "summary", "text"] = Field(
        description="The field that matched; a passage of `text` is shown, with … where it is cut"
    )
    text: str = Field(description="Plain text; escape it before showing it as HTML")
    marks: list[tuple[int, int]] = Field(
        description="Ranges to highlight, in order: start and end (exclusive) in Unicode code points of `text`",
        examples=[[[4, 8]]],
    )


class FoundItem(BaseModel):
    """One of your items that matched."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    content_id: UUID = Field(examples=[EXAMPLE_ID])
    title: str | None = Field(description="Plain text, never HTML")
    url: str = Field(examples=["https://example.org/story"])
    score: float = Field(
        description="hybrid: reciprocal rank fusion, 1 for the best match both by meaning and by words; vectors: "
        "cosine similarity; text: the share of the words that match, weighted by rarity"
    )
    lang: str | None = Field(description="ISO 639-1", examples=["en"])
    summary: str | None
    topics: list[Topic] | None = Field(description="Default topics, best first")
    own_topics: list[Topic] | None = Field(description="Your own topics, best first; null if you have none")
    published_at: datetime | None = Field(description="As stated by the feed or the page")
    source_id: UUID | None = Field(description="The source that delivered it")
    highlights: list[FoundHighlight] = Field(
        description="Where the words of the query occur; empty if it was found by meaning only"
    )


class FoundItems(ListPage):
    """Search results, best first."""

    items: list[FoundItem]
    mode: Literal["hybrid", "vectors", "text"] = Field(
        description="hybrid: by meaning and words; vectors: by meaning (similar items); text: by words"
    )
    corrected: str | None = Field(
        description="The corrected query, if one of its words occurs in none of your items and a similar word does"
    )
    degraded: bool = Field(description="Whether only words were matched because search by meaning was unavailable")
    reason: Cause | None = Field(description="Why the result is degraded")


_TYPED = 'Search query; supports "a phrase", -excluded and this or that'
_Query = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=QUERY_MAX_CHARS)]


class SearchRoutes(Resource):
    """``/v1/search`` and ``/v1/items/{item_id}/similar``; without a finder they are described, not answered."""

    tag = "search"

    def __init__(self, finder: Finder | None) -> None:
        self._maybe_finder = finder

    @route("GET /v1/search", (200, FoundItems, "Search results"), operation_id="searchItems")
    def search(
        self,
        q: Annotated[_Query, Query(description=_TYPED)],
        caller: CurrentCaller,
        *,
        lang: ByLang = None,
        topic: ByTopic = None,
        tag: ByTag = None,
        source_id: BySource = None,
        folder_id: ByFolder = None,
        entity: ByEntity = None,
        since: BySince = None,
        until: ByUntil = None,
        unread: ByUnread = None,
        starred: ByStarred = None,
        limit: Limit = DEFAULT_LIMIT,
    ) -> FoundItems:
        """Search your items."""
        wanted = Wanted(topic, tag, source_id, folder_id, since, until, unread, starred, lang, entity)
        found = self._finder.search(caller.user_id, q, wanted, limit=limit)
        return FoundItems.model_validate(found, from_attributes=True)

    @route(
        "GET /v1/items/<item_id>/similar",
        (200, FoundItems, "Search results"),
        operation_id="listSimilarItems",
        problems=(404,),
    )
    def similar(
        self,
        item_id: UUID,
        caller: CurrentCaller,
        *,
        lang: ByLang = None,
        unread: ByUnread = None,
        limit: Limit = 10,
    ) -> FoundItems:
        """List similar items."""
        wanted = Wanted(lang=lang, unread=unread)
        found = self._finder.similar(caller.user_id, item_id, wanted, limit=limit)
        if found is None:
            raise not_found("item")
        return FoundItems.model_validate(found, from_attributes=True)

    @property
    def _finder(self) -> Finder:
        if self._maybe_finder is None:
            raise not_found("route")
        return self._maybe_finder
