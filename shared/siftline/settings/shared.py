"""The settings that several functions share: where things are, and the numbers of a job's life.

A field's environment variable is its name in capitals; the template sets exactly these (a house test compares).
"""

import tempfile
from typing import Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from siftline.contracts import Queue


class Settings(BaseSettings):
    """Reads the environment when it is made."""

    # Built when one is made: of the settings of all functions, a function makes its own only.
    model_config = SettingsConfigDict(case_sensitive=False, extra="ignore", frozen=True, defer_build=True)


class DatabaseSettings(Settings):
    """How to reach PostgreSQL."""

    database_url: SecretStr = Field(description="postgresql:// URL, or secretsmanager://<secret id> whose text is one")
    database_pool_size: int = Field(default=1, ge=1, le=40, description="1 in Lambda; more in a worker")


class QueueSettings(Settings):
    """Where messages go. Every maker of jobs can publish to every queue."""

    fetch_queue_url: str = Field(description="URL of the queue of sources to poll")
    content_processing_queue_url: str = Field(description="URL of the queue of pages that a person saved and waits for")
    content_background_queue_url: str = Field(description="URL of the queue of pages that feeds brought")
    analysis_queue_url: str = Field(description="URL of the queue of texts to read that a person waits for")
    analysis_background_queue_url: str = Field(description="URL of the queue of all other texts to read")
    resolution_queue_url: str = Field(description="URL of the queue of organisations to tell who they are")
    clustering_queue_url: str = Field(description="URL of the queue of users whose contents are to be grouped")
    briefing_queue_url: str = Field(description="URL of the queue of briefings to make and deliver")

    def queue_urls(self) -> dict[Queue, str]:
        """Return the URL of each queue."""
        return {
            Queue.FETCH: self.fetch_queue_url,
            Queue.CONTENT_PROCESSING: self.content_processing_queue_url,
            Queue.CONTENT_BACKGROUND: self.content_background_queue_url,
            Queue.ANALYSIS: self.analysis_queue_url,
            Queue.ANALYSIS_BACKGROUND: self.analysis_background_queue_url,
            Queue.RESOLUTION: self.resolution_queue_url,
            Queue.CLUSTERING: self.clustering_queue_url,
            Queue.BRIEFING: self.briefing_queue_url,
        }


class DeadLetterSettings(Settings):
    """Where exhausted and malformed messages are parked."""

    fetch_dlq_url: str = Field(description="URL of the fetch queue's dead-letter queue")
    content_processing_dlq_url: str = Field(description="URL of the content-processing queue's dead-letter queue")
    content_background_dlq_url: str = Field(description="URL of the content-background queue's dead-letter queue")
    analysis_dlq_url: str = Field(description="URL of the analysis queue's dead-letter queue")
    analysis_background_dlq_url: str = Field(description="URL of the analysis-background queue's dead-letter queue")
    resolution_dlq_url: str = Field(description="URL of the resolution queue's dead-letter queue")
    clustering_dlq_url: str = Field(description="URL of the clustering queue's dead-letter queue")
    briefing_dlq_url: str = Field(description="URL of the briefing queue's dead-letter queue")

    def dead_letter_urls(self) -> dict[Queue, str]:
        """Return the URL of each queue's dead-letter queue."""
        return {
            Queue.FETCH: self.fetch_dlq_url,
            Queue.CONTENT_PROCESSING: self.content_processing_dlq_url,
            Queue.CONTENT_BACKGROUND: self.content_background_dlq_url,
            Queue.ANALYSIS: self.analysis_dlq_url,
            Queue.ANALYSIS_BACKGROUND: self.analysis_background_dlq_url,
            Queue.RESOLUTION: self.resolution_dlq_url,
            Queue.CLUSTERING: self.clustering_dlq_url,
            Queue.BRIEFING: self.briefing_dlq_url,
        }


