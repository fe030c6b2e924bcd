"""``make backup OUT=file`` and ``make restore FROM=file``: the database whole, as it was at one moment.

A backup is a tar of ``manifest.json``, what ``pg_dump`` made, and the checksums of both. Vectors are in the database;
Qdrant's copy of them is made again from there (``make reindex``), and so are queues' messages (the sweep). It holds
everybody's data: only its owner can read the file, and the dump on its way in or out is a file without a name, of which
a kill leaves nothing.
"""

import argparse
import fcntl
import hashlib
import io
import json
import os
import shutil
import stat
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

from infra.local.answer import run
from infra.local.postgres import EmbeddedPostgres, default_binaries
from infra.local.state import RUN, SAMPLES_PORT, State, folder_argument, kept_environment, run_command
from infra.local.swap import beside, mend, refuse_pooler, replacing, swap
from siftline.kit.database_address import DatabaseAddress
from siftline.kit.db import Connection
from siftline.kit.errors import SiftlineError
from siftline.operate.command_line import counted
from siftline.operate.migrate import MIGRATIONS, applied, create_database, migrate, unknown_maker
from siftline.operate.set_up_error import SetUpError
from siftline.operate.user_command import confirm
from siftline.settings.functions import DatabaseSettings, LocalSettings

_MANIFEST, _DUMP = "manifest.json", "database.dump"
_SUMS = "SHA256SUMS"  # as sha256sum writes it, so that whoever unpacks a backup can check it too
_FORMAT = 1
_PART = ".siftline-backup-"
_DATABASE = "siftline"
_HAS_TABLES = "select exists (select from pg_tables where schemaname = 'public')"
_HAS_USERS = "select to_regclass('public.users') is not null"
_USERS = "select count(*) from users"
_USERS_MAX = 10_000_000_000  # more than there are people


class _AnyManifest(BaseModel):
    """What is read first of a manifest: a newer format may have changed everything else."""

    model_config = ConfigDict(strict=True)

    siftline_backup: Annotated[int, Field(ge=1, le=9_999)]  # not Literal: true and 1.0 equal 1


class _Manifest(_AnyManifest):
    """What is read of a backup's manifest. A newer release's need not say when it was made, nor count users."""

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
        refuse_pooler(connection)
        if not _has_tables(connection):
            raise SetUpError("Nothing to back up: the database has no tables.")
        schema = applied(connection)
        [(users,)] = connection.execute(_USERS).fetchall()
    made_at = datetime.now(UTC)
    manifest = {"siftline_backup": _FORMAT, "made_at": made_at.isoformat(), "users": users, "migrations": schema}
    text = json.dumps(manifest, indent=2).encode()
    _clear(out.absolute().parent)
    with _unnamed(out.absolute().parent) as dump:
        # Not simply stdout, to which pg_dump only appends: it goes back to say where each table's rows begin.
        _call("pg_dump", url, ["--format=custom", "--file=/dev/stdout"], writes=dump)
        sums = f"{_sum_of(io.BytesIO(text), _MANIFEST)}{_sum_of(dump, _DUMP)}".encode()
        with _becoming(out) as part, tarfile.open(fileobj=part, mode="w") as tar:
            for name, body in ((_SUMS, io.BytesIO(sums)), (_MANIFEST, io.BytesIO(text)), (_DUMP, dump)):
                member = tarfile.TarInfo(name)
                member.mode, member.mtime = 0o600, int(made_at.timestamp())
                member.size = body.seek(0, os.SEEK_END)
                body.seek(0)
                tar.addfile(member, body)
    return f"{counted(users, 'user')}, schema {schema[-1]}, {out.stat().st_size / 1e6:.1f} MB"


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that can be restored."""

    source: Path
    dump: IO[bytes]
    """What ``pg_dump`` made, unpacked: a file without a name."""
    held: str
    """Whose data it holds, in words."""
    migrations: Path


@contextmanager
def unpacked(source: Path, migrations: Path = MIGRATIONS) -> Iterator[Backup]:
    """Yield a backup, which was read to its end and agrees with its checksums.

    Raises ``SetUpError`` for what is no backup, or damaged, or has migrations that are not ours.
    """
    _clear(source.absolute().parent)
    with _unnamed(Path(tempfile.gettempdir())) as dump:
        with _opened(source) as tar:
            manifest, sums = _manifest(source, tar, migrations)
            shutil.copyfileobj(_file(tar, _DUMP), dump)
        if _sum_of(dump, _DUMP) not in sums:
            raise _damaged(_DUMP)
        try:
            _call("pg_restore", None, ["--file=/dev/null"], reads=dump)
        except ProgramFailedError as error:
            raise SetUpError(f"{source} cannot be read by this pg_restore: {error.last}") from error
        yield Backup(source, dump, counted(manifest.users or 0, "user"), migrations)


def _manifest(source: Path, tar: tarfile.TarFile, migrations: Path) -> tuple[_Manifest, list[str]]:
    """Return a backup's manifest, which agrees with its checksum, and all checksums. Raises ``SetUpError``."""
    text = _file(tar, _MANIFEST).read()
    sums = _file(tar, _SUMS).read().decode("ascii").splitlines(keepends=True) if _SUMS in tar.getnames() else None
    if sums is not None and _sum_of(io.BytesIO(text), _MANIFEST) not in sums:
        raise _damaged(_MANIFEST)
    form = _AnyManifest.model_validate_json(text).siftline_backup
    maker = f"a newer release (backup format {form})" if form > _FORMAT else None
    if maker is None:
        manifest = _Manifest.model_validate_json(text)
        maker = unknown_maker(manifest.migrations, migrations)
    if maker is not None:
        raise SetUpError(f"{source} was created by {maker}: restore it with the release that created it.")
    if not manifest.of_ours(migrations):
        raise ValueError(_MANIFEST)
    if sums is None:
        raise SetUpError(f"{source} has no checksums ({_SUMS}): it is damaged, or from before the first release.")
    return manifest, sums


