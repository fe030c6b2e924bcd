"""Which methods a path answers, through the API on a real PostgreSQL."""

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
