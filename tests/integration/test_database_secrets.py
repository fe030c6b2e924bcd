"""The database's address is a secret that may change while we run, and that no message tells."""

import json
import secrets
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import boto3
import psycopg
import pytest
from psycopg import sql

from infra.local.aws import CLIENT_OPTIONS
from siftline.kit.aws import SecretUnavailableError
from siftline.kit.database_address import DatabaseAddress
from siftline.kit.db import Database, DatabaseUnavailableError, Pool, SingleConnection

NASTY = "p@ss/w:rd?#%25 'ä"
MADE = [lambda url: Pool(url, size=1, wait_s=20), SingleConnection]


class Vault:
    """Secrets Manager of the run's MiniStack, and a role of PostgreSQL whose password it keeps."""

    def __init__(self, endpoint: str, database_url: str) -> None:
        self._client = boto3.client("secretsmanager", endpoint_url=endpoint, **CLIENT_OPTIONS)
        self._admin_url = database_url
        parts = urlsplit(database_url)
        self.place = {"host": parts.hostname, "port": parts.port, "dbname": parts.path[1:]}
        self.role = f"app_{secrets.token_hex(4)}"
        self.name = f"siftline/{self.role}"

    def keep(self, text: str) -> str:
        """Make the secret, or change it; return what ``DATABASE_URL`` says then."""
        try:
            self._client.create_secret(Name=self.name, SecretString=text)
        except self._client.exceptions.ResourceExistsException:
            self._client.put_secret_value(SecretId=self.name, SecretString=text)
        return f"secretsmanager://{self.name}"

    def set_password(self, password: str) -> None:
        """Give the role a password, making it first where it is missing, and end its sessions."""
        with psycopg.connect(self._admin_url, autocommit=True) as admin:
            known = admin.execute("select 1 from pg_roles where rolname = %s", [self.role]).fetchone()
            verb = sql.SQL("alter" if known else "create")
            role = sql.Identifier(self.role)
            admin.execute(sql.SQL("{} role {} login password {}").format(verb, role, sql.Literal(password)))
            admin.execute(
                "select pg_terminate_backend(pid, 60000) from pg_stat_activity where usename = %s", [self.role]
            )

    def close(self) -> None:
        """Remove the role."""
        with psycopg.connect(self._admin_url, autocommit=True) as admin:
            admin.execute(
                "select pg_terminate_backend(pid, 60000) from pg_stat_activity where usename = %s", [self.role]
            )
            admin.execute(sql.SQL("drop role if exists {}").format(sql.Identifier(self.role)))
        self._client.close()


@pytest.fixture
def vault(
    sqs_endpoint: str, aws_environment: dict[str, str], postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Vault]:
    for name, value in aws_environment.items():
        monkeypatch.setenv(name, value)
    with closing(Vault(sqs_endpoint, postgres_url)) as one:
        yield one


def who(database: Database) -> Any:
    with database.transaction() as connection:
        row = connection.execute("select current_user").fetchone()
    return row and row[0]


def whole(vault: Vault, password: str) -> str:
    return json.dumps({"engine": "postgres", "username": vault.role, "password": password, **vault.place})


@pytest.mark.parametrize("made", MADE, ids=["pool", "single"])
@pytest.mark.parametrize(
    ("text", "options"),
    [
        (whole, ""),
        (lambda vault, password: json.dumps({"username": vault.role, "password": password}), "given"),
        (lambda vault, password: json.dumps({**json.loads(whole(vault, password)), "host": "192.0.2.1"}), "given"),
        (lambda vault, password: DatabaseAddress(vault.keep(whole(vault, password))).url(), ""),
    ],
    ids=["whole", "as RDS manages it", "behind a proxy", "a URL"],
)
def test_every_form_of_a_secret_leads_to_the_database(
    vault: Vault, made: Callable[[str], Database], text: Callable[[Vault, str], str], options: str
) -> None:
    vault.set_password(NASTY)
    given = f"?host={vault.place['host']}&port={vault.place['port']}&dbname={vault.place['dbname']}&sslmode=prefer"
    with closing(made(vault.keep(text(vault, NASTY)) + (given if options else ""))) as database:
        assert who(database) == vault.role


