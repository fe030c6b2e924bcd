"""The job as Celery tasks. ``python -m benchmarks.killing.celery_tasks BROKER TASK URL…`` sends one a page."""

import sys

from celery import Celery, Task

from benchmarks.killing.peer_job import read_page

app = Celery("kills")


@app.task(name="read", bind=True)
def read(self: Task, page: int, url: str) -> None:
    """Do the job, as Celery does by default: acknowledged just before it begins."""
    read_page(page, url, self.request.hostname.partition("@")[0])


@app.task(name="read_late", bind=True, acks_late=True)
def read_late(self: Task, page: int, url: str) -> None:
    """Do the job, acknowledged when it is done."""
    read_page(page, url, self.request.hostname.partition("@")[0])


def main(broker: str, task: str, *urls: str) -> None:
    """Send a job a page."""
    app.conf.broker_url = broker
    for page, url in enumerate(urls):
        app.tasks[task].delay(page, url)


if __name__ == "__main__":
    main(*sys.argv[1:])
