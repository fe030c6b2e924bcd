"""The settings of what ingest does with videos, audio and raw pages.

A field's environment variable is its name in capitals; the template sets what a stage may choose.
"""

from pydantic import Field, SecretStr

from siftline.settings.shared import Settings


class ArchiveSettings(Settings):
    """Where raw pages are kept."""

    page_archive_bucket: str = Field(
        default="",
        description="S3 bucket for raw pages, under pages/<content id>/; empty: none are kept. They go with their "
        "content; a lifecycle rule of the bucket's own may end them before",
    )


class MediaSettings(ArchiveSettings):
    """Transcripts, an audio model that is off unless one is named, and the archive of raw pages."""

    transcript_max_bytes: int = Field(default=5_000_000, ge=1_024, description="a larger caption file is not read")
    media_s: float = Field(
        default=20.0, gt=0, le=60, description="a page's job begins no caption file after this; a later job does"
    )
    media_request_s: float = Field(
        default=8.0, gt=0, le=60, description="the longest that fetching one caption file may take"
    )
    transcript_retry_s: float = Field(
        default=3_600.0, ge=60, description="who refused a transcript is asked again after this, then ever later"
    )
    transcription_model: str = Field(
        default="", description="audio model that makes transcripts where there are none; empty: none are made"
    )
    transcription_base_url: str = Field(
        default="https://api.openai.com/v1", description="where it answers, in the form of OpenAI's API"
    )
    transcription_api_key: SecretStr = Field(
        default=SecretStr(""), description="the key, secretsmanager://<secret id> whose text is one, or none"
    )
    transcription_s: float = Field(default=45.0, gt=0, le=600, description="the longest wait for one transcript")
    transcription_max_bytes: int = Field(
        default=25_000_000, ge=1_024, le=100_000_000, description="a larger file is not sent: OpenAI takes 25 MB"
    )
    transcription_max_s: float = Field(
        default=7_200.0, gt=0, description="what is stated to run for longer than this is not sent"
    )
    transcription_usd_per_minute: float = Field(
        default=0.006, ge=0, description="what a minute of sound costs, in dollars; 0 for a model of one's own"
    )
    transcription_usd_per_day: float = Field(
        default=1.0, ge=0, description="dollars that all transcripts of a day (UTC) may cost together"
    )
    transcription_floor_bps: int = Field(
        default=32_000,
        ge=1_000,
        description="bits a second at which the length of a file is guessed, at most, to set its cost aside beforehand",
    )
