"""One database takes another's place at once, and whatever a killed restore left is put right by the next start.

While it is restored a database stands beside the real one as ``…_restoring``; the one that it replaces stands aside as
``…_replaced`` until it is dropped. Both change their names in one transaction, so that there is a whole one of the real
name at any moment.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
from psycopg import sql
from psycopg.errors import ObjectInUse

from siftline.kit.db import Connection, behind_pooler
from siftline.operate.migrate import create_database
from siftline.operate.set_up_error import SetUpError

_LOCK = 7_748_455  # as that of migrations, one further
_NAME_MAX_BYTES = 63 - len("_restoring")  # PostgreSQL cuts longer names, and then they are others'
_TRIES = 5
_FOUND = "select datname, datconnlimit = -2 from pg_database where datname = any(%s)"  # -2: its drop was broken off
_OTHERS_END = """
select pg_terminate_backend(pid) from pg_stat_activity where datname = %s and backend_type = 'client backend'
"""


def beside(name: str) -> str:
    """Return the name of the database in which one that will be called ``name`` is made. Raises ``SetUpError``."""
    if len(name.encode()) > _NAME_MAX_BYTES:
        raise SetUpError(f"The name of the database {name} is too long: choose one of up to {_NAME_MAX_BYTES} letters.")
    return f"{name}_restoring"


def _aside(name: str) -> str:
    return f"{name}_replaced"


def refuse_pooler(connection: Connection) -> None:
    """Raise ``SetUpError`` where a connection leads through a pooler.

    ``pg_dump`` and ``pg_restore`` empty the search path of their session, and a restore locks by its own: a pooler
    would hand such a session to others, who find no table in it, or a database that is being restored for good.
    """
    if behind_pooler(connection):
        raise SetUpError("DATABASE_URL leads to a pooler: back up and restore by the address of the server itself.")


@contextmanager
def replacing(server: str, name: str) -> Iterator[Connection]:
    """Yield a connection to the database ``postgres`` of a server, whose ``name`` nobody else replaces meanwhile.

    What a restore that was killed left is put right before; of a database that is lost, an empty one is made. What this
    one leaves is cleared away afterwards. Raises ``SetUpError``.
    """
    beside(name)
    with psycopg.connect(server, autocommit=True) as connection:
        refuse_pooler(connection)
        if not _lock(connection, name):
            raise SetUpError(f"The database {name} is being restored already: wait until that has finished.")
        _mend(connection, name, may_be_lost=True)
        create_database(server, name)
        try:
            yield connection
        finally:
            with suppress(psycopg.Error):  # the next start does it
                _mend(connection, name, may_be_lost=False)


def mend(server: str, name: str) -> None:
    """Put right what a restore that was killed left of a database; nothing is done while one runs, or by a pooler.

    Raises ``SetUpError`` where there is no whole database left.
    """
    with psycopg.connect(server, autocommit=True) as connection:
        if not behind_pooler(connection) and _lock(connection, name):
            _mend(connection, name, may_be_lost=False)


def swap(connection: Connection, name: str) -> None:
    """Let what stands beside a database take its place, or nothing happen. Who uses either is disconnected.

    Raises ``SetUpError`` where others keep connecting to it.
    """
    for _ in range(_TRIES):
        try:
            with connection.transaction():
                _rename(connection, name, _aside(name))
                _rename(connection, beside(name), name)
        except ObjectInUse:
            continue
        return
    raise SetUpError(f"Other programs keep connecting to the database {name}: stop them first.")


def _lock(connection: Connection, name: str) -> bool:
    row = connection.execute("select pg_try_advisory_lock(%s, hashtext(%s))", [_LOCK, name]).fetchone()
    return bool(row and row[0])


def _mend(connection: Connection, name: str, *, may_be_lost: bool) -> None:
    wanted = [name, _aside(name), f"{name}_restoring"]
    found = dict(connection.execute(_FOUND, [wanted]).fetchall())
    whole = [one for one in wanted if found.get(one) is False]
    if name in found and not whole and not may_be_lost:
        raise SetUpError(
            f"The database {name} was being deleted when that was interrupted, and cannot be used any more: "
            "restore a backup (make restore FROM=file.tar)."
        )
    if name not in whole:
        _drop(connection, name)
        if whole:
            _rename(connection, whole[0], name)
            del found[whole[0]]
    for one in found.keys() - {name}:
        _drop(connection, one)


def _rename(connection: Connection, one: str, other: str) -> None:
    connection.execute(_OTHERS_END, [one])
    connection.execute(sql.SQL("alter database {} rename to {}").format(sql.Identifier(one), sql.Identifier(other)))


def _drop(connection: Connection, name: str) -> None:
    connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))
