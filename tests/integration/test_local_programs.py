"""The supervisor's parts: programs that end with it, processes known for sure, state that outlives it."""

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from infra.local import furnish
from infra.local.machine import Machine, Watch
from infra.local.processes import end_pid, started_at, wait_until
from infra.local.programs import Program, answers, open_log
from infra.local.state import State
from siftline.contracts import JobType, Queue
from siftline.jobs import lease_store, outbox_store
from siftline.operate.set_up_error import SetUpError
from siftline.settings.functions import LocalSettings, faults
from tests.factories import make_content, make_job, make_source
from tests.faults.postgres_proxy import PostgresProxy

ROOT = Path(__file__).resolve().parents[2]
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(300)"
)


@pytest.fixture
def make_program(tmp_path):
    made = []

    def make(code="import time; time.sleep(300)", **options):
        log = tmp_path / "log" / "toy.log"
        program = Program("toy", [sys.executable, "-c", code], folder=tmp_path, environment={}, log=log, **options)
        made.append(program)
        return program

    yield make
    for program in made:
        program.patience_s = 0.1
        program.stop()


def _dead(pid):
    return started_at(pid) is None


def test_a_program_runs_until_it_is_stopped(make_program):
    program = make_program()
    program.launch()
    program.wait_ready()
    pid = program.pid
    assert started_at(pid)
    assert program.exit_code is None
    program.stop()
    assert _dead(pid)
    assert program.pid is None


def test_a_program_that_ignores_the_signal_is_killed_when_patience_ends(make_program, tmp_path):
    program = make_program(STUBBORN, patience_s=0.2)
    program.launch()
    assert wait_until((tmp_path / "log" / "toy.log").read_text, 300)
    pid = program.pid
    program.stop()
    assert _dead(pid)


def test_a_program_that_ends_before_it_is_ready_is_said_with_its_log(make_program):
    program = make_program("raise SystemExit('no')", ready=lambda: False)
    program.launch()
    with pytest.raises(SetUpError, match=r"Toy did not start.*toy\.log"):
        program.wait_ready()


