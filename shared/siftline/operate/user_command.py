"""Users: ``make user NAME=Ada`` makes one with a token, ``LIST=1`` shows all, ``TOKEN=Ada``, ``DELETE=Ada``.

A token is printed once and cannot be had again.
"""

import argparse
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pydantic import TypeAdapter, ValidationError

from siftline.api.account.tokens_store import NameTakenError, add_token, add_user, revoke_all
from siftline.api.http.callers import Scope
from siftline.api.http.shapes import Name
from siftline.jobs import credits_store, deletions
from siftline.jobs.deletions_store import AccountRow, accounts, find
from siftline.kit.db import Connection, Database, SingleConnection
from siftline.kit.errors import SiftlineError
from siftline.operate.command_line import counted, same_place
from siftline.operate.set_up_error import SetUpError
from siftline.settings.fault_words import sentence
from siftline.settings.functions import DatabaseSettings, UserSettings


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user just made, with the secret of their token."""

    id: UUID
    token: str
    revoked: int = 0
    """How many other tokens, feed tokens among them, were revoked for it."""


def make_user(database: Database, name: str, *, time_zone: str = "UTC", scopes: Iterable[Scope] = Scope) -> NewUser:
    """Make a user with a token that does not end, and with the credits of ``NEW_USER_CREDITS``.

    Raises ``NameTakenError``, ``UnknownTimeZoneError`` and ``DatabaseUnavailableError``.
    """
    balance = UserSettings().new_user_credits
    with database.transaction() as connection:
        user_id = add_user(connection, name, time_zone)
        if balance is not None:
            credits_store.grant(connection, user_id, balance)
        token, _ = add_token(connection, user_id, "first token", scopes)
        return NewUser(user_id, token)


def reissue(database: Database, word: str, *, scopes: Iterable[Scope] = Scope, revoke: bool = False) -> NewUser:
    """Give the user of this name or id another token that does not end; with ``revoke`` all others end now.

    Raises ``SetUpError`` where there is no such user or they are being deleted, and ``DatabaseUnavailableError``.
    """
    with database.transaction() as connection:
        user_id = user_named(connection, word)
        [account] = accounts(connection, user_id)
        if account.deleted_at is not None:
            raise SetUpError("This user is being deleted.")
        revoked = revoke_all(connection, user_id) if revoke else 0
        token, _ = add_token(connection, user_id, "reissued", scopes)
        return NewUser(user_id, token, revoked)


def user_named(connection: Connection, word: str) -> UUID:
    """Return the user of this name, whatever its case, or of this id. Raises ``SetUpError``."""
    found = find(connection, word)
    if not found:
        raise SetUpError(f"There is no user {word}. make user LIST=1{same_place.get()} lists all users.")
    if len(found) > 1:
        raise SetUpError(f"{word} is the name of one user and the id of another: rename the first user.")
    return found[0]


def delete_user(database: Database, user_id: UUID) -> bool:
    """Delete a user with all that only they hold; says whether they are gone.

    Else what is left waits for jobs that are in work: the schedule goes on with it within minutes.
    """
    with database.transaction() as connection:
        deletions.begin(connection, user_id)
    while deletions.work_on(database, user_id):
        pass
    with database.transaction() as connection:
        return not accounts(connection, user_id)


def open_database() -> Database:
    """Connect to the database of ``DATABASE_URL``. Raises ``SetUpError``."""
    try:
        settings = DatabaseSettings()
    except ValidationError as error:
        raise SetUpError("Set DATABASE_URL to the postgresql:// address of the database.") from error
    return SingleConnection(settings.database_url.get_secret_value())


def _show_all(database: Database) -> None:
    with database.transaction() as connection:
        rows = accounts(connection)
    lines = [
        ("name", "id", "created", "items", "sources", "tokens", "oldest", "newest", "last used"),
        *map(_line, rows),
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _line(row: AccountRow) -> tuple[str, ...]:
    name = row.name if row.deleted_at is None else "(being deleted)"
    numbers = (str(row.items), str(row.sources), str(row.tokens))
    used = f"{row.last_seen_at:%Y-%m-%d %H:%M}Z" if row.last_seen_at else f"not since {row.seen_since:%Y-%m-%d %H:%M}Z"
    return (
        name,
        str(row.id),
        _day(row.created_at),
        *numbers,
        _day(row.oldest_token_at),
        _day(row.newest_token_at),
        used,
    )


def _day(moment: datetime | None) -> str:
    return "-" if moment is None else f"{moment:%Y-%m-%d}"


def _delete(database: Database, word: str, *, sure: bool) -> None:
    with database.transaction() as connection:
        user_id = user_named(connection, word)
        [account] = accounts(connection, user_id)
    held = [counted(account.items, "item"), counted(account.sources, "source"), counted(account.tokens, "token")]
    what = f"{account.name} ({account.id}) with {', '.join(held)}"
    if not sure:
        confirm(f"This deletes {what}, and everything only this user has. It cannot be undone.", "YES=1")
    if delete_user(database, user_id):
        print(f"deleted {what}")
    else:
        print(f"deleting {what}: the rest follows within minutes, after running jobs")


def _name(text: str) -> str:
    """Return a name as the API takes it. Raises ``SetUpError``."""
    try:
        return TypeAdapter[str](Name).validate_python(text)
    except ValidationError as error:
        [fault] = error.errors(include_url=False)
        raise SetUpError(f"Invalid name. {sentence(fault)}.") from error


def confirm(question: str, otherwise: str) -> None:
    """Ask at the terminal once whether it is meant. Raises ``SetUpError`` where it is not, or where nobody is there."""
    if not sys.stdin or not sys.stdin.isatty():
        raise SetUpError(f"{question} No terminal to confirm it: add {otherwise}.")
    print(f"{question}\nType yes to continue: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() != "yes":
        raise SetUpError("Nothing was changed.")


def main(arguments: list[str]) -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="make user", description="Create, list and delete users, and create tokens.")
    parser.add_argument("--name", default="", help="create a user with this name")
    parser.add_argument("--list", action="store_true", help="list all users")
    parser.add_argument("--token", default="", help="create another token for the user with this name or id")
    parser.add_argument("--revoke", action="store_true", help="with --token: revoke all other tokens")
    parser.add_argument("--delete", default="", help="delete the user with this name or id")
    parser.add_argument("--yes", action="store_true", help="with --delete: do not ask")
    parser.add_argument("--time-zone", default="UTC", help="IANA name, such as Europe/Berlin")
    parser.add_argument(
        "--scope", action="append", choices=[scope.value for scope in Scope], help="default: read and write"
    )
    parser.add_argument("--ops", action="store_true", help="operator: all scopes")
    chosen = parser.parse_args(arguments)
    name, token, delete = chosen.name.strip(), chosen.token.strip(), chosen.delete.strip()
    scopes = tuple(Scope) if chosen.ops else tuple(Scope(name) for name in chosen.scope or (Scope.READ, Scope.WRITE))

    def make(database: Database) -> None:
        _tell(make_user(database, _name(name), time_zone=chosen.time_zone, scopes=scopes))

    wanted: list[Callable[[Database], None]] = []
    if name:
        wanted.append(make)
    if chosen.list:
        wanted.append(_show_all)
    if token:
        wanted.append(lambda database: _tell(reissue(database, token, scopes=scopes, revoke=chosen.revoke)))
    if delete:
        wanted.append(lambda database: _delete(database, delete, sure=chosen.yes))
    if len(wanted) != 1:
        print(
            f"Set a name: make user NAME=Ada{same_place.get()}"
            if not wanted
            else "Set only one of NAME, LIST, TOKEN and DELETE.",
            file=sys.stderr,
        )
        return 2
    try:
        with closing(open_database()) as database:
            wanted[0](database)
    except NameTakenError as error:
        print(f"{error} make user TOKEN={name!r}{same_place.get()} creates another token.", file=sys.stderr)
        return 1
    except (SiftlineError, SetUpError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _tell(made: NewUser) -> None:
    print(f"user  {made.id}\ntoken {made.token}")
    if made.revoked:
        print(
            f"Revoked {counted(made.revoked, 'other token')}, feed tokens included; within a minute no request passes "
            "with them. If the token file of make run was among them, the next make run writes a new one."
        )
