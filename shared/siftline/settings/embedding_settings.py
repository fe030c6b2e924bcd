"""The settings of what turns texts into vectors: a model on this machine, or one behind an API.

A field's environment variable is its name in capitals; the template sets what a stage may choose.
"""

from pydantic import Field, SecretStr, field_validator

from siftline.settings.shared import ModelSettings, VectorSettings


class EmbeddingSettings(ModelSettings, VectorSettings):
    """The vectors of texts: what makes them, where they are found again, and what an API for them may cost."""

    embedding_chunks: int = Field(
        default=1, ge=1, le=16, description="parts of EMBEDDING_TOKENS that are read of a long text, by the local model"
    )
    embedding_api_model: str = Field(
        default="", description="model behind an API that makes the vectors that are kept; empty: the local one does"
    )
    embedding_api_base_url: str = Field(
        default="https://api.openai.com/v1", description="where it answers, in the form of OpenAI's API"
    )
    embedding_api_key: SecretStr = Field(
        default=SecretStr(""), description="the key, secretsmanager://<secret id> whose text is one, or none"
    )
    embedding_api_dimensions: int | None = Field(
        default=None, ge=1, le=8_192, description="the length of its vectors; empty: as in embedding_prices.toml"
    )
    embedding_api_query_prefix: str = Field(default="", description="what the model wants before a question")
    embedding_api_passage_prefix: str = Field(default="", description="what it wants before a text that is to be found")
    embedding_api_chars: int = Field(
        default=8_000, ge=200, le=100_000, description="what a text has beyond is not sent"
    )
    embedding_api_timeout_s: float = Field(default=8.0, gt=0, le=60, description="the longest wait for one answer")
    embedding_api_usd_per_million: float | None = Field(
        default=None, ge=0, description="what a million tokens cost; empty: as in embedding_prices.toml"
    )
    embedding_api_usd_per_day: float = Field(
        default=1.0, ge=0, description="dollars that it may cost in a day (UTC), all together"
    )
    embedding_api_usd_per_user_per_day: float = Field(
        default=1.0, ge=0, description="and dollars of these that the texts and searches of one user may cost"
    )

    @field_validator("embedding_api_dimensions", "embedding_api_usd_per_million", mode="before")
    @classmethod
    def _embedding_none(cls, value: object) -> object:
        return None if value == "" else value

    def embedding_s(self) -> float:
        """Return the longest that embedding one text over the API may take."""
        return self.embedding_api_timeout_s if self.embedding_api_model else 0.0
