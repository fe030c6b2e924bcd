"""A backup holds everything, is made while the system works, and becomes a system of today wherever it is restored."""

import io
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from infra.local.backup import back_up, main, restore
from infra.local.errors import SetUpError
from infra.local.migrate import MIGRATIONS, migrate
from infra.local.postgres import EmbeddedPostgres
from infra.local.state import State
from siftline.kit.db import Database
from tests.accounts import household, tables
from tests.api_client import World

MakeDatabase = Callable[..., str]


def contents(url: str) -> dict[str, list[str]]:
    """Return every row of every table."""
    with psycopg.connect(url) as connection:
        return {
            table: sorted(
                row
                for (row,) in connection.execute(
                    sql.SQL("select whole::text from {} as whole").format(sql.Identifier(table))
                )
            )
            for table in tables(connection)
        }


def schema(url: str) -> set[tuple[Any, ...]]:
    """Return columns, indexes, constraints and triggers."""
    with psycopg.connect(url) as connection:
        return {
            row
            for query in (
                (
                    "select table_name, column_name, data_type, column_default from information_schema.columns"
                    " where table_schema = 'public'"
                ),
                "select indexname, indexdef, '', '' from pg_indexes where schemaname = 'public'",
                (
                    "select conname, pg_get_constraintdef(oid), '', '' from pg_constraint"
                    " where connamespace = 'public'::regnamespace"
                ),
                "select tgname, pg_get_triggerdef(oid), '', '' from pg_trigger where not tgisinternal",
                "select proname, prosrc, '', '' from pg_proc where pronamespace = 'public'::regnamespace",
            )
            for row in connection.execute(query)
        }


@pytest.fixture
def filled(database: Database, database_url: str) -> str:
    """The URL of a database in which somebody has something of every kind."""
    household(World(database))
    return database_url


def test_a_backup_restored_elsewhere_is_the_same_in_every_table(
    filled: str, make_database: MakeDatabase, tmp_path: Path
) -> None:
    out = tmp_path / "all.tar"
    told = back_up(filled, out)
    before = contents(filled)
    elsewhere = make_database(migrated=False)
    assert restore(elsewhere, out, sure=False) == 0
    assert contents(elsewhere) == before
    assert before["request_counts"], "when a token was used last is kept too"
    assert schema(elsewhere) == schema(filled)
    assert sum(map(len, before.values())) > 50
    assert "2 users" in told
    assert out.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["all.tar"]


def test_a_backup_is_of_one_moment_while_others_write(filled: str, make_database: MakeDatabase, tmp_path: Path) -> None:
    """Who writes meanwhile is not waited for, and what is not committed is not in it."""
    with psycopg.connect(filled) as writer:
        writer.execute("update users set interests = 'not yet'")
        writer.execute("delete from items")
        back_up(filled, tmp_path / "one.tar")
        writer.rollback()
    elsewhere = make_database(migrated=False)
    restore(elsewhere, tmp_path / "one.tar", sure=False)
    assert contents(elsewhere) == contents(filled)


def test_a_backup_of_an_older_schema_is_brought_up_to_date(
    filled: str, make_database: MakeDatabase, tmp_path: Path
) -> None:
    back_up(filled, tmp_path / "older.tar")
    migrations = shutil.copytree(MIGRATIONS, tmp_path / "migrations")
    (migrations / "0002_nicknames.sql").write_text(
        "alter table users add column nickname text; update users set nickname = lower(name);"
    )
    elsewhere, newest = make_database(migrated=False), make_database()
    assert restore(elsewhere, tmp_path / "older.tar", sure=False, migrations=migrations) == 1
    assert migrate(newest, migrations) == 1
    assert schema(elsewhere) == schema(newest) != schema(filled)
    with psycopg.connect(elsewhere) as connection:
        users = connection.execute("select name, nickname from users").fetchall()
    assert len(users) == 2
    assert all(nickname == name.lower() for name, nickname in users)


def test_nothing_that_is_there_is_replaced_unasked(filled: str, make_database: MakeDatabase, tmp_path: Path) -> None:
    out = tmp_path / "all.tar"
    back_up(filled, out)
    used = make_database()
    with psycopg.connect(used) as connection:
        connection.execute("insert into users (id, name) values (gen_random_uuid(), 'Eve')")
    before = contents(used)
    with pytest.raises(SetUpError, match="YES=1") as asked:
        restore(used, out, sure=False)
    assert f"/{used.rpartition('/')[2]} (1 user) with {out} (2 users)" in str(asked.value)
    assert str(conninfo_to_dict(used)["password"]) not in str(asked.value)
    assert contents(used) == before
    restore(used, out, sure=True)
    assert contents(used) == contents(filled)
    with pytest.raises(SetUpError, match="already exists"):
        back_up(filled, out)


