"""The settings of briefings: where they are read, what counts as news, and how they are delivered.

A field's environment variable is its name in capitals; the template sets what a stage may choose.
"""

from pydantic import Field

from siftline.score_settings import RelevanceSettings
from siftline.shared_settings import ConsumerSettings


class BriefSettings(ConsumerSettings, RelevanceSettings):
    """The ``brief`` function."""

    public_url: str = Field(
        default="http://127.0.0.1:8787",
        pattern=r"^https?://[^\s/?#]+(/[^\s?#]*)?$",
        description="where users reach this system: links in editions begin with it, whatever a request's Host says",
    )
    news_max_age_days: float = Field(
        default=7, ge=1, le=366, description="what was published so long before it came in is no news, unless saved"
    )
    run_briefing_s: float = Field(default=20.0, gt=0, description="the longest that making one edition may take")
