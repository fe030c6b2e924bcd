"""What an operator may set: groups that functions share, then one class a function. The only reader of the environment.

A field's environment variable is its name in capitals. The template sets some of a function's fields and no others (a
house test compares), and ``docs/settings.md`` is written from here (``make settings``).
"""

# ruff: noqa: TID251  -- the rule that names this file as the only reader of the environment

import json
import logging
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from siftline.contracts import Queue, Tick
from siftline.settings.fault_words import sentence

_environment_lock = threading.RLock()
_QUEUE = "URL of the SQS queue of this name"
_DLQ = "URL of the dead-letter queue of this name"
_KEY = "API key, or `secretsmanager://<secret id>` of a secret whose text is the key; empty: none is sent"
_DAY_S = 86_400
_USD_MAX = 1_000_000
_MEMORY_MAX_BYTES = 10 * 1024**3
"""As much as Lambda gives."""
_BASE_URL = re.compile(r"https?://[^\s/?#]+(/[^\s?#]*)?", re.IGNORECASE)
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?)*\.?")
_API = "Base URL of the API, OpenAI's or a compatible one"


def process_environment() -> dict[str, str]:
    """Return a copy of the environment, for programs that we start."""
    return dict(os.environ)


def lambda_trace() -> tuple[str, str]:
    """Return the trace of the invocation under way, which Lambda sets anew for each, and where X-Ray's daemon is."""
    return os.environ.get("_X_AMZN_TRACE_ID", ""), os.environ.get("AWS_XRAY_DAEMON_ADDRESS", "")


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


def _base_url(value: str) -> str:
    if not _BASE_URL.fullmatch(value):
        raise ValueError("must be a URL such as https://news.example")
    return value


def _host_name(value: str) -> str:
    if not _HOST_NAME.fullmatch(value):
        raise ValueError("must be a host name such as news.example")
    return value.lower().removesuffix(".")


def _domain(value: str) -> str:
    try:
        return str(ip_address(value))
    except ValueError:
        return _host_name(value)


def _written_as(pattern: str, must: str) -> AfterValidator:
    """Return a validator that says what a text must be, where a pattern would be shown as a regular expression."""
    known = re.compile(pattern)

    def check(value: str) -> str:
        if not known.fullmatch(value):
            raise ValueError(f"must be {must}")
        return value

    return AfterValidator(check)


def _log_level(value: str) -> str:
    if value.upper() not in logging.getLevelNamesMapping():
        raise ValueError("must be DEBUG, INFO, WARNING, ERROR or CRITICAL")
    return value


BaseUrl = Annotated[str, AfterValidator(_base_url)]
"""A URL of http or https without a query, to which paths are added."""
HostName = Annotated[str, AfterValidator(_host_name)]
"""A name as the ``Host`` header has it, in lower case."""


