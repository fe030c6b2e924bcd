"""The settings of which topics there are and how texts are sorted into them.

A field's environment variable is its name in capitals; the template sets what a stage may choose.
"""

from pydantic import Field

from siftline.settings.shared import Settings


class TopicSettings(Settings):
    """Topics of one's own, what counts, and a second pass that is off unless a model for it is named."""

    topics_file: str = Field(default="", description="TOML of topics of one's own; empty for those shipped")
    topic_threshold: float = Field(default=0.3, ge=0, le=1, description="a topic of a lower score does not count")
    topics_max: int = Field(default=3, ge=1, le=20, description="topics of a content at most")
    topic_margin: float = Field(
        default=0.01, ge=0, le=2, description="from this lead in cosine on, the first pass's topics stand"
    )
    topic_model_uri: str = Field(
        default="", description="a model folder for inference, or s3://bucket/prefix of one; empty: no second pass"
    )
    topic_model_tokens: int = Field(default=192, ge=32, le=8_192, description="what the second pass reads of a text")
    topic_candidates: int = Field(default=4, ge=3, le=8, description="topics that the second pass is asked about")
    topic_model_s: float = Field(default=5.0, gt=0, le=60, description="the longest that one second pass may take")
