"""``make backup OUT=file`` and ``make restore FROM=file``: the database whole, as it was at one moment.

A backup is a tar of ``manifest.json`` and what ``pg_dump`` made. Vectors are in the database; Qdrant's copy of them is
made again from there (``make reindex``), and so are queues' messages (the sweep). It holds everybody's data: only its
owner can read the file.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Literal
from urllib.parse import quote

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import BaseModel, Field, ValidationError

from infra.local.answer import counted, run
from infra.local.errors import SetUpError
from infra.local.migrate import MIGRATIONS, applied, create_database, migrate, unknown_maker
from infra.local.postgres import EmbeddedPostgres, default_binaries
from infra.local.state import SAMPLES_PORT, State, folder_argument, kept_environment, run_command
from infra.local.user import confirm
from siftline.kit.aws import secret
from siftline.kit.db import Connection
from siftline.kit.errors import SiftlineError
from siftline.settings.functions import DatabaseSettings, LocalSettings

_MANIFEST, _DUMP = "manifest.json", "database.dump"
_DATABASE = "siftline"
_HAS_TABLES = "select exists (select from pg_tables where schemaname = 'public')"
_HAS_USERS = "select to_regclass('public.users') is not null"
_USERS = "select count(*) from users"


class _Manifest(BaseModel):
    """What is read of a backup's manifest. A newer release's need not count users."""

    siftline_backup: Literal[1]
    migrations: list[str] = Field(min_length=1)
    users: int | None = Field(default=None, ge=0, strict=True)


def back_up(url: str, out: Path) -> str:
    """Write a backup of the database at ``url``, which may be in use; returns what it holds, in words.

    ``out`` stands there once it is whole. Raises ``SetUpError``.
    """
    if out.exists():
        raise SetUpError(f"{out} already exists: choose another file name.")
    with psycopg.connect(url) as connection:
        if not _has_tables(connection):
            raise SetUpError("Nothing to back up: the database has no tables.")
        schema = applied(connection)
        [(users,)] = connection.execute(_USERS).fetchall()
    made_at = datetime.now(UTC).isoformat()
    manifest = {"siftline_backup": 1, "made_at": made_at, "users": users, "migrations": schema}
    with _folder_beside(out) as folder:
        dump = folder / _DUMP
        _call("pg_dump", url, ["--format=custom", f"--file={dump}"])
        (folder / _MANIFEST).write_text(json.dumps(manifest, indent=2), encoding="utf-8")
        part = folder / "backup.tar"
        part.touch(mode=0o600)
        with tarfile.open(part, "w") as tar:
            for name in (_MANIFEST, _DUMP):
                tar.add(folder / name, name)
        part.rename(out)
    return f"{counted(users, 'user')}, schema {schema[-1]}, {out.stat().st_size / 1e6:.1f} MB"


def restore(url: str, source: Path, *, sure: bool, place: str = "", migrations: Path = MIGRATIONS) -> int:
    """Put a backup in the place of the database at ``url``, and bring its tables up to date; returns by how many steps.

    What was there stays until the backup stands beside it, whole and up to date. Where there was anything, it is asked
    for first, unless ``sure``; ``place`` says where that is, by default by its URL. Raises ``SetUpError``.
    """
    name = str(conninfo_to_dict(url)["dbname"])
    server, beside = _other(url, "postgres"), f"{name}_restoring"
    held = held_in(source, migrations)
    with _folder_beside(source, of=tempfile.gettempdir()) as folder:
        with _opened(source) as tar, (folder / _DUMP).open("wb") as dump:
            shutil.copyfileobj(_file(tar, _DUMP), dump)
        if not sure and (there := _held_there(server, url, name)):
            confirm(f"This replaces the data in {place or _shown(url)} ({there}) with {source} ({held}).", "YES=1")
        _drop(server, beside)
        create_database(server, beside)
        _call("pg_restore", _other(url, beside), ["--exit-on-error", str(folder / _DUMP)])
        steps = migrate(_other(url, beside), migrations)
        _drop(server, name)
        with psycopg.connect(server, autocommit=True) as connection:
            rename = sql.SQL("alter database {} rename to {}")
            connection.execute(rename.format(sql.Identifier(beside), sql.Identifier(name)))
    return steps


@contextmanager
def database_of(folder: Path, *, idle: bool) -> Iterator[tuple[str, Path | None]]:
    """Yield the URL of the database of ``DATABASE_URL``, or else of what ``make run`` keeps in ``folder``, and that.

    Its PostgreSQL is started for that time where ``make run`` does not run; ``idle``: it must not, and where nothing
    ever ran there a new one is made. Raises ``SetUpError``.
    """
    given = _given()
    if given:
        yield given, None
        return
    if not idle and not (folder / "postgres" / "data" / "PG_VERSION").exists():
        raise SetUpError(f"There is no Siftline data in {folder}.")
    with closing(State(folder)) as state:
        if state.take():
            pg_bin = LocalSettings().pg_bin
            with EmbeddedPostgres(folder / "postgres", binaries=Path(pg_bin) if pg_bin else None) as server:
                create_database(server.url(), _DATABASE)
                yield server.url(_DATABASE), folder
        elif idle:
            raise SetUpError(f"make run is using {folder}: stop it first (Ctrl-C).")
        else:
            yield kept_environment(folder)["DATABASE_URL"], folder


def _given() -> str:
    try:
        return secret(DatabaseSettings().database_url.get_secret_value())
    except ValidationError:
        return ""


@contextmanager
def _opened(source: Path) -> Iterator[tarfile.TarFile]:
    """Yield a backup's tar. Raises ``SetUpError`` for what turns out to be none."""
    try:
        with tarfile.open(source) as tar:
            yield tar
    except OSError as error:
        raise SetUpError(f"{source} cannot be read: {error.strerror or error}.") from error
    except (tarfile.TarError, KeyError, TypeError, ValueError) as error:
        raise SetUpError(f"{source} is not a complete backup from make backup.") from error