class JobSettings(Settings):
    """The numbers of a job's life (docs/jobs.md)."""

    job_max_attempts: int = Field(default=4, ge=1, le=20, description="first try + 3 retries")
    job_backoff_s: tuple[int, ...] = Field(default=(60, 300, 900), description="delay before each retry, at most 900")
    job_lease_s: int = Field(default=600, ge=1, description="longer than any consuming function's timeout")
    job_clock_grace_s: float = Field(default=2.0, ge=0, description="how much too early a claim may come")
    job_defer_max_s: int = Field(default=172_800, ge=60, description="a job deferred for longer fails with the reason")
    job_misconfigured_s: int = Field(
        default=300,
        ge=1,
        description="what is set up wrongly is left alone this long, doubling up to 16 times; costs no attempt",
    )
    job_receives_max: int = Field(
        default=5,
        ge=1,
        description="a message that a fault of our own stops this often is parked; below the queue's own",
    )
    job_quiet_s: int = Field(default=120, ge=1, description="unanswered messages are sent again after this, doubling")
    job_tenant_share: int = Field(
        default=40, ge=1, description="messages of one tenant that a queue may hold: another's wait behind no more"
    )
    job_tenant_threads: int = Field(
        default=2,
        ge=1,
        description="threads of a process that one tenant's jobs may hold which wait for slow servers, of each queue",
    )
    job_slow_s: float = Field(default=3.0, gt=0, description="a job that takes longer waits for a slow server")
    job_outstanding_max: int = Field(
        default=1_000, ge=1, description="messages a queue may hold before handing out stops"
    )
    job_statistics_s: int = Field(
        default=60, ge=1, description="after a batch a process tells a queue's counts, but not sooner again than this"
    )
    job_backlog_high: int = Field(
        default=10_000, ge=1, description="more pending jobs in a queue than this are warned of"
    )
    stuck_source_s: int = Field(
        default=600, ge=1, description="a source QUEUED or FETCHING for this long without a job is queued again"
    )
    stuck_item_s: int = Field(
        default=600, ge=1, description="a page PENDING or PROCESSING for this long without a job is queued again"
    )

    @model_validator(mode="after")
    def _not_stuck_while_leased(self) -> Self:
        for name in ("stuck_source_s", "stuck_item_s"):
            if getattr(self, name) < self.job_lease_s:
                raise ValueError(f"{name.upper()} must not be shorter than JOB_LEASE_S: work may take that long")
        return self


class HttpSettings(Settings):
    """The safe HTTP client of every function that fetches from addresses users or feeds name."""

    http_contact: str = Field(default="", max_length=200, description="URL or mail address named in the user agent")
    http_allow_loopback: bool = Field(
        default=False, description="opens 127.0.0.0/8 and ::1 to who typed that origin, for development and tests"
    )
    http_total_s: float = Field(default=30.0, gt=0, le=300, description="whole request, redirects and retries included")
    http_read_s: float = Field(default=10.0, gt=0, le=60, description="longest silence of a server")
    http_retries: int = Field(default=3, ge=0, le=5, description="tries after the first: 1, 2 and 4 s later")


class PacingSettings(Settings):
    """How often hosts are asked, by every function that fetches; the same everywhere, for all share one pace."""

    host_requests_per_s: float = Field(default=2.0, gt=0, le=100, description="requests to one host, on average")
    host_burst: int = Field(default=10, ge=1, le=1_000, description="requests to one host that may come at once")
    host_per_minute: dict[str, float] = Field(
        default={"reddit.com": 10.0},
        description="requests a minute to a domain and all its sub-domains as one, evenly; replaces the two before",
    )
    host_at_once: int = Field(
        default=2,
        ge=1,
        le=100,
        description="requests of one queue that one owner's hosts have in work at once; at most half of the threads",
    )
    host_lease_s: float = Field(
        default=120.0, gt=0, le=3_600, description="a request that ends by no word of its worker's is over after this"
    )
    host_pace_loopback: bool = Field(default=False, description="on: loopback addresses are paced as well, for tests")

    @field_validator("host_per_minute")
    @classmethod
    def _paces(cls, value: dict[str, float]) -> dict[str, float]:
        if not all(per_minute > 0 for per_minute in value.values()):
            raise ValueError("each must allow more than 0 requests a minute")
        return {domain.lower(): per_minute for domain, per_minute in value.items()}


class AddressSettings(Settings):
    """Where this system is reached from outside."""

    public_url: str = Field(
        default="http://127.0.0.1:8787",
        pattern=r"^https?://[^\s/?#]+(/[^\s?#]*)?$",
        description="where users reach this system: links in editions and feeds begin with it, whatever a request's "
        "Host says",
    )


class ModelSettings(Settings):
    """The embedding model, for every function that turns text into vectors."""

    model_uri: str = Field(description="a model folder, or s3://bucket/prefix of one")
    model_cache_dir: str = Field(
        default=f"{tempfile.gettempdir()}/siftline-models", description="where a model from S3 is kept"
    )
    model_threads: int = Field(default=2, ge=1, le=16, description="threads that embed one text")
    embedding_tokens: int = Field(default=192, ge=16, le=8_192, description="what a text has beyond is not embedded")


class VectorSettings(Settings):
    """Where vectors are found again."""

    qdrant_url: str = Field(description="where Qdrant answers; version 1.16 or newer")
    qdrant_api_key: SecretStr = Field(
        default=SecretStr(""), description="the key, secretsmanager://<secret id> whose text is one, or none"
    )
    embedding_keep_old_s: int = Field(
        default=3_600, ge=0, description="a model's vectors are dropped so long after another's took their place"
    )


class ProducerSettings(DatabaseSettings, QueueSettings, JobSettings):
    """What a function needs that makes jobs."""


class ConsumerSettings(ProducerSettings, DeadLetterSettings):
    """What a function needs that consumes a queue."""
