"""Operators' commands, run where the database is: by the function ``operate``, and typed with ``STAGE=``."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from functions.operate import app
from infra.alarms import alarms
from infra.drill import deployed_stage
from infra.local.aws import CREDENTIALS
from infra.stage import Stage
from siftline.kit.db import Database
from siftline.operate.migrate import MIGRATIONS
from siftline.operate.operate_service import COMMANDS, Operator, Order
from siftline.operate.set_up_error import SetUpError
from tests.functions import cold
from tests.servers import Answer, LoopbackServer

INVOKED = "/2015-03-31/functions"


@pytest.fixture
def variables(queue_variables: Mapping[str, str], database_url: str) -> Iterator[Mapping[str, str]]:
    with cold(app.build, **queue_variables, DATABASE_URL=database_url, SIFTLINE_STAGE="test") as made:
        yield made


def run(command: str, *arguments: str) -> dict[str, Any]:
    return app.handler({"command": command, "arguments": list(arguments)}, None)


def names(database: Database) -> list[str]:
    with database.transaction() as connection:
        return [name for (name,) in connection.execute("select name from users order by name")]


@pytest.mark.usefixtures("variables")
def test_a_user_is_made_and_the_token_is_in_the_answer_alone(
    database: Database, capfd: pytest.CaptureFixture[str]
) -> None:
    made = run("user", "--name=Ada", "--ops")
    assert (made["exit_code"], made["errors"]) == (0, "")
    _, token = (line.split()[1] for line in made["output"].splitlines())
    assert token.startswith("sl_")
    assert names(database) == ["Ada"]
    assert token not in "".join(capfd.readouterr())


@pytest.mark.usefixtures("variables")
def test_a_command_that_fails_says_why_and_for_which_stage() -> None:
    run("user", "--name=Ada")
    again = run("user", "--name=Ada")
    assert (again["exit_code"], again["output"]) == (1, "")
    assert "make user TOKEN='Ada' STAGE=test creates another token" in again["errors"]
    unsure = run("user", "--delete=Ada")
    assert unsure["exit_code"] == 1
    assert "add YES=1" in unsure["errors"]


@pytest.mark.usefixtures("variables")
def test_wrong_arguments_end_as_in_a_shell() -> None:
    wrong = run("redrive", "--queue=tea")
    assert (wrong["exit_code"], wrong["output"]) == (2, "")
    assert "QUEUE=…" in wrong["errors"]


@pytest.mark.usefixtures("variables", "sqs")
@pytest.mark.parametrize(
    ("command", "arguments", "told"),
    [
        ("migrate", [], "The database is up to date."),
        ("user", ["--list"], "name"),
        ("redrive", ["--queue=analysis"], "jobs are pending again"),
        ("reprocess", ["--show"], "Nothing has been reprocessed yet."),
    ],
)
def test_every_command_runs_there(command: str, arguments: list[str], told: str) -> None:
    done = run(command, *arguments)
    assert (done["exit_code"], done["errors"]) == (0, "")
    assert told in done["output"]


@pytest.mark.usefixtures("variables")
def test_credits_are_given_there() -> None:
    run("user", "--name=Ada")
    assert run("credits", "--user=Ada", "--amount=5")["output"].startswith("credits 5\n")


def test_an_empty_database_is_migrated_by_what_was_packed(
    make_database, queue_variables: Mapping[str, str], tmp_path: Path
) -> None:
    packed = tmp_path / "migrations"
    packed.mkdir()
    for path in MIGRATIONS.glob("*.sql"):
        (packed / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    with cold(app.build, **queue_variables, DATABASE_URL=make_database(migrated=False)):
        operator = Operator(packed, "")
        first = operator.run(Order(command="migrate"))
        assert first.output == f"{len(list(packed.glob('*.sql')))} migrations applied.\n"
        assert operator.run(Order(command="migrate")).output == "The database is up to date.\n"


@pytest.mark.parametrize(
    "event",
    [{}, {"command": "tea"}, {"command": "user", "arguments": "--list"}, {"command": "user", "shell": "ls"}],
    ids=json.dumps,
)
def test_an_event_that_names_no_command_is_refused(event: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Order.model_validate(event)


def test_every_command_has_its_target_of_make() -> None:
    text = (MIGRATIONS.parents[1] / "Makefile").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"\n{name}: $(VENV)/.local" not in text] == []


def test_a_stage_that_is_not_there_is_named() -> None:
    assert (Stage("prod").region, Stage("prod").stack) == ("eu-central-1", "siftline-prod")
    for name in ("production", "version", "default"):
        with pytest.raises(SetUpError, match=f"There is no stage {name} in samconfig"):
            Stage(name)
    with pytest.raises(SetUpError, match="Set STAGE=…, a stage of samconfig"):
        Stage("")


@pytest.mark.parametrize(
    "answer", [Answer(b"<html>Log in</html>"), Answer(b"<p>Log in", 200), Answer(b"<p>No", 501), Answer(status=404)]
)
def test_what_answers_in_place_of_aws_is_told_with_its_endpoint(
    site: LoopbackServer, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": site.url()}.items():
        monkeypatch.setenv(name, value)
    site.answers["/"] = site.answers[f"{INVOKED}/siftline-prod-operate/invocations"] = answer
    alarm = next(iter(alarms()))
    stage = Stage("prod")
    for ask in (stage.outputs, lambda: stage.ask("user", "--list"), lambda: deployed_stage("prod").alarm(alarm)):
        with pytest.raises(
            SetUpError,
            match=r"^(AWS answered something unexpected at http://127.0.0.1|\S+ could not be|The alarm \S+ cannot be)",
        ):
            ask()


def test_an_endpoint_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "garbage")
    with pytest.raises(SetUpError, match="AWS cannot be reached: Invalid endpoint: garbage"):
        Stage("prod").outputs()


def test_a_function_that_is_not_deployed_is_told(
    aws_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in aws_environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SetUpError, match="siftline-prod-operate could not be invoked"):
        Stage("prod").ask("user", "--list")
