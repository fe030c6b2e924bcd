"""The OpenAPI document, used as others use it: checked, made a client of, and every operation tried by what it says."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from infra.local.aws import CREDENTIALS
from infra.local.queues import sqs_client
from siftline.kit.db import Pool
from siftline.kit.ids import new_id
from tests.contract import TOOLS, run, served
from tests.functions import TOKEN, make_queues, make_sample_user
from tests.vectors import serving_vectors

pytestmark = pytest.mark.skipif(not TOOLS.exists(), reason="make .local/contract/.ready makes the tools")


@pytest.fixture(scope="module")
def url(
    make_database: Callable[..., str], sqs_endpoint: str, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The URL of the whole API, with a user who may do everything."""
    folder = tmp_path_factory.mktemp("contract")
    database_url = make_database()
    database = Pool(database_url, size=1)
    with database.transaction() as connection:
        make_sample_user(connection, ["read", "write", "ops"])
    database.close()
    sqs = sqs_client(sqs_endpoint)
    with serving_vectors(folder / "vectors") as vectors:
        variables = {
            **CREDENTIALS,
            "AWS_ENDPOINT_URL": sqs_endpoint,
            **make_queues(sqs, str(new_id())),
            "DATABASE_URL": database_url,
            "QDRANT_URL": vectors,
            "QDRANT_API_KEY": "",
            "MODEL_URI": str(model),
            "MODEL_CACHE_DIR": str(folder),
            "REQUESTS_PER_MINUTE": "1000000",
        }
        with served(variables) as url:
            yield url
    sqs.close()


CALLS = """
import sys, json
from made.client import AuthenticatedClient, Client
from made.api.clusters import list_clusters
from made.api.items import get_item, list_items, save_item, update_item
from made.api.me import get_me
from made.api.search import search_items
from made.api.sources import export_opml, follow_source, import_opml, list_sources, unfollow_source
from made.models import ChangeItem, SaveItem, Subscribe
from made.types import File

url, token = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True)
pages = [SaveItem(url=f"example.org/story/{number}", tags=["kept"]) for number in range(5)]
saved = [save_item.sync(client=client, body=page) for page in pages]
update_item.sync(item_id=saved[0].id, client=client, body=ChangeItem(read=True))
update_item.sync(item_id=saved[0].id, client=client, body=ChangeItem(note="Only this is changed"))
item = get_item.sync(item_id=saved[0].id, client=client)
listed, after = [], None
while True:
    page = list_items.sync(client=client, limit=2, tag="kept", **({"next_": after} if after else {}))
    listed += [one.url for one in page.items]
    after = page.next_
    if after is None:
        break
followed = follow_source.sync(client=client, body=Subscribe(url="https://example.org/feed.xml"))
opml = b'<opml version="2.0"><body><outline text="a" xmlUrl="https://a.example/feed"/></body></opml>'
taken = import_opml.sync(client=client, body=File(payload=opml))
sources = [one.url for one in list_sources.sync(client=client).items]
written = export_opml.sync(client=client)
found = search_items.sync(client=client, q="ports and ferries")
clusters = list_clusters.sync(client=client)
left = unfollow_source.sync_detailed(source_id=followed.id, client=client)
strangers = [
    get_me.sync(client=one) for one in (AuthenticatedClient(base_url=url, token="sl_wrong"), Client(base_url=url))
]
print(json.dumps({
    "saved": [one.status.value for one in saved], "read": item.read_at is not None, "note": item.note,
    "tags": item.own_tags, "listed": listed, "taken": taken.to_dict(), "sources": sources, "opml": written,
    "found": found.to_dict(), "clusters": clusters.to_dict(), "left": left.status_code,
    "strangers": [one.message for one in strangers],
}))
"""

# In a batch, what is wrong with an entry is that entry's own answer.
CONFIGURATION = """
[[operations]]
include-operation-id = "saveItems"
checks.negative_data_rejection.enabled = false
"""


@pytest.fixture
def document(url: str, tmp_path: Path) -> Path:
    """The document as it is served, in a file."""
    path = tmp_path / "openapi.json"
    path.write_text(httpx.get(f"{url}/v1/openapi.json", timeout=60).raise_for_status().text, encoding="utf-8")
    return path


def test_the_document_is_valid(document: Path, tmp_path: Path) -> None:
    """Case: the tag ``topics`` stood there twice."""
    run("openapi-spec-validator", "--errors", "all", str(document), cwd=tmp_path)


def test_a_generated_client_saves_lists_follows_imports_and_searches(url: str, document: Path, tmp_path: Path) -> None:
    """Case: generators dropped ``POST /v1/sources``, ``POST /v1/opml`` and ``/v1/clusters``."""
    said = run(
        "openapi-python-client", "generate", "--path", str(document), "--output-path", "made", "--meta", "none",
        cwd=tmp_path,
    )  # fmt: skip
    described = json.loads(document.read_text(encoding="utf-8"))
    operations = [operation for methods in described["paths"].values() for operation in methods.values()]
    modules = {path.stem for path in (tmp_path / "made" / "api").glob("*/*.py")}

    assert "Endpoint will not be generated" not in said
    assert {_snake(operation["operationId"]) for operation in operations} <= modules
    told = json.loads(run("python", "-c", CALLS, url, TOKEN, cwd=tmp_path).splitlines()[-1])
    assert told["saved"] == ["PENDING"] * 5
    assert (told["read"], told["note"], told["tags"]) == (True, "Only this is changed", ["kept"])
    assert told["listed"] == [f"https://example.org/story/{number}" for number in (4, 3, 2, 1, 0)]
    assert (told["taken"]["subscribed"], len(told["taken"]["outlines"])) == (1, 1)
    assert told["sources"] == ["https://a.example/feed", "https://example.org/feed.xml"]
    assert told["opml"].count("<outline") == 2
    assert (told["found"]["items"], told["found"]["next"]) == ([], None)
    assert (told["clusters"]["items"], told["clusters"]["next"]) == ([], None)
    assert told["left"] == 204
    assert told["strangers"] == ["Forbidden", "Unauthorized"]


def test_every_operation_does_what_the_document_says_whatever_it_is_sent(url: str, tmp_path: Path) -> None:
    """No 5xx, no status, media type, header or body that is not described, and nothing taken that is not either.

    What fits the schema may be refused: that an address leads somewhere, or a ``next`` was ours, no schema can say.
    """
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION, encoding="utf-8")
    run(
        "schemathesis", "--config-file", "schemathesis.toml",
        "run", f"{url}/v1/openapi.json", "--header", f"Authorization: Bearer {TOKEN}",
        "--phases", "examples,coverage,fuzzing", "--max-examples", "3", "--seed", "13", "--workers", "2",
        "--exclude-checks", "positive_data_acceptance", "--warnings", "off",
        cwd=tmp_path,
    )  # fmt: skip


def _snake(name: str) -> str:
    return re.sub("([A-Z])", r"_\1", name).lower()