class Settings(BaseSettings):
    """Reads the environment when it is made."""

    # Built when one is made: of the settings of all functions, a function makes its own only.
    model_config = SettingsConfigDict(
        case_sensitive=False, extra="ignore", frozen=True, defer_build=True, allow_inf_nan=False, env_ignore_empty=True
    )

    def __init__(self, **values: Any) -> None:
        """Take ``values`` before the environment. Raises ``TypeError`` for what is no setting: only there it may be."""
        if unknown := values.keys() - type(self).model_fields.keys():
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}")
        super().__init__(**values)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  # Pydantic's signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # there are no such files
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # as above
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return where values come from: each place is asked for every field, which takes as long as all the rest."""
        return init_settings, env_settings


def faults() -> list[str]:
    """Return what the environment sets and no function can use, a sentence each, the settings by their names in it."""
    found: dict[str, str] = {}
    given = {name.lower() for name in os.environ}
    kinds = list(Settings.__subclasses__())
    for kind in kinds:  # grows meanwhile
        kinds += kind.__subclasses__()
        if given.isdisjoint(kind.model_fields):
            continue
        try:
            kind()
        except SettingsError as error:
            name = str(error).split('"')[1]
            found[name.upper()] = f"Must be JSON{_such_as(kind.model_fields[name])}"
        except ValidationError as error:
            for fault in error.errors(include_url=False, include_input=False):
                if fault["type"] != "missing":
                    name, *within = map(str, fault["loc"])
                    why = sentence(fault)
                    if fault["type"] in {"dict_type", "tuple_type"}:
                        why += _such_as(kind.model_fields[name])
                    told = f"Each {why[:1].lower()}{why[1:]}" if within else f"{why[:1].upper()}{why[1:]}"
                    found.setdefault(name.upper(), told)
    return [f"{name}: {found[name]}" for name in sorted(found)]


def _such_as(field: FieldInfo) -> str:
    return f" such as {json.dumps(next(iter(field.examples or ()), field.default))}"


class StageSettings(Settings):
    """Which deployment this is (several may share one account), and how much it logs."""

    siftline_stage: Annotated[
        str, _written_as("[a-z][a-z0-9]{0,15}", "a lower-case letter and up to 15 lower-case letters and digits")
    ] = Field(default="local", description="Name of the deployment, the dimension `stage` of its metrics")
    powertools_log_level: Annotated[str, AfterValidator(_log_level)] = Field(
        default="INFO",
        description="Least severe level that is logged: `DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL`",
    )


class DatabaseSettings(Settings):
    """How to reach PostgreSQL."""

    database_url: SecretStr = Field(
        description="`postgresql://` URL, or `secretsmanager://<secret id>` of a secret that is such a URL, or JSON as "
        "RDS writes it; what the JSON lacks follows as `?host=…&dbname=…`"
    )
    database_pool_size: int = Field(
        default=1, ge=1, le=40, description="Connections of one process: 1 in Lambda, more in a worker"
    )


class QueueSettings(Settings):
    """Where messages go. Every maker of jobs can publish to every queue."""

    fetch_queue_url: str = Field(description=_QUEUE)
    content_processing_queue_url: str = Field(description=_QUEUE)
    content_background_queue_url: str = Field(description=_QUEUE)
    analysis_queue_url: str = Field(description=_QUEUE)
    analysis_background_queue_url: str = Field(description=_QUEUE)
    resolution_queue_url: str = Field(description=_QUEUE)
    clustering_queue_url: str = Field(description=_QUEUE)
    briefing_queue_url: str = Field(description=_QUEUE)

    def queue_urls(self) -> dict[Queue, str]:
        """Return the URL of each queue."""
        return {queue: getattr(self, f"{queue.name.lower()}_queue_url") for queue in Queue}


class DeadLetterSettings(Settings):
    """Where exhausted and malformed messages are parked."""

    fetch_dlq_url: str = Field(description=_DLQ)
    content_processing_dlq_url: str = Field(description=_DLQ)
    content_background_dlq_url: str = Field(description=_DLQ)
    analysis_dlq_url: str = Field(description=_DLQ)
    analysis_background_dlq_url: str = Field(description=_DLQ)
    resolution_dlq_url: str = Field(description=_DLQ)
    clustering_dlq_url: str = Field(description=_DLQ)
    briefing_dlq_url: str = Field(description=_DLQ)

    def dead_letter_urls(self) -> dict[Queue, str]:
        """Return the URL of each queue's dead-letter queue."""
        return {queue: getattr(self, f"{queue.name.lower()}_dlq_url") for queue in Queue}


class JobSettings(Settings):
    """The numbers of a job's life (docs/jobs.md)."""

    job_max_attempts: int = Field(default=4, ge=1, le=20, description="Attempts before a job fails, the first included")
    job_backoff_s: tuple[Annotated[int, Field(ge=1, le=_DAY_S)], ...] = Field(
        default=(60, 300, 900),
        min_length=1,
        max_length=20,
        description="Delay before each retry",
    )
    job_lease_s: int = Field(
        default=600,
        ge=1,
        le=_DAY_S,
        description="A job whose worker falls silent is free again after this; longer than any timeout",
    )
    job_quiet_s: int = Field(
        default=120,
        ge=1,
        le=_DAY_S,
        description="A message that nobody claims is sent again after this, doubling each time",
    )
    job_outstanding_max: int = Field(
        default=1_000, ge=1, le=100_000, description="Messages that a queue may hold; the other jobs wait in PostgreSQL"
    )
    job_tenant_share: int = Field(
        default=40, ge=1, le=100_000, description="Messages of one tenant that a queue may hold"
    )
    job_tenant_threads: int = Field(
        default=2, ge=1, le=1_000, description="Threads that the jobs of one tenant may block in one process, by queue"
    )


