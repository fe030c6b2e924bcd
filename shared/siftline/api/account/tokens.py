"""The tokens resource: making, listing and revoking one's own access tokens."""

from typing import Annotated
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from pydantic import ConfigDict, Field

from siftline.api.account.tokens_store import Token, add_token, count_live, hold_parent, list_tokens, revoke_line
from siftline.api.http.auth import CurrentCaller, lacking, unauthorized
from siftline.api.http.callers import Scope
from siftline.api.http.paging import DEFAULT_LIMIT, Cursor, Limit, Next, Time, decode, page
from siftline.api.http.problems import Fault, conflict, faulty, not_found
from siftline.api.http.routing import BODY_PROBLEMS, NO_CONTENT, answer, route
from siftline.api.http.shapes import Asked, ListPage, Name
from siftline.api.parts import Routes

Scopes = Annotated[list[Scope], Field(min_length=1, max_length=len(Scope))]


class MakeToken(Asked):
    """A new token."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "laptop", "scopes": ["read", "write"]}]})

    name: Name = Field(description="What the token is for", examples=["laptop"])
    scopes: Scopes = Field(description="Permissions; limited to those of the token used for this request")
    expires_at: Time | None = Field(
        default=None,
        description="Expiry, no later than that of the token used for this request; null: the same as that token's",
    )


class MadeToken(Token):
    """A new token with its secret."""

    token: str = Field(description="The secret; shown only once", examples=["sl_…"])


class Tokens(ListPage):
    """A page of tokens."""

    items: list[Token]


class TokenRoutes(Routes):
    """``/v1/tokens``."""

    tag = "tokens"

    @route(
        "POST /v1/tokens",
        (201, MadeToken, "Created"),
        operation_id="createToken",
        problems=(*BODY_PROBLEMS, 409),
        located=True,
    )
    def make(self, body: MakeToken, caller: CurrentCaller) -> Response[MadeToken]:
        """Create an access token.

        It allows no more than the caller's own, ends no later, and ends with it.
        """
        at_most = self._parts.settings.tokens_per_user
        for scope in sorted(set(body.scopes) - caller.scopes):
            raise lacking(scope)
        if body.expires_at is not None and body.expires_at <= self._parts.clock.now():
            raise faulty([Fault(code="in_the_past", detail="Must be in the future", pointer="#/expires_at")])
        with self._database.transaction() as connection:
            if count_live(connection, caller.user_id) >= at_most:
                raise conflict("too_many_tokens", f"You have reached the limit of {at_most} tokens. Revoke one first.")
            parent = hold_parent(connection, caller.user_id, caller.token_id)
            if parent is None:  # revoked since the authorizer looked
                raise unauthorized()
            ends_at = min((end for end in (body.expires_at, parent.expires_at) if end is not None), default=None)
            token, row = add_token(connection, caller.user_id, body.name, body.scopes, ends_at, made_by=parent.id)
        return answer(201, MadeToken(**dict(row), token=token), location=f"/v1/tokens/{row.id}")

    @route("GET /v1/tokens", (200, Tokens, "A page of the list"), operation_id="listTokens")
    def browse(
        self,
        caller: CurrentCaller,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> Tokens:
        """List your access tokens."""
        with self._database.transaction() as connection:
            rows = list_tokens(connection, caller.user_id, decode(next), limit + 1)
        shown, following = page(rows, limit, lambda row: Cursor(row.created_at, row.id).encode())
        return Tokens(items=shown, next=following)

    @route("DELETE /v1/tokens/<token_id>", NO_CONTENT, operation_id="revokeToken", problems=(404,))
    def revoke(self, token_id: UUID, caller: CurrentCaller) -> Response[None]:
        """Revoke an access token.

        And all that it made.
        """
        with self._database.transaction() as connection:
            if not revoke_line(connection, caller.user_id, token_id):
                raise not_found("token")
        return Response(status_code=204)
