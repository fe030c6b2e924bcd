"""One typed settings class a function. The only reader of the environment.

A field's environment variable is its name in capitals; the template sets exactly these (a house test compares).
"""

# ruff: noqa: TID251  -- the rule that names this file as the only reader of the environment

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from siftline.settings.brief_settings import BriefSettings
from siftline.settings.cluster_settings import ClusterSettings
from siftline.settings.embedding_settings import EmbeddingSettings
from siftline.settings.entity_settings import EntitySettings, ResolutionSettings
from siftline.settings.feed_settings import FeedSettings
from siftline.settings.limit_settings import HoldingSettings, RequestSettings, WrongTokenSettings
from siftline.settings.llm_settings import LlmSettings
from siftline.settings.media_settings import ArchiveSettings, MediaSettings
from siftline.settings.schedule_settings import ReprocessSettings, SwitchSettings
from siftline.settings.score_settings import RelevanceSettings, ScoreSettings
from siftline.settings.shared import (
    AddressSettings,
    ConsumerSettings,
    DatabaseSettings,
    DeadLetterSettings,
    HttpSettings,
    JobSettings,
    ModelSettings,
    PacingSettings,
    ProducerSettings,
    QueueSettings,
    Settings,
    VectorSettings,
)
from siftline.settings.topic_settings import TopicSettings

__all__ = [
    "AddressSettings",
    "AnalyzeSettings",
    "ApiSettings",
    "ArchiveSettings",
    "AuthorizeSettings",
    "BriefSettings",
    "ClusterSettings",
    "ConsumerSettings",
    "DatabaseSettings",
    "DeadLetterSettings",
    "EmbeddingSettings",
    "FeedSettings",
    "FetchSettings",
    "HttpSettings",
    "IngestSettings",
    "JobSettings",
    "LocalSettings",
    "ModelSettings",
    "PacingSettings",
    "ProducerSettings",
    "QueueSettings",
    "ReprocessSettings",
    "ResolveSettings",
    "ScheduleSettings",
    "SearchSettings",
    "Settings",
    "TopicSettings",
    "VectorSettings",
    "WorkerSettings",
    "environment",
    "process_environment",
]


class WorkerSettings(SwitchSettings):
    """The long-poll worker: threads a function, patience, and how it stops."""

    worker_threads: dict[str, int] = Field(
        default={"fetch": 8, "ingest": 4, "analyze": 2, "resolve": 1, "cluster": 2, "brief": 2},
        description="messages in work at a time of each queue, by queue or else by function; 1 for any other",
    )
    worker_yield_s: float = Field(
        default=2.0,
        ge=0,
        description="background work is put off for so long at most while what a person waits for is in work",
    )
    worker_poll_s: int = Field(default=20, ge=0, le=20, description="how long a receive waits for the first message")
    worker_hold_s: int = Field(
        default=30,
        ge=3,
        le=43_200,
        description="what a killed worker had received comes back after this; renewed in work",
    )
    worker_drain_s: float = Field(
        default=28.0, ge=0, description="how long work under way may take after SIGTERM; two seconds later it is over"
    )
    worker_stalled_s: float = Field(
        default=300.0, gt=0, description="a queue not polled for this long makes the worker unhealthy"
    )
    worker_health_token: SecretStr = Field(
        default=SecretStr(""),
        description="the worker's health port answers only who sends this as a bearer; empty: all",
    )


class LocalSettings(Settings):
    """``make run`` and the local commands."""

    model_config = SettingsConfigDict(env_ignore_empty=True)

    pg_bin: str = Field(default="", description="folder of PostgreSQL's programs; empty for the wheel's own")
    new_user_credits: int | None = Field(
        default=None, ge=0, description="credits of every user made from now on; empty: they are not metered"
    )
    local_hosts: tuple[str, ...] = Field(
        default=(),
        description="names besides 127.0.0.1 and localhost by which the local API may be asked: a proxy's of yours",
    )
    qdrant_api_key: SecretStr = Field(default=SecretStr(""), description="the key that the local vectors ask for")


_environment_lock = threading.RLock()