class ProducerSettings(StageSettings, DatabaseSettings, QueueSettings, JobSettings):
    """What a function needs that makes jobs."""


class ConsumerSettings(ProducerSettings, DeadLetterSettings):
    """What a function needs that consumes a queue."""


class HttpSettings(Settings):
    """The safe HTTP client of every function that fetches from addresses users or feeds name."""

    http_contact: Annotated[str, _written_as("[!-~]*", "a URL or mail address, in ASCII and without spaces")] = Field(
        default="", max_length=200, description="URL or mail address named in the user agent"
    )
    http_allow_loopback: bool = Field(
        default=False, description="Allow loopback addresses that a user typed; for development and tests"
    )
    http_total_s: float = Field(
        default=30.0, gt=0, le=300, description="Time limit of one request, redirects and retries included"
    )
    http_read_s: float = Field(default=10.0, gt=0, le=60, description="Longest silence of a server")
    http_retries: int = Field(default=3, ge=0, le=5, description="Retries of one request, after 1, 2 and 4 s")


class PacingSettings(Settings):
    """How often hosts are asked: one pace for all functions and workers together."""

    host_requests_per_s: float = Field(default=2.0, gt=0, le=100, description="Average rate of requests to one host")
    host_burst: int = Field(default=10, ge=1, le=1_000, description="Requests that one host may get at once")
    host_per_minute: dict[Annotated[str, AfterValidator(_domain)], Annotated[float, Field(gt=0, le=60_000)]] = Field(
        default={"reddit.com": 10.0},
        description="Requests a minute to a domain and all its subdomains, instead of the two above",
    )
    host_at_once: int = Field(
        default=2, ge=1, le=100, description="Requests to the hosts of one owner in progress, by queue"
    )
    host_lease_s: float = Field(
        default=120.0, gt=0, le=3_600, description="A request whose worker falls silent no longer counts after this"
    )
    host_pace_loopback: bool = Field(default=False, description="Pace loopback addresses too; for tests")


class AddressSettings(Settings):
    """Where this system is reached from outside."""

    public_url: BaseUrl = Field(
        default="http://127.0.0.1:8787",
        description="URL at which users reach this system; links in editions and feeds begin with it",
    )


class RequestSettings(Settings):
    """How much one token may ask."""

    requests_per_minute: int = Field(
        default=3_000, ge=1, le=1_000_000, description="Requests that one token may make in a minute"
    )


class RelevanceSettings(Settings):
    """How scores age."""

    score_freshness_weight: float = Field(
        default=0.15, ge=0, lt=1, description="Share of freshness in a score; the rest is relevance"
    )
    score_half_life_h: float = Field(default=72.0, gt=0, le=87_600, description="Hours in which freshness halves")


class VectorSettings(Settings):
    """Where vectors are found again."""

    qdrant_url: BaseUrl = Field(description="URL of Qdrant, version 1.16 or newer")
    qdrant_api_key: SecretStr = Field(default=SecretStr(""), description=_KEY)
    embedding_keep_old_s: int = Field(
        default=3_600, ge=0, le=366 * _DAY_S, description="Vectors of a replaced model are deleted after this"
    )