def _file(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    """Return one of a backup's two files. Raises ``KeyError`` where there is none."""
    if (file := tar.extractfile(name)) is None:
        raise KeyError(name)
    return file


def held_in(source: Path, migrations: Path = MIGRATIONS) -> str:
    """Return whose data a backup holds, in words.

    Raises ``SetUpError`` for what is no backup, or has migrations that are not ours.
    """
    with _opened(source) as tar:
        manifest = _Manifest.model_validate_json(_file(tar, _MANIFEST).read())
        _file(tar, _DUMP)
        maker = unknown_maker(manifest.migrations, migrations)
        if maker is None and manifest.users is None:
            raise ValueError(_MANIFEST)
    if maker is not None:
        raise SetUpError(f"{source} was created by {maker}: restore it with the release that created it.")
    return counted(manifest.users or 0, "user")


def _held_there(server: str, url: str, name: str) -> str:
    """Return in words what a database holds: nothing where it has no tables or is not there."""
    with psycopg.connect(server) as connection:
        if connection.execute("select from pg_database where datname = %s", [name]).fetchone() is None:
            return ""
    with psycopg.connect(url) as connection:
        if not _has_tables(connection):
            return ""
        [(ours,)] = connection.execute(_HAS_USERS).fetchall()
        if not ours:
            return "tables of another application"
        [(users,)] = connection.execute(_USERS).fetchall()
    return counted(users, "user")


def _shown(url: str) -> str:
    """Return a database's URL without its password."""
    parts = conninfo_to_dict(url)
    who = f"{parts['user']}@" if "user" in parts else ""
    port = f":{parts['port']}" if "port" in parts else ""
    return f"postgresql://{who}{parts.get('host', '')}{port}/{parts['dbname']}"


def _has_tables(connection: Connection) -> bool:
    row = connection.execute(_HAS_TABLES).fetchone()
    return bool(row and row[0])


def _drop(server: str, name: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def _other(url: str, name: str) -> str:
    """Return the URL of another database of the same server."""
    base, _, query = url.partition("?")
    return f"{base.rpartition('/')[0]}/{quote(name, safe='')}" + (f"?{query}" if query else "")


def _call(program: str, url: str, arguments: Sequence[str]) -> None:
    """Run one of PostgreSQL's programs; the password goes by its environment, which others cannot see."""
    pg_bin = LocalSettings().pg_bin
    parts = conninfo_to_dict(url)
    password = str(parts.pop("password", ""))
    place = make_conninfo("", **parts)
    command = [str((Path(pg_bin) if pg_bin else default_binaries()) / program), f"--dbname={place}"]
    try:
        done = subprocess.run(
            [*command, "--no-owner", "--no-privileges", *arguments],
            env={"PGPASSWORD": password, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise SetUpError(f"{command[0]} does not exist: set PG_BIN to the folder of PostgreSQL's programs.") from error
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-2:]
        raise SetUpError(f"{program} failed: {'; '.join(last)}")


@contextmanager
def _folder_beside(path: Path, *, of: str | None = None) -> Iterator[Path]:
    """Yield an empty folder for what is being made, by default where ``path`` will be; gone afterwards."""
    try:
        with tempfile.TemporaryDirectory(prefix=".siftline-", dir=of or path.absolute().parent) as folder:
            yield Path(folder)
    except FileNotFoundError as error:
        raise SetUpError(f"The folder {path.absolute().parent} does not exist.") from error


def _next(folder: Path | None) -> str:
    """Return what to do with what was restored."""
    start, where = (f" ({run_command(folder)})", folder_argument(folder)) if folder else ("", "")
    return f"Start Siftline{start}, then run: make reindex{where}"


def main(arguments: list[str]) -> int:
    """Back up or restore as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="make backup")
    parser.add_argument("--folder", type=Path, default=Path(".local"), help="folder of make run")
    parser.add_argument("--out", default="", help="file to create")
    parser.add_argument("--from", dest="source", default="", help="file to restore")
    parser.add_argument("--yes", action="store_true", help="with --from: replace existing data without asking")
    chosen = parser.parse_args(arguments)
    if bool(chosen.out) == bool(chosen.source):
        where = folder_argument(chosen.folder)
        print(f"Which file? make backup OUT=file.tar{where}, or make restore FROM=file.tar{where}", file=sys.stderr)
        return 2
    try:
        if chosen.source:  # before anything is made for it
            held_in(Path(chosen.source))
        with database_of(chosen.folder, idle=bool(chosen.source)) as (url, folder):
            if chosen.out:
                print(f"backup {chosen.out}: {back_up(url, Path(chosen.out))}")
            else:
                place = f"the folder {folder}" if folder else ""
                steps = restore(url, Path(chosen.source), sure=chosen.yes, place=place)
                if folder:  # the samples are served where what was restored follows them
                    (folder / SAMPLES_PORT).unlink(missing_ok=True)
                print(f"restored {chosen.source}; {steps} migrations applied. {_next(folder)}")
    except (SiftlineError, SetUpError, psycopg.Error) as error:
        print(str(error).strip(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    run(main)
