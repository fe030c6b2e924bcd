"""``make user``."""

import io

import pytest

from siftline.api.http.authorize import Authorizer
from siftline.api.http.callers import Scope
from siftline.jobs import deletions
from siftline.kit.db import Database
from siftline.operate.user_command import main, make_user
from tests.factories import make_content, make_item


def test_a_made_user_is_let_in_with_every_scope(database: Database) -> None:
    made = make_user(database, "Ada", time_zone="Europe/Berlin")
    caller = Authorizer(database).identify(f"Bearer {made.token}")
    assert caller is not None
    assert (caller.user_id, caller.scopes) == (made.id, frozenset(Scope))


def test_the_command_prints_the_token(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    assert main(["--name", "Ada", "--scope", "read"]) == 0
    token = capsys.readouterr().out.split()[-1]
    caller = Authorizer(database).identify(f"Bearer {token}")
    assert caller is not None
    assert caller.scopes == {Scope.READ}


def test_what_stands_in_the_way_is_said_in_one_line(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert main(["--name", "Ada"]) == 1
    monkeypatch.setenv("DATABASE_URL", database_url)
    assert main(["--name", "Ada", "--time-zone", "Mars/Base"]) == 1
    assert main([]) == 2
    assert main(["--name", " "]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert "DATABASE_URL" in lines[0]
    assert "time zone" in lines[1]
    assert lines[2] == lines[3] == "Set a name: make user NAME=Ada"


@pytest.fixture
def url(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DATABASE_URL", database_url)
    return database_url


def scopes_of(database: Database, out: str) -> set[Scope] | None:
    """Return what the token at the end of a command's answer allows."""
    caller = Authorizer(database).identify(f"Bearer {out.rsplit(maxsplit=1)[-1]}")
    return None if caller is None else set(caller.scopes)


def test_a_name_that_somebody_has_is_refused_whatever_its_case(
    database: Database, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make_user(database, "Ada")
    assert main(["--name", "aDA"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "make user TOKEN='aDA'" in said.err


@pytest.mark.parametrize(
    ("name", "told"), [("a" * 201, "At most 200 characters"), ("\u200b", "Must contain a visible character")]
)
def test_a_name_that_the_api_would_refuse_is_refused(
    url: str, name: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--name", name]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"Invalid name. {told}.\n"
    assert main(["--name", "a" * 200]) == 0


def test_all_users_are_listed_with_what_they_have(
    database: Database, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ada, eve, gone, old = (make_user(database, name) for name in ("ada", "Eve", "Gone", "Old"))
    with database.transaction() as connection:
        make_item(connection, ada.id, make_content(connection))
        connection.execute(
            "insert into request_counts (token_id, minute, taken)"
            " select id, 29000000, 1 from access_tokens where user_id = %s",
            (ada.id,),
        )
        deletions.begin(connection, gone.id)
        connection.execute("update users set created_at = created_at - interval '2 days' where id = %s", (old.id,))
    assert main(["--list"]) == 0
    head, *lines = (line.split("  ") for line in capsys.readouterr().out.splitlines())
    rows = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert [cell.strip() for cell in head if cell.strip()] == [
        "name", "id", "created", "items", "sources", "tokens", "oldest", "newest", "last used",
    ]  # fmt: skip
    by_id = {row[1]: row for row in rows}
    assert by_id.keys() == {str(ada.id), str(eve.id), str(gone.id), str(old.id)}
    assert by_id[str(ada.id)][0] == "ada"
    assert by_id[str(ada.id)][3:6] == ["1", "0", "1"]
    assert by_id[str(ada.id)][-1] == "2025-02-19 21:20Z"
    assert by_id[str(eve.id)][3:6] == ["0", "0", "1"]
    # The server of the tests may be younger than old; a kill of it would have emptied what says when.
    with database.transaction() as connection:
        [(made, known)] = connection.execute(
            "select created_at, greatest(pg_postmaster_start_time(), now() - interval '1 day') from users"
            " where id = %s",
            (eve.id,),
        )
    assert by_id[str(eve.id)][-1] == f"not since {made:%Y-%m-%d %H:%M}Z"
    assert by_id[str(old.id)][-1] == f"not since {known:%Y-%m-%d %H:%M}Z"
    assert by_id[str(gone.id)][0] == "(being deleted)"
    assert by_id[str(gone.id)][5:8] == ["0", "-", "-"]


def test_another_token_leaves_the_others_unless_they_are_revoked(
    database: Database, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first = make_user(database, "Ada")
    assert main(["--token", "ada"]) == 0
    second = capsys.readouterr().out
    assert scopes_of(database, second) == {Scope.READ, Scope.WRITE}
    assert scopes_of(database, first.token) == set(Scope)
    assert main(["--token", str(first.id), "--ops", "--revoke"]) == 0
    third, _, revoked = capsys.readouterr().out.partition("Revoked ")
    assert revoked.startswith("2 other tokens,")
    assert scopes_of(database, third) == set(Scope)
    assert scopes_of(database, second) is None
    assert scopes_of(database, first.token) is None
    assert main(["--token", "Eve"]) == 1
    assert "LIST=1" in capsys.readouterr().err


def test_who_is_being_deleted_gets_no_token(database: Database, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = make_user(database, "Ada")
    with database.transaction() as connection:
        deletions.begin(connection, made.id)
    assert main(["--token", str(made.id)]) == 1
    assert "being deleted" in capsys.readouterr().err


@pytest.mark.parametrize(("word", "typed", "code"), [("ada", None, 1), ("ada", "no\n", 1), ("ada", "yes\n", 0)])
def test_deleting_asks_a_person_once_and_nobody_else(
    database: Database,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    word: str,
    typed: str | None,
    code: int,
) -> None:
    made = make_user(database, "Ada")
    terminal = Terminal(typed or "")
    terminal.person = typed is not None
    monkeypatch.setattr("sys.stdin", terminal)
    assert main(["--delete", word]) == code
    said = capsys.readouterr()
    assert f"Ada ({made.id}) with 0 items, 0 sources, 1 token" in (said.err if code else said.out)
    assert ("YES=1" in said.err) is (typed is None)
    with database.transaction() as connection:
        assert connection.execute("select count(*) from users").fetchone() == (code,)


def test_deleting_for_sure_asks_nobody(database: Database, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = make_user(database, "Ada")
    assert main(["--delete", str(made.id), "--yes"]) == 0
    assert capsys.readouterr().out == f"deleted Ada ({made.id}) with 0 items, 0 sources, 1 token\n"
    assert main(["--delete", "Ada", "--yes"]) == 1
    assert main(["--delete", "Ada", "--list"]) == 2


class Terminal(io.StringIO):
    """What a person types, or what no person does."""

    person = True

    def isatty(self) -> bool:
        return self.person
