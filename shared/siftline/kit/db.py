"""PostgreSQL through psycopg 3: one connection in a warm Lambda environment, a pool in a worker.

Transactions are short: no HTTP, model or vector call stands inside one.
"""

import json
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any, Protocol, Self, TypeVar

import psycopg
from psycopg import DataError
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Loader
from psycopg.errors import DeadlockDetected, ReadOnlySqlTransaction, SerializationFailure
from psycopg.pq import Format
from psycopg.types.json import set_json_loads
from psycopg_pool import ConnectionPool, PoolTimeout
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from siftline.kit.aws import SecretUnavailableError
from siftline.kit.database_address import DatabaseAddress
from siftline.kit.errors import TransientError
from siftline.kit.trace import span

Connection = psycopg.Connection[Any]
_First = TypeVar("_First")
_Result = TypeVar("_Result")
_CONFLICT_TRIES = 5
_CONFLICT_WAIT = wait_random_exponential(multiplier=0.02, max=0.5)
# A connection that was just in use, and on which nothing came in since, needs no round trip to show that it lives.
_UNCHECKED_S = 1.0
_CONNECT_S = 10
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
# What a server that is gone without a word costs, at most about: the connection is given up then.
_LIMITS: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
SESSION_DEFAULTS = {"timezone": "UTC", "statement_timeout": "30s", "idle_in_transaction_session_timeout": "1min"}
"""What every session begins with. The database itself says so, since its migration (``siftline.operate.migrate``):
poolers refuse or forget what a session asks for."""
_SPAN = "PostgreSQL"


class DatabaseUnavailableError(TransientError):
    """No connection could be had, or it was lost; whatever was under way is rolled back or unknown."""

    code = "database_unavailable"


class ConflictError(DatabaseUnavailableError):
    """PostgreSQL broke the transaction off to end a deadlock or a conflict: nothing of it has happened."""

    code = "database_conflict"


def nearest(instant: str) -> str:
    """Return the SQL of an instant that is not null, as ``_AnyInstant`` reads it: seconds up to it are finite, too.

    PostgreSQL before 17 subtracts no infinite instant, and later ones return a number that is no JSON.
    """
    return f"least(greatest({instant}, '{_FIRST.isoformat()}'), '{_LAST.isoformat()}')"


class _AnyInstant(Loader):
    """Loads a ``timestamptz`` as psycopg does; one that Python cannot hold, as the nearest that it can.

    PostgreSQL knows infinity, and years before 1 and after 9999. One such value must not fail a statement that reads
    many rows.
    """

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        self._load = psycopg.adapters.get_loader(oid, self.format)(oid, context).load  # type: ignore[misc]  # it is known

    def load(self, data: Buffer) -> datetime:
        """Return an instant."""
        try:
            moment: datetime = self._load(data)
        except (DataError, OverflowError, ValueError):
            return _FIRST if self._is_early(bytes(data)) else _LAST
        return moment

    def _is_early(self, data: bytes) -> bool:
        return data.startswith(b"-") or data.endswith(b"BC")


class _AnyInstantBinary(_AnyInstant):
    format = Format.BINARY

    def _is_early(self, data: bytes) -> bool:
        return data[0] >= 0x80  # negative: before 2000


def _any_json(text: str | bytes) -> Any:
    """Load JSON; a whole number of more digits than Python takes (4,300), as the float that it is nearest to."""
    try:
        return json.loads(text)
    except ValueError:
        return json.loads(text, parse_int=float)


def behind_pooler(connection: psycopg.Connection[Any]) -> bool:
    """Tell whether each transaction may meet another session: a pooler answers with a process id of its own."""
    [(backend,)] = connection.execute("select pg_backend_pid()").fetchall()
    return bool(backend != connection.info.backend_pid)


def _prepare(connection: psycopg.Connection[Any]) -> None:
    if behind_pooler(connection):  # another session knows of no statement that was prepared before
        connection.prepare_threshold = None
    set_json_loads(_any_json, connection)
    for loader in (_AnyInstant, _AnyInstantBinary):
        connection.adapters.register_loader("timestamptz", loader)