class EmbeddingSettings(VectorSettings):
    """The vectors of texts, by a model on this machine or by one behind an API."""

    model_uri: str = Field(description="Folder of the local model, or `s3://bucket/prefix`")
    model_cache_dir: str = Field(
        default=f"{tempfile.gettempdir()}/siftline-models", description="Where models from S3 are kept"
    )
    model_threads: int = Field(default=2, ge=1, le=16, description="Threads of one local model")
    embedding_tokens: int = Field(
        default=192, ge=16, le=8_192, description="Tokens that the local model reads at a time"
    )
    embedding_chunks: int = Field(
        default=1, ge=1, le=16, description="Parts of `EMBEDDING_TOKENS` that it reads of a long text"
    )
    embedding_api_model: str = Field(default="", description="Model behind an API that makes the vectors; empty: local")
    embedding_api_base_url: BaseUrl = Field(default="https://api.openai.com/v1", description=_API)
    embedding_api_key: SecretStr = Field(default=SecretStr(""), description=_KEY)
    embedding_api_dimensions: int | None = Field(
        default=None, ge=1, le=8_192, description="Length of its vectors; empty: as in embedding_prices.toml"
    )
    embedding_api_query_prefix: str = Field(default="", description="What the model expects before a query")
    embedding_api_passage_prefix: str = Field(default="", description="What the model expects before a text")
    embedding_api_chars: int = Field(default=8_000, ge=200, le=100_000, description="Characters sent of one text")
    embedding_api_timeout_s: float = Field(default=8.0, gt=0, le=60, description="Time limit of one answer")
    embedding_api_usd_per_million: float | None = Field(
        default=None, ge=0, le=_USD_MAX, description="Price of a million tokens; empty: as in embedding_prices.toml"
    )
    embedding_api_usd_per_day: float = Field(
        default=1.0, ge=0, le=_USD_MAX, description="Budget of a day (UTC), all users together"
    )
    embedding_api_usd_per_user_per_day: float = Field(
        default=1.0, ge=0, le=_USD_MAX, description="Share of one user in that budget"
    )


class EntitySettings(Settings):
    """Names in texts, for those who find them and those who resolve them."""

    entity_model_uri: str = Field(
        default="", description="Folder or `s3://bucket/prefix` of a model that finds names; empty: by rules"
    )
    entity_salt: SecretStr = Field(
        default=SecretStr(""),
        description="Salt of temporary ids, or `secretsmanager://<secret id>`; set it once, another makes other ids",
    )
    entity_providers: str = Field(
        default="",
        description="Who resolves organisations, in order and separated by commas: csv, gleif, wikidata; empty: nobody",
    )

    @field_validator("entity_providers")
    @classmethod
    def _known(cls, value: str) -> str:
        known = ("csv", "gleif", "wikidata")
        names = [name.strip() for name in value.split(",") if name.strip()]
        if unknown := sorted(set(names) - set(known)):
            raise ValueError(f"there is no {unknown[0]}; there are {', '.join(known)}")
        return ",".join(dict.fromkeys(names))

    def providers(self) -> list[str]:
        """Return the providers' names in the order in which they are asked."""
        return [name for name in self.entity_providers.split(",") if name]


class ArchiveSettings(Settings):
    """Where raw pages are kept."""

    page_archive_bucket: str = Field(
        default="", description="S3 bucket for raw pages, under `pages/<content id>/`; empty: none are kept"
    )


class ReprocessSettings(Settings):
    """How fast texts are read again after a change of models or rules, and at what price."""

    reprocess_live_max: int = Field(default=40, ge=1, le=1_000, description="Texts being reprocessed at a time")
    reprocess_usd_per_day: float = Field(
        default=0.5, ge=0, le=_USD_MAX, description="Part of `LLM_USD_PER_DAY` that reprocessing may spend"
    )


class AuthorizeSettings(StageSettings, DatabaseSettings):
    """The HTTP API's authorizer."""


class ApiSettings(ConsumerSettings, AddressSettings, RelevanceSettings, RequestSettings):
    """The HTTP API. It only makes jobs, but it also shows how deep the queues and their dead-letter queues are."""

    tokens_per_user: int = Field(default=100, ge=1, le=10_000, description="Live access tokens of one user")
    sources_per_user: int = Field(default=10_000, ge=1, le=1_000_000, description="Sources that one user may follow")
    folders_per_user: int = Field(default=500, ge=1, le=10_000, description="Folders of one user")
    saved_items_per_user: int = Field(
        default=200_000, ge=1, le=100_000_000, description="Pages that one user may save by hand"
    )
    http_allow_loopback: bool = Field(
        default=False, description="Accept loopback addresses as sources and pages; for development and tests"
    )
    webhook_allow_loopback: bool = Field(default=False, description="Accept loopback addresses of webhooks; for tests")
    qdrant_url: BaseUrl = Field(description="URL of Qdrant, checked by `GET /health?deep=1`")
    worker_health_url: str = Field(
        default="", description="Health port of a worker, checked by `GET /health?deep=1`; empty: there is none"
    )
    worker_health_token: SecretStr = Field(default=SecretStr(""), description="Bearer token for that port")


class SearchSettings(StageSettings, DatabaseSettings, EmbeddingSettings, RequestSettings):
    """The ``search`` function."""


