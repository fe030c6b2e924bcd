"""Which methods a path answers, through the API on a real PostgreSQL."""

import base64
import json

import pytest

from siftline.api.http.paging import encode_rank, paging
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from tests.api_client import World, sent
from tests.http_events import caller_context, http_event


def test_every_known_path_tells_its_methods_and_every_other_is_not_found(database: Database) -> None:
    api = World(database).api
    context = caller_context(new_id(), new_id(), ["read", "write", "ops"])
    for path, allowed in [
        ("/health", "GET, HEAD"),
        ("/docs", "GET"),
        ("/", "GET"),
        ("/v1/openapi.json", "GET"),
        ("/admin/queue-stats", "GET"),
        ("/v1/items", "GET, POST"),
        ("/v1/items/batch", "POST"),
        (f"/v1/items/{new_id()}", "DELETE, GET, PATCH"),
        ("/v1/search", "GET"),
        (f"/v1/items/{new_id()}/similar", "GET"),
    ]:
        refused = sent(api, http_event("PUT", path, context=context))
        assert (refused.status, refused.code, refused.headers["allow"]) == (405, "method_not_allowed", allowed)
    assert sent(api, http_event("PUT", "/v1/none", context=context)).code == "not_found"


NUMBERS = [2**31 - 2, 2**31 - 1, 2**31 - 0.5, 2**31, 2**40, 1e300, -(2**31) - 0.5, 0.5, -1]


@pytest.mark.parametrize("path", ["/v1/feed", "/v1/items", "/v1/entities", "/v1/clusters"])
@pytest.mark.parametrize("number", NUMBERS)
def test_a_made_up_next_is_answered_or_refused(database: Database, path: str, number: float) -> None:
    """Nothing in a ``next`` is secret: anybody can make one up for the list that they ask for."""
    user = World(database).user()
    with paging(path, {}):
        of_rank = encode_rank(number, new_id())
    for word in (of_rank, _turned(of_rank)):
        answer = user.get(path, next=word)
        assert (answer.status, answer.json.get("code")) in [(200, None), (422, "invalid_cursor")]


def _turned(word: str) -> str:
    """Return the cursor with its number after its id, as the feed's are."""
    number, key, bound = json.loads(base64.urlsafe_b64decode(word + "=" * (-len(word) % 4)))
    return base64.urlsafe_b64encode(json.dumps([key, number, bound]).encode()).decode().rstrip("=")
