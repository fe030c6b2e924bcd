"""Bring a database's tables up to date with ``infra/migrations``. Safe to run twice, and twice at once."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from pydantic import ValidationError
from yoyo import get_backend, read_migrations  # type: ignore[import-untyped]  # it ships no types

from infra.local.answer import run
from siftline.kit.aws import secret
from siftline.kit.errors import SiftlineError
from siftline.settings.functions import DatabaseSettings

MIGRATIONS = Path(__file__).resolve().parents[1] / "migrations"
_LOCK = 7_748_454  # any number that nobody else takes an advisory lock on


def create_database(server_url: str, name: str) -> None:
    """Create a database unless it exists, on the server whose database ``postgres`` is at ``server_url``."""
    with psycopg.connect(server_url, autocommit=True) as connection:
        if connection.execute("select 1 from pg_database where datname = %s", [name]).fetchone() is None:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))


def migrate(url: str) -> int:
    """Apply what is missing to the database at a ``postgresql://`` URL; return how many migrations that was.

    Each migration is one transaction. A second, simultaneous call waits for the first.
    """
    with _locked(url) as backend:
        missing = backend.to_apply(read_migrations(str(MIGRATIONS)))
        backend.apply_migrations(missing)
        return len(missing)


def roll_back(url: str) -> int:
    """Undo every migration, newest first; return how many that was."""
    with _locked(url) as backend:
        applied = backend.to_rollback(read_migrations(str(MIGRATIONS)))
        backend.rollback_migrations(applied)
        return len(applied)


@contextmanager
def _locked(url: str) -> Iterator[Any]:
    """Hold PostgreSQL's own lock, not yoyo's lock row, which a killed process would leave behind for ever."""
    with psycopg.connect(url, autocommit=True) as guard:
        guard.execute("select pg_advisory_lock(%s)", [_LOCK])
        with get_backend(url.replace("postgresql://", "postgresql+psycopg://", 1)) as backend:
            yield backend


def main(arguments: list[str]) -> int:
    """Migrate the database that ``DATABASE_URL`` names; return the exit code."""
    argparse.ArgumentParser(prog="make migrate", description=__doc__).parse_args(arguments)
    try:
        url = secret(DatabaseSettings().database_url.get_secret_value())
        applied = migrate(url)
    except ValidationError:
        print("Set DATABASE_URL to the postgresql:// address of the database.", file=sys.stderr)
    except (SiftlineError, psycopg.OperationalError) as error:
        print(f"The database could not be migrated: {error}", file=sys.stderr)
    else:
        print(f"{applied} migrations applied." if applied else "The database was up to date.")
        return 0
    return 1


if __name__ == "__main__":
    run(main, beside=True)