def tar_of(path: Path, manifest: object, dump: bytes = b"no dump") -> Path:
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    with tarfile.open(path, "w") as tar:
        for name, body in (("manifest.json", text), ("database.dump", dump)):
            member = tarfile.TarInfo(name)
            member.size = len(body)
            tar.addfile(member, io.BytesIO(body))
    return path


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        ({"siftline_backup": 1, "migrations": ["0001_schema", "9999_tomorrow"]}, r"newer release \(9999_tomorrow\)"),
        (
            {"siftline_backup": 1, "migrations": ["0001_house", "0062_payloads"]},
            r"older, unreleased schema \(0062_payloads\)",
        ),
        ({"siftline_backup": 2, "migrations": []}, "not a complete backup"),
        ({"siftline_backup": 1, "migrations": ["0001_schema"]}, "not a complete backup"),
        ({"other": 1}, "not a complete backup"),
        ([1], "not a complete backup"),
        ({"siftline_backup": 1, "migrations": ["0001_schema"], "users": 1}, "pg_restore failed"),
    ],
)
def test_what_cannot_be_restored_leaves_all_as_it_was(filled: str, tmp_path: Path, manifest: object, why: str) -> None:
    before = contents(filled)
    with pytest.raises(SetUpError, match=why):
        restore(filled, tar_of(tmp_path / "x.tar", manifest), sure=True)
    (tmp_path / "y.tar").write_bytes(b"no tar")
    with pytest.raises(SetUpError, match="not a complete backup"):
        restore(filled, tmp_path / "y.tar", sure=True)
    with pytest.raises(SetUpError, match="cannot be read"):
        restore(filled, tmp_path / "none.tar", sure=True)
    assert contents(filled) == before


@pytest.mark.parametrize(
    "manifest",
    [
        b'{"siftline_backup": 1, "migrations": ["0001_schema"], "users": Infinity}',
        b'{"siftline_backup": 1, "migrations": ["0001_schema"], "users": NaN}',
        b'{"siftline_backup": 1, "migrations": ["0001_schema"], "users": -1}',
        b'{"siftline_backup": 1, "migrations": ["0001_schema"], "users": ' + b"9" * 5_000 + b"x}",
        b'{"siftline_backup": 1, "migrations": {}, "users": 1}',
        b'{"siftline_backup": 1, "migrations": [], "users": 1}',
        b'{"siftline_backup": 1, "migrations": [null], "users": 1}',
        b'{"siftline_backup": 1, "migrations": "0001_schema", "users": 1}',
        b"[" * 100_000,
        b'{"siftline_backup": 1, "migrations": ' + b"[" * 100_000,
        b"\xff\xfe\x00",
    ],
    ids=range(11),
)
def test_a_strange_manifest_is_no_backup(tmp_path: Path, manifest: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    source = tar_of(tmp_path / "x.tar", manifest)
    assert main(["--from", str(source), "--folder", str(tmp_path / "new"), "--yes"]) == 1
    assert capsys.readouterr().err == f"{source} is not a complete backup from make backup.\n"
    assert not (tmp_path / "new").exists()


def test_the_commands_work_on_a_folder_that_nobody_runs_in(
    filled: str,
    tmp_path: Path,
    reachable_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, folder = tmp_path / "all.tar", reachable_path / "local"
    monkeypatch.setenv("DATABASE_URL", filled)
    assert main(["--out", str(out)]) == 0
    monkeypatch.delenv("DATABASE_URL")
    folder.mkdir()
    (folder / "samples.port").write_text("8099")
    assert main(["--from", str(out), "--folder", str(folder)]) == 0
    assert not (folder / "samples.port").exists()  # of what was there before
    assert main(["--from", str(out), "--folder", str(folder)]) == 1  # there is something now
    assert main(["--out", str(tmp_path / "again.tar"), "--folder", str(folder)]) == 0
    with EmbeddedPostgres(folder / "postgres") as server:
        assert contents(server.url("siftline")) == contents(filled)
    said = capsys.readouterr()
    assert [line.split()[0] for line in said.out.splitlines()] == ["backup", "restored", "backup"]
    assert "YES=1" in said.err
    assert f"the data in the folder {folder} (2 users) with {out} (2 users)" in said.err
    assert f"Start Siftline (make run FOLDER={folder}), then run: make reindex FOLDER={folder}\n" in said.out


def test_no_database_is_made_where_there_is_none_to_back_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert main(["--out", str(tmp_path / "all.tar"), "--folder", str(tmp_path / "mistyped")]) == 1
    assert capsys.readouterr().err == f"There is no Siftline data in {tmp_path / 'mistyped'}.\n"
    assert not list(tmp_path.iterdir())


def test_no_database_is_made_for_a_file_that_is_no_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    (tmp_path / "ada.json").write_text('{"items": []}')
    newer = tar_of(tmp_path / "newer.tar", {"siftline_backup": 1, "migrations": ["0001_schema", "9999_tomorrow"]})
    for source, why in (
        (tmp_path / "ada.json", "not a complete backup"),
        (newer, "newer release"),
        (tmp_path / "none", "read"),
    ):
        assert main(["--from", str(source), "--folder", str(tmp_path / "new")]) == 1
        assert why in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_nothing_is_restored_under_a_system_that_runs(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    running = State(tmp_path / "local")
    assert running.take()
    running.keep_environment({"DATABASE_URL": filled})
    data = tmp_path / "local" / "postgres" / "data"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("18\n")
    out = tmp_path / "all.tar"
    assert main(["--out", str(out), "--folder", str(tmp_path / "local")]) == 0
    assert main(["--from", str(out), "--folder", str(tmp_path / "local"), "--yes"]) == 1
    assert "make run is using" in capsys.readouterr().err
    running.close()


def test_a_file_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main(["--out=", "--from="]) == main(["--out=a", "--from=b"]) == 2
    assert "OUT=" in capsys.readouterr().err