class ScheduleSettings(ConsumerSettings, VectorSettings, ReprocessSettings, ArchiveSettings):
    """The ``schedule`` function: what each tick may do."""

    due_sources_per_tick: int = Field(default=100, ge=1, le=100_000, description="Polls that one tick may enqueue")
    due_briefings_per_tick: int = Field(
        default=50,
        ge=1,
        le=100_000,
        description="Editions that one tick may enqueue, so that mails leave a few at a time",
    )
    extra_run_pending: int = Field(
        default=1_000, ge=1, le=100_000_000, description="The extra run works on queues with more due jobs than this"
    )
    keep_finished_jobs_s: int = Field(
        default=7 * 86_400,
        ge=3_600,
        le=3_660 * _DAY_S,
        description="Finished jobs and their timelines are deleted after this",
    )


class FetchSettings(ConsumerSettings, HttpSettings, PacingSettings):
    """The ``fetch`` function."""

    first_import: Annotated[
        str, _written_as("skip|all|newest:[1-9][0-9]{0,5}", "skip, all or newest:N, such as newest:10")
    ] = Field(
        default="skip",
        description="Entries of a first poll to analyse, unless the source says otherwise: `skip`, `all`, `newest:N`",
    )
    refresh_min_minutes: int = Field(
        default=15, ge=5, le=10_080, description="Shortest interval between polls, unless a subscriber asks for another"
    )
    refresh_max_minutes: int = Field(
        default=1_440,
        ge=5,
        le=10_080,
        description="Longest interval between polls, unless a subscriber asks for another",
    )
    feed_parse_s: float = Field(default=12.0, gt=0, le=60, description="Time limit for parsing one feed")
    feed_parse_memory_bytes: int = Field(
        default=256 * 1024 * 1024,
        ge=64 * 1024 * 1024,
        le=_MEMORY_MAX_BYTES,
        description="Address space that parsing one feed may add",
    )
    reddit_url: BaseUrl = Field(default="https://www.reddit.com", description="Base URL of Reddit's listings")
    reddit_form: Literal["auto", "json", "atom"] = Field(
        default="auto",
        description="Format that Reddit is asked for; `auto`: JSON, and Atom for a day once JSON is refused",
    )

    @field_validator("refresh_max_minutes")
    @classmethod
    def _not_below_the_shortest(cls, value: int, info: ValidationInfo) -> int:
        if value < info.data.get("refresh_min_minutes", 0):
            raise ValueError(f"{value} is below REFRESH_MIN_MINUTES")
        return value


class IngestSettings(ConsumerSettings, HttpSettings, PacingSettings, ArchiveSettings):
    """The ``ingest`` function."""

    siftline_analysis_enabled: bool = Field(default=True, description="Off: pages become READY without analysis")
    page_read_s: float = Field(default=10.0, gt=0, le=900, description="Time limit for parsing one page")
    page_read_memory_bytes: int = Field(
        default=768 * 1024 * 1024,
        ge=64 * 1024 * 1024,
        le=_MEMORY_MAX_BYTES,
        description="Address space that parsing one page may add",
    )
    transcription_model: str = Field(
        default="", description="Audio model that makes transcripts where there are none; empty: none are made"
    )
    transcription_base_url: BaseUrl = Field(default="https://api.openai.com/v1", description=_API)
    transcription_api_key: SecretStr = Field(default=SecretStr(""), description=_KEY)
    transcription_s: float = Field(default=45.0, gt=0, le=600, description="Time limit of one transcript")
    transcription_max_bytes: int = Field(
        default=25_000_000, ge=1_024, le=100_000_000, description="Size limit of a file; OpenAI takes 25 MB"
    )
    transcription_max_s: float = Field(
        default=7_200.0, gt=0, le=7 * _DAY_S, description="Longest stated duration of a file"
    )
    transcription_usd_per_minute: float = Field(
        default=0.006, ge=0, le=_USD_MAX, description="Price of a minute of sound; 0 for a model of your own"
    )
    transcription_usd_per_day: float = Field(
        default=1.0, ge=0, le=_USD_MAX, description="Budget of a day (UTC), all users together"
    )


