"""The settings of what one user, and one token, may take."""

from pydantic import Field

from siftline.settings.shared import Settings


class RequestSettings(Settings):
    """How much one token may ask."""

    requests_per_minute: int = Field(
        default=3_000, ge=1, le=1_000_000, description="requests that one token may make in a minute, to all functions"
    )


class WrongTokenSettings(Settings):
    """How wrong tokens are met."""

    wrong_tokens_per_minute: int = Field(
        default=20, ge=1, description="wrong tokens of one network in a minute until each further answer is slowed"
    )


class HoldingSettings(Settings):
    """How much one user may have."""

    tokens_per_user: int = Field(default=100, ge=1, le=10_000, description="live access tokens of a user")
    sources_per_user: int = Field(default=10_000, ge=1, description="sources that a user may follow")
    folders_per_user: int = Field(default=500, ge=1, le=10_000, description="folders that a user may have")
    saved_items_per_user: int = Field(default=200_000, ge=1, description="pages that a user may save by hand")
