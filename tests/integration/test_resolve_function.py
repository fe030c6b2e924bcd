"""The ``resolve`` function as Lambda calls it, and ``make resolve``: environment in, what was done out."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from functions.resolve import app
from infra.local import resolve
from siftline.kit.db import Database
from siftline.settings.functions import environment
from tests.factories import lambda_context
from tests.functions import USER, cold, parked_code, sample_event

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@pytest.fixture
def variables(queue_variables: dict[str, str], database_url: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The function's environment: queues of one's own, and a list of names."""
    names = tmp_path / "names.csv"
    names.write_text("name,id,aliases\nAcme Inc.,org-1,\n", encoding="utf-8")
    more = {"ENTITY_PROVIDERS": "csv", "ENTITY_CSV": str(names), "ENTITY_SALT": "pepper"}
    with cold(app.build, **queue_variables, **more, DATABASE_URL=database_url) as variables:
        yield variables


def handled(name: str, variables: dict[str, str]) -> Any:
    return app.handler(sample_event(name, variables["RESOLUTION_QUEUE_URL"]), lambda_context(remaining_ms=100_000))


def make_entity(database: Database, entity_id: str = USER) -> None:
    with database.transaction() as connection:
        connection.execute(
            "insert into entities (id, kind, name, temporary_id) values (%s, 'ORG', 'ACME', 'temp')", (entity_id,)
        )


def test_the_plain_message_tells_who_an_organisation_is(variables: dict[str, str], database: Database) -> None:
    make_entity(database)

    assert handled("resolve.ok", variables) == {"batchItemFailures": []}

    with database.transaction() as connection:
        assert connection.execute("select canonical_id, provider from entities").fetchall() == [("org-1", "csv")]
        assert connection.execute("select state from jobs").fetchall() == [("completed",)]


def test_a_malformed_message_is_parked_and_blocks_nothing(variables: dict[str, str], sqs: "SQSClient") -> None:
    assert handled("resolve.malformed", variables) == {"batchItemFailures": []}

    assert parked_code(sqs, variables["RESOLUTION_DLQ_URL"]) == "malformed_message"


def test_the_command_counts_first_and_then_asks(
    variables: dict[str, str], database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    make_entity(database)
    with environment(variables):
        assert resolve.main(["--dry-run"]) == 0
        dry = capsys.readouterr().out
        with database.transaction() as connection:
            assert connection.execute("select count(*) from jobs").fetchone() == (0,)
        assert resolve.main([]) == 0
    wet = capsys.readouterr().out

    assert "1  organisations with a temporary id" in dry
    assert "csv  free" in dry
    assert "1  jobs created, 1 started" in wet
    assert "ACME" not in dry + wet


def test_the_command_asks_nobody_where_no_provider_is_set(
    variables: dict[str, str], database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    make_entity(database)
    with environment(variables | {"ENTITY_PROVIDERS": ""}):
        assert resolve.main([]) == 0

    assert "Nothing to do: ENTITY_PROVIDERS is empty." in capsys.readouterr().out
    with database.transaction() as connection:
        assert connection.execute("select count(*) from jobs").fetchone() == (0,)


@pytest.mark.parametrize("arguments", [["--dry-run"], []], ids=["dry", "wet"])
def test_the_command_says_that_a_file_of_names_has_to_be_set(
    variables: dict[str, str], database: Database, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    make_entity(database)
    with environment(variables | {"ENTITY_CSV": ""}):
        assert resolve.main(arguments) == 1
    assert capsys.readouterr() == ("", "ENTITY_CSV: must be set where ENTITY_PROVIDERS names csv.\n")


@pytest.mark.parametrize("arguments", [["--dry-run"], []], ids=["dry", "wet"])
def test_the_command_says_that_there_is_no_file_of_names(
    variables: dict[str, str], database: Database, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    make_entity(database)
    with environment(variables | {"ENTITY_CSV": "/nowhere/names.csv"}):
        assert resolve.main(arguments) == 1

    told = capsys.readouterr()
    assert "1  organisations with a temporary id" in told.out
    assert "ENTITY_CSV" in told.err
    with database.transaction() as connection:
        assert connection.execute("select count(*) from jobs").fetchone() == (0,)