class AnalyzeSettings(ConsumerSettings, EmbeddingSettings, EntitySettings, RelevanceSettings):
    """The ``analyze`` function."""

    topics_file: str = Field(default="", description="TOML file of your own topics; empty: those shipped")
    topics_max: int = Field(default=3, ge=1, le=20, description="Topics of one text")
    topic_threshold: float = Field(default=0.3, ge=0, le=1, description="Lowest score of a topic that counts")
    topic_margin: float = Field(
        default=0.01, ge=0, le=2, description="Lead (cosine) from which the first pass needs no second and no LLM"
    )
    topic_model_uri: str = Field(
        default="", description="Folder or `s3://bucket/prefix` of a model for a second pass; empty: no second pass"
    )
    topic_model_s: float = Field(default=5.0, gt=0, le=60, description="Time limit of the second pass")
    tags_max: int = Field(default=6, ge=0, le=30, description="Tags of one text")
    summary_sentences: int = Field(default=3, ge=1, le=10, description="Sentences of one summary")

    llm_model: str = Field(default="", description="Language model for texts that need one; empty: none")
    llm_base_url: BaseUrl = Field(default="https://api.openai.com/v1", description=_API)
    llm_api_key: SecretStr = Field(default=SecretStr(""), description=_KEY)
    llm_for: Literal["always", "unsure", "never"] = Field(
        default="unsure",
        description="Which texts it reads; `unsure`: those whose topics lead by less than `TOPIC_MARGIN`",
    )
    llm_timeout_s: float = Field(
        default=20.0, gt=0, le=300, description="Time limit of one answer; a text takes up to two"
    )
    llm_input_chars: int = Field(default=12_000, ge=500, le=200_000, description="Characters sent of one text")
    llm_output_tokens: int = Field(default=1_500, ge=200, le=32_000, description="Token limit of one answer")
    llm_format: Literal["json_schema", "json_object"] = Field(
        default="json_schema",
        description="How JSON is asked for; `json_object` for a server that takes no schema",
    )
    llm_tokens_field: Literal["max_completion_tokens", "max_tokens"] = Field(
        default="max_completion_tokens",
        description="The server's name for the token limit, which it must obey for budgets to hold",
    )
    llm_summary_language: Annotated[str, _written_as("([a-z]{2,3})?", "an ISO 639 language code such as en")] = Field(
        default="", description="Language of summaries (ISO 639); empty: the text's"
    )
    llm_usd_per_million_in: float | None = Field(
        default=None, ge=0, le=_USD_MAX, description="Price of a million input tokens; empty: as in prices.toml"
    )
    llm_usd_per_million_out: float | None = Field(
        default=None, ge=0, le=_USD_MAX, description="Price of a million output tokens; empty: as in prices.toml"
    )
    llm_usd_per_day: float = Field(
        default=1.0, ge=0, le=_USD_MAX, description="Budget of a day (UTC), all users together"
    )
    llm_usd_per_user_per_day: float = Field(
        default=1.0, ge=0, le=_USD_MAX, description="Share of one user in that budget"
    )


class ResolveSettings(ConsumerSettings, HttpSettings, EntitySettings):
    """The ``resolve`` function."""

    entity_csv: str = Field(
        default="",
        validate_default=True,
        description="CSV file for csv: columns name, id, aliases (separated by vertical bars)",
    )
    gleif_url: BaseUrl = Field(default="https://api.gleif.org", description="Base URL of GLEIF's API")
    wikidata_url: BaseUrl = Field(default="https://www.wikidata.org", description="Base URL of Wikidata's API")
    provider_requests_per_run: int = Field(
        default=200, ge=1, le=1_000_000, description="Requests to one provider in an hour"
    )
    provider_requests_per_day: int = Field(
        default=2_000, ge=1, le=1_000_000, description="Requests to one provider in a day (UTC)"
    )

    @field_validator("entity_csv")
    @classmethod
    def _given(cls, value: str, known: ValidationInfo) -> str:
        if not value and "csv" in known.data.get("entity_providers", "").split(","):
            raise ValueError("must be set where ENTITY_PROVIDERS names csv")
        return value


class ClusterSettings(ConsumerSettings):
    """The ``cluster`` function."""

    cluster_llm: bool = Field(default=False, description="`LLM_MODEL` names new clusters")


