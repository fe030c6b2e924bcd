"""Every sample event runs through its packed handler under AWS's own runtime client, in Lambda's interface emulator."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from infra.local.aws import CREDENTIALS
from infra.local.samples import SampleServer
from infra.local.vectors import Service, Vectors
from infra.local.wsgi import LoopbackServer
from siftline.contracts import Queue
from siftline.kit.db import Connection, Database
from siftline.kit.ids import new_id
from tests.e2e.emulator import PYTHON, emulated
from tests.factories import make_content, make_item, make_source
from tests.house.reading import FUNCTION_NAMES, function_resources
from tests.packing import ROOT, packed

EVENTS = ROOT / "events"
MODEL = ROOT / ".local" / "model"
USER = "018f4e5a-7b1c-7000-8000-000000000001"
TOKEN = "018f4e5a-7b1c-7000-8000-000000000002"
QUEUE_OF = {
    "fetch": Queue.FETCH,
    "ingest": Queue.CONTENT_PROCESSING,
    "analyze": Queue.ANALYSIS,
    "cluster": Queue.CLUSTERING,
}
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("emulator"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def packages() -> Iterator[Mapping[str, list[Path]]]:
    """Every function, packed for this interpreter."""
    for needed in (PYTHON, MODEL / "manifest.json"):
        if not needed.exists():
            pytest.fail(f"{needed} is missing; `make test` makes it")
    with packed(FUNCTION_NAMES) as found:
        yield found


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Qdrant's engine on loopback."""
    store = Vectors(tmp_path_factory.mktemp("vectors"))
    with LoopbackServer(Service(store)) as server:
        yield server.url
    store.close()


@pytest.fixture(scope="module")
def samples() -> Iterator[SampleServer]:
    """What the events' addresses stand for."""
    server = SampleServer().start()
    yield server
    server.stop()


@pytest.fixture
def stage(sqs: Any) -> str:
    """A stage of this test's own, with all its queues."""
    name = str(new_id())
    for queue in Queue:
        for kind in ("queue", "dlq"):
            sqs.create_queue(QueueName=f"siftline-{name}-{queue}-{kind}")
    return name


@pytest.fixture
def invoke(
    packages: Mapping[str, list[Path]],
    vectors: str,
    stage: str,
    sqs_endpoint: str,
    database_url: str,
    tmp_path: Path,
) -> Callable[..., list[Any]]:
    """Run events through one function, warm after the first; the template says which variables it gets."""
    values = {
        "DATABASE_URL": database_url,
        "QDRANT_URL": vectors,
        "QDRANT_API_KEY": "",
        "MODEL_URI": str(MODEL),
        "HTTP_CONTACT": "",
        "FIRST_IMPORT": "all",
        "SIFTLINE_ANALYSIS_ENABLED": "true",
        **{
            f"{queue.name}_{kind}_URL": f"{sqs_endpoint}/000000000000/siftline-{stage}-{queue}-{end}"
            for queue in Queue
            for kind, end in (("QUEUE", "queue"), ("DLQ", "dlq"))
        },
    }

    def run(name: str, *events: Any) -> list[Any]:
        asked = set(function_resources()[name][1]["Environment"]["Variables"])
        environment = {key: value for key, value in values.items() if key in asked}
        environment |= {"POWERTOOLS_SERVICE_NAME": name, "HTTP_ALLOW_LOOPBACK": "true"}
        environment |= {**CREDENTIALS, "AWS_ENDPOINT_URL": sqs_endpoint}
        with emulated(name, packages[name], environment, tmp_path / f"{name}.log") as emulator:
            return [emulator.invoke(event) for event in events]

    return run


def _event(name: str, stage: str, samples: SampleServer) -> Any:
    """Return a sample event, its queues those of the stage and its addresses those of the sample server."""
    text = (EVENTS / f"{name}.json").read_text(encoding="utf-8")
    text = text.replace("siftline-local-", f"siftline-{stage}-")
    return json.loads(text.replace("https://news.example", samples.base_url))


def _records(event: Any) -> dict[str, Any]:
    return json.loads(event["Records"][0]["body"])  # type: ignore[no-any-return]  # JSON


def _states(connection: Connection) -> list[tuple[str, str]]:
    return connection.execute("select job_type, state from jobs order by created_at").fetchall()


def _user(connection: Connection) -> None:
    digest = hashlib.sha256(b"sl_" + b"A" * 43).digest()
    connection.execute("insert into users (id, name) values (%s, 'sample')", (USER,))
    connection.execute(
        "insert into access_tokens (id, user_id, name, token_sha256, scopes) values (%s, %s, 'sample', %s, %s)",
        (TOKEN, USER, digest, ["read", "write", "ops"]),
    )


