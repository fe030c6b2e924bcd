"""The job as a procrastinate task. ``python -m benchmarks.killing.procrastinate_tasks URL…`` defers one a page."""

import sys

import procrastinate

from benchmarks.killing.peer_job import read_page

app = procrastinate.App(connector=procrastinate.PsycopgConnector())


@app.task(name="read_page", pass_context=True)
def read(context: procrastinate.JobContext, page: int, url: str) -> None:
    """Do the job."""
    read_page(page, url, str(context.worker_name))


def main(urls: list[str]) -> None:
    """Defer a job a page."""
    with app.open():
        for page, url in enumerate(urls):
            read.defer(page=page, url=url)


if __name__ == "__main__":
    main(sys.argv[1:])