class BriefSettings(ConsumerSettings, HttpSettings, RelevanceSettings, AddressSettings):
    """The ``brief`` function."""

    mail_from: Annotated[
        str,
        _written_as(
            r"|([^\r\n<>@]*<)?[^\s<>@]+@[^\s<>@]+>?",
            "an address such as news@news.example or News <news@news.example>",
        ),
    ] = Field(
        default="",
        max_length=320,
        description="Sender, `Name <news@example.org>`, verified in SES; empty: no mail is sent",
    )
    mail_configuration_set: str = Field(
        default="", max_length=64, description="SES configuration set that reports bounces and complaints"
    )
    mail_unsubscribe_to: Annotated[
        str, _written_as(r"|[^\s<>@,?&]+@[^\s<>@,?&]+", "an address such as news@news.example")
    ] = Field(
        default="",
        max_length=254,
        description="Mailbox named in List-Unsubscribe beside the link; empty: none",
    )
    webhook_allow_loopback: bool = Field(default=False, description="Deliver webhooks to loopback addresses; for tests")


class WorkerSettings(StageSettings):
    """The long-poll worker: threads a function, patience, how it stops, and the switches of the schedules."""

    worker_threads: dict[str, Annotated[int, Field(ge=1, le=100)]] = Field(
        default={"fetch": 8, "ingest": 4, "analyze": 2, "resolve": 1, "cluster": 2, "brief": 2},
        description="Threads by queue or function; 1 for any other",
    )
    worker_poll_s: int = Field(default=20, ge=0, le=20, description="How long a receive waits for the first message")
    worker_hold_s: int = Field(
        default=30, ge=3, le=43_200, description="Messages of a killed worker come back after this"
    )
    worker_drain_s: float = Field(
        default=28.0,
        ge=0,
        le=3_600,
        description="Time for work in progress after SIGTERM; the process ends two seconds later",
    )
    worker_health_token: SecretStr = Field(
        default=SecretStr(""), description="Bearer token that the health port asks for; empty: none"
    )
    siftline_due_sources_enabled: bool = Field(default=True, description="Poll sources that are due")
    siftline_sweep_enabled: bool = Field(default=True, description="Sweep: recover what crashed")
    siftline_resolutions_enabled: bool = Field(default=True, description="Resolve organisations every hour")
    siftline_clusterings_enabled: bool = Field(default=True, description="Cluster every night")
    siftline_due_briefings_enabled: bool = Field(default=True, description="Make briefings that are due")
    siftline_clean_up_enabled: bool = Field(default=True, description="Delete finished jobs and other outdated rows")
    siftline_extra_run_enabled: bool = Field(
        default=False, description="Hand out more of deep queues every five minutes"
    )
    siftline_background_enabled: bool = Field(default=True, description="Reprocess texts, compare them with own topics")

    def parameters(self) -> dict[str, str]:
        """Return the stage and the schedules' switches as the template's parameters."""
        return {"Stage": self.siftline_stage} | {
            f"{''.join(word.title() for word in tick.split('_'))}Enabled": str(
                getattr(self, f"siftline_{tick}_enabled")
            ).lower()
            for tick in Tick
        }

    @field_validator("worker_threads")
    @classmethod
    def _known(cls, value: dict[str, int]) -> dict[str, int]:
        known = {*cls.model_fields["worker_threads"].default, *Queue}
        if unknown := sorted(value.keys() - known):
            raise ValueError(f"there is no queue or function {unknown[0]}; there are {', '.join(sorted(known))}")
        return value


class UserSettings(Settings):
    """What a new user begins with."""

    new_user_credits: int | None = Field(
        default=None, ge=0, le=1_000_000_000, description="Credits of each new user; empty: users are not metered"
    )


class OperateSettings(ConsumerSettings, UserSettings):
    """The ``operate`` function: what operators do, inside the network."""


class LocalSettings(UserSettings):
    """``make run`` and the local commands."""

    pg_bin: str = Field(default="", description="Folder of PostgreSQL's programs; empty: the wheel's")
    local_hosts: tuple[HostName, ...] = Field(
        default=(),
        examples=[["news.example"]],
        description="Host names besides 127.0.0.1 and localhost that the local API answers to",
    )
    qdrant_api_key: SecretStr = Field(default=SecretStr(""), description="Key that the local Qdrant asks for")
