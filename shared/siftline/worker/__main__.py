"""``python -m siftline.worker``: run until SIGTERM or SIGINT, then drain and exit 0; exit 1 if a part of it died."""

import argparse
import gc
import os
import signal
import sys
import time
from pathlib import Path

import boto3
from botocore.config import Config

from siftline.kit.clock import SystemClock
from siftline.kit.db import SingleConnection
from siftline.kit.log import logger
from siftline.settings.functions import DatabaseSettings, WorkerSettings, process_environment
from siftline.worker.health_page import Check, serve_health
from siftline.worker.template import Template, TemplateError
from siftline.worker.worker import Worker

_log = logger("worker")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m siftline.worker", description="Process queues and run schedules.")
    parser.add_argument("--template", type=Path, default=Path("template.yaml"))
    parser.add_argument("--pid-file", type=Path, help="file written at start and removed at exit")
    parser.add_argument("--health-port", type=int, help="serve /health, /ready and /metrics on this port of 127.0.0.1")
    parser.add_argument(
        "--no-ticks", action="store_true", help="process queues only; another worker runs the schedules"
    )
    return parser.parse_args()


def _queue_urls(template: Template) -> dict[str, str]:
    """Return the queues' URLs from the variables in which the functions of the template get them."""
    given = process_environment()
    variables = {source.queue: template.variable_of(source.queue) for source in template.queue_sources()}
    missing = sorted(name for name in variables.values() if not given.get(name))
    if missing:
        raise TemplateError(f"These environment variables are not set: {', '.join(missing)}.")
    return {queue: given[name] for queue, name in variables.items()}


def _checks() -> dict[str, Check]:
    """Return what readiness asks: the database, where this process was given one."""
    if not process_environment().get("DATABASE_URL"):
        return {}
    url = DatabaseSettings().database_url.get_secret_value()
    database = SingleConnection(url, connect_timeout_s=3)

    def answers() -> None:
        with database.transaction():
            pass  # that it begins and ends is the answer

    return {"database": answers}


def _run(worker: Worker) -> bool:
    """Run until a signal; return whether the worker was healthy to the end."""
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: stopping.append(received))
    worker.start()
    gc.collect()
    gc.freeze()  # what was loaded stays: no collection has to look through it
    healthy = True
    while healthy and not stopping:
        time.sleep(0.1)
        healthy = worker.healthy()
    if not healthy:
        _log.error("worker_part_died", state=worker.state())
    return healthy


def main() -> int:
    """Run the worker and return its exit code."""
    options = _options()
    try:
        settings = WorkerSettings()
        template = Template.read(options.template, settings.parameters())
        urls = _queue_urls(template)
    except TemplateError as error:
        _log.error("worker_not_started", error_code=error.error_code, detail=error.detail)
        return 2
    sqs = boto3.client(
        "sqs", config=Config(max_pool_connections=64, read_timeout=settings.worker_poll_s + 10, connect_timeout=5)
    )
    worker = Worker(template, sqs=sqs, urls=urls, settings=settings, clock=SystemClock(), ticks=not options.no_ticks)
    if options.pid_file:
        options.pid_file.write_text(f"{os.getpid()}\n", encoding="ascii")
    token = settings.worker_health_token.get_secret_value()
    health = serve_health(worker, _checks(), options.health_port, token) if options.health_port else None
    healthy = _run(worker)
    drained = worker.stop()
    if health:
        health.shutdown()
    if options.pid_file:
        options.pid_file.unlink(missing_ok=True)
    if not drained:
        # Threads are still inside handlers: leave without waiting for them, as the stated time is over.
        sys.stdout.flush()
        os._exit(0 if healthy else 1)
    gc.freeze()  # else the interpreter, on its way out, looks through every object of every function once more
    return 0 if healthy else 1


if __name__ == "__main__":
    sys.exit(main())
