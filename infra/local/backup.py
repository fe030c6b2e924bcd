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
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from infra.local.answer import counted, run
from infra.local.errors import SetUpError
from infra.local.migrate import MIGRATIONS, applied, create_database, migrate, unknown_maker
from infra.local.postgres import EmbeddedPostgres, default_binaries
from infra.local.state import SAMPLES_PORT, State, folder_argument, kept_environment, run_command
from infra.local.swap import beside, mend, replacing, swap
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
_USERS_MAX = 10_000_000_000  # more than there are people


class _Manifest(BaseModel):
    """What is read of a backup's manifest. A newer release's need not say when it was made, nor count users."""

    model_config = ConfigDict(strict=True)

    siftline_backup: Annotated[int, Field(ge=1, le=1)]  # not Literal: true and 1.0 equal 1
    migrations: Annotated[list[Annotated[str, Field(pattern=r"^\d{4}_[a-z0-9_]+$")]], Field(min_length=1)]
    made_at: AwareDatetime | None = None
    users: Annotated[int, Field(ge=0, le=_USERS_MAX)] | None = None

    def of_ours(self, migrations: Path) -> bool:
        """Whether all is there that ours has, and its migrations are the first ones of a folder, each once."""
        ours = sorted(path.stem for path in migrations.glob("*.sql"))
        is_first = self.migrations == ours[: len(self.migrations)]
        return is_first and self.users is not None and self.made_at is not None


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


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that can be restored."""

    source: Path
    dump: Path
    """What ``pg_dump`` made, unpacked."""
    held: str
    """Whose data it holds, in words."""
    migrations: Path


@contextmanager
def unpacked(source: Path, migrations: Path = MIGRATIONS) -> Iterator[Backup]:
    """Yield a backup, which was read to its end; what was unpacked for it is gone afterwards.

    Raises ``SetUpError`` for what is no backup, or damaged, or has migrations that are not ours.
    """
    with _folder_beside(source, of=tempfile.gettempdir()) as folder:
        dump = folder / _DUMP
        with _opened(source) as tar:
            manifest = _Manifest.model_validate_json(_file(tar, _MANIFEST).read())
            packed = _file(tar, _DUMP)
            maker = unknown_maker(manifest.migrations, migrations)
            if maker is None:
                if not manifest.of_ours(migrations):
                    raise ValueError(_MANIFEST)
                with dump.open("wb") as whole:
                    shutil.copyfileobj(packed, whole)
        if maker is not None:
            raise SetUpError(f"{source} was created by {maker}: restore it with the release that created it.")
        try:
            _call("pg_restore", None, ["--file=/dev/null", str(dump)])
        except ProgramFailedError as error:
            raise SetUpError(f"The backup is damaged: {error.last}") from error
        yield Backup(source, dump, counted(manifest.users or 0, "user"), migrations)


def restore(url: str, backup: Backup, *, sure: bool, place: str = "") -> int:
    """Put a backup in the place of the database at ``url``, and bring its tables up to date; returns by how many steps.

    What was there stays until the backup stands beside it, whole and up to date. Where there was anything, it is asked
    for first, unless ``sure``; ``place`` says where that is, by default by its URL. Raises ``SetUpError``.
    """
    name = str(conninfo_to_dict(url)["dbname"])
    server, new = _other(url, "postgres"), _other(url, beside(name))
    with replacing(server, name) as connection:
        if not sure and (there := _held_there(url)):
            whose = f"the data in {place or _shown(url)} ({there}) with {backup.source} ({backup.held})"
            confirm(f"This replaces {whose}.", "YES=1")
        create_database(server, beside(name))
        _call("pg_restore", new, ["--exit-on-error", str(backup.dump)])
        steps = migrate(new, backup.migrations)
        swap(connection, name)
    return steps


@contextmanager
def database_of(folder: Path, *, idle: bool) -> Iterator[tuple[str, Path | None]]:
    """Yield the URL of the database of ``DATABASE_URL``, or else of what ``make run`` keeps in ``folder``, and that.

    Its PostgreSQL is started for that time where ``make run`` does not run; ``idle``: it must not, and where nothing
    ever ran there a new one is made. Raises ``SetUpError``.
    """
    given = _given()
    if given:
        if not idle:
            with suppress(psycopg.Error):  # of who may only read the database
                mend(_other(given, "postgres"), str(conninfo_to_dict(given)["dbname"]))
        yield given, None
        return
    if not idle and not (folder / "postgres" / "data" / "PG_VERSION").exists():
        raise SetUpError(f"There is no Siftline data in {folder}.")
    with closing(State(folder)) as state:
        if state.take():
            pg_bin = LocalSettings().pg_bin
            with EmbeddedPostgres(folder / "postgres", binaries=Path(pg_bin) if pg_bin else None) as server:
                if not idle:
                    mend(server.url(), _DATABASE)
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
    """Return one of a backup's two files. Raises ``KeyError`` where there is none, or more than one."""
    members = [one for one in tar.getmembers() if one.name == name]
    file = tar.extractfile(members[0]) if len(members) == 1 and members[0].isreg() else None
    if file is None:
        raise KeyError(name)
    return file


def _held_there(url: str) -> str:
    """Return in words what a database holds: nothing where it has no tables."""
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


def _other(url: str, name: str) -> str:
    """Return the URL of another database of the same server."""
    base, _, query = url.partition("?")
    return f"{base.rpartition('/')[0]}/{quote(name, safe='')}" + (f"?{query}" if query else "")


class ProgramFailedError(SetUpError):
    """One of PostgreSQL's programs did not do what it was asked to; ``last`` says why."""

    def __init__(self, program: str, last: str) -> None:
        super().__init__(f"{program} failed: {last}")
        self.last = last


def _call(program: str, url: str | None, arguments: Sequence[str]) -> None:
    """Run one of PostgreSQL's programs; the password goes by its environment, which others cannot see."""
    pg_bin = LocalSettings().pg_bin
    parts = conninfo_to_dict(url) if url else {}
    password = str(parts.pop("password", ""))
    place = [f"--dbname={make_conninfo('', **parts)}"] if url else []
    command = [str((Path(pg_bin) if pg_bin else default_binaries()) / program), *place]
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
        raise ProgramFailedError(program, "; ".join(done.stderr.decode(errors="replace").strip().splitlines()[-2:]))


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
        if chosen.out:
            with database_of(chosen.folder, idle=False) as (url, _):
                print(f"backup {chosen.out}: {back_up(url, Path(chosen.out))}")
            return 0
        # Before anything is made for it: a file that is no backup leaves all as it was.
        with unpacked(Path(chosen.source)) as backup, database_of(chosen.folder, idle=True) as (url, folder):
            steps = restore(url, backup, sure=chosen.yes, place=f"the folder {folder}" if folder else "")
            if folder:  # the samples are served where what was restored follows them
                (folder / SAMPLES_PORT).unlink(missing_ok=True)
            print(f"restored {chosen.source}; {steps} migrations applied. {_next(folder)}")
    except (SiftlineError, SetUpError, psycopg.Error) as error:
        print(str(error).strip(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    run(main)
