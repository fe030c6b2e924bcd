"""The feed resource: what the caller has not read, best first, one story one place, each place explained."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from siftline.api.feed.feed_models import Feed
from siftline.api.feed.feed_service import FeedService, Stretch
from siftline.api.feed.feed_views import feed_item_of
from siftline.api.http.auth import CurrentCaller
from siftline.api.http.paging import DEFAULT_LIMIT, Limit, Next, OrderCursor, decode_order
from siftline.api.http.routing import Resource, route
from siftline.api.http.shapes import ByEntity, ByFolder, BySince, BySource, ByStarred, ByTag, ByTopic, ByUntil
from siftline.api.items.listing_store import Listed


class FeedRoutes(Resource):
    """``/v1/feed``."""

    def __init__(self, feeds: FeedService) -> None:
        self._feeds = feeds

    @route(
        "GET /v1/feed",
        (200, Feed, "A page of the feed"),
        summary="List your ranked feed",
        operation_id="getFeed",
        tag="feed",
        problems=(410,),
    )
    def browse(
        self,
        caller: CurrentCaller,
        *,
        all: Annotated[bool, Query(description="Include items you have read")] = False,  # noqa: A002  # a query parameter
        topic: ByTopic = None,
        tag: ByTag = None,
        source_id: BySource = None,
        folder_id: ByFolder = None,
        entity: ByEntity = None,
        since: BySince = None,
        until: ByUntil = None,
        starred: ByStarred = None,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> Feed:
        """Show a page of the feed. Later pages are of the first one's order, whatever was read or came in since."""
        after = decode_order(next)
        if after is None:
            filters = Listed(topic, tag, source_id, folder_id, since, until, None if all else True, starred)
            return self._page(self._feeds.first(caller.user_id, filters, limit, entity=entity), limit)
        stretch = self._feeds.following(caller.user_id, after.order_id, after.place, limit)
        return self._page(stretch, after.place + limit)

    def _page(self, stretch: Stretch, following: int) -> Feed:
        items = [feed_item_of(shown, stretch.freshness, self._feeds.factor(shown.place.nth)) for shown in stretch.shown]
        after = None if stretch.order_id is None else OrderCursor(stretch.order_id, following).encode()
        return Feed(at=stretch.freshness.at, items=items, next=after)
