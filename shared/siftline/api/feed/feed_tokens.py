"""The feed tokens resource: addresses under which a feed reader follows one's feed or editions, and nothing else."""

from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from pydantic import ConfigDict, Field

from siftline.api.account.tokens_store import hold_parent
from siftline.api.feed import feed_tokens_store as store
from siftline.api.feed.feed_tokens_store import FeedKind, FeedToken
from siftline.api.http.auth import CurrentCaller, lacking, unauthorized
from siftline.api.http.callers import Scope, new_feed_token, token_sha256
from siftline.api.http.paging import DEFAULT_LIMIT, Cursor, Limit, Next, decode, page
from siftline.api.http.problems import conflict, not_found
from siftline.api.http.routing import BODY_PROBLEMS, NO_CONTENT, answer, route
from siftline.api.http.shapes import Asked, ListPage, Name
from siftline.api.parts import Routes
from siftline.kit.ids import new_id

FEED_TOKENS_MAX = 50
"""So many feed tokens of a user live at a time."""
_ADDRESS = "https://news.example.org/v1/feed.atom?token=sf_…"


class MakeFeedToken(Asked):
    """A new feed token."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "reader on the phone", "kind": "feed"}]})

    name: Name = Field(description="What the token is for", examples=["reader on the phone"])
    kind: FeedKind | None = Field(default=None, description="Which feed it opens; null for both")


class MadeFeedToken(FeedToken):
    """A new feed token with its secret."""

    token: str = Field(description="The secret; shown only once", examples=["sf_…"])
    urls: dict[FeedKind, str] = Field(
        description="URLs for a feed reader, including the secret", examples=[{"feed": _ADDRESS}]
    )


class FeedTokens(ListPage):
    """A page of feed tokens."""

    items: list[FeedToken]


def address(public_url: str, kind: FeedKind, token: str) -> str:
    """Return where a feed is read with a token."""
    return f"{public_url}/v1/{kind}.atom?token={token}"


class FeedTokenRoutes(Routes):
    """``/v1/feed-tokens``."""

    tag = "feed"

    @route(
        "POST /v1/feed-tokens",
        (201, MadeFeedToken, "Created"),
        operation_id="createFeedToken",
        problems=(*BODY_PROBLEMS, 409),
        located=True,
    )
    def make(self, body: MakeFeedToken, caller: CurrentCaller) -> Response[MadeFeedToken]:
        """Create a feed token.

        It reads, so who makes it must be allowed to, and it ends with the token that asks.
        """
        if Scope.READ not in caller.scopes:
            raise lacking(Scope.READ)
        token = new_feed_token()
        with self._database.transaction() as connection:
            if store.count_live(connection, caller.user_id) >= FEED_TOKENS_MAX:
                detail = f"You have reached the limit of {FEED_TOKENS_MAX} feed tokens. Revoke one first."
                raise conflict("too_many_feed_tokens", detail)
            parent = hold_parent(connection, caller.user_id, caller.token_id)
            if parent is None:  # revoked since the authorizer looked
                raise unauthorized()
            row = store.add(
                connection,
                new_id(),
                caller.user_id,
                parent,
                name=body.name,
                kind=None if body.kind is None else body.kind.value,
                sha256=token_sha256(token),
            )
        urls = {kind: address(self._parts.public_url, kind, token) for kind in FeedKind if body.kind in {None, kind}}
        made = MadeFeedToken(**dict(row), token=token, urls=urls)
        return answer(201, made, location=f"/v1/feed-tokens/{row.id}")

    @route("GET /v1/feed-tokens", (200, FeedTokens, "A page of the list"), operation_id="listFeedTokens")
    def browse(
        self,
        caller: CurrentCaller,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> FeedTokens:
        """List your feed tokens."""
        with self._database.transaction() as connection:
            rows = store.list_tokens(connection, caller.user_id, decode(next), limit + 1)
        shown, following = page(rows, limit, lambda row: Cursor(row.created_at, row.id).encode())
        return FeedTokens(items=shown, next=following)

    @route(
        "DELETE /v1/feed-tokens/<feed_token_id>",
        NO_CONTENT,
        operation_id="revokeFeedToken",
        problems=(404,),
    )
    def revoke(self, feed_token_id: UUID, caller: CurrentCaller) -> Response[None]:
        """Revoke a feed token.

        Its addresses answer 404 at once.
        """
        with self._database.transaction() as connection:
            if not store.revoke(connection, caller.user_id, feed_token_id):
                raise not_found("feed token")
        return Response(status_code=204)
