"""What a caller is told of a statement that PostgreSQL refuses: an outage, a conflict, or a fault of ours as it is."""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing

import psycopg
import pytest

from siftline.kit.db import ConflictError, Database, DatabaseUnavailableError, Pool, SingleConnection

MADE = pytest.mark.parametrize("made", [lambda url: Pool(url, size=1), SingleConnection], ids=["pool", "single"])


@MADE
def test_a_session_that_takes_no_writes_is_an_outage_and_is_given_up(
    made: Callable[[str], Database], make_database
) -> None:
    with closing(made(make_database(pooled=False))) as database:
        with database.statement() as connection:
            connection.execute("set default_transaction_read_only = on")
        with pytest.raises(DatabaseUnavailableError), database.transaction() as connection:
            connection.execute("create table written()")
        with database.transaction() as connection:
            connection.execute("create table written()")


@MADE
@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("40P01", ConflictError),
        ("40001", ConflictError),
        ("25006", DatabaseUnavailableError),
        ("57P01", DatabaseUnavailableError),
        ("XX000", psycopg.InternalError),
        ("23505", psycopg.IntegrityError),
    ],
)
def test_each_refusal_is_told_as_what_it_is(
    made: Callable[[str], Database], make_database, state: str, expected: type[Exception]
) -> None:
    with (
        closing(made(make_database())) as database,
        pytest.raises(expected) as told,
        database.transaction() as connection,
    ):
        connection.execute(f"do $$ begin raise exception using errcode = '{state}', message = 'no'; end $$")
    assert told.type is expected or issubclass(expected, psycopg.Error)


def test_what_the_pool_itself_writes_is_json_too() -> None:
    program = """if True:
        from siftline.kit.db import DatabaseUnavailableError, Pool
        pool = Pool("postgresql://nobody@127.0.0.1:1/none", size=1, wait_s=0.1)
        while not pool._pool.get_stats().get("connections_errors"):
            try:
                with pool.transaction():
                    pass
            except DatabaseUnavailableError:
                pass
        pool.close()
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    lines = (done.stdout + done.stderr).splitlines()
    assert lines
    assert {json.loads(line)["level"] for line in lines} == {"WARNING"}
