"""What a person waits for goes first on one machine."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from siftline.worker.poller import Precedence

GENEROUS_S = 60.0


@pytest.mark.parametrize("queue", ["fetch", "content-background", "analysis-background"])
def test_background_work_begins_once_no_foreground_queue_has_work(queue: str) -> None:
    precedence, order = Precedence(GENEROUS_S), list[str]()
    begun = threading.Event()

    def background() -> None:
        begun.set()
        with precedence.of(queue):
            order.append("background")

    with ThreadPoolExecutor(1) as pool:
        with precedence.of("content-processing"), precedence.of("analysis"):
            waiting = pool.submit(background)
            begun.wait(GENEROUS_S)
            order.append("lane")
        waiting.result(GENEROUS_S)

    assert order == ["lane", "background"]


@pytest.mark.parametrize("queue", ["content-processing", "analysis", "briefing", "clustering", "toy"])
def test_other_work_waits_for_no_foreground_queue(queue: str) -> None:
    precedence = Precedence(GENEROUS_S)
    with precedence.of("analysis"), precedence.of(queue):
        pass


def test_background_work_goes_on_beside_a_lane_that_never_rests() -> None:
    precedence = Precedence(0.01)
    with precedence.of("analysis"), precedence.of("analysis-background"):
        pass


def test_a_lane_is_free_again_after_work_that_failed() -> None:
    precedence = Precedence(GENEROUS_S)
    with pytest.raises(ValueError, match="no good"), precedence.of("analysis"):
        raise ValueError("no good")
    with precedence.of("analysis-background"):
        pass
