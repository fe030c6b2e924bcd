"""Make a user with a first token: ``make user NAME=Ada``. The token is printed once and cannot be had again."""

import argparse
import sys
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from uuid import UUID

from pydantic import ValidationError

from infra.local.answer import run
from infra.local.errors import SetUpError
from siftline.api.callers import Scope
from siftline.api.tokens import create_user, issue_token
from siftline.jobs import credits_store
from siftline.kit.aws import secret
from siftline.kit.db import Database, SingleConnection
from siftline.kit.errors import SiftlineError
from siftline.settings import DatabaseSettings, LocalSettings


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user just made, with the secret of their token."""

    id: UUID
    token: str


def make_user(database: Database, name: str, *, time_zone: str = "UTC", scopes: Iterable[Scope] = Scope) -> NewUser:
    """Make a user with a token that does not end, and with the credits of ``NEW_USER_CREDITS``.

    Raises ``UnknownTimeZoneError`` and ``DatabaseUnavailableError``.
    """
    balance = LocalSettings().new_user_credits
    with database.transaction() as connection:
        user_id = create_user(connection, name, time_zone)
        if balance is not None:
            credits_store.grant(connection, user_id, balance)
        return NewUser(user_id, issue_token(connection, user_id, "first token", scopes, None))


def open_database() -> Database:
    """Connect to the database of ``DATABASE_URL``. Raises ``SetUpError``."""
    try:
        settings = DatabaseSettings()
    except ValidationError as error:
        raise SetUpError("Set DATABASE_URL to the postgresql:// address of the database.") from error
    return SingleConnection(secret(settings.database_url.get_secret_value()))


def main(arguments: list[str]) -> int:
    """Make a user as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="make user", description="Make a user and print a token.")
    parser.add_argument("--name", default="", help="who it is")
    parser.add_argument("--time-zone", default="UTC", help="IANA name, such as Europe/Berlin")
    parser.add_argument(
        "--scope", action="append", choices=[scope.value for scope in Scope], help="default: read and write"
    )
    parser.add_argument("--ops", action="store_true", help="an operator: every scope")
    chosen = parser.parse_args(arguments)
    if not chosen.name.strip():
        print("Say whose account it is: make user NAME=Ada", file=sys.stderr)
        return 2
    scopes = tuple(Scope) if chosen.ops else tuple(Scope(name) for name in chosen.scope or (Scope.READ, Scope.WRITE))
    try:
        with closing(open_database()) as database:
            made = make_user(database, chosen.name.strip(), time_zone=chosen.time_zone, scopes=scopes)
    except (SiftlineError, SetUpError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"user  {made.id}\ntoken {made.token}")
    return 0


if __name__ == "__main__":
    run(main)
