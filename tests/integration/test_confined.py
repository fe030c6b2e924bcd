"""Functions in a child process: kept warm, held to a time and a memory, replaced when lost, gone with its parent."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from inspect import isfunction
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from siftline.ingest.page_model import EmptyContentError
from siftline.kit.confined import (
    ChildLostError,
    ChildNotStartedError,
    Confined,
    TooMuchMemoryError,
    TooSlowError,
    UnexpectedInChildError,
)
from siftline.kit.errors import TransientError
from siftline.kit.sandbox import FILES, NETWORK
from siftline.net.blocks import BlockedBySiteError
from tests import confined_work as work

MEMORY_BYTES = 128 * 1024 * 1024
PATIENCE_S = 300.0  # the machine may be busy with the other tests


def name_of(function: Callable[..., Any]) -> str:
    return f"{function.__module__}:{function.__name__}"


WORK = [name_of(value) for value in vars(work).values() if isfunction(value) and value.__module__ == work.__name__]


@pytest.fixture(scope="module")
def confined() -> Iterator[Confined]:
    with Confined(*WORK, memory_bytes=MEMORY_BYTES, what="page") as running:
        yield running


def call(confined: Confined, function: Callable[..., Any], *args: object, within_s: float = PATIENCE_S) -> Any:
    returns = get_type_hints(function)["return"]
    return confined.call(returns, name_of(function), *args, within_s=within_s)


def here(text: str) -> list[int]:
    """Return the processes that told that they are at work."""
    return [int(line.removeprefix("here ")) for line in text.splitlines() if line.startswith("here ")]


def gone(process_id: int) -> bool:
    """Wait until a process that need not be our child is gone, or only its entry is left; false when it stays."""
    for _ in range(600):
        try:
            state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in "ZX":
            return True
        time.sleep(0.1)
    return False


def test_calls_one_after_the_other_are_answered_by_one_child(confined: Confined) -> None:
    ids = {call(confined, work.process_id) for _ in range(3)}
    assert len(ids) == 1
    assert os.getpid() not in ids


def test_arguments_and_results_cross_whole(confined: Confined) -> None:
    body = bytes(range(256)) * 12_000
    assert call(confined, work.length_and_bytes, body) == len(body).to_bytes(8) + body
    assert call(confined, work.answer_of_all) == work.ANSWER_OF_ALL


def test_half_a_surrogate_pair_does_not_leave_a_child(confined: Confined) -> None:
    assert call(confined, work.half_a_pair) == "a?b"


def test_callers_at_once_each_have_a_child(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    go, told = tmp_path / "go", ""
    with Confined(*WORK, memory_bytes=MEMORY_BYTES) as fresh, ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(call, fresh, work.meet, str(go)) for _ in range(3)]
        while len(here(told)) < 3 and not any(running.done() for running in calls):
            told += capfd.readouterr().err
            time.sleep(0.01)
        go.touch()
        assert len({running.result() for running in calls}) == 3


@pytest.mark.parametrize("name", ["DATABASE_URL", "AWS_SECRET_ACCESS_KEY", "LLM_API_KEY", "ANYTHING"])
def test_a_child_has_nothing_of_our_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "a secret")
    with Confined(*WORK, memory_bytes=MEMORY_BYTES) as running:
        assert "a secret" not in call(running, work.environment).values()


def test_a_child_reaches_no_network_no_file_to_write_and_no_process_outside(confined: Confined) -> None:
    if (kept := unconfined()) is not None:
        pytest.skip(f"this kernel does not take away: {kept}")
    assert call(confined, work.refused) == []


def unconfined() -> str | None:
    """Return what this kernel lets a process keep, asked in a process of its own."""
    ask = "import sys; sys.path[:] = eval(sys.argv[1]); from siftline.kit.sandbox import enclose; print(*enclose())"
    done = subprocess.run([sys.executable, "-c", ask, repr(sys.path)], capture_output=True, text=True, check=True)
    return ", ".join(sorted({FILES, NETWORK} - set(done.stdout.split()))) or None


@pytest.mark.parametrize("body", [pickle.dumps(Path("/")), b'"text"', b"{", b"", b"[1]"], ids=repr)
def test_what_a_child_answers_is_read_as_the_type_expected_or_not_at_all(body: bytes) -> None:
    with Confined(*WORK, memory_bytes=MEMORY_BYTES) as running:
        with pytest.raises(ChildLostError) as caught:
            call(running, work.forge, body)
        assert caught.value.detail.endswith("its process returned no valid answer.")


def test_a_child_that_announces_more_than_any_answer_is_given_up() -> None:
    with Confined(*WORK, memory_bytes=MEMORY_BYTES) as running, pytest.raises(ChildLostError):
        call(running, work.claim_length, 2**40)


def test_an_error_brings_its_facts(confined: Confined) -> None:
    with pytest.raises(BlockedBySiteError) as caught:
        call(confined, work.fail_with_facts)
    assert (caught.value.status, caught.value.error_code) == (403, "blocked_by_site")


def test_what_a_function_prints_does_not_get_between_the_answers(confined: Confined) -> None:
    assert [call(confined, work.chatter) for _ in range(2)] == ["answer", "answer"]


def test_only_functions_that_were_named_are_called(confined: Confined) -> None:
    with pytest.raises(UnexpectedInChildError):
        confined.call(int, "os:getpid", within_s=PATIENCE_S)


def test_errors_cross_with_type_code_and_sentence_and_the_child_goes_on(confined: Confined) -> None:
    child = call(confined, work.process_id)
    with pytest.raises(EmptyContentError) as empty:
        call(confined, work.fail_for_good)
    assert (empty.value.error_code, empty.value.detail) == ("no_text", "The page contains no text.")
    with pytest.raises(TransientError) as later:
        call(confined, work.fail_for_now)
    assert (later.value.detail, later.value.retry_after_s) == ("Come back.", 7.0)
    with pytest.raises(UnexpectedInChildError, match="LookupError"):
        call(confined, work.fail_unexpectedly)
    assert call(confined, work.process_id) == child


def test_a_call_past_its_time_is_killed_wherever_it_hangs_and_the_next_is_answered(
    capfd: pytest.CaptureFixture[str],
) -> None:
    confined = Confined(*WORK, memory_bytes=MEMORY_BYTES, what="page")
    with pytest.raises(TooSlowError) as caught:
        call(confined, work.hang_in_c, within_s=0.5)
    assert caught.value.error_code == "page_too_slow"
    assert caught.value.detail == "The page took longer than 0.5 seconds to read."
    assert all(gone(process) for process in here(capfd.readouterr().err))
    assert call(confined, work.echo, 1) == 1
    confined.close()


def test_a_call_that_wants_too_much_memory_is_given_up_and_the_next_is_answered(confined: Confined) -> None:
    with pytest.raises(TooMuchMemoryError) as caught:
        call(confined, work.swell, 2 * MEMORY_BYTES)
    assert caught.value.error_code == "page_too_much_memory"
    assert caught.value.detail.endswith(".")
    assert call(confined, work.swell, MEMORY_BYTES // 2) == MEMORY_BYTES // 2


def test_a_child_that_calls_have_left_large_is_not_used_again(confined: Confined) -> None:
    large = call(confined, work.keep, MEMORY_BYTES * 3 // 4)
    assert call(confined, work.keep, MEMORY_BYTES * 3 // 4) != large
    assert gone(large)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT], ids=["the kernel", "its own library"])
def test_a_child_ended_for_want_of_memory_wanted_too_much(number: signal.Signals) -> None:
    with Confined(*WORK, memory_bytes=MEMORY_BYTES) as fresh, pytest.raises(TooMuchMemoryError) as caught:
        call(fresh, work.die_by, number)
    assert caught.value.error_code == "too_much_memory"


def test_a_call_that_its_child_did_not_survive_may_be_tried_again_later(confined: Confined) -> None:
    with pytest.raises(ChildLostError) as caught:
        call(confined, work.die_by, signal.SIGSEGV)
    assert caught.value.error_code == "child_lost"
    assert call(confined, work.echo, 1) == 1


def test_what_a_child_with_a_past_did_not_survive_is_tried_by_a_fresh_one(confined: Confined) -> None:
    used = call(confined, work.process_id)
    assert call(confined, work.die_with_a_past) != used


def test_an_idle_child_that_died_costs_no_call(confined: Confined) -> None:
    os.kill(call(confined, work.process_id), signal.SIGKILL)
    assert call(confined, work.echo, 1) == 1


def test_a_child_that_cannot_start_is_told_as_such() -> None:
    with Confined("tests.no_such_module:f", memory_bytes=MEMORY_BYTES) as broken, pytest.raises(ChildNotStartedError):
        broken.call(int, "tests.no_such_module:f", within_s=PATIENCE_S)


def test_closing_ends_the_children() -> None:
    with Confined(*WORK, memory_bytes=MEMORY_BYTES) as running:
        child = call(running, work.process_id)
    assert gone(child)


PARENT = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from siftline.kit.confined import Confined
confined = Confined(*json.loads(sys.argv[2]), memory_bytes=128 << 20)
print(confined.call(int, "tests.confined_work:process_id", within_s=60), flush=True)
if len(sys.argv) > 3:
    confined.call(int, "tests.confined_work:hang_in_c", within_s=2)
"""


def parent(*more: str) -> subprocess.Popen[str]:
    """Start a process that has used a child, and prints its id."""
    command = [sys.executable, "-c", PARENT, json.dumps(sys.path), json.dumps(WORK), *more]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_an_idle_child_ends_with_its_interpreter() -> None:
    running = parent()
    with running:
        child = int(running.communicate(timeout=PATIENCE_S)[0])
    assert running.returncode == 0
    assert gone(child)


def test_a_child_that_hangs_ends_though_its_parent_was_killed() -> None:
    with parent("hang") as running:
        assert running.stdout is not None
        assert running.stderr is not None
        child = int(running.stdout.readline())
        assert here(running.stderr.readline()) == [child]
        running.kill()
    assert gone(child)


def test_a_child_that_cannot_be_started_is_told_and_may_be_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with Confined(*WORK, memory_bytes=MEMORY_BYTES) as running:
        with monkeypatch.context() as patched:
            patched.setattr(sys, "executable", "/nowhere/python")
            with pytest.raises(ChildNotStartedError, match="could not be started"):
                call(running, work.process_id)
        assert call(running, work.process_id) != os.getpid()
