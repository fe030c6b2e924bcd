"""Polls sources: SQS records of ``fetch_source`` jobs in, partial batch failures out."""

from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse

from siftline.contracts import JobType
from siftline.fetch.fetch_service import FetchSource
from siftline.fetch.fetch_wiring import source_fetchers
from siftline.fetch.kinds.readers import FeedReader, LinkReader
from siftline.fetch.kinds.rss_fetcher import SEARCH_REQUEST_S
from siftline.fetch.poll import health_store
from siftline.jobs.consume import BatchConsumer, LambdaContext, consumer
from siftline.jobs.jobs_wiring import producer
from siftline.net.http import HttpClient
from siftline.net.pacing import Pace
from siftline.settings.functions import FetchSettings


@cache
def build() -> BatchConsumer:
    """Put the parts together, once a warm environment."""
    settings = FetchSettings()
    parts = producer(settings)
    reader = FeedReader(timeout_s=settings.feed_parse_s, memory_bytes=settings.feed_parse_memory_bytes)
    searching = HttpClient.of(settings, total_s=SEARCH_REQUEST_S, retries=0)
    pace = Pace(parts.database, settings, parts.clock)
    fetchers = source_fetchers(HttpClient.of(settings), searching, reader, LinkReader(), pace, parts.clock, settings)
    fetch = FetchSource(parts.database, fetchers, pace, parts.clock, settings)
    subjects = {JobType.FETCH_SOURCE: health_store.subject}
    reserve_s = settings.http_total_s + settings.feed_parse_s
    return consumer(settings, parts, [fetch], subjects, reserve_s=reserve_s)


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work off one batch."""
    return build().handle(event, context)