def _damaged(name: str) -> SetUpError:
    return SetUpError(f"The backup is damaged: {name} does not match its checksum. Use another backup.")


def _sum_of(file: IO[bytes], name: str) -> str:
    """Return the line of ``sha256sum`` for a file; it is read piece by piece."""
    file.seek(0)
    return f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n"  # type: ignore[arg-type]  # IO has no readinto in its stubs


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
        _call("pg_restore", new, ["--exit-on-error"], reads=backup.dump)
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
        if state.take("make restore" if idle else "make backup"):
            pg_bin = LocalSettings().pg_bin
            with EmbeddedPostgres(folder / "postgres", binaries=Path(pg_bin) if pg_bin else None) as server:
                if not idle:
                    mend(server.url(), _DATABASE)
                    create_database(server.url(), _DATABASE)
                yield server.url(_DATABASE), folder
        else:
            state.refuse_others()
            if idle:
                raise SetUpError(f"{RUN} is using {folder}: stop it first (Ctrl-C).")
            yield kept_environment(folder)["DATABASE_URL"], folder


def _given() -> str:
    try:
        url = DatabaseAddress(DatabaseSettings().database_url.get_secret_value()).url()
    except ValidationError:
        return ""
    if not conninfo_to_dict(url).get("dbname"):
        raise SetUpError("DATABASE_URL names no database.")
    return url


@contextmanager
def _opened(source: Path) -> Iterator[tarfile.TarFile]:
    """Yield a backup's tar. Raises ``SetUpError`` for what turns out to be none."""
    try:
        if not stat.S_ISREG(source.stat().st_mode):
            raise SetUpError(f"{source} is not a regular file.")  # a device or a pipe may never end
        with tarfile.open(source, "r:") as tar:
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


def _call(
    program: str,
    url: str | None,
    arguments: Sequence[str],
    *,
    reads: IO[bytes] | None = None,
    writes: IO[bytes] | None = None,
) -> None:
    """Run one of PostgreSQL's programs; the password goes by its environment, which others cannot see.

    It is handed open files, whose names nobody needs to know; it may seek in them.
    """
    if reads is not None:
        reads.seek(0)
    pg_bin = LocalSettings().pg_bin
    parts = conninfo_to_dict(url) if url else {}
    password = str(parts.pop("password", ""))
    place = [f"--dbname={make_conninfo('', **parts)}"] if url else []
    command = [str((Path(pg_bin) if pg_bin else default_binaries()) / program), *place]
    try:
        done = subprocess.run(
            [*command, "--no-owner", "--no-privileges", *arguments],
            env={"PGPASSWORD": password, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            stdin=reads or subprocess.DEVNULL,
            stdout=writes or subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
    except OSError as error:
        raise SetUpError(f"{command[0]} does not exist: set PG_BIN to the folder of PostgreSQL's programs.") from error
    if done.returncode:
        raise ProgramFailedError(program, "; ".join(done.stderr.decode(errors="replace").strip().splitlines()[-2:]))


def _unnamed(folder: Path) -> IO[bytes]:
    """Return a new file in ``folder`` that has no name: the kernel frees it once nobody uses it, even after a kill."""
    try:
        return tempfile.TemporaryFile(dir=folder)
    except FileNotFoundError as error:
        raise SetUpError(f"The folder {folder} does not exist.") from error


@contextmanager
def _becoming(out: Path) -> Iterator[IO[bytes]]:
    """Yield a file beside ``out`` that gets its name once it is whole, and is gone if that fails.

    It has a name from the start, as not every file system can give one to a file that has none. What a kill leaves of
    it, ``_clear`` knows by its lock, which the kernel lets go with the process.
    """
    with _locked(out.absolute().parent) as part:
        try:
            yield part
            part.flush()
            Path(part.name).rename(out)
        finally:
            Path(part.name).unlink(missing_ok=True)


def _locked(folder: Path) -> IO[bytes]:
    """Return a new file that only we can read, and that ``_clear`` leaves alone."""
    while True:
        part = tempfile.NamedTemporaryFile(prefix=_PART, dir=folder, delete=False)  # noqa: SIM115  -- the caller closes it
        fcntl.flock(part, fcntl.LOCK_EX)
        if os.fstat(part.fileno()).st_nlink:
            return part
        part.close()  # it was cleared away before it was locked


def _clear(folder: Path) -> None:
    """Remove the files that killed backups left in a folder: those that nobody has locked."""
    for path in folder.glob(f"{_PART}*"):
        # Refused where its maker lives, it has gone, or it or the folder is another user's: nothing of ours to clear.
        with suppress(OSError), os.fdopen(os.open(path, os.O_RDWR | os.O_NOFOLLOW), "r+b") as part:
            fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


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
