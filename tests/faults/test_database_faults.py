"""Faults of PostgreSQL: restarted, read-only since a failover, unreachable, in conflict, silent after a commit."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from infra.local.ports import free_port
from infra.local.postgres import EmbeddedPostgres
from siftline.kit.db import Connection
from siftline.operate.migrate import create_database, migrate
from tests.faults.http_proxy import held_until
from tests.faults.machine import TEST, FaultMachine
from tests.faults.pages import first
from tests.faults.table import Told
from tests.faults.test_deliveries import ready, upserts


@pytest.fixture(scope="module")
def server(reachable_folder: Path) -> Iterator[EmbeddedPostgres]:
    """A PostgreSQL of this file's own, to be stopped; it keeps its promises, so that it may be killed."""
    with EmbeddedPostgres(reachable_folder, free_port()) as server:
        create_database(server.url(), "faults")
        migrate(server.url("faults"))
        yield server


@pytest.fixture(scope="module")
def _machine(
    server: EmbeddedPostgres, start_machine: Callable[[str], AbstractContextManager[FaultMachine]]
) -> Iterator[FaultMachine]:
    with start_machine(server.url("faults")) as machine:
        yield machine


@pytest.fixture
def admin(server: EmbeddedPostgres) -> Iterator[Connection]:
    """A session of the server's administrator."""
    with psycopg.connect(server.url("faults"), autocommit=True, application_name=TEST) as connection:
        yield connection


def end_sessions(admin: Connection, *, ours: bool) -> None:
    """End every session but this one, and wait for their ends: the test's own ones, or all the others."""
    admin.execute(
        "select pg_terminate_backend(pid, 60000) from pg_stat_activity where pid <> pg_backend_pid()"
        " and datname = current_database() and (application_name = %s) = %s",
        (TEST, ours),
    )


@contextmanager
def sessions_with(admin: Connection, setting: str, value: str) -> Iterator[None]:
    """End the workers' sessions; those that they open in the block begin with a setting, and keep it."""
    name = sql.Identifier(setting)
    admin.execute(sql.SQL("alter role current_user set {} = {}").format(name, value))
    try:
        end_sessions(admin, ours=False)
        yield
    finally:
        admin.execute("set default_transaction_read_only = off")
        admin.execute(sql.SQL("alter role current_user reset {}").format(name))


def article(commit: Any) -> bool:
    return commit.says("update contents set", "content_sha256")


CLAIM = "14 the answer to a claim's commit is lost"
COMMITS = {
    CLAIM: ("update jobs set state = 'processing'",),
    "14 the answer to the article's commit is lost": ("update contents set", "content_sha256"),
    "14 the answer to a hand-out's commit is lost": ("set published_at = now()",),
    "14 the answer to the READY commit is lost": ("update contents", "status = 'READY'"),
}


@pytest.mark.parametrize("fault", COMMITS)
def test_a_commit_whose_answer_is_lost_counts_once(
    machine: FaultMachine, healing: Told, pages: list[str], fault: str, fault_round: int
) -> None:
    """Fault 14: the commit succeeded, and its answer was lost."""
    trap = machine.postgres.on_commit(lambda commit: commit.says(*COMMITS[fault]), "after", lambda: None)
    machine.save(pages)
    trap.await_sprung()
    if fault == CLAIM:  # nobody knows of this claim: its lease must run out
        unread = "select count(*) from contents where url = any(%s) and status <> 'READY'"
        machine.see(lambda: machine.ask(unread, pages)[0] <= 1)
        machine.let_leases_lapse()
    healing(fault, machine.heal(trap.at))
    assert ready(machine, pages)


RESTARTS = {"10 PostgreSQL is restarted": signal.SIGINT, "10 PostgreSQL crashes and recovers": signal.SIGQUIT}


@pytest.mark.parametrize("fault", RESTARTS)
def test_a_restart_of_postgresql_in_mid_work_costs_a_retry(
    machine: FaultMachine, server: EmbeddedPostgres, healing: Told, pages: list[str], fault: str, fault_round: int
) -> None:
    """Fault 10: PostgreSQL is restarted at once, or ends without a checkpoint and replays its log."""
    trap = machine.postgres.on_commit(article, "before", lambda: None)
    machine.save(pages)
    trap.await_sprung()
    assert server.pid is not None
    os.kill(server.pid, RESTARTS[fault])
    machine.see(lambda: server.exit_code is not None)
    server.stop()
    server.start()
    healing(fault, machine.heal(trap.at))
    assert ready(machine, pages)


