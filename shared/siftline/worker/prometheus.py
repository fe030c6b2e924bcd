"""The worker's figures as Prometheus reads them: text exposition format 0.0.4, written here as it is a few lines.

What the jobs themselves do is told by the functions, as on Lambda (EMF in the log); here stands what the worker adds.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siftline.worker.worker import Worker

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_Sample = tuple[dict[str, str], float]


def exposition(worker: "Worker", now: float) -> str:
    """Return all figures; ``now`` in seconds of ``time.monotonic``."""
    return "".join(line + "\n" for line in _lines(worker, now))


def _lines(worker: "Worker", now: float) -> Iterator[str]:
    pollers = [({"queue": poller.name}, poller) for poller in worker.pollers]
    yield from _family("healthy", "gauge", "1 while every part is running", [({}, float(worker.live()))])
    yield from _family(
        "batch_slots", "gauge", "Maximum number of concurrent batches", [(q, p.threads) for q, p in pollers]
    )
    yield from _family("batches_in_work", "gauge", "Batches being processed", [(q, p.busy) for q, p in pollers])
    yield from _family(
        "poll_age_seconds",
        "gauge",
        "Seconds since the queue was last polled",
        [(q, now - p.last_poll) for q, p in pollers],
    )
    outcomes = [
        ({**queue, "outcome": outcome}, count)
        for queue, poller in pollers
        for outcome, count in (("done", poller.tally.done), ("failed", poller.tally.failed))
    ]
    yield from _family("messages_total", "counter", "Messages processed, and messages returned to the queue", outcomes)
    yield from _family("batches_total", "counter", "Batches processed", [(q, p.tally.batches) for q, p in pollers])
    yield from _family(
        "batch_seconds_total", "counter", "Seconds spent on batches", [(q, p.tally.seconds) for q, p in pollers]
    )
    yield from _family(
        "poll_failures_total",
        "counter",
        "Failed polls of a queue",
        [(q, p.tally.polls_failed) for q, p in pollers],
    )
    ticks = [
        ({"schedule": ticker.schedule.name, "outcome": outcome}, float(count))
        for ticker in worker.tickers
        for outcome, count in (("done", ticker.done), ("failed", ticker.failed))
    ]
    yield from _family("ticks_total", "counter", "Ticks of a schedule", ticks)


def _family(name: str, kind: str, about: str, samples: Sequence[_Sample]) -> Iterator[str]:
    full = f"siftline_worker_{name}"
    yield f"# HELP {full} {about}"
    yield f"# TYPE {full} {kind}"
    for labels, value in samples:
        inner = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{full}{{{inner}}} {value:g}" if inner else f"{full} {value:g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