class Database(Protocol):
    """Hands out transactions."""

    def transaction(self) -> AbstractContextManager[Connection]:
        """Open a transaction: committed at the end of the block, rolled back when it raises.

        Raises ``DatabaseUnavailableError`` when the server cannot be reached or went away.
        """
        ...

    def statement(self) -> AbstractContextManager[Connection]:
        """Lend a connection on which each statement is a transaction by itself: two round trips less for a single one.

        Raises ``DatabaseUnavailableError`` as ``transaction`` does.
        """
        ...

    def close(self) -> None:
        """Give the connections back."""
        ...


class _Connection(psycopg.Connection[Any]):
    """A connection that knows when it was last in use, by ``time.monotonic``."""

    used_at = 0.0

    @classmethod
    def connect(cls, conninfo: str = "", *, address: DatabaseAddress, **kwargs: Any) -> Self:  # type: ignore[override]  # noqa: ARG003  -- a pool gives both
        """Open a connection to ``address``: where that is refused and its secret has changed, to what it says now."""
        try:
            return super().connect(address.url(), autocommit=True, **kwargs, **_LIMITS)
        except psycopg.OperationalError:
            if not address.read_again():
                raise
            return super().connect(address.url(), autocommit=True, **kwargs, **_LIMITS)


class SingleConnection:
    """One connection, kept while the environment is warm and opened again when it broke.

    ``url`` is what ``DATABASE_URL`` may be (``DatabaseAddress``). ``unavailable`` is called whenever the server could
    not be reached or went away.
    """

    def __init__(
        self, url: str, *, connect_timeout_s: int = _CONNECT_S, unavailable: Callable[[], None] = lambda: None
    ) -> None:
        self._address = DatabaseAddress(url)
        self._unavailable = unavailable
        self._connect_timeout_s = connect_timeout_s
        self._connection: Connection | None = None
        self._lock = threading.RLock()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Open a transaction on the one connection; a second thread waits its turn."""
        with self.statement() as connection, connection.transaction():
            yield connection

    @contextmanager
    def statement(self) -> Iterator[Connection]:
        """Lend the one connection; a second thread waits its turn."""
        with self._lock, _translated(self._unavailable), span(_SPAN, self._address.host()):
            connection = self._open()
            try:
                yield connection
            except ReadOnlySqlTransaction:
                self.close()
                raise
            finally:
                if connection.broken:
                    self.close()

    def close(self) -> None:
        """Close the connection, if there is one."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = _Connection.connect(address=self._address, connect_timeout=self._connect_timeout_s)
            _prepare(self._connection)
        return self._connection


class Pool:
    """At most ``size`` connections, checked before use; for processes that run many handlers at once.

    ``url`` and ``unavailable`` are as those of ``SingleConnection``.
    """

    def __init__(
        self, url: str, *, size: int, wait_s: float = 10.0, unavailable: Callable[[], None] = lambda: None
    ) -> None:
        self._address = DatabaseAddress(url)
        self._unavailable = unavailable
        self._wait_s = wait_s
        _tell_as_json()
        self._pool = ConnectionPool(
            connection_class=_Connection,
            min_size=1,
            max_size=size,
            kwargs={"address": self._address, "connect_timeout": _CONNECT_S},
            configure=_prepare,
            open=True,
        )

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Open a transaction on a pooled connection; waits at most ``wait_s`` seconds for one."""
        with self.statement() as connection, connection.transaction():
            yield connection

    @contextmanager
    def statement(self) -> Iterator[Connection]:
        """Lend a pooled connection; waits at most ``wait_s`` seconds for one."""
        with _translated(self._unavailable), span(_SPAN, self._address.host()), self._lent() as connection:
            try:
                yield connection
            except ReadOnlySqlTransaction:
                connection.close()
                raise

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    @contextmanager
    def _lent(self) -> Iterator[_Connection]:
        """Lend a connection that lives. Dead ones are dropped at once: the pool's own check would pause after each."""
        until_s = time.monotonic() + self._wait_s
        while not _lives(connection := self._pool.getconn(max(until_s - time.monotonic(), 0))):
            connection.close()
            self._pool.putconn(connection)
        try:
            with connection:
                yield connection
        finally:
            connection.used_at = time.monotonic()
            self._pool.putconn(connection)


