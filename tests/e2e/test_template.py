"""The same system through its template: SAM builds and deploys it into MiniStack, whose event source mappings run it.

Real are the HTTP API's authorizer and routes, the queues, the packed functions with their layers, PostgreSQL, the
model, Qdrant's engine and the page. What the template never sets is set here: the permission to fetch from loopback.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

import infra.deploy
from infra.alarms import alarms
from infra.drill import DRILLS, DrilledStage, hold
from infra.local.aws import CREDENTIALS, MiniStack
from infra.local.localstack import first_token, put_model
from infra.local.samples import SampleServer
from infra.package import stage_parameters
from infra.releases import LIVE, versions
from infra.rollback import roll_back
from infra.smoke import smoke
from siftline.contracts import Tick
from siftline.kit.db import SingleConnection
from siftline.operate.set_up_error import SetUpError
from siftline.settings.functions import environment
from siftline.worker.template import load
from tests.e2e.deployment import API_BODY, MINISTACK_PYTHON, STAGE, TARGET, Deployed, build, deploy
from tests.factories import make_source, make_subscription
from tests.packing import ROOT

MODEL = ROOT / ".local" / "model"
READY_WITHIN_S = 800
"""For a machine that does many other things; MiniStack starts every function anew."""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]


@pytest.fixture(scope="module")
def database_url(make_database: Callable[..., str]) -> str:
    """A database of this module's own, which the deployment migrates."""
    return make_database(migrated=False)


@pytest.fixture(scope="module")
def built() -> Iterator[Path]:
    """What ``sam build`` makes of the template, beside the packed trees, so that files are linked, not copied."""
    with TemporaryDirectory(dir=ROOT / ".local", prefix="e2e-") as folder:
        yield build(Path(folder) / "built")


@pytest.fixture(scope="module")
def parameters(database_url: str, qdrant_url: str) -> dict[str, str]:
    """What the template is deployed with."""
    own = {"DatabaseUrl": database_url, "QdrantUrl": qdrant_url}
    return {
        **stage_parameters("local"), **own, **TARGET, "ClusteringsEnabled": "false", "AlarmEmail": "ops@news.example",
    }  # fmt: skip