def test_a_program_dies_with_a_supervisor_that_is_killed():
    code = """
        import sys, time
        from pathlib import Path
        from infra.local.programs import Program
        program = Program("toy", [sys.executable, "-c", "import time; time.sleep(300)"], folder=Path("/"),
                          environment={}, log=Path("/dev/null"))
        program.launch()
        print(program.pid, flush=True)
        time.sleep(300)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        pid = int(supervisor.stdout.readline())
        assert started_at(pid)
        supervisor.kill()
    assert wait_until(lambda: _dead(pid), 300)


def test_a_long_log_is_put_aside(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * 5_000_001)
    with open_log(path) as log:
        log.write(b"new")
    assert path.read_bytes() == b"new"
    assert (tmp_path / "a.log.1").stat().st_size == 5_000_001


def test_nobody_answers_on_a_free_port():
    assert not answers(1, "/")


@pytest.fixture
def open_state(tmp_path):
    states = []

    def open_state():
        states.append(State(tmp_path))
        return states[-1]

    yield open_state
    for state in states:
        state.close()


@pytest.fixture
def sleeper():
    processes = []

    def sleeper(code="import time; time.sleep(300)"):
        processes.append(subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE))
        return processes[-1]

    yield sleeper
    for process in processes:
        process.kill()
        process.communicate()


def test_only_one_supervisor_has_a_folder(open_state):
    first, second = open_state(), open_state()
    assert first.take()
    first.set_address("http://127.0.0.1:1")
    assert not second.take()
    assert second.address == "http://127.0.0.1:1"


def test_leftovers_are_ended_only_if_they_are_the_very_processes_that_were_started(tmp_path, open_state, sleeper):
    left, other = sleeper(), sleeper()
    state = open_state()
    state.remember("left", left.pid)
    state.remember("other", other.pid)
    record = tmp_path / "processes.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "other": [other.pid, "1"]}))  # its id, used again
    assert open_state().end_leftovers() == ["left"]
    assert left.wait(60) == -signal.SIGTERM
    assert other.poll() is None
    assert open_state().end_leftovers() == []


def test_a_stubborn_leftover_is_killed(sleeper):
    left = sleeper(STUBBORN)
    left.stdout.readline()
    end_pid(left.pid, [(signal.SIGTERM, 0.2)])
    assert left.wait(60) == -signal.SIGKILL


def test_the_token_the_environment_and_the_logs_are_for_their_owner_alone(tmp_path, open_state):
    state = open_state()
    assert state.token() is None
    state.keep_token("sl_secret")
    state.keep_environment({"A": "it's", "B": "2"})
    assert state.token() == "sl_secret"
    for name in ("token", "environment", "log"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    shown = subprocess.run(
        ["sh", "-c", f'set -a; . "{tmp_path}/environment"; printf "%s" "$A$B"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == "it's2"


class FakeService:
    """A part that ended a number of times."""

    def __init__(self, exit_codes):
        self._codes = list(exit_codes)

    @property
    def exit_code(self):
        return self._codes[0] if self._codes else None

    def restarted(self):
        self._codes.pop(0)


class FakeMachine:
    def __init__(self, **services):
        self.services = services
        self.restarted = []

    def restart(self, name):
        self.restarted.append(name)
        self.services[name].restarted()


class Watched:
    """A watch over a machine, and what it said and told."""

    def __init__(self, machine, **options):
        self.said, self.told, self.ended = list[str](), list[str](), list[str]()
        says = self.said.append, self.told.append, self.ended.append
        self.look = Watch(cast("Machine", machine), *says, **options).look


def machine_behind(proxy: PostgresProxy) -> "Machine":
    """Return the one part of a machine that is asked for: where its PostgreSQL is."""
    return cast("Machine", SimpleNamespace(database="any", postgres=SimpleNamespace(url=lambda _: proxy.url)))


def test_a_part_that_ended_is_started_again_with_a_line_that_says_so():
    machine = FakeMachine(worker=FakeService([-9, 1]), api=FakeService([]), postgres=FakeService([-9]))
    watch = Watched(machine)
    watch.look()
    watch.look()
    watch.look()
    assert machine.restarted == watch.told == watch.ended == ["worker", "postgres", "worker"]
    assert watch.said == [
        "The worker was killed by signal 9; restarting it.",
        "PostgreSQL was killed by signal 9; restarting it.",
        "The worker exited with code 1; restarting it in 1 second.",
    ]


def test_a_part_that_dies_while_it_starts_is_tried_again_and_not_for_ever():
    class NeverUp(FakeMachine):
        def restart(self, name):
            self.restarted.append(name)
            raise SetUpError("The worker does not start.")

    machine = NeverUp(worker=FakeService([]))
    watch = Watched(machine, waits_s=(0.0,))
    machine.services["worker"] = FakeService([1])
    watch.look()
    machine.services["worker"] = FakeService([])  # nothing runs
    for _ in range(5):
        watch.look()
    assert watch.said.count("The worker did not start; restarting it.") == 5
    with pytest.raises(SetUpError):
        watch.look()
    assert len(machine.restarted) == 7
    assert watch.told == []


def test_what_a_gone_worker_held_is_free_once_the_database_is_back_and_the_next_ones_leases_stay(
    database, database_url
):
    """GIVEN a worker and PostgreSQL that go at once THEN nobody waits ten minutes for what the worker held."""
    held, next_held = make_job(database), make_job(database)

    def claim(job_id):
        with database.transaction() as connection:
            assert lease_store.claim(connection, job_id, JobType.ANALYZE_CONTENT, lease_s=600, grace_s=1)

    def has_lease(job_id):
        with database.transaction() as connection:
            query = "select lease_until > now() from jobs where id = %s"
            return connection.execute(query, (job_id,)).fetchone()[0]

    proxy = PostgresProxy(database_url)
    claim(held)
    with proxy.running():
        proxy.refusing = True
        leases = furnish.LostLeases(machine_behind(proxy))
        leases.gone()
        assert has_lease(held)
        claim(next_held)
        proxy.refusing = False
        leases.free()
        assert not has_lease(held)
        assert has_lease(next_held)
        claim(held)
        leases.free()
        assert has_lease(held)


def test_what_a_gone_queue_had_is_handed_out_again_once_the_database_is_back(database, database_url):
    """GIVEN MiniStack and PostgreSQL that go at once THEN nobody waits for the time after which a message is lost."""
    waiting, in_work = make_job(database), make_job(database)
    with database.transaction() as connection:
        assert len(outbox_store.take(connection, [waiting, in_work], share=9)) == 2
        assert lease_store.claim(connection, in_work, JobType.ANALYZE_CONTENT, lease_s=600, grace_s=1)

    def handed_out():
        with database.transaction() as connection:
            return [job.id for job in outbox_store.take_turns(connection, Queue.ANALYSIS, limit=9, share=9)]

    proxy = PostgresProxy(database_url)
    with proxy.running():
        proxy.refusing = True
        messages = furnish.LostMessages(machine_behind(proxy))
        messages.gone()
        assert handed_out() == []
        proxy.refusing = False
        messages.free()
        assert handed_out() == [waiting]
        messages.free()
        assert handed_out() == []


def _run(*arguments, **variables):
    return subprocess.run(
        [sys.executable, "-m", "infra.local.run", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.defpath, "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}", **variables},
    )


def test_settings_that_cannot_be_used_are_said_at_once_and_nothing_starts(tmp_path):
    wrong = {"REQUESTS_PER_MINUTE": "abc", "LOCAL_HOSTS": "news.example", "HOST_PER_MINUTE": '{"a.example": 0}'}
    wrong |= {"POWERTOOLS_LOG_LEVEL": "LOUD", "JOB_BACKOFF_S": "5", "WORKER_THREADS": '{"fetch": 0}'}
    result = _run("--folder", str(tmp_path / "data"), **wrong, HOST_BURST="2", PUBLIC_URL="https://news.example")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "siftline: These settings cannot be used; see docs/settings.md.",
        "  HOST_PER_MINUTE: Each must be greater than 0",
        "  JOB_BACKOFF_S: Must be a JSON list such as [60, 300, 900]",
        '  LOCAL_HOSTS: Must be JSON such as ["news.example"]',
        "  POWERTOOLS_LOG_LEVEL: Must be DEBUG, INFO, WARNING, ERROR or CRITICAL",
        "  REQUESTS_PER_MINUTE: Must be a whole number",
        "  WORKER_THREADS: Each at least 1",
    ]
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WORKER_THREADS", '{"fetch": 0}'), ("WORKER_THREADS", '{"fetch": 100000}'), ("JOB_LEASE_S", "9" * 20),
        ("JOB_BACKOFF_S", "[]"), ("JOB_BACKOFF_S", "[-1]"), ("HTTP_CONTACT", "a\nb"), ("topics_max", "abc"),
        ("PAGE_READ_S", "inf"), ("WORKER_DRAIN_S", "nan"), ("NEW_USER_CREDITS", "9" * 24),
        ("KEEP_FINISHED_JOBS_S", "9" * 17), ("LLM_USD_PER_DAY", "inf"), ("HOST_PER_MINUTE", '{"a.example": Infinity}'),
        ("LOCAL_HOSTS", '[""]'), ("LOCAL_HOSTS", '["https://news.example"]'), ("LOCAL_HOSTS", '["news.example:80"]'),
        ("LOCAL_HOSTS", '["a..b"]'), ("WORKER_THREADS", '{"analyse": 4}'),
        ("HOST_PER_MINUTE", '{"": 1}'), ("HOST_PER_MINUTE", '{"a.example": 1e308}'),
        ("REFRESH_MAX_MINUTES", "5"),
        ("ENTITY_CSV", ""),
    ],
)  # fmt: skip
def test_a_setting_by_which_nothing_would_be_done_is_refused(tmp_path, name, value):
    result = _run("--folder", str(tmp_path / "data"), **{"ENTITY_PROVIDERS": "csv", "ENTITY_CSV": "x.csv", name: value})
    assert (result.returncode, result.stdout) == (1, "")
    [_, told] = result.stderr.splitlines()
    assert told.startswith(f"  {name.upper()}: ")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("TOPICS_FILE", None, "TOPICS_FILE: There is no file {}."),
        ("TOPICS_FILE", "topics = 3", "{}"),
        ("ENTITY_CSV", None, "ENTITY_CSV: There is no file {}."),
        ("TOPIC_MODEL_URI", None, "There is no model in {}: it has no manifest.json."),
        ("ENTITY_MODEL_URI", "no folder", "There is no model in {}: it has no manifest.json."),
        ("ENTITY_CSV", "name,id\nAcme,\n", "line 2: each row needs a name and an id."),
    ],
)
def test_a_file_that_a_setting_names_and_that_cannot_be_read_is_said_before_anything_starts(tmp_path, name, text, told):
    file = tmp_path / "named"
    if text is not None:
        file.write_text(text)
    result = _run("--folder", str(tmp_path / "data"), "--port", "0", **{name: str(file)})
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("siftline: ")
    assert told.format(file) in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["LLM_BASE_URL", "REDDIT_URL", "GLEIF_URL", "PUBLIC_URL", "EMBEDDING_API_BASE_URL"])
@pytest.mark.parametrize("value", ["api.example/v1", "ftp://api.example", "https://", "https://api.example/?q"])
def test_an_address_that_leads_nowhere_is_refused(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert faults() == [f"{name}: Must be a URL such as https://news.example"]


def test_hosts_are_known_in_any_case(monkeypatch):
    monkeypatch.setenv("LOCAL_HOSTS", '["News.Example", "my_host", "news.example."]')
    assert (faults(), LocalSettings().local_hosts) == ([], ("news.example", "my_host", "news.example"))


def test_a_second_run_says_where_the_first_answers_and_that_it_is_none(tmp_path, open_state):
    state = open_state()
    assert state.take()
    state.set_address("http://127.0.0.1:8787")
    result = _run("--folder", str(tmp_path))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert "http://127.0.0.1:8787" in result.stderr


def test_a_taken_port_is_one_clear_line_that_says_what_to_do(tmp_path, sqs_endpoint):
    port = sqs_endpoint.rpartition(":")[2]
    result = _run("--folder", str(tmp_path), "--port", port, "--samples")
    assert (result.returncode, result.stdout) == (1, "")
    said, _, advised = result.stderr.rpartition("=")
    told = f"siftline: Port {port} is in use: stop the program that uses it, or try a free one: "
    assert said == f"{told}make run FOLDER={tmp_path} SAMPLES=1 PORT"
    with socket.create_server(("127.0.0.1", int(advised))):
        pass


def test_a_process_that_does_not_exist_has_no_start_time():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert started_at(process.pid) is None


@pytest.mark.parametrize("port", ["80000", "-1"])
def test_a_port_that_is_none_is_said(tmp_path, port):
    result = _run("--folder", str(tmp_path), f"--port={port}")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"siftline: {port} is not a valid port: use 1 to 65535, or 0 for any free port.\n"
    assert not (tmp_path / "address").exists()


def test_a_port_that_is_no_number_is_said_as_it_was_typed(tmp_path):
    result = _run("--folder", str(tmp_path), "--port=abc")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        "usage: make run (options: PORT=8787, SAMPLES=1, FOLDER=.local)",
        "make run: error: PORT=…: 'abc' is not a whole number",
    ]


def test_a_run_that_started_no_worker_waits_for_none(tmp_path):
    result = _run("--folder", str(tmp_path), "--port=0", PG_BIN="/nowhere")
    assert result.returncode == 1
    assert result.stderr.startswith("siftline: There is no PostgreSQL in /nowhere:")
    assert result.stdout.endswith("\nStopping …\nStopped.\n")


STOPPED = """
import os, signal
from infra.local.run import Signals, Stopped