@pytest.mark.parametrize("name", sorted(QUEUE_OF))
def test_a_queue_function_parks_what_makes_no_sense(
    name: str, invoke: Callable[..., list[Any]], stage: str, samples: SampleServer, sqs: Any, sqs_endpoint: str
) -> None:
    bad = [path.stem for path in EVENTS.glob(f"{name}.*.json") if not path.stem.endswith(".ok")]

    answers = invoke(name, *(_event(stem, stage, samples) for stem in bad))

    assert answers == [{"batchItemFailures": []}] * len(bad)
    url = f"{sqs_endpoint}/000000000000/siftline-{stage}-{QUEUE_OF[name]}-dlq"
    (dead,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"], WaitTimeSeconds=5)["Messages"]
    assert dead["MessageAttributes"]["error_code"]["StringValue"]


def test_fetch_polls_a_feed_and_ingest_reads_a_page(
    invoke: Callable[..., list[Any]], stage: str, samples: SampleServer, database: Database
) -> None:
    fetch, ingest = _event("fetch.ok", stage, samples), _event("ingest.ok", stage, samples)
    article = samples.articles()[-1]  # not one of the feed polled here
    page = _records(ingest) | {"url": samples.base_url + article.path}
    ingest["Records"][0]["body"] = json.dumps(page)
    with database.transaction() as connection:
        _user(connection)
        make_source(connection, id=_records(fetch)["source_id"], url=samples.urls()[0])

    assert invoke("fetch", fetch) == [{"batchItemFailures": []}]
    assert invoke("ingest", ingest) == [{"batchItemFailures": []}]

    with database.transaction() as connection:
        states = _states(connection)
        assert ("fetch_source", "completed") in states
        assert ("ingest_content", "completed") in states
        assert connection.execute("select count(*) > 5 from source_entries").fetchone() == (True,)
        read = connection.execute("select text <> '' from contents where id = %s", (page["shared_content_id"],))
        assert read.fetchone() == (True,)


def test_analyze_reads_a_text_with_the_real_model_and_search_finds_it(
    invoke: Callable[..., list[Any]], stage: str, samples: SampleServer, database: Database
) -> None:
    article = next(article for article in samples.articles() if article.language == "en")
    event, query = _event("analyze.ok", stage, samples), _event("search.ok", stage, samples)
    text = "\n\n".join(article.paragraphs)
    query["queryStringParameters"]["q"] = article.title
    with database.transaction() as connection:
        _user(connection)
        content_id = UUID(_records(event)["shared_content_id"])
        make_content(connection, id=content_id, title=article.title, text=text)
        make_item(connection, UUID(USER), content_id)

    assert invoke("analyze", event) == [{"batchItemFailures": []}]
    found, refused = invoke("search", query, _event("search.empty_query", stage, samples))

    with database.transaction() as connection:
        assert connection.execute("select status, lang, summary <> '' from contents").fetchall() == [
            ("READY", "en", True)
        ]
    assert found["statusCode"] == 200, found
    assert [item["title"] for item in json.loads(found["body"])["items"]] == [article.title]
    assert 400 <= refused["statusCode"] < 500


def test_cluster_runs_for_a_user_with_nothing_yet(
    invoke: Callable[..., list[Any]], stage: str, samples: SampleServer, database: Database
) -> None:
    with database.transaction() as connection:
        _user(connection)

    assert invoke("cluster", _event("cluster.ok", stage, samples)) == [{"batchItemFailures": []}]

    with database.transaction() as connection:
        assert _states(connection) == [("cluster_user", "completed")]


def test_the_api_and_its_authorizer_answer(
    invoke: Callable[..., list[Any]], stage: str, samples: SampleServer, database: Database
) -> None:
    with database.transaction() as connection:
        _user(connection)

    known, malformed = invoke(
        "authorize", *(_event(f"authorize.{case}", stage, samples) for case in ("ok", "malformed_token"))
    )
    saved, refused = invoke("api", *(_event(f"api.{case}", stage, samples) for case in ("ok", "invalid_url")))

    assert known["isAuthorized"] is True
    assert known["context"]["user_id"] == USER
    assert malformed["isAuthorized"] is False
    assert saved["statusCode"] == 202, saved
    assert refused["statusCode"] == 422


def test_the_clock_ticks_and_refuses_what_it_does_not_know(
    invoke: Callable[..., list[Any]], stage: str, samples: SampleServer
) -> None:
    done, refused = invoke("schedule", *(_event(f"schedule.{case}", stage, samples) for case in ("ok", "unknown_tick")))

    assert all(isinstance(count, int) for count in done.values())
    assert refused["errorType"] == "ValidationError"
