"""``make user``."""

import pytest

from infra.local.user import main, make_user
from siftline.api.authorize import Authorizer
from siftline.api.callers import Scope
from siftline.kit.db import Database


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
    assert lines[2] == lines[3] == "Say whose account it is: make user NAME=Ada"
