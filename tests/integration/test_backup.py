"""A backup holds everything, is made while the system works, and becomes a system of today wherever it is restored."""

import hashlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from infra.local import backup, furnish, run, swap
from infra.local.backup import back_up, main
from infra.local.postgres import EmbeddedPostgres
from infra.local.state import State
from siftline.kit.db import Database
from siftline.operate.migrate import MIGRATIONS, migrate
from siftline.operate.set_up_error import SetUpError
from siftline.settings.functions import process_environment
from tests.accounts import household, tables
from tests.api_client import World

MakeDatabase = Callable[..., str]


def restore(url: str, source: Path, *, sure: bool, migrations: Path = MIGRATIONS) -> int:
    """Unpack a backup and restore it."""
    with backup.unpacked(source, migrations) as unpacked:
        return backup.restore(url, unpacked, sure=sure)


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


MakeLeft = Callable[[dict[str, bool]], str]


@pytest.fixture
def make_left(make_database: MakeDatabase) -> Iterator[MakeLeft]:
    """Make databases by the ends of their names, each whole or with its drop broken off; returns the URL."""
    made = make_database(pooled=False)
    server, _, name = made.rpartition("/")

    def make(left: dict[str, bool]) -> str:
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute(sql.SQL("drop database {}").format(sql.Identifier(name)))
            for end, whole in left.items():
                template, one = make_database(pooled=False).rpartition("/")[2], name + end
                with psycopg.connect(f"{server}/{template}") as inside:
                    inside.execute("insert into users (id, name) values (gen_random_uuid(), %s)", [f"of {end}"])
                connection.execute(
                    sql.SQL("alter database {} rename to {}").format(sql.Identifier(template), sql.Identifier(one))
                )
                if not whole:  # as dropdb() of PostgreSQL marks it before it removes files
                    connection.execute("update pg_database set datconnlimit = -2 where datname = %s", [one])
        return made

    yield make
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        for end in ("_replaced", "_restoring"):
            connection.execute(sql.SQL("drop database if exists {}").format(sql.Identifier(name + end)))


def machine_at(server: str, name: str) -> Any:
    """Return what is asked of a machine for its database."""
    return SimpleNamespace(database=name, postgres=SimpleNamespace(url=lambda one="postgres": f"{server}/{one}"))


@pytest.fixture
def filled(database: Database, sessions_url: str) -> str:
    """The URL of a database in which somebody has something of every kind."""
    household(World(database))
    return sessions_url


def test_a_backup_restored_elsewhere_is_the_same_in_every_table(
    filled: str, make_database: MakeDatabase, tmp_path: Path
) -> None:
    out = tmp_path / "all.tar"
    told = back_up(filled, out)
    before = contents(filled)
    elsewhere = make_database(migrated=False, pooled=False)
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
    elsewhere = make_database(migrated=False, pooled=False)
    restore(elsewhere, tmp_path / "one.tar", sure=False)
    assert contents(elsewhere) == contents(filled)


def test_a_backup_of_an_older_schema_is_brought_up_to_date(
    filled: str, make_database: MakeDatabase, tmp_path: Path
) -> None:
    back_up(filled, tmp_path / "older.tar")
    migrations = shutil.copytree(MIGRATIONS, tmp_path / "migrations")
    (migrations / "9999_nicknames.sql").write_text(
        "alter table users add column nickname text; update users set nickname = lower(name);"
    )
    elsewhere, newest = make_database(migrated=False, pooled=False), make_database(pooled=False)
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
    used = make_database(pooled=False)
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


NAMES = sorted(path.stem for path in MIGRATIONS.glob("*.sql"))
MADE_AT = "2026-11-30T12:00:00+00:00"
MANIFEST = {"siftline_backup": 1, "made_at": MADE_AT, "users": 1, "migrations": NAMES}


def tar_of(
    path: Path, manifest: object, dump: bytes = b"no dump", *more: tuple[str, bytes], sums: bytes | None = None
) -> Path:
    """Make a backup of what is given, with its true checksums unless others are given; none where they are empty."""
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    files = [("manifest.json", text), ("database.dump", dump)]
    if sums is None:
        sums = "".join(f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in files).encode()
    if sums:
        files.append(("SHA256SUMS", sums))
    with tarfile.open(path, "w") as tar:
        for name, body in (*files, *more):
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
        ({"siftline_backup": 2, "migrations": []}, r"newer release \(backup format 2\): restore it with the release"),
        ({"siftline_backup": 7, "schema": "unheard of"}, r"newer release \(backup format 7\)"),
        ({"siftline_backup": 1, "migrations": ["0001_schema"]}, "not a complete backup"),
        ({"other": 1}, "not a complete backup"),
        ([1], "not a complete backup"),
        (
            MANIFEST,
            "cannot be read by this pg_restore: pg_restore: error: input file does not appear to be a valid archive",
        ),
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


