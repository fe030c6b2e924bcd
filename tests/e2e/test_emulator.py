"""Every sample event runs through its packed handler under AWS's own runtime client, in Lambda's interface emulator."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from infra.local.samples import SampleServer
from siftline.contracts import Queue
from siftline.kit.db import Connection, Database
from siftline.kit.ids import new_id
from tests.e2e.emulator import PYTHON, emulated
from tests.factories import make_content, make_item, make_source
from tests.functions import EVENTS, USER, make_queues, make_sample_user, parked_code
from tests.house.reading import FUNCTION_NAMES, function_resources
from tests.packing import ROOT, packed

MODEL = ROOT / ".local" / "model"
QUEUE_OF = {
    "fetch": Queue.FETCH,
    "ingest": Queue.CONTENT_PROCESSING,
    "analyze": Queue.ANALYSIS,
    "resolve": Queue.RESOLUTION,
    "cluster": Queue.CLUSTERING,
}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def packages() -> Iterator[Mapping[str, list[Path]]]:
    """Every function, packed for this interpreter."""
    for needed in (PYTHON, MODEL / "manifest.json"):
        if not needed.exists():
            pytest.fail(f"{needed} is missing; `make test` makes it")
    with packed(FUNCTION_NAMES) as found:
        yield found


class Lambda:
    """Runs events through packed functions, in a stage of its own whose queues are real."""

    def __init__(
        self, packages: Mapping[str, list[Path]], samples: SampleServer, sqs: Any, values: Mapping[str, str], logs: Path
    ) -> None:
        self._packages = packages
        self._samples = samples
        self._sqs = sqs
        self._values = values
        self._logs = logs
        self.stage = str(new_id())
        self.urls = make_queues(sqs, self.stage)

    def event(self, name: str) -> Any:
        """Return a sample event, its queues those of the stage and its addresses those of the sample server."""
        text = (EVENTS / f"{name}.json").read_text(encoding="utf-8")
        text = text.replace("siftline-local-", f"siftline-{self.stage}-")
        return json.loads(text.replace("https://news.example", self._samples.base_url))

    def invoke(self, name: str, *events: Any) -> list[Any]:
        """Return a function's answers, warm after the first; of all variables it gets those that the template names."""
        asked = {"HTTP_ALLOW_LOOPBACK", *function_resources()[name][1]["Environment"]["Variables"]}
        values = {**self._values, **self.urls, "POWERTOOLS_SERVICE_NAME": name}
        environment = {key: value for key, value in values.items() if key in asked or key.startswith("AWS_")}
        with emulated(name, self._packages[name], environment, self._logs / f"{name}.log") as emulator:
            return [emulator.invoke(event) for event in events]

    def work_off(self, name: str, good: Any) -> None:
        """Run a queue function's bad sample event, then a good one: both are acknowledged, the bad one is parked."""
        bad = next(
            path.stem
            for path in sorted(EVENTS.glob(f"{name}.*.json"))
            if path.stem.endswith(("malformed", "invalid_url"))
        )

        assert self.invoke(name, self.event(bad), good) == [{"batchItemFailures": []}] * 2
        assert parked_code(self._sqs, self.urls[f"{QUEUE_OF[name].name}_DLQ_URL"])


@pytest.fixture
def run(
    packages: Mapping[str, list[Path]],
    samples: SampleServer,
    qdrant_url: str,
    sqs: Any,
    aws_environment: Mapping[str, str],
    database_url: str,
    tmp_path: Path,
) -> Lambda:
    """Every function with a database, queues, vectors and a model that are real."""
    values = {
        "DATABASE_URL": database_url,
        "QDRANT_URL": qdrant_url,
        "MODEL_URI": str(MODEL),
        "FIRST_IMPORT": "all",
        "SIFTLINE_ANALYSIS_ENABLED": "true",
        "HTTP_ALLOW_LOOPBACK": "true",
        **aws_environment,
    }
    return Lambda(packages, samples, sqs, values, tmp_path)


def _message(event: Any) -> dict[str, Any]:
    return dict(json.loads(event["Records"][0]["body"]))


def _states(connection: Connection) -> set[tuple[str, str]]:
    return set(connection.execute("select job_type, state from jobs").fetchall())


def _user(connection: Connection) -> None:
    make_sample_user(connection, ["read", "write", "ops"])


def test_fetch_polls_a_feed(run: Lambda, samples: SampleServer, database: Database) -> None:
    event = run.event("fetch.ok")
    with database.transaction() as connection:
        make_source(connection, id=_message(event)["source_id"], url=samples.urls()[0])

    run.work_off("fetch", event)

    with database.transaction() as connection:
        assert ("fetch_source", "completed") in _states(connection)
        assert connection.execute("select count(*) > 5 from source_entries").fetchone() == (True,)


def test_ingest_reads_a_page(run: Lambda, samples: SampleServer, database: Database) -> None:
    event = run.event("ingest.ok")
    message = _message(event) | {"url": samples.base_url + samples.articles()[0].path}
    event["Records"][0]["body"] = json.dumps(message)

    run.work_off("ingest", event)

    with database.transaction() as connection:
        assert ("ingest_content", "completed") in _states(connection)
        read = connection.execute("select text <> '' from contents where id = %s", (message["shared_content_id"],))
        assert read.fetchone() == (True,)


def test_analyze_reads_a_text_with_the_real_model_and_search_finds_it(
    run: Lambda, samples: SampleServer, database: Database
) -> None:
    article = next(article for article in samples.articles() if article.language == "en")
    event, query = run.event("analyze.ok"), run.event("search.ok")
    query["queryStringParameters"]["q"] = article.title
    with database.transaction() as connection:
        _user(connection)
        content_id = UUID(_message(event)["shared_content_id"])
        make_content(connection, id=content_id, title=article.title, text="\n\n".join(article.paragraphs))
        make_item(connection, UUID(USER), content_id)

    run.work_off("analyze", event)
    found, refused = run.invoke("search", query, run.event("search.empty_query"))

    with database.transaction() as connection:
        shown = connection.execute("select status, lang, summary <> '' from contents").fetchall()
    assert shown == [("READY", "en", True)]
    assert found["statusCode"] == 200, found
    assert [item["title"] for item in json.loads(found["body"])["items"]] == [article.title]
    assert refused["statusCode"] == 422


def test_cluster_runs_for_a_user_with_nothing_yet(run: Lambda, database: Database) -> None:
    with database.transaction() as connection:
        _user(connection)

    run.work_off("cluster", run.event("cluster.ok"))

    with database.transaction() as connection:
        assert ("cluster_user", "completed") in _states(connection)


def test_the_api_and_its_authorizer_answer(run: Lambda, database: Database) -> None:
    with database.transaction() as connection:
        _user(connection)

    known, malformed = run.invoke("authorize", run.event("authorize.ok"), run.event("authorize.malformed_token"))
    saved, refused = run.invoke("api", run.event("api.ok"), run.event("api.invalid_url"))

    assert known["isAuthorized"] is True
    assert known["context"]["user_id"] == USER
    assert malformed["isAuthorized"] is False
    assert saved["statusCode"] == 202, saved
    assert refused["statusCode"] == 422


def test_the_clock_ticks_and_refuses_what_it_does_not_know(run: Lambda) -> None:
    done, refused = run.invoke("schedule", run.event("schedule.ok"), run.event("schedule.unknown_tick"))

    assert all(isinstance(count, int) for count in done.values())
    assert refused["errorType"] == "ValidationError"