def _tell_as_json() -> None:
    """Have the pool's own lines, which its threads write when they cannot connect, in our form."""
    from aws_lambda_powertools.logging.utils import copy_config_to_registered_loggers  # noqa: PLC0415 - a pool's

    from siftline.kit.log import logger  # noqa: PLC0415 - as above: the authorizer starts without

    copy_config_to_registered_loggers(logger("database"), log_level="WARNING", include={"psycopg"})


def _lives(connection: _Connection) -> bool:
    """Ask the server, unless the connection was in use a moment ago and nothing, such as its end, came in since."""
    if time.monotonic() - connection.used_at <= _UNCHECKED_S and not _speaks(connection):
        return True
    try:
        ConnectionPool.check_connection(connection)
    except psycopg.OperationalError:
        return False
    return True


def _speaks(connection: Connection) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def settled(database: Database, work: Callable[[Connection], _Result], *, single: bool = False) -> _Result:
    """Run ``work`` in a transaction of its own, and again, five times in all, where a conflict undid it.

    ``single``: it is one statement, which needs no transaction around it.

    Everybody takes a job before its subject, so that they wait for each other in one order. Where that cannot be (a
    job that comes into being in between), PostgreSQL undoes one of them, now and then; the waits before the next try
    differ, so that two that met do not meet again. ``work`` must be fit to run again.
    """
    tries = Retrying(
        retry=retry_if_exception_type(ConflictError),
        stop=stop_after_attempt(_CONFLICT_TRIES),
        wait=_CONFLICT_WAIT,
        reraise=True,
    )
    result: _Result = tries(_once, database.statement if single else database.transaction, work)
    return result


def settled_after(
    database: Database,
    first: Callable[[Connection], Callable[[], _First]],
    work: Callable[[Connection, _First], _Result],
) -> _Result:
    """Do as ``settled`` does; what ``first`` sends goes to the server together with the transaction's begin.

    ``first`` fetches nothing yet but returns what will (pipeline mode of libpq: to fetch there would cost the round
    trip that is saved here); ``work`` is handed what that returned.
    """

    def both(connection: Connection) -> _Result:
        with ExitStack() as stack:
            with connection.pipeline():
                # Not connection.transaction(): begun in a pipeline, that would keep it open to its end.
                stack.enter_context(psycopg.Transaction(connection))
                fetch = first(connection)
            return work(connection, fetch())

    return settled(database, both, single=True)


def _once(opening: Callable[[], AbstractContextManager[Connection]], work: Callable[[Connection], _Result]) -> _Result:
    with opening() as connection:
        return work(connection)


@contextmanager
def _translated(unavailable: Callable[[], None]) -> Iterator[None]:
    try:
        yield
    except (DeadlockDetected, SerializationFailure) as error:
        raise ConflictError("The database aborted the transaction because of a conflict with another one.") from error
    except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout) as error:
        unavailable()
        raise DatabaseUnavailableError("The database could not be reached.") from error
    except SecretUnavailableError as error:
        unavailable()
        raise DatabaseUnavailableError(error.detail) from error
    except ReadOnlySqlTransaction as error:
        # A replica since a failover: the connection is dropped, the next one finds home.
        unavailable()
        raise DatabaseUnavailableError("The database does not accept writes at the moment.") from error
    except psycopg.InternalError as error:
        # Without a state it is the client's: a pooler whose session ended in mid transaction answers a commit twice.
        if error.sqlstate is not None:
            raise
        unavailable()
        raise DatabaseUnavailableError("The database could not be reached.") from error


@cache
def open_database(url: str, pool_size: int) -> Database:
    """Return the process's database for this URL: a single connection for ``pool_size`` 1, else a pool."""
    if pool_size == 1:
        return SingleConnection(url, unavailable=_count_unavailable)
    return Pool(url, size=pool_size, unavailable=_count_unavailable)


def _count_unavailable() -> None:
    from siftline.kit.metrics import COUNT, emit  # noqa: PLC0415 - the authorizer starts without, and mostly needs none

    emit({"DatabaseUnavailable": (1, COUNT)}, {})