@pytest.mark.parametrize(
    "odd",
    [
        *({"siftline_backup": odd} for odd in (True, 1.0, "1", [1], None, 0, -1, 2.0, "2")),
        *({"users": odd} for odd in (True, 1.0, "1", None, -1, 10**11, 10**4000)),
        *({"made_at": odd} for odd in (None, "", "today", "2026-11-30", "2026-11-30T12:00:00", 1_764_504_000, True)),
        *({"migrations": odd} for odd in (NAMES * 2, [*NAMES, NAMES[-1]], NAMES[::-1], NAMES[1:], ["", *NAMES])),
    ],
    ids=str,
)
def test_a_manifest_that_no_backup_writes_is_refused(
    tmp_path: Path, odd: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    source = tar_of(tmp_path / "x.tar", {**MANIFEST, **odd})
    assert main(["--from", str(source), "--folder", str(tmp_path / "new"), "--yes"]) == 1
    assert capsys.readouterr().err == f"{source} is not a complete backup from make backup.\n"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["manifest.json", "database.dump", "SHA256SUMS"])
def test_a_backup_has_one_manifest_and_one_dump(tmp_path: Path, name: str) -> None:
    source = tar_of(tmp_path / "x.tar", MANIFEST, b"no dump", (name, json.dumps(MANIFEST).encode()))
    with pytest.raises(SetUpError, match="not a complete backup"), backup.unpacked(source):
        pass