def test_connections_that_are_reset_and_refused_for_a_while_come_back(
    machine: FaultMachine, healing: Told, pages: list[str], fault_round: int
) -> None:
    """Fault 11: connections reset."""
    trap = machine.postgres.on_commit(article, "before", lambda: None)
    machine.save(pages)
    trap.await_sprung()
    machine.postgres.refusing = True
    machine.postgres.reset_connections()
    time.sleep(1.0)
    machine.postgres.refusing = False
    healing("11 connections are reset, new ones refused for 1 s", machine.heal(trap.at))
    assert ready(machine, pages)


def test_a_session_that_a_failover_left_on_a_read_only_server_is_given_up(
    machine: FaultMachine, admin: Connection, healing: Told, pages: list[str], fault_round: int
) -> None:
    """Fault 11: read-only failover. Sessions opened meanwhile stay read-only for ever, as on a demoted primary."""
    go_on = threading.Event()
    for url in pages:
        machine.site.script(url, first(lambda: go_on.wait(30), when="before"))
    machine.save(pages)
    machine.see(lambda: any(map(machine.site.asked, pages)))
    with sessions_with(admin, "default_transaction_read_only", "on"):
        struck = time.monotonic()
        go_on.set()
        machine.see(lambda: "database_unavailable" in machine.log_since_mended())
    machine.let_leases_lapse()  # the worker could not write that it gave its jobs up
    healing("11 read-only failover", machine.heal(struck))
    end_sessions(admin, ours=True)
    assert ready(machine, pages)


def paused_before_ready(machine: FaultMachine, url: str, during: Callable[[Any, Any, threading.Event], None]) -> float:
    """Call ``during(content, analysis job, go on)`` while an analysis is about to commit; return that moment."""
    go_on = threading.Event()
    trap = machine.qdrant_wire.trap(upserts, before=held_until(go_on))
    (content,) = machine.save([url])
    trap.await_sprung()
    (job_id,) = machine.ask("select id from jobs where subject_id = %s and state = 'processing'", content)
    during(content, job_id, go_on)
    go_on.set()
    return time.monotonic()


def waits_for_a_lock(machine: FaultMachine) -> bool:
    """Whether a worker's session waits for a lock."""
    return bool(
        machine.ask("select 1 from pg_stat_activity where wait_event_type = 'Lock' and application_name <> %s", TEST)
    )


def test_a_real_deadlock_undoes_the_worker_and_it_tries_again(
    machine: FaultMachine, server: EmbeddedPostgres, admin: Connection, healing: Told, fault_round: int
) -> None:
    """Fault 12: deadlock. Another session holds the content and wants the job, while the worker holds the job."""
    before = server.log_file.read_text().count("deadlock detected")

    def cross(content: Any, job_id: Any, go_on: threading.Event) -> None:
        admin.execute("set deadlock_timeout = '30s'")  # so that the worker is the one who is undone
        with admin.transaction():
            admin.execute("select from contents where id = %s for update", (content,))
            go_on.set()
            machine.see(lambda: waits_for_a_lock(machine))
            admin.execute("select from jobs where id = %s for update", (job_id,))

    urls = machine.site.add_pages(1)
    struck = paused_before_ready(machine, urls[0], cross)
    healing("12 deadlock", machine.heal(struck))
    assert server.log_file.read_text().count("deadlock detected") > before
    assert ready(machine, urls)


def test_a_real_serialisation_failure_undoes_the_worker_and_it_tries_again(
    machine: FaultMachine, server: EmbeddedPostgres, admin: Connection, healing: Told, fault_round: int
) -> None:
    """Fault 12: serialisation failure. The workers' sessions are of repeatable read; another writes their job."""
    words = "could not serialize access"
    before = server.log_file.read_text().count(words)

    def write(content: Any, job_id: Any, go_on: threading.Event) -> None:
        with admin.transaction():
            admin.execute("update jobs set priority = priority where id = %s", (job_id,))
            go_on.set()
            machine.see(lambda: waits_for_a_lock(machine))

    urls = machine.site.add_pages(1)
    with sessions_with(admin, "default_transaction_isolation", "repeatable read"):
        struck = paused_before_ready(machine, urls[0], write)
        healing("12 serialisation failure", machine.heal(struck))
    end_sessions(admin, ours=False)
    assert server.log_file.read_text().count(words) > before
    assert ready(machine, urls)
