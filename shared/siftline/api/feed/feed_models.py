"""What the feed's routes answer."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from siftline.api.http.shapes import Page
from siftline.api.items.item_models import Item, Topic
from siftline.api.items.scores import Reason

_ID = "018f4e5a-7b1c-7000-8000-0123456789ab"
_TIME = "2026-11-27T12:00:00Z"


class Diversity(BaseModel):
    """What spreading the sources did to a place."""

    nth: int = Field(description="The how manyth story of its source within 24 hours it is, best first", examples=[3])
    factor: float = Field(description="What its score counts for that; 1: in full", examples=[0.81])
    detail: str = Field(description="In words", examples=["The 3rd story of its source within 24 hours: counts 0.81."])


class Folded(BaseModel):
    """An item that tells the same story as the one above it."""

    id: UUID = Field(examples=[_ID])
    url: str = Field(examples=["https://example.org/story"])
    title: str | None = Field(description="Text, never HTML")
    site: str = Field(description="Who published it", examples=["Example News"])
    sort_at: datetime = Field(examples=[_TIME])
    read_at: datetime | None


class Story(BaseModel):
    """What shares a place."""

    id: UUID | None = Field(description="The story's id; null where it is only one item, or texts that are the same")
    size: int = Field(description="How many of your items tell it, this one included", examples=[3])
    folded: list[Folded] = Field(description="The others, best first, at most 20")


class FeedItem(Item):
    """A place of the feed: the best item of a story, and why it stands where it does."""

    site: str = Field(description="Who published it", examples=["Example News"])
    rank: float = Field(description="What the feed is ordered by: score times `diversity.factor`", examples=[0.5022])
    reasons: list[Reason] = Field(description="What the score is made up of, freshness last")
    freshness: float = Field(description="From 1 (new) to 0; halves every `SCORE_HALF_LIFE_H`", examples=[0.84])
    source_topics: list[Topic] | None = Field(
        description="What its source mostly writes about, which stands in where nothing of the item itself is known yet"
    )
    diversity: Diversity
    story: Story


class Feed(Page):
    """A page of the feed."""

    at: datetime = Field(description="The moment whose order this is", examples=[_TIME])
    items: list[FeedItem]
