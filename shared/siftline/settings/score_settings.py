"""The settings of how relevant an item is to a user.

A field's environment variable is its name in capitals; the template sets what a stage may choose.
"""

from pydantic import Field

from siftline.settings.shared import Settings


class RelevanceSettings(Settings):
    """What counts at the moment a score is read, and what of a user's doing has their items judged anew."""

    score_freshness_weight: float = Field(
        default=0.15, ge=0, lt=1, description="what freshness counts in a score; the rest is relevance"
    )
    score_half_life_h: float = Field(
        default=72.0, gt=0, le=87_600, description="an item loses half of its freshness in this time, again and again"
    )
    score_evidence_min: float = Field(
        default=1.0, gt=0, description="so much (1 a star, 0.2 a reading) has a user's items scored anew"
    )
    score_gather_s: float = Field(
        default=30.0, ge=0, le=900, description="what a user stars and reads within this is one rescoring"
    )


class ScoreSettings(RelevanceSettings):
    """What relevance is made up of. Weights count by their proportions."""

    score_interest_weight: float = Field(default=0.35, ge=0, description="likeness to an interest that the user named")
    score_history_weight: float = Field(default=0.25, ge=0, description="likeness to what the user starred and read")
    score_topics_weight: float = Field(default=0.2, ge=0, description="topics of their interests and their history")
    score_source_weight: float = Field(default=0.2, gt=0, description="how often the user reads what its source brings")
    score_interests_max: int = Field(default=20, ge=1, le=200, description="interests of a user that count, the first")
    score_history_days: int = Field(default=180, ge=1, le=3_650, description="what was starred or read in so many days")
    score_history_half_life_days: float = Field(
        default=30.0, gt=0, description="a star or a reading counts half as much after this, again and again"
    )
    score_user_s: float = Field(
        default=20.0, gt=0, le=40, description="how long one scoring of a user goes on; the rest is the next one's"
    )
