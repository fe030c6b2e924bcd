"""Transactions whose first statement travels with their begin, and single statements without one."""

import os
import socket
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

import psycopg
import pytest
from psycopg.errors import DivisionByZero, UniqueViolation
from psycopg.pq import TransactionStatus

from siftline.kit.db import Connection, Database, Pool, SingleConnection, settled_after
from tests.factories import make_user


def names(database: Database) -> list[str]:
    with database.statement() as connection:
        assert connection.info.transaction_status is TransactionStatus.IDLE
        return [row[0] for row in connection.execute("select name from users").fetchall()]


def first(connection: Connection) -> Callable[[], Any]:
    user_id = make_user(connection, name="first")
    return lambda: user_id


def rename(connection: Connection, user_id: Any) -> int:
    return connection.execute("update users set name = 'second' where id = %s", [user_id]).rowcount


def test_what_follows_is_handed_the_first_answer_and_counts_its_rows(database: Database) -> None:
    assert settled_after(database, first, rename) == 1
    assert names(database) == ["second"]


def test_a_fault_in_what_follows_undoes_the_first_as_well(database: Database) -> None:
    with pytest.raises(DivisionByZero):
        settled_after(database, first, lambda connection, _: connection.execute("select 1 / 0"))
    assert names(database) == []


@pytest.mark.parametrize(
    ("statement", "fault"),
    [("select 1 / 0", DivisionByZero), ("insert into users (id, name) select id, 'x' from users", UniqueViolation)],
)
def test_a_fault_in_the_first_is_raised_even_unfetched_and_nothing_follows(
    database: Database, statement: str, fault: type[Exception]
) -> None:
    settled_after(database, first, rename)
    followed: list[object] = []
    with pytest.raises(fault):
        settled_after(
            database, lambda connection: connection.execute(statement).fetchone, lambda *given: followed.append(given)
        )
    assert followed == []
    assert names(database) == ["second"]


def test_what_is_sent_first_can_be_fetched_once_the_transaction_has_begun(database: Database) -> None:
    def asked(connection: Connection) -> Callable[[], Any]:
        return connection.execute("select 7").fetchone

    assert settled_after(database, asked, lambda _, row: row) == (7,)


def test_a_single_statement_stands_at_once(database: Database) -> None:
    with database.statement() as connection:
        first(connection)
        assert connection.info.transaction_status is TransactionStatus.IDLE
    assert names(database) == ["first"]


def test_a_session_that_the_server_ended_a_moment_after_its_use_is_not_handed_out(sessions_url: str) -> None:
    with closing(Pool(sessions_url, size=1)) as pool:
        with pool.statement() as connection:
            [(backend,)] = connection.execute("select pg_backend_pid()").fetchall()
        with psycopg.connect(sessions_url, autocommit=True) as other:
            other.execute("select pg_terminate_backend(%s, 10000)", [backend])
        with pool.statement() as connection:
            assert connection.execute("select pg_backend_pid() <> %s", [backend]).fetchone() == (True,)


def test_a_session_that_was_just_in_use_is_handed_out_without_a_question(sessions_url: str) -> None:
    with closing(Pool(sessions_url, size=1)) as pool, psycopg.connect(sessions_url, autocommit=True) as other:
        with pool.statement() as connection:
            [(backend,)] = connection.execute("select pg_backend_pid()").fetchall()
        with pool.statement() as connection:
            assert connection.info.backend_pid == backend
        # The last that it was asked is still what it was asked in the first block.
        asked = other.execute("select query from pg_stat_activity where pid = %s", [backend]).fetchone()
        assert asked == ("select pg_backend_pid()",)


def test_a_pool_drops_all_sessions_that_the_server_ended_without_a_pause_after_each(sessions_url: str) -> None:
    with closing(Pool(sessions_url, size=6, wait_s=60)) as pool, ExitStack() as lent:
        backends = [lent.enter_context(pool.statement()).info.backend_pid for _ in range(6)]
        lent.close()
        with psycopg.connect(sessions_url, autocommit=True) as other:
            other.execute("select pg_terminate_backend(one, 60000) from unnest(%s::int4[]) as all_ (one)", [backends])
        for _ in range(3):
            with pool.statement() as connection:
                assert connection.info.backend_pid not in backends


@pytest.mark.parametrize("made", [lambda url: Pool(url, size=1), SingleConnection], ids=["pool", "single"])
def test_a_server_that_is_gone_without_a_word_is_given_up(database_url: str, made: Callable[[str], Database]) -> None:
    with closing(made(database_url)) as database, database.statement() as connection:
        asked = connection.info.get_parameters()
        with socket.socket(fileno=os.dup(connection.fileno())) as wire:
            if wire.family == socket.AF_UNIX:
                pytest.skip("a socket of this machine has no network that could be cut")
            told = [
                wire.getsockopt(socket.IPPROTO_TCP, option) for option in (socket.TCP_USER_TIMEOUT, socket.TCP_KEEPIDLE)
            ]
            assert (told, wire.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)) == ([30_000, 10], 1)
    assert asked["connect_timeout"] == "10"
