"""Where the API is put together."""

from collections.abc import Callable
from dataclasses import dataclass

from aws_lambda_powertools import Logger

from siftline.api.account.export import ExportRoutes
from siftline.api.account.me import MeRoutes
from siftline.api.account.token_routes import TokenRoutes
from siftline.api.account.usage import UsageRoutes
from siftline.api.briefings.briefings import BriefingRoutes
from siftline.api.briefings.editions import EditionRoutes
from siftline.api.briefings.mail_addresses import MailAddressRoutes
from siftline.api.briefings.unsubscribe import UnsubscribeRoutes
from siftline.api.clusters.clusters import ClusterRoutes
from siftline.api.entities.entities import EntityRoutes
from siftline.api.feed.atom_routes import AtomRoutes
from siftline.api.feed.feed import FeedRoutes
from siftline.api.feed.feed_service import FeedService
from siftline.api.feed.feed_token_routes import FeedTokenRoutes
from siftline.api.http.authorize import Authorizer, WrongTokens
from siftline.api.http.document import DocumentRoutes
from siftline.api.http.hand_out import HandOut
from siftline.api.http.limits import RequestLimit
from siftline.api.http.resolver import HttpApi
from siftline.api.http.routing import Resource
from siftline.api.items.items import ItemRoutes
from siftline.api.items.saves import SaveRoutes
from siftline.api.items.scores import ScoreRule, Scores
from siftline.api.items.walk import WalkRoutes
from siftline.api.ops.dead_letter_routes import DeadLetterRoutes
from siftline.api.ops.health import Check, HealthRoutes
from siftline.api.ops.ops import Depths, OpsRoutes
from siftline.api.ops.reprocess_routes import ReprocessRoutes
from siftline.api.ops.worker_check import check_worker
from siftline.api.search.search_routes import SearchRoutes
from siftline.api.sources.folders import FolderRoutes
from siftline.api.sources.opml_routes import OpmlRoutes
from siftline.api.sources.sources import SourceRoutes
from siftline.api.topics.topics import TopicRoutes
from siftline.contracts import Queue
from siftline.jobs.dead_letter_queues import SqsDeadLetters
from siftline.jobs.dead_letters import DeadLetterQueues, DeadLetters
from siftline.jobs.jobs_wiring import producer
from siftline.jobs.publish import Publisher
from siftline.kit.aws import sqs_client
from siftline.kit.clock import Clock
from siftline.kit.db import Database
from siftline.net.probe import check_answers
from siftline.reprocess.reprocess import Reprocess
from siftline.settings.functions import ApiSettings

SQS_TIMEOUT_S = 2.0
"""A request waits no longer for SQS: the sweep sends what it did not take."""
# Receiving waits up to a second for all of SQS's servers, so its answer may take longer than that to a sent message.
_LETTERS_S = 5.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What the API works with."""

    database: Database
    queues: Depths
    dead_letter_queues: DeadLetterQueues
    publisher: Publisher
    clock: Clock
    check_vectors: Callable[[], object]
    log: Logger


def http_api(parts: Parts, settings: ApiSettings) -> HttpApi:
    """Return the API over these parts."""
    hand_out = HandOut(parts.publisher, parts.log)
    max_attempts, allow_loopback = settings.job_max_attempts, settings.http_allow_loopback
    scores = Scores(
        hand_out,
        ScoreRule(settings.score_freshness_weight, settings.score_half_life_h * 3_600),
        max_attempts=max_attempts,
    )
    feeds = FeedService(parts.database, scores.rule)
    outside = settings.public_url.rstrip("/")
    wrong_tokens = WrongTokens(parts.log, parts.clock)
    limit = RequestLimit(parts.database, parts.clock, per_minute=settings.requests_per_minute)
    dead_letters = DeadLetters(parts.database, parts.dead_letter_queues, hand_out, parts.clock)
    checks: dict[str, Check] = {
        "database": lambda: _check_database(parts.database),
        "queues": lambda: _check_queues(parts.queues),
        "vectors": parts.check_vectors,
    }
    if url := settings.worker_health_url:
        checks["worker"] = lambda: check_worker(url, settings.worker_health_token.get_secret_value())
    resources: list[Resource] = [
        SaveRoutes(
            parts.database,
            hand_out,
            allow_loopback=allow_loopback,
            at_most=settings.saved_items_per_user,
        ),
        ItemRoutes(parts.database, scores),
        FeedRoutes(feeds),
        AtomRoutes(parts.database, feeds, outside, wrong_tokens, limit),
        FeedTokenRoutes(parts.database, outside),
        WalkRoutes(parts.database, hand_out, max_attempts=max_attempts),
        SourceRoutes(
            parts.database,
            hand_out,
            allow_loopback=allow_loopback,
            max_attempts=max_attempts,
            at_most=settings.sources_per_user,
        ),
        FolderRoutes(parts.database, at_most=settings.folders_per_user),
        OpmlRoutes(
            parts.database,
            hand_out,
            allow_loopback=allow_loopback,
            max_attempts=max_attempts,
            at_most=settings.sources_per_user,
            folders_at_most=settings.folders_per_user,
        ),
        ClusterRoutes(parts.database, hand_out, max_attempts=max_attempts),
        EntityRoutes(parts.database),
        TopicRoutes(parts.database, hand_out, max_attempts=max_attempts),
        BriefingRoutes(
            parts.database, hand_out, scores, allow_loopback=settings.webhook_allow_loopback, max_attempts=max_attempts
        ),
        EditionRoutes(parts.database, outside),
        TokenRoutes(parts.database, parts.clock, at_most=settings.tokens_per_user),
        MeRoutes(parts.database, scores),
        ExportRoutes(parts.database),
        MailAddressRoutes(parts.database, hand_out, max_attempts=max_attempts),
        UnsubscribeRoutes(parts.database),
        UsageRoutes(parts.database, parts.clock),
        OpsRoutes(parts.database, parts.queues),
        ReprocessRoutes(Reprocess(parts.database, max_attempts=max_attempts)),
        DeadLetterRoutes(dead_letters, parts.queues, parts.clock),
        HealthRoutes(Authorizer(parts.database, wrong_tokens), checks, parts.log),
    ]
    elsewhere = [SearchRoutes(None)]  # answered by the search function; described here with the rest
    return HttpApi(
        [*resources, DocumentRoutes([*resources, *elsewhere])],
        parts.log,
        elsewhere=elsewhere,
        limit=limit,
        clock=parts.clock,
    )


def open_api(settings: ApiSettings, log: Logger, *, sqs_timeout_s: float = SQS_TIMEOUT_S) -> HttpApi:
    """Return the API of the ``api`` function."""
    made = producer(settings, sqs_timeout_s=sqs_timeout_s)
    parts = Parts(
        database=made.database,
        queues=made.queues,
        dead_letter_queues=SqsDeadLetters(
            sqs_client(_LETTERS_S), made.queues, settings.queue_urls(), settings.dead_letter_urls(), made.clock
        ),
        publisher=made.publisher,
        clock=made.clock,
        check_vectors=lambda: check_answers(settings.qdrant_url),
        log=log,
    )
    return http_api(parts, settings)


def _check_queues(queues: Depths) -> None:
    """Look at every queue: one that is missing is no other's fault to show."""
    for queue in Queue:
        queues.depth(queue)


def _check_database(database: Database) -> None:
    with database.transaction() as connection:
        connection.execute("select")