clock = [0.0]
signals = Signals(lambda: clock[0])
def strike(number, at):
    clock[0] = at
    os.kill(os.getpid(), number)

def stop(*times):
    seen = []
    try:
        with signals.stopping():
            strike(signal.SIGTERM, times[0])
            seen.append("the first was lost")
    except Stopped:
        for at in times[1:-1]:
            strike(signal.SIGINT, at)
        seen.append("stopping")
    try:
        with signals.stopping(after=1):
            strike(signal.SIGINT, times[-1])
    except Stopped:
        seen.append("hurried")
    signals.count = 0
    return " ".join(seen)

print(stop(1.0, 1.001, 1.05), stop(2.0, 2.5), stop(3.0, 3.05, 3.2), sep="; ")
try:
    with signals.stopping():
        strike(signal.SIGTERM, 4.0)
except Stopped:
    strike(signal.SIGTERM, 4.5)
try:
    with signals.stopping(after=1):
        print("not reached")
except Stopped:
    print("hurried at once")
"""


def test_a_signal_stops_its_echo_does_nothing_and_a_later_one_cuts_the_draining_short():
    environment = {"PATH": os.defpath, "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", STOPPED], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["stopping; stopping hurried; stopping hurried", "hurried at once"]


def test_a_run_that_has_ended_answers_nowhere(open_state):
    state = open_state()
    state.set_address("http://127.0.0.1:8787")
    state.forget_address()
    state.forget_address()
    assert state.address == ""


def test_a_signal_to_make_alone_is_noticed_though_make_does_not_pass_it_on(tmp_path):
    (tmp_path / "child.py").write_text(
        "import time\nfrom infra.local.processes import Make\nmake = Make.starter()\nprint('up', flush=True)\n"
        "while not make.interrupted():\n    time.sleep(0.02)\n"
    )
    (tmp_path / "Makefile").write_text(f"run:\n\t@exec {sys.executable} child.py\n")
    # A process started in the background may have been given an ignored SIGINT, which make would keep.
    start = "import os, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp('make', ['make', 'run'])"
    environment = {"PATH": os.defpath, "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    with subprocess.Popen(
        [sys.executable, "-c", start], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as make:
        assert make.stdout is not None
        assert make.stdout.readline() == "up\n"
        make.send_signal(signal.SIGINT)
        make.wait(60)


def test_a_process_that_make_did_not_start_is_not_taken_for_one():
    result = subprocess.run(
        [sys.executable, "-c", "from infra.local.processes import Make; print(Make.starter())"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "None\n"


def test_the_samples_are_ready_once_each_feed_was_polled_and_each_article_read(database):
    urls = ["http://127.0.0.1:1/a", "http://127.0.0.1:1/b"]
    with database.transaction() as connection:
        sources = [make_source(connection, url=url) for url in urls]
        contents = [make_content(connection, status=status) for status in ("READY", "PENDING")]
        for source_id, content_id in zip(sources, contents, strict=True):
            connection.execute(
                "insert into source_entries (source_id, entry_key, content_id, content_sha256)"
                " values (%s, 'x', %s, '')",
                (source_id, content_id),
            )
    assert furnish.samples_ready(database, urls) is None
    with database.transaction() as connection:
        connection.execute("update contents set status = 'READY'")
    assert furnish.samples_ready(database, urls) is None
    with database.transaction() as connection:
        connection.execute("update sources set imported_at = now()")
    assert furnish.samples_ready(database, urls) == 2


def test_a_log_that_grew_long_is_put_aside_while_its_writer_goes_on(make_program, tmp_path):
    code = (
        "import sys, time\n"
        "print('first', 'x' * 6_000_000, flush=True)\n"
        "while True:\n    print('still here', flush=True)\n    time.sleep(0.01)\n"
    )
    program = make_program(code)
    program.launch()
    log, aside = program.log_file, program.log_file.with_name(f"{program.log_file.name}.1")
    assert wait_until(lambda: log.exists() and "still here" in log.read_text(), 300)
    program.keep_log_short()
    assert aside.read_text().startswith("first")
    assert wait_until(lambda: "still here" in log.read_text(), 300)
    assert log.stat().st_size < 1_000_000
    assert "\0" not in log.read_text()  # its writer appends: no hole is left where it had been
    written = aside.stat().st_mtime_ns
    program.keep_log_short()  # short again: nothing is put aside
    assert aside.stat().st_mtime_ns == written