def process_environment() -> dict[str, str]:
    """Return a copy of the environment, for programs that we start."""
    return dict(os.environ)


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables for the length of a block: a process that hosts several functions builds each under its own."""
    with _environment_lock:
        before = {name: os.environ.get(name) for name in values}
        os.environ.update(values)
        try:
            yield
        finally:
            for name in before:
                os.environ.pop(name, None)
            os.environ.update({name: value for name, value in before.items() if value is not None})


class FetchSettings(ConsumerSettings, HttpSettings, PacingSettings):
    """The ``fetch`` function."""

    first_import: str = Field(
        default="skip",
        pattern="^(skip|all|newest:[1-9][0-9]{0,5})$",
        description="which entries of a source's first poll are analysed, unless the source says so itself",
    )
    feed_parse_s: float = Field(default=12.0, gt=0, le=60, description="a feed that takes longer to parse is not read")
    feed_parse_memory_bytes: int = Field(
        default=256 * 1024 * 1024, ge=64 * 1024 * 1024, description="address space that parsing one feed may add"
    )
    refresh_min_minutes: int = Field(
        default=15, ge=5, le=10_080, description="a source is not polled more often, unless a subscriber says so"
    )
    refresh_max_minutes: int = Field(
        default=1_440, ge=5, le=10_080, description="a source is not polled more rarely, unless a subscriber says so"
    )
    reddit_url: str = Field(default="https://www.reddit.com", description="where Reddit is asked for its listings")
    reddit_form: str = Field(
        default="auto",
        pattern="^(auto|json|atom)$",
        description="how Reddit is asked; `auto`: Atom once JSON is refused",
    )


class IngestSettings(ConsumerSettings, HttpSettings, PacingSettings, MediaSettings):
    """The ``ingest`` function."""

    page_max_bytes: int = Field(default=10_000_000, ge=1_024, le=10_000_000, description="a larger page is not read")
    page_read_s: float = Field(default=10.0, gt=0, description="the longest that reading a fetched page may take")
    page_read_memory_bytes: int = Field(
        default=768 * 1024 * 1024, ge=64 * 1024 * 1024, description="address space that reading one page may add"
    )
    siftline_analysis_enabled: bool = Field(default=True, description="off: what is read is READY without analysis")
    duplicate_likeness_min: float = Field(
        default=0.85, gt=0.7, le=1, description="texts that have this share of their runs of words in common are one"
    )
    minor_edit_likeness_min: float = Field(
        default=0.9,
        gt=0,
        le=1,
        description="an edit that leaves so much of the analysed text is not analysed again",
    )


class ScheduleSettings(ConsumerSettings, VectorSettings, ReprocessSettings, ArchiveSettings):
    """The ``schedule`` function: what each tick may do."""

    due_sources_per_tick: int = Field(default=100, ge=1, description="polls that one tick enqueues at most")
    clusterings_per_tick: int = Field(default=1_000, ge=1, description="clusterings that one tick enqueues at most")
    briefings_per_tick: int = Field(default=50, ge=1, description="editions that one tick enqueues at most")
    resolutions_per_tick: int = Field(default=100, ge=1, description="organisations that one tick hands out at most")
    backpressure_messages: int = Field(
        default=1_000, ge=1, description="a queue this deep gets nothing more from a tick"
    )
    keep_finished_jobs_s: int = Field(
        default=7 * 86_400, ge=3_600, description="finished jobs and their timelines are deleted after this"
    )
    keep_idempotency_keys_s: int = Field(
        default=86_400, ge=3_600, description="an Idempotency-Key is forgotten after this"
    )
    keep_hosts_s: int = Field(
        default=7 * 86_400,
        ge=86_400,
        description="the pace of a host that nothing was asked of for so long is forgotten",
    )
    extra_run_pending: int = Field(
        default=1_000, ge=1, description="an extra run hands out more where more due jobs than this are pending"
    )
    tick_work_s: float = Field(
        default=40.0, gt=0, description="how long a tick goes on at most, below the function's timeout"
    )


class AuthorizeSettings(DatabaseSettings, WrongTokenSettings):
    """The HTTP API's authorizer."""


class ApiSettings(
    ConsumerSettings, RelevanceSettings, FeedSettings, RequestSettings, WrongTokenSettings, HoldingSettings
):
    """The HTTP API. It only makes jobs, but it also shows how deep the queues and their dead-letter queues are."""

    http_allow_loopback: bool = Field(
        default=False, description="accepts loopback addresses that are typed in, for development and tests"
    )
    webhook_allow_loopback: bool = Field(default=False, description="accepts loopback addresses of webhooks, for tests")
    qdrant_url: str = Field(description="asked by GET /health?deep=1 whether it answers")
    worker_health_url: str = Field(
        default="", description="a worker beside the API, asked by GET /health?deep=1 what it cannot do; empty: none is"
    )
    worker_health_token: SecretStr = Field(default=SecretStr(""), description="the bearer by which it is asked")
    opml_max_bytes: int = Field(
        default=2 * 1024 * 1024, ge=1_024, le=4 * 1024 * 1024, description="a larger OPML file is refused"
    )
    opml_max_outlines: int = Field(
        default=2_000, ge=1, le=10_000, description="an OPML file of more subscriptions is refused"
    )
    opml_max_exported: int = Field(
        default=10_000, ge=1, le=15_000, description="subscriptions that an OPML file shows at most, the newest"
    )
    sqs_timeout_s: float = Field(
        default=2.0, gt=0, le=20, description="a request waits no longer for SQS; the sweep sends what it did not take"
    )


class AnalyzeSettings(ConsumerSettings, EmbeddingSettings, TopicSettings, LlmSettings, EntitySettings, ScoreSettings):
    """The ``analyze`` function."""

    tags_max: int = Field(default=6, ge=0, le=30, description="tags of a content at most")
    summary_sentences: int = Field(default=3, ge=1, le=10, description="sentences of a summary at most")
    text_letters_min: int = Field(default=120, ge=0, description="a text that says less gets no topics and no summary")
    cluster_every: int = Field(default=20, ge=1, description="new contents of a user until stories are grouped anew")
    analyze_text_s: float = Field(default=10.0, gt=0, description="the longest that reading one text may take")

    def longest_s(self) -> float:
        """Return the longest that one job may take."""
        return max(self.analyze_text_s + self.llm_longest_s() + self.embedding_s(), self.score_user_s)


class ResolveSettings(ConsumerSettings, HttpSettings, EntitySettings, ResolutionSettings):
    """The ``resolve`` function."""


class SearchSettings(DatabaseSettings, EmbeddingSettings, RequestSettings):
    """The ``search`` function."""

    search_timeout_s: int = Field(default=5, ge=1, le=20, description="the longest wait for one answer of Qdrant")
