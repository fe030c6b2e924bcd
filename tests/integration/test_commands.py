"""Commands of ``make`` take what was typed as it was typed, and print their answer alone on stdout.

What their parts log and print meanwhile goes to stderr, and so does the one line that says why they end early.
"""

import ast
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psycopg
import pytest

from benchmarks.quick import SIZES
from infra.local.state import State
from siftline.operate.operate_service import COMMANDS as OPERATED
from siftline.settings.functions import process_environment
from tests.functions import make_queues, sample_event

ROOT = Path(__file__).resolve().parents[2]
NOISY = """
import os, subprocess, sys
from aws_lambda_powertools import Logger
from infra.local.answer import {name}
early = Logger(service="early")

def noise():
    early.warning("early")
    print("printed" if {loud} else "", end="")
    os.write(1, b"written")
    subprocess.run(["echo", "told by a child"], check=True)

{rest}
"""


def said(code: str) -> subprocess.CompletedProcess[str]:
    environment = {**process_environment(), "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_whatever_is_written_meanwhile_goes_to_stderr_and_the_answer_alone_to_stdout() -> None:
    rest = "with logs_apart() as out:\n    noise()\n    print('answer', file=out)\n    noise()\nprint('after')"
    done = said(NOISY.format(name="logs_apart", loud=True, rest=rest))
    assert (done.returncode, done.stdout) == (0, "answer\nafter\n"), done.stderr
    assert done.stderr.count("printed") == done.stderr.count("written") == done.stderr.count("told by a child") == 2
    assert done.stderr.count('"early"') >= 2


def test_a_command_prints_its_answer_alone_and_ends_with_its_code() -> None:
    rest = "def main(arguments):\n    noise()\n    print('answer')\n    return 3\n\nrun(main)"
    done = said(NOISY.format(name="run", loud=False, rest=rest))
    assert (done.returncode, done.stdout) == (3, "answer\n"), done.stderr
    assert "told by a child" in done.stderr


def command(name: str, *arguments: str | bytes, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command with nothing of the database in its environment but what is given."""
    environment = {**process_environment(), "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    environment.pop("DATABASE_URL", None)
    return subprocess.run(
        [sys.executable, "-m", *(["infra.operate", name] if name in OPERATED else [f"infra.local.{name}"]), *arguments],
        cwd=ROOT,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


COMMANDS = ["credits", "export", "migrate", "redrive", "reindex", "reprocess", "resolve", "sam_environment", "user"]


@pytest.mark.parametrize("name", ["user", "backup", "invoke", "run"])
def test_an_argument_that_is_not_utf8_is_said(name: str) -> None:
    done = command(name, b"--name=caf\xe9")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.removeprefix("siftline: ") == "--name=caf\\xe9 is not valid UTF-8.\n"


@pytest.mark.parametrize("name", ["user", "backup", "invoke"])
def test_a_setting_that_cannot_be_used_is_said_before_anything_is_done(name: str) -> None:
    done = command(name, POWERTOOLS_LOG_LEVEL="LOUD")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "These settings cannot be used; see docs/settings.md.",
        "  POWERTOOLS_LOG_LEVEL: Must be DEBUG, INFO, WARNING, ERROR or CRITICAL",
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_that_nothing_runs_is_said_with_how_to_start_it(name: str, tmp_path: Path) -> None:
    stopped = State(tmp_path)
    stopped.keep_environment({"DATABASE_URL": "postgresql://127.0.0.1:1/siftline"})
    stopped.close()
    done = command(name, f"--folder={tmp_path}")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert f"make run is not running in {tmp_path}: start it" in done.stderr
    assert f"`make run FOLDER={tmp_path}`" in done.stderr


def test_a_mistyped_folder_is_said_and_not_made(tmp_path: Path) -> None:
    done = command("user", "--list", f"--folder={tmp_path / 'mistyped'}")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Siftline never ran in {tmp_path / 'mistyped'}: start `make run FOLDER=" in done.stderr
    assert not (tmp_path / "mistyped").exists()


def test_a_command_acts_on_what_runs_in_the_folder_unless_another_database_is_given(
    kept: Mapping[str, str], tmp_path: Path
) -> None:
    assert command("user", "--name=Ada", f"--folder={tmp_path}").returncode == 0
    assert "Ada" in command("user", "--list", f"--folder={tmp_path}").stdout
    elsewhere = command("user", "--list", f"--folder={tmp_path}", DATABASE_URL="postgresql://127.0.0.1:1/siftline")
    assert (elsewhere.returncode, elsewhere.stdout) == (1, "")
    assert "could not be reached" in elsewhere.stderr


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("migrate", []),
        ("user", ["--list"]),
        ("credits", ["--user=Ada", "--amount=1"]),
        ("export", ["--user=Ada", "--out=/nowhere/x.json"]),
        ("backup", ["--out=/tmp/siftline-never.tar"]),
    ],
)
def test_an_unusable_address_is_told_without_its_text(name: str, words: list[str]) -> None:
    done = command(name, *words, DATABASE_URL="mysql://app:hunter2@db/siftline")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "DATABASE_URL cannot be used: it is neither a postgresql:// URL nor secretsmanager://" in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize(
    ("name", "words", "why"),
    [
        ("redrive", ["--queue=nope"], "QUEUE=…: invalid choice: 'nope' (choose from 'fetch', "),
        ("redrive", ["--queue=analysis", "--limit=0"], "LIMIT=… must be at least 1"),
        ("redrive", ["--queue=analysis", "--limit=x"], "LIMIT=…: 'x' is not a whole number"),
        ("reprocess", ["--older-than=yesterday"], "OLDER_THAN=…: must be a date such as 2026-11-01"),
        ("redrive", ["--queue=analysis", f"--limit={'9' * 20}"], "LIMIT=…: must be at most 1,000,000,000"),
        ("reprocess", [f"--limit={'9' * 20}"], "LIMIT=…: must be at most 1,000,000,000"),
        ("resolve", ["--limit=x"], "LIMIT=…: 'x' is not a whole number"),
        ("credits", ["--user=Ada", "--amount=x"], "AMOUNT=…: x is neither a number of credits nor unmetered"),
        ("credits", ["--user=Ada", f"--amount=-{10**20}"], "AMOUNT=…: must be -1,000,000,000,000 to 1,000,000,000,000"),
    ],
)
def test_a_fault_is_told_in_the_words_that_were_typed(name: str, words: list[str], why: str) -> None:
    done = command(name, *words, DATABASE_URL="postgresql://127.0.0.1:1/siftline")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(f"make {name}: error: {why}")
    assert "--" not in done.stderr


def test_what_to_type_next_is_for_the_folder_that_was_typed(kept: Mapping[str, str], tmp_path: Path) -> None:
    done = command("user", "--token=Nobody", f"--folder={tmp_path}")
    assert done.stderr == f"There is no user Nobody. make user LIST=1 FOLDER={tmp_path} lists all users.\n"
    done = command("invoke", f"--folder={tmp_path}", "--", "", "")
    assert done.stderr.endswith(f"EVENT=events/schedule.ok.json FOLDER={tmp_path}\n")


def test_a_database_of_an_unreleased_schema_is_refused(make_database: Callable[..., str]) -> None:
    url = make_database()
    with psycopg.connect(url) as connection:
        connection.execute("update _yoyo_migration set migration_id = '0062_payloads'")
    done = command("migrate", DATABASE_URL=url)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "This database was created by an older, unreleased schema (0062_payloads)."
        " Use a new folder or database, or the release that created it.\n"
    )


def test_an_interrupted_command_says_so_and_ends_as_a_shell_expects_it() -> None:
    code = "import time\nfrom infra.local.answer import run\ndef main(arguments):\n    print('up', flush=True)\n"
    environment = {**process_environment(), "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    # A process started in the background may have been given an ignored SIGINT.
    code = (
        f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{code}    time.sleep(300)\nrun(main)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == ("", "\nInterrupted.\n")
    assert process.returncode == 130


@pytest.mark.parametrize("words", ["'answer'", "'answer ' * 10_000"])
def test_an_answer_that_nobody_takes_is_said_in_a_line(words: str) -> None:
    code = f"from infra.local.answer import run\ndef main(arguments):\n    print({words})\n    return 0\nrun(main)"
    environment = {**process_environment(), "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr.startswith("The answer could not be written (No space left on device)")
    assert done.stderr.count("\n") == 1


class Typed:
    """``make`` with a program in Python's place that tells what it was called with."""

    def __init__(self, folder: Path) -> None:
        program = folder / "python"
        own = "sys.argv[4 if sys.argv[2] == 'infra.operate' else 3 :]"
        program.write_text(f"#!{sys.executable}\nimport os, sys\nprint([os.fsencode(one) for one in {own}])\n")
        program.chmod(0o755)
        self.folder = folder

    def make(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run ``make`` as if every environment were there."""
        there = [part for path in (".venv/.local", ".local/ministack/.ready") for part in ("-o", path)]
        environment = {name: value for name, value in process_environment().items() if not name.startswith("MAKE")}
        return subprocess.run(
            ["make", *there, f"BIN={self.folder}", *words],
            cwd=ROOT,
            env={**environment, **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    def arguments(self, *words: str) -> list[str]:
        """Return what a command is handed."""
        done = self.make(*words)
        assert done.returncode == 0, done.stderr
        return [one.decode() for one in ast.literal_eval(done.stdout)]


@pytest.fixture
def typed(tmp_path: Path) -> Typed:
    """``make`` that starts nothing."""
    return Typed(tmp_path)


@pytest.mark.parametrize(
    "name",
    ["a`echo hi`b", "$(x)", "$(shell echo hi)", "$HOME", "it's", '"quoted"', "-x", "a\\b # c; d", "naïve ☂", "a  b "],
)
def test_make_hands_on_what_was_typed_as_it_was_typed(typed: Typed, name: str) -> None:
    assert typed.arguments("user", f"NAME={name}", "OPS=1") == [f"--name={name}", "--ops"]


MAKEFILES = "".join((ROOT / path).read_text(encoding="utf-8") for path in ("Makefile", "infra/build.mk"))
TARGETS = " ".join(re.findall(r"^\.PHONY: (.*)", MAKEFILES, re.MULTILINE)).split()
# What a help line or a reference names, unless a line of ours sets it for good: `?=` sets a default.
TYPED = sorted(
    {*re.findall(r"\b([A-Z][A-Z_]+)=", "".join(re.findall("## .*", MAKEFILES)))}
    | {*re.findall(r"\b[A-Z][A-Z_]+\b", "".join(re.findall(r"\$\([^)]*", MAKEFILES)))}
    - {"MAKECMDGOALS", "MAKEFILE_LIST", *re.findall(r"^([A-Z_]+) :?=", MAKEFILES, re.MULTILINE)}
)


SWITCHES = {*re.findall(r"\$\(call flag,([A-Z_]+)", MAKEFILES)}
CHECKED = {"BENCH"}  # make may end for it, as for a switch that is not 1


def test_neither_make_nor_the_shell_runs_what_is_typed(typed: Typed, tmp_path: Path) -> None:
    assert {"BENCH", "BUILD_PYTHON", "MODEL_BUCKET", "PYTHON", "RUNS", "RUNTIME", "STAGE", "USER", "YES"} <= {*TYPED}
    traps = {name: f"$(shell touch {tmp_path / name}.ran)" for name in TYPED}
    together = [name for name in TYPED if name not in SWITCHES | CHECKED]
    assert typed.make("-nB", *TARGETS, *(f"{name}={traps[name]}" for name in together)).returncode == 0
    assert typed.make("-nB", *TARGETS, **{name: traps[name] for name in together}).stdout
    for name in SWITCHES:
        refused = typed.make("-nB", *TARGETS, "MODEL=m", f"{name}={traps[name]}")
        assert f"{name} must be 1 or left out" in refused.stderr
    for name in CHECKED:
        typed.make("-nB", *TARGETS, "MODEL=m", f"{name}={traps[name]}")
        typed.make("-nB", *TARGETS, "MODEL=m", **{name: traps[name]})
    # Which is handed what make exports.
    assert typed.make("help", *(f"{name}={trap}" for name, trap in traps.items())).returncode == 0
    assert not list(tmp_path.glob("*.ran"))
    recipes = typed.make("-nB", *TARGETS, *(f"{name}={name}|x" for name in together)).stdout
    assert not re.findall(r"(?<!')\b[A-Z_]+\|x|\b[A-Z_]+\|x(?!')", recipes)


def test_what_is_typed_reaches_the_environment_as_it_was_typed(typed: Typed) -> None:
    (typed.folder / "python").write_text('#!/bin/sh\nprintf %s "$DATABASE_URL"\n')
    assert typed.make("migrate", "DATABASE_URL=postgresql://a:$b$$c@d/e").stdout == "postgresql://a:$b$$c@d/e"


def test_no_stage_is_no_place(typed: Typed) -> None:
    """``STAGE=`` may be a variable that was empty: it must not mean the database on this machine."""
    assert "--stage=" in typed.arguments("user", "STAGE=", "NAME=Ada")


def test_each_word_of_a_list_is_a_word(typed: Typed) -> None:
    done = typed.make("-n", "bench", "BENCH=poll walk", "MINUTES=20")
    assert done.stdout.splitlines()[-1].endswith(" -m benchmarks 'poll' 'walk' --minutes='20' ")


def test_make_takes_a_line_break_for_a_blank(typed: Typed) -> None:
    assert typed.arguments("user", "NAME=a\nb") == ["--name=a b"]


@pytest.mark.parametrize(
    "target", ["run", "backup", "credits", "export", "invoke", "migrate", "redrive", "reindex", "reprocess", "resolve",
               "restore", "sam-env", "user"],
)  # fmt: skip
def test_every_command_is_for_the_folder_that_was_typed(typed: Typed, target: str) -> None:
    assert "--folder=/tmp/a b" in typed.arguments(target, "FOLDER=/tmp/a b")
    assert not [one for one in typed.arguments(target) if one.startswith("--folder")]


@pytest.mark.parametrize("target", sorted(OPERATED))
def test_an_operators_command_is_for_the_stage_that_was_typed(typed: Typed, target: str) -> None:
    assert "--stage=prod" in typed.arguments(target, "STAGE=prod")
    assert not [one for one in typed.arguments(target) if one.startswith("--stage")]


@pytest.mark.parametrize(
    ("target", "switch"),
    [
        ("user", "OPS"),
        ("user", "LIST"),
        ("user", "REVOKE"),
        ("user", "YES"),
        ("reindex", "DRY_RUN"),
        ("run", "SAMPLES"),
    ],
)
def test_a_switch_is_one_or_left_out(typed: Typed, target: str, switch: str) -> None:
    plain = typed.arguments(target)
    assert typed.arguments(target, f"{switch}=") == plain
    assert len(typed.arguments(target, f"{switch}=1")) == len(plain) + 1
    for word in ("yes", "0", "true"):
        done = typed.make(target, f"{switch}={word}")
        assert done.returncode == 2
        assert done.stdout == ""
        assert f"{switch} must be 1 or left out." in done.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["export-model"], "Name a model: make export-model MODEL=<hub id or folder>"),
        (["export-model", "MODEL=/no where"], "There is no model folder /no where"),
        (["bench", "BENCH=poll nope"], f"There is no benchmark nope, only {' '.join(sorted(SIZES))}"),
    ],
)
def test_what_is_not_there_is_refused_before_anything_is_installed(typed: Typed, words: list[str], why: str) -> None:
    done = typed.make(*words, "-n")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"*** {why}.  Stop." in done.stderr


@pytest.fixture
def kept(tmp_path: Path, database_url: str, aws_environment: dict[str, str], sqs) -> Iterator[Mapping[str, str]]:
    """What ``make run`` would have kept: the environment of the parts, in ``tmp_path``, which somebody has taken."""
    variables = {
        **aws_environment,
        **make_queues(sqs, tmp_path.name.replace("_", "-")[:40]),
        "DATABASE_URL": database_url,
        "QDRANT_URL": "http://127.0.0.1:1",
    }
    state = State(tmp_path)
    assert state.take()
    state.keep_environment(variables)
    yield variables
    state.close()


def test_invoke_prints_the_answer_of_the_function_alone(tmp_path: Path, kept: Mapping[str, str]) -> None:
    """``make invoke … | jq`` must work, though a function logs and tells metrics on stdout, as Lambda wants it."""
    event = sample_event("fetch.malformed", kept["FETCH_QUEUE_URL"])
    (tmp_path / "event.json").write_text(json.dumps(event))
    command = [sys.executable, "-m", "infra.local.invoke", "fetch", str(tmp_path / "event.json"), "--folder"]
    environment = {**process_environment(), "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    done = subprocess.run(
        [*command, str(tmp_path)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"batchItemFailures": []}
    assert "malformed_message" in done.stderr


@pytest.mark.parametrize(
    ("words", "text", "why"),
    [
        ([], None, "make invoke FUNCTION=schedule EVENT="),
        (["tea"], None, "make invoke FUNCTION=schedule EVENT="),
        (["tea", "event.json"], "{}", "There is no function 'tea'. Functions: analyze, "),
        (["fetch", "event.json"], None, "cannot be read: No such file"),
        (["fetch", "event.json"], "", "is not valid JSON: see line 1."),
        (["fetch", "event.json"], "{\n,}", "is not valid JSON: see line 2."),
        (["fetch", "event.json"], "\udce9", "is not valid UTF-8."),
        (["fetch", "event.json"], "[]", "is not a JSON object"),
        (["fetch", "event.json"], "{}", "fetch cannot use this event: it has no Records; see events/fetch.*.json"),
        (["schedule", "event.json"], "{}", "schedule cannot use this event: tick: Field required."),
        (["fetch", "event.json"], '{"Records": 5}', "fetch raised TypeError. See the log above."),
    ],
)
def test_what_cannot_be_invoked_is_said_in_a_sentence(
    tmp_path: Path, kept: Mapping[str, str], words: list[str], text: str | None, why: str
) -> None:
    if text is not None:
        (tmp_path / "event.json").write_text(text, errors="surrogateescape")
    function, *event = [*words, ""]
    event = [str(tmp_path / one) if one else "" for one in event[:1]]
    done = command("invoke", f"--folder={tmp_path}", "--", function, *event)
    assert (done.returncode, done.stdout) == (1, "")
    assert why in done.stderr.splitlines()[-1]


def test_invoke_says_what_failed_while_the_database_is_down(tmp_path: Path, kept: Mapping[str, str]) -> None:
    (tmp_path / "environment").write_text(
        re.sub(
            "(?m)^DATABASE_URL=.*", "DATABASE_URL=postgresql://127.0.0.1:1/x", (tmp_path / "environment").read_text()
        )
    )
    (tmp_path / "event.json").write_text('{"tick": "sweep"}')
    done = command("invoke", f"--folder={tmp_path}", "--", "schedule", str(tmp_path / "event.json"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].startswith("siftline: schedule failed: ")


def test_sam_local_is_given_what_the_parts_have_as_a_container_reaches_them(
    tmp_path: Path, kept: Mapping[str, str]
) -> None:
    done = command("sam_environment", f"--folder={tmp_path}")
    assert done.returncode == 0, done.stderr
    written = Path(done.stdout.strip())
    assert (written, written.stat().st_mode & 0o777) == (tmp_path / "sam-env.json", 0o600)
    fetch = json.loads(written.read_text())["FetchFunction"]
    for name in ("AWS_ENDPOINT_URL", "DATABASE_URL", "FETCH_QUEUE_URL"):
        assert fetch[name] == kept[name].replace("127.0.0.1", "host.docker.internal") != kept[name]


def test_localstack_says_what_it_needs_before_it_starts_anything(tmp_path: Path) -> None:
    done = command("localstack", PATH=str(tmp_path), LOCALSTACK_AUTH_TOKEN="")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "make localstack needs Docker with compose; make run needs neither.\n"
    docker = tmp_path / "docker"
    docker.write_text("#!/bin/sh\nexit 9\n")
    docker.chmod(0o755)
    done = command("localstack", PATH=str(tmp_path), LOCALSTACK_AUTH_TOKEN="")
    assert "needs LOCALSTACK_AUTH_TOKEN" in done.stderr
    done = command("localstack", PATH=f"{tmp_path}:/bin", LOCALSTACK_AUTH_TOKEN="ls-token")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"`docker compose .* up --detach --wait` ended with code 9: see above\.\n", done.stderr)


def test_redrive_prints_its_answer_alone(kept: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "infra.operate", "redrive", "--queue", "analysis"]
    environment = {**process_environment(), **kept, "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "jobs are pending again" in done.stdout.splitlines()[0]
    assert not [line for line in done.stdout.splitlines() if line.startswith("{")]