@pytest.mark.parametrize("made", MADE, ids=["pool", "single"])
def test_a_password_that_was_rotated_is_read_when_the_old_one_is_refused(
    vault: Vault, made: Callable[[str], Database]
) -> None:
    vault.set_password("first")
    with closing(made(vault.keep(whole(vault, "first")))) as database:
        assert who(database) == vault.role
        vault.keep(whole(vault, NASTY))
        vault.set_password(NASTY)  # ends the sessions, too
        try:
            found = who(database)
        except DatabaseUnavailableError:  # the session that was there has gone; the next is a new one
            found = who(database)
        assert found == vault.role


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("hunter2", "neither a postgresql:// URL nor JSON"),
        ('{"password": "hunter2"', "neither a postgresql:// URL nor JSON"),
        ('["hunter2"]', "neither a postgresql:// URL nor JSON"),
        ('{"password": "hunter2", "host": "db"}', "it says no user"),
        ('{"username": "app", "password": "hunter2"}', "it says no host"),
        ('{"username": "app", "password": {"old": "hunter2"}, "host": "db"}', "neither a postgresql:// URL nor JSON"),
        ("postgresql://app:p@hunter2/x@db/siftline", "it cannot be read: its port"),
        ("postgresql://app:p@hunter2@db/siftline", "it cannot be read: its port"),
        ("postgresql://app:12/hunter2@db/siftline", "it cannot be read: its port"),
        ("postgresql://app:x@db:hunter2/siftline", "it cannot be read: its port"),
        ("postgresql://app:x@db/siftline?hunter2=1", "it cannot be read: its port"),
        (" ", "neither a postgresql:// URL nor JSON"),
    ],
)
def test_a_secret_that_cannot_be_used_is_told_without_its_text(vault: Vault, text: str, why: str) -> None:
    with closing(SingleConnection(vault.keep(text))) as database:
        with pytest.raises(DatabaseUnavailableError, match=why) as raised:
            who(database)
        told = "".join(traceback.format_exception(raised.value))
    assert "hunter2" not in told


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("hunter2", "it is neither a postgresql:// URL nor secretsmanager://"),
        ("mysql://app:hunter2@db/siftline", "it is neither a postgresql:// URL nor secretsmanager://"),
        ("postgresql://app:hunter2@[::1/siftline", "it cannot be read: its port"),
        ("postgresql://app:x@db:hunter2/siftline", "it cannot be read: its port"),
        ("postgresql://app:p@hunter2@db/siftline", "it cannot be read: its port"),
    ],
)
def test_an_unusable_url_is_told_without_its_text(url: str, why: str) -> None:
    with closing(SingleConnection(url)) as database:
        with pytest.raises(DatabaseUnavailableError, match=f"^DATABASE_URL cannot be used: {why}") as raised:
            who(database)
        told = "".join(traceback.format_exception(raised.value))
    assert "hunter2" not in told


def test_several_hosts_are_one_address() -> None:
    url = "postgresql://app:x@one:5432,two:5433/siftline?target_session_attrs=primary"
    assert DatabaseAddress(url).url() == url


def test_a_secret_is_told_that_nobody_can_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SecretUnavailableError, match="could not be read: set AWS_REGION"):
        DatabaseAddress("secretsmanager://x").url()
    for value in ("secretsmanager://", "secretsmanager://?host=db"):
        with pytest.raises(SecretUnavailableError, match="A setting names no secret"):
            DatabaseAddress(value).url()


def test_a_secret_that_is_not_there_is_told(vault: Vault) -> None:
    missing = SingleConnection(f"secretsmanager://{vault.name}")
    with closing(missing), pytest.raises(DatabaseUnavailableError, match="could not be read"):
        who(missing)


def test_a_secret_that_is_refused_is_read_once_in_a_while_and_no_more(vault: Vault) -> None:
    vault.set_password("right")
    address = DatabaseAddress(vault.keep(whole(vault, "wrong")))
    assert "wrong" in address.url()
    vault.keep(whole(vault, "right"))
    assert address.read_again()
    vault.keep(whole(vault, "later"))
    assert not address.read_again()
    assert "right" in address.url()