@pytest.fixture(scope="module")
def deployed(built: Path, parameters: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The whole template, deployed."""
    if not (MODEL / "manifest.json").exists():
        pytest.fail(f"{MODEL} holds no model; `make test` assembles it")
    assert str(ROOT) not in (built / "template.yaml").read_text(encoding="utf-8")
    home = tmp_path_factory.mktemp("ministack")
    with (
        MiniStack(MINISTACK_PYTHON, home, persists=False, everything=True) as aws,
        environment({**CREDENTIALS, "AWS_ENDPOINT_URL": aws.endpoint}),
    ):
        put_model(aws.endpoint, parameters)
        stack = deploy(built, aws, parameters)
        _adapt(stack)
        yield stack


@pytest.fixture(scope="module")
def anyone(deployed: Deployed) -> Iterator[httpx.Client]:
    """An HTTP client of the deployed API, without a token."""
    port = deployed.endpoint.rpartition(":")[2]
    with httpx.Client(
        base_url=deployed.endpoint, headers={"host": f"{deployed.api_host}:{port}"}, timeout=600
    ) as client:
        yield client


@pytest.fixture(scope="module")
def reader(anyone: httpx.Client, database_url: str) -> dict[str, str]:
    """The headers of a user with a token."""
    return {"authorization": f"Bearer {first_token(database_url)}"}


def test_a_saved_address_becomes_a_ready_item_that_is_found_by_meaning(
    anyone: httpx.Client, reader: dict[str, str], samples: SampleServer, deployed: Deployed
) -> None:
    article = next(article for article in samples.articles() if article.language == "en")
    # GIVEN nobody but this user may save
    assert anyone.post("/v1/items", json={"url": "https://example.org"}).status_code == 401

    # WHEN an address is saved
    saved = anyone.post("/v1/items", json={"url": samples.base_url + article.path}, headers=reader)
    assert saved.status_code == 202, saved.text

    # THEN queues and functions make a READY item of it, with nothing done by hand
    item = _until_ready(anyone, reader, saved.json()["id"])
    assert item["title"] == article.title
    assert item["lang"] == "en"
    assert item["summary"]
    assert item["topics"]
    assert item["tags"]
    found = anyone.get("/v1/search", params={"q": article.title}, headers=reader)
    assert found.status_code == 200, found.text
    assert found.json()["items"][0]["id"] == item["id"]
    # AND nothing is left behind on a dead-letter queue
    assert not [name for name in deployed.resources if "DeadLetterQueue" in name and _visible(deployed, name)]


def test_a_message_that_makes_no_sense_is_parked_with_its_cause(deployed: Deployed, anyone: httpx.Client) -> None:
    sqs = deployed.client("sqs")
    sqs.send_message(QueueUrl=deployed.resources["ClusteringQueue"], MessageBody="{not json")

    dead = _until(lambda: _receive(sqs, deployed.resources["ClusteringDeadLetterQueue"]), "a dead letter")

    assert dead["Body"] == "{not json"
    assert dead["MessageAttributes"]["error_code"]["StringValue"]


def test_the_clock_function_runs_its_ticks(deployed: Deployed, anyone: httpx.Client) -> None:
    for tick in Tick:
        payload = json.dumps({"tick": tick.value}).encode()
        live = deployed.resources["ScheduleFunctionAliaslive"]
        answer = deployed.client("lambda").invoke(FunctionName=live, Payload=payload)
        counts = json.loads(answer["Payload"].read())

        assert "FunctionError" not in answer, counts
        assert all(isinstance(count, int) for count in counts.values())


def test_the_clock_polls_a_due_source_by_itself(
    deployed: Deployed, reader: dict[str, str], samples: SampleServer, database_url: str
) -> None:
    # GIVEN a source that is due, and nobody who asks for it
    with closing(SingleConnection(database_url)) as database, database.transaction() as connection:
        [user] = connection.execute("select id from users where name = 'reader'").fetchone() or [None]
        source_id = make_source(connection, url=f"{samples.urls()[0]}?due")
        make_subscription(connection, user, source_id)

    # WHEN its rule ticks, THEN it is polled
    def polled() -> bool:
        with closing(SingleConnection(database_url)) as database, database.transaction() as connection:
            query = "select last_success_at is not null from sources where id = %s"
            return connection.execute(query, (source_id,)).fetchone() == (True,)

    _until(polled, "the poll of a due source")


def test_what_ministack_ignores_is_known_and_written_down(deployed: Deployed) -> None:
    kinds = {resource["Type"] for resource in deployed.template["Resources"].values()}
    stored = {name for name, resource in deployed.template["Resources"].items() if "Condition" not in resource}

    assert stored <= set(deployed.resources), "a resource that MiniStack did not make"
    assert list(deployed.ignored) == [API_BODY], "MiniStack has learnt it: take it out of tests/e2e/deployment.py"
    assert {name.partition(".")[0] for name in deployed.ignored} <= kinds
    written = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in written for name in deployed.ignored)


def test_schedules_and_alarms_are_deployed_in_the_states_that_the_switches_say(deployed: Deployed) -> None:
    rules = deployed.client("events").list_rules()["Rules"]
    pages = deployed.client("cloudwatch").get_paginator("describe_alarms").paginate(AlarmNamePrefix="siftline-local-")
    found = [alarm for page in pages for alarm in page["MetricAlarms"]]
    alarms = [alarm for alarm in found if not alarm["AlarmName"].startswith("siftline-local-release-")]

    states = {rule["Name"]: rule["State"] for rule in rules if rule.get("ScheduleExpression")}
    assert sorted(states.values()) == ["DISABLED"] * 2 + ["ENABLED"] * 6
    for switched_off in ("Clusterings", "ExtraRun"):
        assert [name for name, state in states.items() if state == "DISABLED" and switched_off in name]
    declared = load(ROOT / "infra" / "observability.yaml")["Resources"].values()
    of_everybody = [one for one in declared if one["Type"] == "AWS::CloudWatch::Alarm" and "Condition" not in one]
    assert len(alarms) == len(of_everybody)
    (subscription,) = deployed.client("sns").list_subscriptions()["Subscriptions"]
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "ops@news.example")
    assert {tuple(alarm["AlarmActions"]) for alarm in alarms} == {(subscription["TopicArn"],)}


def test_drills_act_on_what_is_deployed_and_leave_it_as_it_was(deployed: Deployed, anyone: httpx.Client) -> None:
    stage = DrilledStage(STAGE.name, STAGE.stack, deployed.client)
    known = {alarm.name: alarm for alarm in alarms()}
    events, name = deployed.client("events"), stage.resource("ScheduleFunctionSweep")

    # WHEN metric data are written, MiniStack judges the alarm by them
    assert stage.alarm(known["fetch-due"])["StateValue"] != "ALARM"
    hold(stage, known["fetch-due"])
    # AND a malformed message is sent, the function itself parks it
    with DRILLS["dead-letters"].cause(stage, known["briefing-dead-letters"]):
        _until(lambda: _visible(deployed, "BriefingDeadLetterQueue"), "a dead letter")
    assert _visible(deployed, "BriefingDeadLetterQueue") == 0
    # AND an event that is none is sent, the function raises
    with DRILLS["errors"].cause(stage, known["authorize-errors"]):
        pass
    # AND the sweep is switched off, it is on again afterwards
    with DRILLS["no-sweep"].cause(stage, known["no-sweep"]):
        assert events.describe_rule(Name=name)["State"] == "DISABLED"
    assert events.describe_rule(Name=name)["State"] == "ENABLED"
    # AND a threshold is lowered, it is the template's again afterwards
    with DRILLS["age"].cause(stage, known["fetch-age"]):
        assert stage.alarm(known["fetch-age"])["Threshold"] == -1
    assert stage.alarm(known["fetch-age"])["Threshold"] == known["fetch-age"].threshold


def test_operators_act_inside_the_stage(deployed: Deployed, anyone: httpx.Client) -> None:
    made = STAGE.do("user", "--name=Bela").split()
    answer = anyone.get("/v1/items", headers={"authorization": f"Bearer {made[-1]}"})
    assert (answer.status_code, answer.json()["items"]) == (200, [])

    with pytest.raises(SetUpError, match=r"already exists\..* STAGE=local"):
        STAGE.do("user", "--name=Bela")
    assert STAGE.do("user", "--delete=Bela", "--yes").startswith("deleted Bela")


def test_the_smoke_test_finds_what_it_saved_and_leaves_nothing(
    deployed: Deployed, anyone: httpx.Client, samples: SampleServer, capsys: pytest.CaptureFixture[str]
) -> None:
    page = samples.base_url + next(article.path for article in samples.articles() if article.language == "de")
    before = STAGE.do("user", "--list")

    smoke(STAGE, str(anyone.base_url), page, host=anyone.headers["host"], patience_s=READY_WITHIN_S)

    assert [line.split()[2].rstrip(":") for line in capsys.readouterr().out.splitlines()] == [
        "saved", "READY", "found", "deleted",
    ]  # fmt: skip
    assert STAGE.do("user", "--list") == before


def test_a_smoke_test_that_fails_says_where_and_leaves_nothing(deployed: Deployed, anyone: httpx.Client) -> None:
    before = STAGE.do("user", "--list")
    with pytest.raises(SetUpError, match=r"POST /v1/items: 422 .*address_refused"):
        smoke(STAGE, str(anyone.base_url), "http://10.0.0.1/", host=anyone.headers["host"])
    assert STAGE.do("user", "--list") == before


def test_a_bad_second_release_on_the_same_database_is_rolled_back(
    deployed: Deployed,
    built: Path,
    parameters: dict[str, str],
    anyone: httpx.Client,
    reader: dict[str, str],
    samples: SampleServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # GIVEN a release that has saved something
    anyone.post("/v1/items", json={"url": samples.base_url + samples.articles()[0].path}, headers=reader)
    first, items = versions(STAGE), _items(anyone, reader)
    assert items

    # WHEN one is deployed on its database whose API breaks down
    with _broken(built, "api") as bad:
        infra.deploy.deploy(STAGE, bad, parameters)
        _adapt(deployed)
    said = capsys.readouterr().out
    assert "Before the new code: The database is up to date." in said
    assert "local was rolled back: this release goes live at once" in said  # so it looks: _adapt moved the aliases

    # THEN every function is live in a new version, and the version before is remembered
    second = versions(STAGE)
    assert set(second) == set(first)
    assert {name: found.previous for name, found in second.items()} == {name: first[name].live for name in first}
    assert anyone.get("/v1/items", headers=reader).status_code >= 500
    # AND the other functions of the new release work on the same database
    assert anyone.get("/v1/search", params={"q": "a"}, headers=reader).status_code == 200
    # AND once it is rolled back, the API serves as before
    roll_back(STAGE, yes=True)
    assert {name: found.live for name, found in versions(STAGE).items()} == {name: first[name].live for name in first}
    assert items <= _items(anyone, reader)


@contextmanager
def _broken(built: Path, name: str) -> Iterator[Path]:
    """Yield a release with a function whose handler raises. Files are linked, not copied."""
    with TemporaryDirectory(dir=ROOT / ".local", prefix="e2e-") as folder:
        bad = Path(folder) / "built"
        shutil.copytree(built, bad, copy_function=os.link)
        handler = bad / f"{name.title()}Function" / "functions" / name / "app.py"
        shutil.rmtree(handler.parent / "__pycache__", ignore_errors=True)
        _rewrite(handler, "def handler(event, context):\n    raise RuntimeError('a bad release')\n")
        # MiniStack's transform takes parameters for their defaults: it would publish only what has other code.
        before, named, after = (bad / "template.yaml").read_text(encoding="utf-8").partition("\n  Release:\n")
        _rewrite(bad / "template.yaml", before + named + after.replace("Default: ''", "Default: '2'", 1))
        yield bad


def _items(api: httpx.Client, headers: dict[str, str]) -> set[str]:
    answer = api.get("/v1/items", headers=headers)
    assert answer.status_code == 200, answer.text
    return {item["id"] for item in answer.json()["items"]}


def _rewrite(path: Path, text: str) -> None:
    """Write a file anew, and not what other names of it lead to."""
    path.unlink()
    path.write_text(text, encoding="utf-8")


def _adapt(stack: Deployed) -> None:
    """Publish the functions with more time than the template gives them, and let them fetch from loopback.

    This machine may be many times slower than Lambda's.
    """
    functions = stack.client("lambda")
    for name, function in stack.resources.items():
        if name.endswith("Function"):
            variables = functions.get_function_configuration(FunctionName=function)["Environment"]["Variables"]
            if name in {"ApiFunction", "FetchFunction", "IngestFunction"}:
                variables["HTTP_ALLOW_LOOPBACK"] = "true"
            functions.update_function_configuration(
                FunctionName=function, Timeout=600, Environment={"Variables": variables}
            )
            if f"{name}Alias{LIVE}" in stack.resources:
                version = functions.publish_version(FunctionName=function)["Version"]
                functions.update_alias(FunctionName=function, Name=LIVE, FunctionVersion=version)


def _until_ready(api: httpx.Client, headers: dict[str, str], item_id: str) -> dict[str, Any]:
    def ready() -> dict[str, Any] | None:
        item = api.get(f"/v1/items/{item_id}", headers=headers).json()
        assert item["status"] != "FAILED", item
        return item if item["status"] == "READY" else None

    return dict(_until(ready, "the item to be READY"))


def _until(look: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.5)
    pytest.fail(f"waited {READY_WITHIN_S} s in vain for {what}")


def _receive(sqs: Any, url: str) -> dict[str, Any] | None:
    messages = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"], WaitTimeSeconds=1).get("Messages", [])
    return messages[0] if messages else None


def _visible(deployed: Deployed, queue: str) -> int:
    names = ["ApproximateNumberOfMessages"]
    found = deployed.client("sqs").get_queue_attributes(QueueUrl=deployed.resources[queue], AttributeNames=names)
    return int(found["Attributes"]["ApproximateNumberOfMessages"])
