"""Functions in a child process: kept warm, held to a time and a memory, replaced when lost, gone with its parent."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from siftline.ingest.errors import EmptyContentError
from siftline.kit.confined import (
    ChildLostError,
    ChildNotStartedError,
    Confined,
    TooMuchMemoryError,
    TooSlowError,
    UnexpectedInChildError,
)
from siftline.kit.errors import TransientError
from tests import confined_work as work

MEMORY_BYTES = 128 * 1024 * 1024
PATIENCE_S = 60.0  # the machine may be busy with the other tests


def name_of(function: Callable[..., Any]) -> str:
    return f"{function.__module__}:{function.__name__}"


WORK = [name_of(value) for value in vars(work).values() if getattr(value, "__module__", "") == work.__name__]


@pytest.fixture(scope="module")
def confined() -> Iterator[Confined]:
    with Confined(*WORK, memory_bytes=MEMORY_BYTES, what="page") as running:
        yield running


def call(confined: Confined, function: Callable[..., Any], *args: object, within_s: float = PATIENCE_S) -> Any:
    return confined.call(name_of(function), *args, within_s=within_s)


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
    value = {"body": b"\0" * 3_000_000, "text": "\ud800 \U0001f600", "none": None}
    assert call(confined, work.echo, value) == value


def test_callers_at_once_each_have_a_child(confined: Confined, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(call, confined, work.meet, str(tmp_path), 3) for _ in range(3)]
        assert len({running.result() for running in calls}) == 3


def test_what_a_function_prints_does_not_get_between_the_answers(confined: Confined) -> None:
    assert [call(confined, work.chatter) for _ in range(2)] == ["answer", "answer"]


def test_only_functions_that_were_named_are_called(confined: Confined) -> None:
    with pytest.raises(UnexpectedInChildError):
        confined.call("os:getpid", within_s=PATIENCE_S)


def test_errors_cross_with_type_code_and_sentence_and_the_child_goes_on(confined: Confined) -> None:
    child = call(confined, work.process_id)
    with pytest.raises(EmptyContentError) as empty:
        call(confined, work.fail_for_good)
    assert (empty.value.error_code, empty.value.detail) == ("no_text", "The page holds no text.")
    with pytest.raises(TransientError) as later:
        call(confined, work.fail_for_now)
    assert (later.value.detail, later.value.retry_after_s) == ("Come back.", 7.0)
    with pytest.raises(UnexpectedInChildError, match="LookupError"):
        call(confined, work.fail_unexpectedly)
    assert call(confined, work.process_id) == child


def test_a_call_past_its_time_is_killed_wherever_it_hangs_and_the_next_is_answered(
    confined: Confined, tmp_path: Path
) -> None:
    began = tmp_path / "began"
    with pytest.raises(TooSlowError) as caught:
        call(confined, work.hang_in_c, str(began), within_s=0.5)
    assert caught.value.error_code == "page_too_slow"
    assert caught.value.detail == "The page took longer than 0.5 seconds to read."
    assert not began.exists() or gone(int(began.read_text()))
    assert call(confined, work.echo, 1) == 1


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


def test_what_a_child_with_a_past_did_not_survive_is_tried_by_a_fresh_one(confined: Confined, tmp_path: Path) -> None:
    used = call(confined, work.process_id)
    assert call(confined, work.die_once, str(tmp_path / "marker")) not in {0, used}


def test_an_idle_child_that_died_costs_no_call(confined: Confined) -> None:
    os.kill(call(confined, work.process_id), signal.SIGKILL)
    assert call(confined, work.echo, 1) == 1


def test_a_child_that_cannot_start_is_told_as_such() -> None:
    with Confined("tests.no_such_module:f", memory_bytes=MEMORY_BYTES) as broken, pytest.raises(ChildNotStartedError):
        broken.call("tests.no_such_module:f", within_s=PATIENCE_S)


def test_closing_ends_the_children() -> None:
    with Confined(*WORK, memory_bytes=MEMORY_BYTES) as running:
        child = call(running, work.process_id)
    assert gone(child)


PARENT = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from siftline.kit.confined import Confined
confined = Confined(*json.loads(sys.argv[2]), memory_bytes=128 << 20)
print(confined.call("tests.confined_work:process_id", within_s=60), flush=True)
if len(sys.argv) > 3:
    confined.call("tests.confined_work:hang_in_c", sys.argv[3], within_s=2)
"""


def parent(*more: str) -> subprocess.Popen[str]:
    """Start a process that has used a child, and prints its id."""
    command = [sys.executable, "-c", PARENT, json.dumps(sys.path), json.dumps(WORK), *more]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)


def test_an_idle_child_ends_with_its_interpreter() -> None:
    running = parent()
    with running:
        child = int(running.communicate(timeout=PATIENCE_S)[0])
    assert running.returncode == 0
    assert gone(child)


def test_a_child_that_hangs_ends_though_its_parent_was_killed(tmp_path: Path) -> None:
    began = tmp_path / "began"
    with parent(str(began)) as running:
        assert running.stdout is not None
        child = int(running.stdout.readline())
        while not began.exists():
            time.sleep(0.01)
        running.kill()
    assert gone(child)


def test_a_child_that_cannot_be_started_is_told_and_may_be_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with Confined(*WORK, memory_bytes=MEMORY_BYTES) as running:
        with monkeypatch.context() as patched:
            patched.setattr(sys, "executable", "/nowhere/python")
            with pytest.raises(ChildNotStartedError, match="could not be started"):
                call(running, work.process_id)
        assert call(running, work.process_id) != os.getpid()
