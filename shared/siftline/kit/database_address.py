"""Where the database is: a URL, or a secret that holds one and may be rotated while processes run."""

import json
import threading
import time
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from siftline.kit.aws import SECRETS_MANAGER, SecretUnavailableError, read_secret

_READ_AGAIN_S = 10.0
"""A login that is refused again and again reads the secret no more often than this."""
_SCHEMES = ("postgresql://", "postgres://")
_GIVEN = ("DATABASE_URL", "secretsmanager:// and the id of a secret")
_UNREADABLE = (
    "it cannot be read: its port or an option is wrong, or a special character of the password is not percent-encoded"
)
_SECRET = ("The secret that DATABASE_URL names", "JSON with username and password")


class UnusableAddressError(SecretUnavailableError):
    """``DATABASE_URL``, or its secret, says no address of a database. Its text never stands in the message."""

    code = "database_address_unusable"


class DatabaseAddress:
    """The URL of a database, from ``DATABASE_URL``. Safe from several threads.

    Either a ``postgresql://`` URL, or ``secretsmanager://<secret id>``. Such a secret is a URL, or JSON as RDS and
    Secrets Manager write it: ``username``, ``password``, ``host``, ``port``, ``dbname``. What follows ``?`` in the name
    goes before what the secret says, as in ``secretsmanager://<id>?host=proxy.example&dbname=siftline&sslmode=require``:
    a secret that RDS manages names no host, and behind RDS Proxy another host counts.
    """

    def __init__(self, value: str) -> None:
        self._value = value
        self._lock = threading.Lock()
        self._url = "" if value.startswith(SECRETS_MANAGER) else value
        self._refused_at = -_READ_AGAIN_S

    def url(self) -> str:
        """Return the URL. Raises ``SecretUnavailableError``."""
        if not self._value.startswith(SECRETS_MANAGER):
            _of_url(self._value, _GIVEN)
        with self._lock:
            return self._url or self._read()

    def host(self) -> str | None:
        """Return the host, where it is known by now."""
        try:
            return urlsplit(self._url).hostname
        except ValueError:  # whoever connects says what is wrong with it
            return None

    def read_again(self) -> bool:
        """Read the secret again, as a login was refused, and return whether it says something else now."""
        if not self._value.startswith(SECRETS_MANAGER):
            return False
        with self._lock:
            if time.monotonic() - self._refused_at < _READ_AGAIN_S:
                return False
            self._refused_at = time.monotonic()
            before = self._url
            return self._read() != before

    def _read(self) -> str:
        name, _, options = self._value.removeprefix(SECRETS_MANAGER).partition("?")
        self._url = _with_options(_of_secret(read_secret(name)), dict(parse_qsl(options)))
        return self._url


def _of_secret(text: str) -> dict[str, str]:
    """Return what a secret says, as parameters of a connection."""
    if not text.lstrip().startswith("{"):
        return _of_url(text, _SECRET)
    try:
        return _of_fields(json.loads(text))
    except ValueError:
        raise _unusable(_SECRET) from None


def _of_url(text: str, whose: tuple[str, str]) -> dict[str, str]:
    """Return what a URL says, as parameters of a connection."""
    if not text.startswith(_SCHEMES):
        raise _unusable(whose)
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(text).items()}
        for port in parts.get("port", "").split(","):  # one for each host
            int(port or "5432")
    except (ValueError, ProgrammingError):
        raise _unusable(whose, _UNREADABLE) from None
    # Where a password holds a sign that should be encoded, what follows it is taken for the host, and told as such.
    if "@" in parts.get("host", "") + parts.get("dbname", ""):
        raise _unusable(whose, _UNREADABLE)
    return parts


def _of_fields(fields: dict[str, Any]) -> dict[str, str]:
    names = {"username": "user", "password": "password", "host": "host", "port": "port", "dbname": "dbname"}
    found = {names[name]: value for name, value in fields.items() if name in names and value not in (None, "")}
    if not all(isinstance(value, str | int) for value in found.values()):
        raise ValueError
    return {name: str(value) for name, value in found.items()}


def _with_options(parts: dict[str, str], options: dict[str, str]) -> str:
    """Return a URL of parameters, of which ``options`` go first."""
    every = {**parts, **options}
    missing = [name for name in ("user", "password", "host") if not every.get(name)]
    if missing:
        raise _unusable(_SECRET, f"it says no {missing[0]}, and neither does DATABASE_URL after the question mark")
    user, password, host = (quote(every.pop(name), safe="") for name in ("user", "password", "host"))
    port, database = every.pop("port", "5432"), quote(every.pop("dbname", ""), safe="")
    query = f"?{urlencode(every, quote_via=quote)}" if every else ""
    return f"postgresql://{user}:{password}@{host}:{port}/{database}{query}"


def _unusable(whose: tuple[str, str], why: str = "") -> UnusableAddressError:
    what, other = whose
    why = why or f"it is neither a postgresql:// URL nor {other}"
    return UnusableAddressError(f"{what} cannot be used: {why}.")
