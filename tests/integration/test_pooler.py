"""Behind a pooler in transaction mode nothing is left in a session, and many clients share few of them."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from infra.local.backup import back_up, restore, unpacked
from infra.local.swap import mend, replacing
from siftline.kit.db import SESSION_DEFAULTS, Database, DatabaseUnavailableError, Pool, SingleConnection, settled_after
from siftline.operate.migrate import migrate
from siftline.operate.set_up_error import SetUpError
from tests.pooler import NEEDS_PGBOUNCER, PGBOUNCER, PgBouncer

pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason=NEEDS_PGBOUNCER)
CLIENTS, SESSIONS = 400, 20
_ASK = "select %s::int"


@pytest.fixture(scope="module")
def pooler(postgres_url: str, reachable_folder: Path) -> Iterator[PgBouncer]:
    with PgBouncer(postgres_url, reachable_folder / "pgbouncer", size=SESSIONS) as running:
        yield running


@pytest.fixture
def pooled(pooler: PgBouncer, make_database) -> str:
    """A database's URL by way of the pooler: one that no other test has sessions to."""
    return pooler.pooled(make_database())


def _asked(database: Database, number: int) -> tuple[int, ...]:
    """Do what a session could remember: the same statements many times, in transactions and in a pipeline."""
    got = set()
    for _ in range(12):
        with database.transaction() as connection:
            got |= {row for (row,) in connection.execute(_ASK, [number])}
        with database.statement() as connection:
            got |= {row for (row,) in connection.execute("select %s::int + 0", [number])}
        got.add(settled_after(database, lambda c: c.execute(_ASK, [number]).fetchone, lambda _, row: row and row[0]))
    return tuple(got)


def test_four_hundred_clients_share_twenty_sessions(pooled: str, postgres_url: str) -> None:
    name = pooled.rpartition("/")[2]
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(SingleConnection(pooled))) for _ in range(CLIENTS)]
        threads = stack.enter_context(ThreadPoolExecutor(40))
        # All are connected before the first of them goes.
        assert list(threads.map(lambda client: _asked(client, 0), clients)) == [(0,)] * CLIENTS
        assert list(threads.map(_asked, clients, range(CLIENTS))) == [(one,) for one in range(CLIENTS)]
        with psycopg.connect(postgres_url) as server:
            count = "select count(*) from pg_stat_activity where datname = %s"
            [(sessions,)] = server.execute(count, [name]).fetchall()
    assert 1 <= sessions <= SESSIONS


def test_a_pool_behind_a_pooler_works_as_one_before_the_server(pooled: str) -> None:
    with closing(Pool(pooled, size=8)) as pool, ThreadPoolExecutor(16) as threads:
        assert list(threads.map(lambda number: _asked(pool, number), range(32))) == [(one,) for one in range(32)]


@pytest.mark.parametrize("made", [lambda url: Pool(url, size=2), SingleConnection], ids=["pool", "single"])
def test_a_session_that_ends_in_mid_transaction_behind_a_pooler_is_an_outage_and_the_next_one_works(
    made: Callable[[str], Database], pooled: str, postgres_url: str
) -> None:
    def cut(database: Database) -> None:
        with database.transaction() as connection:
            [(backend,)] = connection.execute("select pg_backend_pid()").fetchall()
            with psycopg.connect(postgres_url, autocommit=True) as killer:
                killer.execute("select pg_terminate_backend(%s, 60000)", [backend])

    with closing(made(pooled)) as database:
        with pytest.raises(DatabaseUnavailableError):
            cut(database)
        assert _asked(database, 3) == (3,)


def test_nothing_is_prepared_behind_a_pooler_and_something_before_the_server(pooled: str, make_database) -> None:
    with closing(SingleConnection(pooled)) as behind, closing(Pool(make_database(pooled=False), size=10)) as before:
        for one, expected in ((behind, False), (before, True)):
            for _ in range(8):
                _asked(one, 7)
            with one.transaction() as connection:
                found = connection.execute("select count(*) > 0 from pg_prepared_statements").fetchone()
            assert found == (expected,)


def test_backups_and_restores_go_past_a_pooler_and_leave_its_sessions_as_they_are(
    pooled: str, postgres_url: str, tmp_path: Path
) -> None:
    """Who comes to a session after pg_dump finds no table in it, and the lock of a restore stays where it was taken."""
    server, _, name = pooled.rpartition("/")
    out = tmp_path / "all.tar"
    with pytest.raises(SetUpError, match="the address of the server itself"):
        back_up(pooled, out)
    assert not out.exists()
    back_up(f"{postgres_url.rpartition('/')[0]}/{name}", out)
    with unpacked(out) as backup, pytest.raises(SetUpError, match="the address of the server itself"):
        restore(pooled, backup, sure=True)
    mend(f"{server}/postgres", name)
    with replacing(postgres_url, name):  # nobody has its lock
        pass


@pytest.mark.parametrize("owned", [True, False], ids=["of its owner", "of another's"])
@pytest.mark.parametrize("pooled", [True, False], ids=["behind a pooler", "before the server"])
def test_sessions_of_a_migrated_database_begin_with_our_time_zone_and_limits(
    pooler: PgBouncer, make_database, postgres_url: str, *, owned: bool, pooled: bool
) -> None:
    url = make_database(migrated=False)
    name, before = url.rpartition("/")[2], f"{postgres_url.rpartition('/')[0]}/{url.rpartition('/')[2]}"
    role = f"app_{name}"
    with psycopg.connect(before, autocommit=True) as admin:
        admin.execute(sql.SQL("create role {} login password 'x'").format(sql.Identifier(role)))
        admin.execute(sql.SQL("grant create on schema public to {}").format(sql.Identifier(role)))
        given = "alter database {} owner to {}" if owned else "grant create on database {} to {}"
        admin.execute(sql.SQL(given).format(sql.Identifier(name), sql.Identifier(role)))
    pooler.admit(role, "x")
    own = urlsplit(before)._replace(netloc=f"{role}:x@{before.partition('@')[2].partition('/')[0]}").geturl()
    way = pooler.pooled(own) if pooled else own
    assert migrate(way) > 1
    assert migrate(way) == 0
    with psycopg.connect(before, autocommit=True) as admin:  # what the pooler opened before would last for an hour
        admin.execute("select pg_terminate_backend(pid, 60000) from pg_stat_activity where usename = %s", [role])
    with closing(SingleConnection(way)) as database, database.statement() as connection:
        for setting, value in SESSION_DEFAULTS.items():
            assert connection.execute("select current_setting(%s)", [setting]).fetchone() == (value,)
