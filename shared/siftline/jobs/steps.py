"""The parts of one tick, each for itself: one that fails is told and counted, and the others run all the same."""

from collections.abc import Callable, Mapping

from siftline.kit.clock import Clock
from siftline.kit.errors import SiftlineError, TransientError
from siftline.kit.log import logger
from siftline.kit.metrics import COUNT, emit

WORK_S = 40.0
"""How long a tick goes on at most: below the function's timeout of 50 s, with room for its last part."""
_log = logger("jobs")


class TickIncompleteError(TransientError):
    """Some parts of a tick failed; all others ran. The next tick is the retry."""

    code = "tick_incomplete"


class Steps:
    """Runs the parts of a tick in their order, for ``work_s`` seconds: less than the function's timeout."""

    def __init__(self, tick: str, clock: Clock, *, work_s: float = WORK_S) -> None:
        self._tick = tick
        self._clock = clock
        self._end = clock.monotonic() + work_s

    def out_of_time(self) -> bool:
        """Whether what is left has to wait for the next tick."""
        return self._clock.monotonic() >= self._end

    def repeat(self, batch: Callable[[], int], *, full: int) -> int:
        """Run ``batch`` until it brings less than ``full`` or time is up; return the sum of what it brought."""
        total = 0
        while not self.out_of_time():
            brought = batch()
            total += brought
            if brought < full:
                break
        return total

    def run(self, steps: Mapping[str, Callable[[], int]]) -> dict[str, int]:
        """Run every step and return what each did, in counts. Raises ``TickIncompleteError`` when any failed."""
        done: dict[str, int] = {}
        failed: dict[str, Exception] = {}
        for name, step in steps.items():
            if self.out_of_time():
                _log.warning("tick_out_of_time", tick=self._tick, left=[*steps][len(done) + len(failed) :])
                break
            try:
                done[name] = step()
            except Exception as error:  # noqa: BLE001 - told at once and raised at the end: no part may stop another
                failed[name] = error
                self._tell(name, error)
        done |= dict.fromkeys(steps.keys() - done.keys(), 0)
        if failed:
            _log.error("tick_incomplete", tick=self._tick, failed=[*failed], done=done)
            detail = f"Parts of the tick {self._tick} failed: {', '.join(failed)}."
            raise TickIncompleteError(detail) from next(iter(failed.values()))
        return {name: done[name] for name in steps}

    def _tell(self, step: str, error: Exception) -> None:
        if isinstance(error, SiftlineError):
            _log.error("step_failed", tick=self._tick, step=step, error_code=error.error_code, detail=error.detail)
        else:
            _log.error("step_failed", tick=self._tick, step=step, error_code="unexpected_error", exc_info=error)
        emit({"StepFailures": (1, COUNT)}, {"tick": self._tick})