def test_a_cut_backup_is_refused_before_anything_is_touched(
    filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, files = backed_up(filled, tmp_path / "all.tar")
    source = tmp_path / "cut.tar"
    for length in (0, 100, 512, 1_100, 3_000, len(whole) // 2, files["database.dump"].stop - 1):
        source.write_bytes(whole[:length])
        assert main(["--from", str(source), "--folder", str(tmp_path / "new"), "--yes"]) == 1
        assert capsys.readouterr().err == f"{source} is not a complete backup from make backup.\n", length
        assert not (tmp_path / "new").exists()


def test_a_dump_that_is_not_whole_is_refused_before_anything_is_touched(
    filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    back_up(filled, tmp_path / "all.tar")
    with tarfile.open(tmp_path / "all.tar") as tar, tar.extractfile("database.dump") as file:  # type: ignore[union-attr]  # it is there
        dump = file.read()
    for length in (0, 4, 20, 1_000, len(dump) // 2, len(dump) - 1_000, len(dump) - 1):
        source = tar_of(tmp_path / "cut.tar", MANIFEST, dump[:length])
        assert main(["--from", str(source), "--folder", str(tmp_path / "new"), "--yes"]) == 1
        assert capsys.readouterr().err.startswith(f"{source} cannot be read by this pg_restore: "), length
        assert not (tmp_path / "new").exists()


def backed_up(url: str, path: Path) -> tuple[bytes, dict[str, slice]]:
    """Make a backup; returns its bytes, and where its files stand in it."""
    back_up(url, path)
    with tarfile.open(path) as tar:
        files = {one.name: slice(one.offset_data, one.offset_data + one.size) for one in tar.getmembers()}
    return path.read_bytes(), files


def flipped(whole: bytes, bit: int) -> bytes:
    changed = bytearray(whole)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize(
    "text",
    [
        b"DEFAULT '^NEW'",
        b"btree (^state",
        b"CREATE INDEX ^",
        b"CREATE TRIGGER",
        b"NOT NULL",
        b"'^READY'",
    ],
)
def test_a_changed_word_of_the_schema_is_refused_before_anything_is_touched(
    filled: str, tmp_path: Path, text: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """A caret stands before the letter that is changed. PostgreSQL itself takes some of these, a default for one."""
    whole, _ = backed_up(filled, tmp_path / "all.tar")
    source = tmp_path / "flipped.tar"
    place = whole.index(text.replace(b"^", b"")) + max(text.find(b"^"), 0)
    source.write_bytes(flipped(whole, 8 * place))
    assert main(["--from", str(source), "--folder", str(tmp_path / "new"), "--yes"]) == 1
    why = "The backup is damaged: database.dump does not match its checksum. Use another backup.\n"
    assert capsys.readouterr().err == why
    assert not (tmp_path / "new").exists()


def test_a_flipped_bit_is_refused_or_changes_nothing_wherever_it_is(filled: str, tmp_path: Path) -> None:
    whole, files = backed_up(filled, tmp_path / "all.tar")
    chance = random.Random(5)
    bits = {*range(8 * files["manifest.json"].start, 8 * files["manifest.json"].stop)}
    bits |= {*range(8 * files["SHA256SUMS"].start, 8 * files["SHA256SUMS"].stop)}
    bits = {*chance.sample(sorted(bits), 300), *chance.sample(range(8 * len(whole)), 300)}
    bits |= {*chance.sample(range(8 * 512), 100)}  # of the first header
    source = tmp_path / "flipped.tar"
    refused = 0
    for bit in bits:
        source.write_bytes(flipped(whole, bit))
        try:
            with backup.unpacked(source) as unpacked:
                unpacked.dump.seek(0)
                assert unpacked.dump.read() == whole[files["database.dump"]], bit
                assert unpacked.held == "2 users"
                assert not any(8 * one.start <= bit < 8 * one.stop for one in files.values()), bit
        except SetUpError:
            refused += 1
    assert refused > 500


def test_a_damaged_manifest_is_not_taken_for_a_newer_releases(filled: str, tmp_path: Path) -> None:
    whole, files = backed_up(filled, tmp_path / "all.tar")
    place = whole.index(b'"siftline_backup": 1', files["manifest.json"].start) + len('"siftline_backup": ')
    source = tmp_path / "flipped.tar"
    source.write_bytes(flipped(whole, 8 * place + 1))
    assert b'"siftline_backup": 3' in source.read_bytes()
    with pytest.raises(SetUpError, match=r"damaged: manifest.json"), backup.unpacked(source):
        pass


def test_a_backup_without_checksums_is_refused_in_a_sentence(tmp_path: Path) -> None:
    source = tar_of(tmp_path / "x.tar", MANIFEST, sums=b"")
    with pytest.raises(SetUpError) as said, backup.unpacked(source):
        pass
    assert (
        str(said.value) == f"{source} has no checksums (SHA256SUMS): it is damaged, or from before the first release."
    )


def test_sha256sum_checks_an_unpacked_backup(filled: str, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "all.tar")
    subprocess.run(["/bin/tar", "-xf", tmp_path / "all.tar", "-C", tmp_path], check=True)
    for name in ("database.dump", "manifest.json", "SHA256SUMS"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, check=True)


STOPPED = """
import os, signal, subprocess, sys, tarfile
from pathlib import Path
from infra.local import backup

left, act = int(sys.argv[3]), sys.argv[4]

def stop():
    global left
    left -= 1
    if left < 0:
        if act == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        print("waits", flush=True)
        sys.stdin.read()

def stopping(act):
    def acts(*arguments, **options):
        stop()
        answer = act(*arguments, **options)
        stop()
        return answer
    return acts

subprocess.run = stopping(subprocess.run)
tarfile.TarFile.addfile = stopping(tarfile.TarFile.addfile)
Path.rename = stopping(Path.rename)
backup.back_up(sys.argv[1], Path(sys.argv[2]))
"""
"""Makes a backup, and is killed or waits before or after its program, part or file name of a number."""
DUMPED, WRITTEN = 2, 9  # steps after which pg_dump has ended, and the tar has its name


def stopped(url: str, out: Path, number: int, act: str) -> "subprocess.Popen[str]":
    """Start ``STOPPED``."""
    return subprocess.Popen(
        [sys.executable, "-c", STOPPED, url, str(out), str(number), act],
        env={**process_environment(), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_backup_that_is_killed_anywhere_leaves_nothing_for_long(filled: str, tmp_path: Path) -> None:
    number, code, left = 0, -signal.SIGKILL, set()
    while code == -signal.SIGKILL:
        place = tmp_path / str(number)
        place.mkdir()
        with stopped(filled, place / "all.tar", number, "kill") as process:
            process.communicate()
            code = process.returncode
        for path in place.iterdir():
            assert path.is_file(), "no folder"
            assert path.stat().st_mode & 0o777 == 0o600
            if path.name != "all.tar":
                left.add(number)
        back_up(filled, place / "next.tar")
        assert {path.name for path in place.iterdir()} - {"all.tar"} == {"next.tar"}
        assert (place / "all.tar").exists() == (number >= WRITTEN)
        number += 1
    assert code == 0
    assert left == set(range(DUMPED, WRITTEN)), "only the tar has a name before it is whole"


def test_a_restore_clears_what_a_killed_backup_left_beside_its_file(filled: str, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "all.tar")
    with stopped(filled, tmp_path / "next.tar", WRITTEN - 1, "kill") as process:
        process.communicate()
    assert len(list(tmp_path.iterdir())) == 2
    with backup.unpacked(tmp_path / "all.tar"):
        assert [path.name for path in tmp_path.iterdir()] == ["all.tar"]


def test_what_a_running_backup_makes_is_left_alone(filled: str, make_database: MakeDatabase, tmp_path: Path) -> None:
    with stopped(filled, tmp_path / "slow.tar", WRITTEN - 2, "wait") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        back_up(filled, tmp_path / "quick.tar")
        with backup.unpacked(tmp_path / "quick.tar"):
            pass
        process.communicate("")
        assert process.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["quick.tar", "slow.tar"]
    elsewhere = make_database(migrated=False, pooled=False)
    restore(elsewhere, tmp_path / "slow.tar", sure=False)
    assert contents(elsewhere) == contents(filled)


def test_only_files_that_a_backup_made_are_cleared(filled: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("kept")
    (tmp_path / ".siftline-backup-link").symlink_to(other)
    (tmp_path / ".siftline-backup-folder").mkdir()
    before = set(tmp_path.iterdir())
    back_up(filled, tmp_path / "all.tar")
    assert set(tmp_path.iterdir()) == {*before, tmp_path / "all.tar"}


KILLED = """
import os, signal, subprocess, sys
from pathlib import Path
import psycopg
from infra.local import backup, furnish, swap

left = int(sys.argv[3])

def killing(act):
    def acts(*arguments, **options):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return act(*arguments, **options)
    return acts

psycopg.Connection.execute = killing(psycopg.Connection.execute)
subprocess.run = killing(subprocess.run)
with backup.unpacked(Path(sys.argv[2])) as unpacked:
    backup.restore(sys.argv[1], unpacked, sure=True)
"""
"""Restores a backup, and is killed before its statement or program of a number."""


def databases(url: str) -> dict[str, bool]:
    """Return what stands there of a database, by the ends of the names, and whether it is whole."""
    name = url.rpartition("/")[2]
    with psycopg.connect(url.rpartition("/")[0] + "/postgres") as connection:
        rows = connection.execute(
            "select substr(datname, %s), datconnlimit <> -2 from pg_database where starts_with(datname, %s)",
            (len(name) + 1, name),
        ).fetchall()
    return dict(rows)


def test_a_restore_that_is_killed_anywhere_leaves_the_old_data_or_the_new(
    make_database: MakeDatabase, tmp_path: Path
) -> None:
    new, url = make_database(pooled=False), make_database(pooled=False)
    for database, user in ((new, "New"), (url, "Old")):
        with psycopg.connect(database) as connection:
            connection.execute("insert into users (id, name) values (gen_random_uuid(), %s)", [user])
    back_up(new, tmp_path / "new.tar")
    server, _, name = url.rpartition("/")
    found, number, code = [], 0, -signal.SIGKILL
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    while code == -signal.SIGKILL:
        code = subprocess.run(
            [sys.executable, "-c", KILLED, url, str(tmp_path / "new.tar"), str(number)],
            env={**process_environment(), "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(temporary)},
            check=False,
        ).returncode
        assert not list(temporary.iterdir()), "no copy of the dump"
        assert databases(url)[""], "a whole database has the name at any moment"
        swap.mend(f"{server}/postgres", name)
        assert databases(url) == {"": True}
        [user] = [row.split(",")[1] for row in contents(url)["users"]]
        found.append(user)
        number += 1
    assert code == 0
    assert found == sorted(found, reverse=True)
    assert set(found) == {"Old", "New"}
    assert found.count("New") > 2  # killed before and while the old one was dropped, and not at all


@pytest.mark.parametrize(
    ("left", "kept"),
    [
        ({"": True, "_replaced": True, "_restoring": True}, ""),
        ({"": True, "_replaced": False, "_restoring": False}, ""),
        ({"_replaced": True, "_restoring": True}, "_replaced"),
        ({"": False, "_replaced": True}, "_replaced"),
        ({"": False, "_restoring": True}, "_restoring"),
        ({"_restoring": True}, "_restoring"),
    ],
    ids=str,
)
def test_every_start_puts_right_what_a_kill_left(make_left: MakeLeft, left: dict[str, bool], kept: str) -> None:
    url = make_left(left)
    server, _, name = url.rpartition("/")
    furnish.database(machine_at(server, name))
    assert databases(url) == {"": True}
    with psycopg.connect(url) as connection:
        assert connection.execute("select name from users").fetchall() == [(f"of {kept}",)]


def test_what_is_lost_is_said_in_a_sentence_and_can_be_restored(
    make_left: MakeLeft,
    filled: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    back_up(filled, tmp_path / "all.tar")
    url = make_left({"": False, "_restoring": False})
    server, _, name = url.rpartition("/")
    with pytest.raises(SetUpError, match="restore a backup"):
        furnish.database(machine_at(server, name))
    monkeypatch.setenv("DATABASE_URL", url)
    assert main(["--out", str(tmp_path / "none.tar")]) == 1
    assert "restore a backup (make restore FROM=file.tar)" in capsys.readouterr().err
    assert main(["--from", str(tmp_path / "all.tar")]) == 0
    assert databases(url) == {"": True}
    assert contents(url) == contents(filled)


def test_two_restores_of_one_database_do_not_meet(filled: str, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "all.tar")
    before = contents(filled)
    server, _, name = filled.rpartition("/")
    with swap.replacing(f"{server}/postgres", name):
        with pytest.raises(SetUpError, match="being restored already"):
            restore(filled, tmp_path / "all.tar", sure=True)
        swap.mend(f"{server}/postgres", name)
    assert contents(filled) == before


def test_who_uses_the_database_is_disconnected_by_a_restore(filled: str, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "all.tar")
    with psycopg.connect(filled) as other:
        other.execute("select from users")
        restore(filled, tmp_path / "all.tar", sure=True)
        with pytest.raises(psycopg.OperationalError):
            other.execute("select from users")


def test_what_the_database_refuses_at_the_start_is_told_in_a_line() -> None:
    machine = machine_at("postgresql://nobody@127.0.0.1:1", "siftline")
    with pytest.raises(SetUpError, match=r"^The database cannot be used: [^\n]+$"), furnish.told():
        furnish.database(machine)


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


def test_what_may_never_end_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    for source in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        assert main(["--from", str(source), "--folder", str(tmp_path / "new"), "--yes"]) == 1
        assert capsys.readouterr().err == f"{source} is not a regular file.\n"


def test_a_database_has_to_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://127.0.0.1:1")
    assert main(["--out", str(tmp_path / "x.tar")]) == 1
    assert capsys.readouterr().err == "DATABASE_URL names no database.\n"


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


def test_a_backup_waits_for_no_other_and_says_which_command_has_the_folder(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    out, folder = tmp_path / "all.tar", tmp_path / "local"
    back_up(filled, out)
    other = State(folder)
    assert other.take("make restore")
    (folder / "postgres" / "data").mkdir(parents=True)
    (folder / "postgres" / "data" / "PG_VERSION").write_text("18\n")
    for command in (["--out", str(tmp_path / "b.tar")], ["--from", str(out), "--yes"]):
        assert main([*command, "--folder", str(folder)]) == 1
        assert capsys.readouterr().err == f"make restore is using {folder}: wait until it has ended.\n"
    assert run.main(["--folder", str(folder)]) == 1
    assert capsys.readouterr().err == f"siftline: make restore is using {folder}: wait until it has ended.\n"
    other.close()
    assert run.main(["--folder", "/dev/null"]) == 1
    assert capsys.readouterr().err == "siftline: /dev/null cannot be used: File exists.\n"


def test_a_file_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main(["--out=", "--from="]) == main(["--out=a", "--from=b"]) == 2
    assert "OUT=" in capsys.readouterr().err
