"""``make credits``, and what new users begin with."""

import subprocess
from uuid import UUID

import pytest

from siftline.contracts import JobType
from siftline.jobs import jobs_store
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Database
from siftline.operate import redrive_command as redrive
from siftline.operate.credits_command import main
from siftline.operate.user_command import make_user
from siftline.settings.functions import process_environment
from tests.factories import make_content, make_item
from tests.house.reading import ROOT


@pytest.fixture(autouse=True)
def _environment(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)


def credits_of(database: Database, user_id: UUID) -> int | None:
    with database.transaction() as connection:
        row = connection.execute("select credits from users where id = %s", (user_id,)).fetchone()
    assert row is not None
    return None if row[0] is None else int(row[0])


def test_it_adds_takes_and_stops_metering_by_name_or_id(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    ada = make_user(database, "Ada")
    assert main(["--user", "Ada", "--amount", "100"]) == 0
    assert main(["--user", str(ada.id).upper(), "--amount=-30"]) == 0
    assert credits_of(database, ada.id) == 70
    assert main(["--user", "Ada", "--amount", "unmetered"]) == 0
    assert credits_of(database, ada.id) is None
    assert capsys.readouterr().out.splitlines()[::2] == ["credits 100", "credits 70", "credits unmetered"]


def test_nothing_is_taken_from_who_is_not_metered(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    ada = make_user(database, "Ada")
    assert main(["--user", "Ada", "--amount=-5"]) == 1
    assert credits_of(database, ada.id) is None
    said = capsys.readouterr()
    assert said.out == ""
    assert "unmetered" in said.err
    assert main(["--user", "Ada", "--amount", "5"]) == 0
    assert credits_of(database, ada.id) == 5


def test_what_waited_goes_on_at_once(
    database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEW_USER_CREDITS", "0")
    ada = make_user(database, "Ada")
    with database.transaction() as connection:
        contents = [make_content(connection, text="words") for _ in range(3)]
        for content_id in contents:
            make_item(connection, ada.id, content_id)
        jobs_store.enqueue(connection, [NewJob(JobType.ANALYZE_CONTENT, one, f"user:{ada.id}") for one in contents])
    assert main(["--user", "Ada", "--amount", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == ["credits 2", "resumed 2 items waiting for credit"]
    assert credits_of(database, ada.id) == 0


def test_new_users_are_not_metered_unless_the_setting_says_with_how_much_they_begin(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEW_USER_CREDITS", "")
    assert credits_of(database, make_user(database, "Ada").id) is None
    monkeypatch.setenv("NEW_USER_CREDITS", "25")
    assert credits_of(database, make_user(database, "Bob").id) == 25


def test_a_word_that_names_nobody_or_several_is_refused(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    ada = make_user(database, "Ada").id
    make_user(database, str(ada))
    assert main(["--user", "Eve", "--amount", "1"]) == 1
    assert main(["--user", str(ada), "--amount", "1"]) == 1
    none, several = capsys.readouterr().err.splitlines()
    assert "Eve" in none
    assert str(ada) in several


@pytest.mark.parametrize("amount", ["", "0", "many", "1.5", "9" * 30])
def test_an_amount_that_is_none_is_refused(amount: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--user", "Ada", f"--amount={amount}"])
    assert "unmetered" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "user"), [([], ""), (["USER=Ada Lovelace"], "'Ada Lovelace'")])
def test_make_takes_the_user_that_was_typed_and_not_who_is_logged_in(arguments: list[str], user: str) -> None:
    planned = subprocess.run(
        ["make", "-n", "credits", "AMOUNT=5", *arguments],
        cwd=ROOT,
        env={**process_environment(), "USER": "somebody"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"--user={user} --amount='5'" in planned.stdout


@pytest.mark.parametrize(
    "arguments", [["--user=", "--amount="], ["--user=", "--amount=5"], ["--user=Ada", "--amount="]]
)
def test_what_was_not_typed_is_asked_for_in_the_words_of_make(arguments, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    told = capsys.readouterr().err
    assert told.startswith("usage: make credits USER=name-or-id AMOUNT=100")
    assert "USER=… and AMOUNT=…" in told


def test_a_redrive_without_a_queue_names_the_queues(capsys):
    with pytest.raises(SystemExit):
        redrive.main(["--queue="])
    assert "QUEUE=… to one of fetch, " in capsys.readouterr().err
