"""The settings of what groups a user's contents: clusters of what is about the same, stories of what tells the same.

A field's environment variable is its name in capitals; the template sets what a stage may choose.
"""

from pydantic import Field

from siftline.settings.shared import ConsumerSettings


class ClusterSettings(ConsumerSettings):
    """The ``cluster`` function."""

    cluster_min_size: int = Field(default=3, ge=2, description="fewer contents than this make no cluster")
    cluster_max_contents: int = Field(default=20_000, ge=1, description="a user's newest contents, at most this many")
    cluster_regroup_s: int = Field(default=7 * 86_400, ge=0, description="after this, everything is grouped anew")
    cluster_user_s: float = Field(default=100.0, gt=0, description="the longest that grouping one user may take")
    cluster_llm: bool = Field(
        default=False, description="a language model names new clusters, the one that LLM_MODEL names for `analyze`"
    )
    story_average_min: float = Field(
        default=0.46, ge=0, le=1, description="least mean likeness of what becomes one story (cosine, centred)"
    )
    story_nearest_min: float = Field(default=0.5, ge=0, le=1, description="least likeness of its most alike pair")
    story_gap_s: int = Field(default=72 * 3_600, ge=0, description="after such a silence a new story begins")
    story_span_s: int = Field(default=7 * 86_400, ge=0, description="no story goes on for longer than this")
