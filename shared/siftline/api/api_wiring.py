"""Where the API is put together."""

from aws_lambda_powertools import Logger

from siftline.api.account.export import ExportRoutes
from siftline.api.account.me import MeRoutes, UsageRoutes
from siftline.api.account.tokens import TokenRoutes
from siftline.api.briefings.briefings import BriefingRoutes
from siftline.api.briefings.editions import EditionRoutes
from siftline.api.briefings.mail_addresses import MailAddressRoutes, UnsubscribeRoutes
from siftline.api.clusters.clusters import ClusterRoutes
from siftline.api.feed.atom import AtomRoutes
from siftline.api.feed.feed import FeedRoutes
from siftline.api.feed.feed_tokens import FeedTokenRoutes
from siftline.api.http.document import DocumentRoutes
from siftline.api.http.resolver import HttpApi
from siftline.api.items.entities import EntityRoutes
from siftline.api.items.items import ItemRoutes, ProcessingRoutes
from siftline.api.items.saves import SaveRoutes
from siftline.api.ops.dead_letter_routes import DeadLetterRoutes
from siftline.api.ops.health import HealthRoutes
from siftline.api.ops.ops import OpsRoutes
from siftline.api.ops.reprocess_routes import ReprocessRoutes
from siftline.api.parts import Parts, Routes
from siftline.api.search_routes import SearchRoutes
from siftline.api.sources.folders import FolderRoutes
from siftline.api.sources.opml_routes import OpmlRoutes
from siftline.api.sources.sources import SourceRoutes
from siftline.api.topics.topics import TopicRoutes
from siftline.jobs.dead_letters import SqsDeadLetters
from siftline.jobs.jobs_wiring import producer
from siftline.kit.aws import sqs_client
from siftline.net.probe import check_answers
from siftline.settings.functions import ApiSettings

SQS_TIMEOUT_S = 2.0
"""A request waits no longer for SQS: the sweep sends what it did not take."""
# Receiving waits up to a second for all of SQS's servers, so its answer may take longer than that to a sent message.
_LETTERS_S = 5.0
_RESOURCES: tuple[type[Routes], ...] = (
    SaveRoutes,
    ItemRoutes,
    FeedRoutes,
    AtomRoutes,
    FeedTokenRoutes,
    ProcessingRoutes,
    SourceRoutes,
    FolderRoutes,
    OpmlRoutes,
    ClusterRoutes,
    EntityRoutes,
    TopicRoutes,
    BriefingRoutes,
    EditionRoutes,
    TokenRoutes,
    MeRoutes,
    ExportRoutes,
    MailAddressRoutes,
    UnsubscribeRoutes,
    UsageRoutes,
    OpsRoutes,
    ReprocessRoutes,
    DeadLetterRoutes,
    HealthRoutes,
)
"""In the order of the OpenAPI document."""


def http_api(parts: Parts) -> HttpApi:
    """Return the API over these parts."""
    resources = [make(parts) for make in _RESOURCES]
    elsewhere = [SearchRoutes(None)]  # answered by the search function; described here with the rest
    return HttpApi(
        [*resources, DocumentRoutes([*resources, *elsewhere])],
        parts.log,
        elsewhere=elsewhere,
        limit=parts.limit,
        clock=parts.clock,
    )


def open_api(settings: ApiSettings, log: Logger, *, sqs_timeout_s: float = SQS_TIMEOUT_S) -> HttpApi:
    """Return the API of the ``api`` function."""
    made = producer(settings, sqs_timeout_s=sqs_timeout_s)
    dead_letter_queues = SqsDeadLetters(
        sqs_client(_LETTERS_S), made.queues, settings.queue_urls(), settings.dead_letter_urls(), made.clock
    )
    parts = Parts(
        settings,
        log,
        made.clock,
        database=made.database,
        publisher=made.publisher,
        queues=made.queues,
        dead_letter_queues=dead_letter_queues,
        check_vectors=lambda: check_answers(settings.qdrant_url),
    )
    return http_api(parts)
