"""A schedule: the same constant event, again and again. One tick at a time; a failing one never stops the next."""

import json
import threading
import time
from datetime import datetime, timedelta

from siftline.kit.clock import Clock
from siftline.kit.log import logger
from siftline.worker.hosting import HostedFunction, InvocationError
from siftline.worker.schedule_times import timetable
from siftline.worker.template import Schedule

_log = logger("worker")


class Ticker:
    """Runs one schedule. Ticks missed while one ran, or while nothing ran, are not made up for."""

    def __init__(self, schedule: Schedule, hosted: HostedFunction, *, clock: Clock, stop: threading.Event) -> None:
        self.schedule = schedule
        self._hosted = hosted
        self._clock = clock
        self._stop = stop
        self._event = json.loads(schedule.input)
        self._timetable = timetable(schedule.expression, schedule.time_zone)
        self.busy = 0
        self.done = 0
        self.failed = 0

    def run(self) -> None:
        """Tick until told to stop."""
        due = self._timetable.first(self._clock.now())
        while not self._wait_until(due):
            self._tick()
            now = self._clock.now()
            due = self._timetable.after(due)
            if due < now:
                due = self._timetable.after(now)

    def _wait_until(self, due: datetime) -> bool:
        """Wait, and return whether to stop. Looks at the clock again and again: a laptop may have slept."""
        while not self._stop.is_set():
            left_s = (due - self._clock.now()) / timedelta(seconds=1)
            if left_s <= 0:
                return False
            self._stop.wait(min(left_s, 30.0))
        return True

    def _tick(self) -> None:
        started = time.monotonic()
        self.busy = 1
        try:
            answer = self._hosted.invoke(self._event)
        except InvocationError as error:
            self.failed += 1
            _log.warning("tick_failed", schedule=self.schedule.name, error_code=error.error_code, detail=error.detail)
        else:
            self.done += 1
            duration_ms = round((time.monotonic() - started) * 1000)
            _log.info("tick_done", schedule=self.schedule.name, duration_ms=duration_ms, result=answer)
        finally:
            self.busy = 0
