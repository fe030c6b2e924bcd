"""What the feed's routes answer."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from siftline.api.http.shapes import Page
from siftline.api.items.item_models import Item, Reason, Topic

_ID = "018f4e5a-7b1c-7000-8000-0123456789ab"
_TIME = "2026-11-27T12:00:00Z"


class Diversity(BaseModel):
    """How source diversity changed an entry's rank."""

    nth: int = Field(description="Position among its source's stories of the last 24 hours, best first", examples=[3])
    factor: float = Field(description="What its score is multiplied by for that; 1: unchanged", examples=[0.81])
    detail: str = Field(
        description="The same, human-readable",
        examples=["The 3rd story of its source within 24 hours: its score is multiplied by 0.81."],
    )


class Folded(BaseModel):
    """Another item that tells the same story."""

    id: UUID = Field(examples=[_ID])
    url: str = Field(examples=["https://example.org/story"])
    title: str | None = Field(description="Plain text, never HTML")
    site: str = Field(description="Publisher", examples=["Example News"])
    sort_at: datetime = Field(examples=[_TIME])
    read_at: datetime | None


class Story(BaseModel):
    """The items grouped into one entry of the feed."""

    id: UUID | None = Field(description="Story id; null for a single item or for identical texts")
    size: int = Field(description="Number of your items that tell it, including this one", examples=[3])
    folded: list[Folded] = Field(description="The other items, best first, at most 20")


class FeedItem(Item):
    """An entry of the feed: the best item of a story, with the reasons for its rank."""

    site: str = Field(description="Publisher", examples=["Example News"])
    rank: float = Field(description="Sort key of the feed: score times `diversity.factor`", examples=[0.5022])
    reasons: list[Reason] = Field(description="The parts of the score, freshness last")
    freshness: float = Field(description="From 1 (new) to 0; halves every `SCORE_HALF_LIFE_H`", examples=[0.84])
    source_topics: list[Topic] | None = Field(
        description="What its source mostly writes about; used while nothing is known about the item itself"
    )
    diversity: Diversity
    story: Story


class Feed(Page):
    """A page of the feed."""

    at: datetime = Field(description="The time for which this order was computed", examples=[_TIME])
    items: list[FeedItem]
