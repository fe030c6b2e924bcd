"""The settings of the feed: how much it orders, how it spreads sources, and what feed readers are given.

A field's environment variable is its name in capitals; the template sets what a stage may choose.
"""

from pydantic import Field

from siftline.settings.shared import AddressSettings


class FeedSettings(AddressSettings):
    """The ranked feed, in the API and as Atom."""

    feed_items_max: int = Field(
        default=50_000, ge=100, le=200_000, description="so many of a user's items are ordered, the most relevant ones"
    )
    feed_repeat_factor: float = Field(
        default=0.9,
        gt=0,
        le=1,
        description="in the feed a further story of a source and day counts so much of the one before, at least half",
    )
    atom_entries_max: int = Field(
        default=50, ge=1, le=200, description="entries that a feed reader is given at most, the first ones"
    )
    atom_max_bytes: int = Field(
        default=2_000_000,
        ge=100_000,
        le=4_000_000,
        description="editions beyond this stand in their feed by their summary alone",
    )
