"""A task that does nothing. ``python -m benchmarks.queueing.procrastinate_tasks JOBS BATCH`` defers it, in batches.

Prints the seconds that this took.
"""

import sys
import time

import procrastinate

app = procrastinate.App(connector=procrastinate.PsycopgConnector())


@app.task(name="no_op")
def no_op(place: int) -> None:
    """Do nothing."""


def main(jobs: int, batch: int) -> None:
    """Defer the task."""
    with app.open():
        started = time.perf_counter()
        for first in range(0, jobs, batch):
            no_op.batch_defer(*({"place": place} for place in range(first, min(first + batch, jobs))))
        print(time.perf_counter() - started)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
