"""One typed settings class a function. The only reader of the environment.

A field's environment variable is its name in capitals; the template sets exactly these (a house test compares).
"""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from siftline.contracts import Queue


class _Settings(BaseSettings):
    model_config = SettingsConfigDict(case_sensitive=False, extra="ignore", frozen=True)


class DatabaseSettings(_Settings):
    """How to reach PostgreSQL."""

    database_url: SecretStr = Field(description="postgresql:// URL, or secretsmanager://<secret id> whose text is one")
    database_pool_size: int = Field(default=1, ge=1, le=10, description="1 in Lambda; more in a worker")


class QueueSettings(_Settings):
    """Where messages go. Every maker of jobs can publish to every queue."""

    fetch_queue_url: str
    content_processing_queue_url: str
    content_background_queue_url: str
    analysis_queue_url: str
    clustering_queue_url: str

    def queue_urls(self) -> dict[Queue, str]:
        """Return the URL of each queue."""
        return {
            Queue.FETCH: self.fetch_queue_url,
            Queue.CONTENT_PROCESSING: self.content_processing_queue_url,
            Queue.CONTENT_BACKGROUND: self.content_background_queue_url,
            Queue.ANALYSIS: self.analysis_queue_url,
            Queue.CLUSTERING: self.clustering_queue_url,
        }


class DeadLetterSettings(_Settings):
    """Where exhausted and malformed messages are parked."""

    fetch_dlq_url: str
    content_processing_dlq_url: str
    content_background_dlq_url: str
    analysis_dlq_url: str
    clustering_dlq_url: str

    def dead_letter_urls(self) -> dict[Queue, str]:
        """Return the URL of each queue's dead-letter queue."""
        return {
            Queue.FETCH: self.fetch_dlq_url,
            Queue.CONTENT_PROCESSING: self.content_processing_dlq_url,
            Queue.CONTENT_BACKGROUND: self.content_background_dlq_url,
            Queue.ANALYSIS: self.analysis_dlq_url,
            Queue.CLUSTERING: self.clustering_dlq_url,
        }


class JobSettings(_Settings):
    """The numbers of a job's life (docs/jobs.md)."""

    job_max_attempts: int = Field(default=4, ge=1, le=20, description="first try + 3 retries")
    job_backoff_s: tuple[int, ...] = Field(default=(60, 300, 900), description="delay before each retry, at most 900")
    job_lease_s: int = Field(default=600, ge=1, description="longer than any consuming function's timeout")
    job_clock_grace_s: float = Field(default=2.0, ge=0, description="how much too early a claim may come")
    job_defer_max_s: int = Field(default=172_800, ge=60, description="a job deferred for longer fails with the reason")
    job_quiet_s: int = Field(default=120, ge=1, description="unanswered messages are sent again after this, doubling")
    job_outstanding_max: int = Field(
        default=1_000, ge=1, description="messages a queue may hold before handing out stops"
    )


class HttpSettings(_Settings):
    """The safe HTTP client of every function that fetches from addresses users or feeds name."""

    http_contact: str = Field(default="", max_length=200, description="URL or mail address named in the user agent")
    http_allow_loopback: bool = Field(default=False, description="opens 127.0.0.0/8 and ::1, for development and tests")
    http_total_s: float = Field(default=30.0, gt=0, le=300, description="whole request, redirects and retries included")
    http_connect_s: float = Field(default=10.0, gt=0, le=60)
    http_read_s: float = Field(default=10.0, gt=0, le=60, description="longest silence of a server")
    http_retries: int = Field(default=3, ge=0, le=5, description="tries after the first: 1, 2 and 4 s later")


class ProducerSettings(DatabaseSettings, QueueSettings, JobSettings):
    """What a function needs that makes jobs."""


class ConsumerSettings(ProducerSettings, DeadLetterSettings):
    """What a function needs that consumes a queue."""
