"""The worker: a poller a queue, a ticker a schedule, a heartbeat for all; stopped in order, within a stated time."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from siftline.kit.clock import Clock
from siftline.kit.heartbeat import Heartbeat
from siftline.kit.log import logger
from siftline.settings.functions import WorkerSettings
from siftline.worker.hosting import HostedFunction
from siftline.worker.poller import Poller, Precedence, logical_name
from siftline.worker.queue import Queue
from siftline.worker.schedules import Ticker
from siftline.worker.template import Function, QueueSource, Template

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

STALLED_S = 300.0
"""A queue not polled for this long makes the worker unhealthy: fifteen polls."""
_log = logger("worker")


class Worker:
    """Runs every event source and schedule of a template. ``urls`` are the queues' URLs by logical id."""

    def __init__(
        self,
        template: Template,
        *,
        sqs: "SQSClient",
        urls: Mapping[str, str],
        settings: WorkerSettings,
        clock: Clock,
        ticks: bool = True,
    ) -> None:
        self._settings = settings
        self._stop = threading.Event()
        self._heartbeat = Heartbeat()
        self._precedence = Precedence()
        self._hosted: dict[str, HostedFunction] = {}
        self.pollers = [self._poller(source, sqs, urls[source.queue]) for source in template.queue_sources()]
        self.tickers = [
            Ticker(schedule, self._host(schedule.function), clock=clock, stop=self._stop)
            for schedule in (template.schedules() if ticks else [])
        ]
        runs: dict[str, Callable[[], None]] = {f"poll-{poller.source.queue}": poller.run for poller in self.pollers}
        runs |= {f"tick-{ticker.schedule.name}": ticker.run for ticker in self.tickers}
        self._threads = [threading.Thread(target=run, name=name, daemon=True) for name, run in runs.items()]

    def start(self) -> None:
        """Begin to poll and to tick."""
        for thread in self._threads:
            thread.start()
        _log.info("worker_started", queues=len(self.pollers), schedules=len(self.tickers))

    def healthy(self) -> bool:
        """Whether every part still runs."""
        return all(thread.is_alive() for thread in self._threads)

    def live(self) -> bool:
        """Whether every part still runs, and every queue was polled within ``STALLED_S``."""
        oldest = min((poller.last_poll for poller in self.pollers), default=time.monotonic())
        return self.healthy() and time.monotonic() - oldest < STALLED_S

    def state(self) -> dict[str, Any]:
        """Tell what is in work, how each queue's last poll went and how long ago it was, and what cannot be built."""
        now = time.monotonic()
        return {
            "healthy": self.live(),
            "threads_ended": [thread.name for thread in self._threads if not thread.is_alive()],
            "queues": {
                poller.name: {
                    "busy": poller.busy,
                    "threads": poller.threads,
                    "polled_s_ago": round(now - poller.last_poll, 1),
                    "fault": poller.fault,
                }
                for poller in self.pollers
            },
            "unbuildable": {
                hosted.function.name: hosted.unbuildable for hosted in self._hosted.values() if hosted.unbuildable
            },
            "schedules": {ticker.schedule.name: {"busy": ticker.busy} for ticker in self.tickers},
        }

    def stop(self) -> bool:
        """Stop polling and ticking, let work under way end; return whether all of it did within the stated time.

        What did not is received again by the next worker, and its job's lease runs out.
        """
        self._stop.set()
        deadline = time.monotonic() + self._settings.worker_drain_s
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        while self._busy() and time.monotonic() < deadline:
            time.sleep(0.05)
        self._heartbeat.close()
        drained = not self._busy() and not any(thread.is_alive() for thread in self._threads)
        _log.info("worker_stopped", drained=drained, left=self._busy())
        return drained

    def _busy(self) -> int:
        return sum(poller.busy for poller in self.pollers) + sum(ticker.busy for ticker in self.tickers)

    def _host(self, function: Function) -> HostedFunction:
        return self._hosted.setdefault(function.logical_id, HostedFunction(function))

    def _poller(self, source: QueueSource, sqs: "SQSClient", url: str) -> Poller:
        by_name = self._settings.worker_threads
        threads = by_name.get(logical_name(source.queue), by_name.get(source.function.name, 1))
        return Poller(
            source,
            self._host(source.function),
            lambda: Queue.open(sqs, url, hold_s=self._settings.worker_hold_s),
            threads=min(threads, source.concurrency or threads),
            poll_s=self._settings.worker_poll_s,
            heartbeat=self._heartbeat,
            stop=self._stop,
            precedence=self._precedence,
        )
