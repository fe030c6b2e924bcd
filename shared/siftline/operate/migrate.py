"""Bring a database's tables up to date with ``infra/migrations``. Safe to run twice, and twice at once."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from pydantic import ValidationError
from yoyo import get_backend, read_migrations  # type: ignore[import-untyped]  # it ships no types

from siftline.kit.database_address import DatabaseAddress
from siftline.kit.db import SESSION_DEFAULTS, Connection
from siftline.kit.errors import SiftlineError
from siftline.operate.set_up_error import SetUpError
from siftline.settings.functions import DatabaseSettings

MIGRATIONS = Path(__file__).resolve().parents[3] / "infra" / "migrations"
"""As they stand in a checkout."""
_LOCK = 7_748_454  # any number that nobody else takes an advisory lock on


def create_database(server_url: str, name: str) -> None:
    """Create a database unless it exists, on the server whose database ``postgres`` is at ``server_url``."""
    with psycopg.connect(server_url, autocommit=True) as connection:
        if connection.execute("select 1 from pg_database where datname = %s", [name]).fetchone() is None:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))


def migrate(url: str, migrations: Path = MIGRATIONS) -> int:
    """Apply what is missing to the database at a ``postgresql://`` URL; return how many migrations that was.

    Each migration is one transaction. A second, simultaneous call waits for the first. A newer release's database is
    left as it is, for whoever goes back. Raises ``SetUpError`` where that release removed something from the schema,
    and for a database that had other migrations than those in the folder ``migrations``.
    """
    with _alone(url):
        with psycopg.connect(url, autocommit=True) as connection:
            had = applied(connection)
            if (maker := unknown_maker(had, migrations)) and not _only_added_to(had, migrations):
                other = "Use a new folder or database, or the release that created it."
                raise SetUpError(f"This database was created by {maker}. {other}")
            set_session_defaults(connection)
        # All of it as options: yoyo would take several hosts for one.
        options = urlencode(conninfo_to_dict(url), quote_via=quote)
        with get_backend(f"postgresql+psycopg://?{options}") as backend:
            backend.connection.prepare_threshold = None  # it may stand behind a pooler
            missing = backend.to_apply(read_migrations(str(migrations)))
            backend.apply_migrations(missing)
            return len(missing)


@contextmanager
def _alone(url: str) -> Iterator[None]:
    """Hold PostgreSQL's own lock, not yoyo's lock row, which a killed process would leave behind for ever.

    It ends with a transaction, as sessions behind a pooler do not last longer; this one may rest as long as it takes.
    """
    with psycopg.connect(url) as guard:
        guard.execute("set local statement_timeout = 0")
        guard.execute("set local idle_in_transaction_session_timeout = 0")
        guard.execute("select pg_advisory_xact_lock(%s)", [_LOCK])
        yield


def set_session_defaults(connection: Connection) -> None:
    """Let every later session of a database begin as ``SESSION_DEFAULTS`` says.

    For everybody, or for this role alone where it does not own the database. What is so already is left alone.
    """
    [(database, role)] = connection.execute("select current_database(), current_user").fetchall()
    for name, value in SESSION_DEFAULTS.items():
        if connection.execute("select current_setting(%s) = %s", [name, value]).fetchone() == (True,):
            continue
        setting = sql.SQL("set {} to {}").format(sql.Identifier(name), sql.Literal(value))
        try:
            connection.execute(sql.SQL("alter database {} {}").format(sql.Identifier(database), setting))
        except psycopg.errors.InsufficientPrivilege:
            one = sql.SQL("alter role {} in database {} {}")
            connection.execute(one.format(sql.Identifier(role), sql.Identifier(database), setting))


def applied(connection: Connection) -> list[str]:
    """Return the names of a database's migrations, oldest first."""
    if connection.execute("select to_regclass('_yoyo_migration')").fetchone() == (None,):
        return []
    return [name for (name,) in connection.execute("select migration_id from _yoyo_migration order by migration_id")]


def unknown_maker(names: Iterable[str], migrations: Path = MIGRATIONS) -> str | None:
    """Return what made a database that had the migrations ``names``, in words, if some of them are not ours."""
    ours = {path.stem for path in migrations.glob("*.sql")}
    had = set(names)
    if not had - ours:
        return None
    kind = "a newer release" if min(ours) in had else "an older, unreleased schema"
    return f"{kind} ({max(had - ours)})"


def _only_added_to(names: Iterable[str], migrations: Path) -> bool:
    """Say whether a newer release only added to the schema: this one's code bears that, as a house test sees to."""
    ours, had = {path.stem for path in migrations.glob("*.sql")}, set(names)
    return ours <= had and all(name > max(ours) and "_contract_" not in name for name in had - ours)


def main(arguments: list[str], migrations: Path = MIGRATIONS) -> int:
    """Migrate the database that ``DATABASE_URL`` names; return the exit code."""
    argparse.ArgumentParser(prog="make migrate", description=__doc__).parse_args(arguments)
    try:
        url = DatabaseAddress(DatabaseSettings().database_url.get_secret_value()).url()
        steps = migrate(url, migrations)
    except ValidationError:
        print("Set DATABASE_URL to the postgresql:// address of the database.", file=sys.stderr)
    except (SiftlineError, psycopg.OperationalError) as error:
        print(f"The database could not be migrated: {error}", file=sys.stderr)
    else:
        print(f"{steps} migrations applied." if steps else "The database is up to date.")
        return 0
    return 1
