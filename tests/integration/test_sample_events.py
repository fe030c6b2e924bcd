"""Every event of ``events/`` through ``make invoke``, on real parts: good ones are carried out, bad ones are told."""

import importlib
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from infra.local import invoke
from infra.local.samples import SampleServer
from infra.local.state import SAMPLES_PORT, State
from siftline.kit.db import Database
from siftline.settings.functions import process_environment
from tests.functions import EVENTS, cold, make_queues

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

ROOT = EVENTS.parent
MESSAGES = ["analyze.ok", "analyze.names", "analyze.score", "brief.ok", "brief.bounce", "brief.complaint", "cluster.ok",
            "cluster.stories", "fetch.ok", "ingest.ok", "resolve.ok"]  # fmt: skip
PARKED = {
    "analyze.malformed": "malformed_message",
    "brief.deliver": "unknown_subject",
    "brief.malformed": "malformed_message",
    "cluster.malformed": "malformed_message",
    "fetch.malformed": "malformed_message",
    "ingest.invalid_url": "unsupported_scheme",
    "resolve.malformed": "malformed_message",
}
ANSWERED = {"api.ok": (202, None), "search.ok": (200, None), "api.invalid_url": (422, "unsupported_scheme"),
            "search.empty_query": (422, "invalid_request")}  # fmt: skip
OTHERS = {"authorize.ok", "authorize.malformed_token", "schedule.ok", "schedule.unknown_tick", "operate.ok",
          "operate.unknown_command"}  # fmt: skip


@pytest.fixture(scope="module")
def samples() -> Iterator[SampleServer]:
    server = SampleServer().start()
    yield server
    server.stop()


class Invoker:
    """``make invoke`` beside a fresh ``make run SAMPLES=1``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, name: str) -> Any:
        """Invoke an event and return the answer; ``None`` if the command failed."""
        function = name.partition(".")[0]
        arguments = [function, str(EVENTS / f"{name}.json"), f"--folder={self._folder}"]
        if function in {"fetch", "ingest"}:  # which keep connections until their process ends
            environment = {**process_environment(), "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
            command = [sys.executable, "-m", "infra.local.invoke", *arguments]
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)
        out = io.StringIO()
        code = invoke.main(arguments, out)
        assert (code == 0) == bool(out.getvalue())
        return json.loads(out.getvalue()) if code == 0 else None


@pytest.fixture
def variables(
    database_url: str, queue_variables: dict[str, str], sqs: "SQSClient", model: Path, qdrant: str, tmp_path: Path
) -> dict[str, str]:
    return {
        **queue_variables,
        **make_queues(sqs, "local"),  # whose names the events bear
        "DATABASE_URL": database_url,
        "QDRANT_URL": qdrant,
        "MODEL_URI": str(model),
        "MODEL_CACHE_DIR": str(tmp_path / "cache"),
        "HTTP_ALLOW_LOOPBACK": "true",
        "FIRST_IMPORT": "all",
    }


@pytest.fixture
def invoked(
    request: pytest.FixtureRequest, variables: dict[str, str], samples: SampleServer, database: Database, tmp_path: Path
) -> Iterator[Invoker]:
    name = request.getfixturevalue("name").partition(".")[0]
    (tmp_path / SAMPLES_PORT).write_text(samples.base_url.rpartition(":")[2])
    state = State(tmp_path)
    assert state.take()
    state.keep_environment(variables)
    with cold(importlib.import_module(f"functions.{name}.app").build, **variables):
        yield Invoker(tmp_path)
    state.close()


def test_every_sample_event_is_invoked_here() -> None:
    events = {path.stem for path in EVENTS.glob("*.json")} - {"env"}
    assert events == {*MESSAGES, *PARKED, *ANSWERED, *OTHERS}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_good_message_becomes_a_completed_job(invoked: Invoker, database: Database, name: str) -> None:
    message = json.loads(json.loads((EVENTS / f"{name}.json").read_text())["Records"][0]["body"])
    for _ in range(2):  # and once more, as SQS may deliver it
        assert invoked(name) == {"batchItemFailures": []}
        with database.transaction() as connection:
            query = "select state, error_code, result from jobs where job_type = %s"
            [job] = connection.execute(query, (message["job_type"],)).fetchall()
        assert job[:2] == ("completed", None), job


@pytest.mark.parametrize("name", PARKED)
def test_a_bad_message_is_parked_with_its_code(
    invoked: Invoker, variables: dict[str, str], sqs: "SQSClient", name: str
) -> None:
    for url in (url for variable, url in variables.items() if variable.endswith("_DLQ_URL")):
        sqs.purge_queue(QueueUrl=url)

    assert invoked(name) == {"batchItemFailures": []}

    record = json.loads((EVENTS / f"{name}.json").read_text())["Records"][0]
    queue = record["eventSourceARN"].rpartition("siftline-local-")[2].removesuffix("-queue")
    dead_letters = variables[f"{queue.replace('-', '_').upper()}_DLQ_URL"]
    [dead] = sqs.receive_message(QueueUrl=dead_letters, MessageAttributeNames=["All"], WaitTimeSeconds=5)["Messages"]
    assert dead["MessageAttributes"]["error_code"]["StringValue"] == PARKED[name]
    assert dead["Body"] == record["body"]


@pytest.mark.parametrize("name", ANSWERED)
def test_a_request_is_answered(invoked: Invoker, name: str) -> None:
    answer = invoked(name)

    assert (answer["statusCode"], json.loads(answer["body"]).get("code")) == ANSWERED[name]


@pytest.mark.parametrize(("name", "known"), [("authorize.ok", True), ("authorize.malformed_token", False)])
def test_a_token_is_known_or_not(invoked: Invoker, name: str, known: bool) -> None:
    assert invoked(name)["isAuthorized"] is known


@pytest.mark.parametrize("name", ["schedule.ok"])
def test_a_tick_counts_what_it_did(invoked: Invoker, name: str) -> None:
    counts = invoked(name)

    assert counts
    assert all(isinstance(count, int) for count in counts.values())


@pytest.mark.parametrize("name", ["operate.ok"])
def test_a_command_prints_what_it_would_here(invoked: Invoker, name: str) -> None:
    outcome = invoked(name)

    assert (outcome["exit_code"], outcome["errors"]) == (0, "")
    assert outcome["output"].startswith("name ")


@pytest.mark.parametrize(("name", "field"), [("schedule.unknown_tick", "tick"), ("operate.unknown_command", "command")])
def test_what_no_function_knows_is_refused_in_a_sentence(
    invoked: Invoker, capsys: pytest.CaptureFixture[str], name: str, field: str
) -> None:
    assert invoked(name) is None
    assert f"siftline: {name.partition('.')[0]} cannot use this event: {field}: " in capsys.readouterr().err
