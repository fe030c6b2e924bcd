"""The settings of the language model that analysis may ask: off unless one is named.

A field's environment variable is its name in capitals; the template sets what a stage may choose.
"""

from pydantic import Field, SecretStr, field_validator

from siftline.settings.shared import Settings


class LlmSettings(Settings):
    """A language model behind OpenAI's API, or one that speaks the same, and the money that it may cost."""

    llm_model: str = Field(
        default="", description="language model that reads what the local ones are not sure of; empty: none does"
    )
    llm_base_url: str = Field(
        default="https://api.openai.com/v1", description="where it answers, in the form of OpenAI's API"
    )
    llm_api_key: SecretStr = Field(
        default=SecretStr(""), description="the key, secretsmanager://<secret id> whose text is one, or none"
    )
    llm_for: str = Field(
        default="unsure",
        pattern="^(always|unsure|never)$",
        description="which texts it reads; `unsure`: those whose topics lead by less than TOPIC_MARGIN",
    )
    llm_timeout_s: float = Field(
        default=20.0, gt=0, le=300, description="the longest wait for one answer; a text takes two at most"
    )
    llm_input_chars: int = Field(default=12_000, ge=500, le=200_000, description="what a text has beyond is not sent")
    llm_output_tokens: int = Field(default=1_500, ge=200, le=32_000, description="tokens of one answer at most")
    llm_format: str = Field(
        default="json_schema",
        pattern="^(json_schema|json_object)$",
        description="how JSON is asked for; `json_object` for a server that takes no schema",
    )
    llm_tokens_field: str = Field(
        default="max_completion_tokens",
        pattern="^(max_completion_tokens|max_tokens)$",
        description="what the server calls the limit of an answer's tokens; it must heed it, or caps may be passed",
    )
    llm_summary_language: str = Field(
        default="",
        pattern="^([a-z]{2,3})?$",
        description="language of its summaries (ISO 639); empty: that of the text",
    )
    llm_patience_s: float = Field(
        default=21_600.0, ge=0, description="a text waits no longer for it to be reached, or to stop answering 429"
    )
    llm_usd_per_day: float = Field(
        default=1.0, ge=0, description="dollars that it may cost in a day (UTC), all together"
    )
    llm_usd_per_user_per_day: float = Field(
        default=1.0, ge=0, description="and dollars of these that the texts of one user may cost"
    )
    llm_usd_per_million_in: float | None = Field(
        default=None, ge=0, description="what a million tokens sent cost; empty: as in prices.toml"
    )
    llm_usd_per_million_out: float | None = Field(
        default=None, ge=0, description="what a million tokens answered cost; empty: as in prices.toml"
    )

    @field_validator("llm_usd_per_million_in", "llm_usd_per_million_out", mode="before")
    @classmethod
    def _none(cls, value: object) -> object:
        return None if value == "" else value

    def llm_longest_s(self) -> float:
        """Return the longest that asking it about one text may take: a question, and another where it is repaired."""
        return 2 * self.llm_timeout_s if self.llm_model else 0.0
