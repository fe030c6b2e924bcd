"""Ask who organisations are that still have temporary ids: ``make resolve``. ``DRY_RUN=1`` only counts.

A CSV file of names that cannot be used is told at once, and nothing is handed out then.
"""

import sys
from contextlib import closing
from pathlib import Path

from pydantic import ValidationError

from infra.local.answer import run
from siftline.contracts import JobType, Queue
from siftline.jobs import jobs_store as jobs
from siftline.jobs.job_model import NewJob
from siftline.jobs.jobs_wiring import Producer, producer
from siftline.kit.errors import SiftlineError
from siftline.operate.command_line import Parser, number
from siftline.operate.set_up_error import SetUpError, settings_fault
from siftline.resolve import resolve_store
from siftline.resolve.providers import CsvNames, day_of
from siftline.settings.functions import ResolveSettings


def _opened() -> tuple[ResolveSettings, Producer]:
    try:
        settings = ResolveSettings()
    except ValidationError as error:
        raise settings_fault(error) from error
    return settings, producer(settings)


def plan(settings: ResolveSettings, parts: Producer) -> list[str]:
    """Return, as lines of text, what there is to ask and how often providers may still be asked today."""
    with parts.database.transaction() as connection:
        temporary, resolved, queued = resolve_store.counts(connection)
        unasked = len(resolve_store.waiting(connection))
        asked = resolve_store.requests_of(connection, day_of(parts.clock.now()))
    lines = [
        f"{temporary:>8}  organisations with a temporary id, {resolved} with a canonical one",
        f"{queued:>8}  of them queued, {unasked} not queued",
    ]
    most = settings.provider_requests_per_day
    for name in settings.providers():
        left = "free" if name == "csv" else f"{max(most - asked.get(name, 0), 0)} of {most} requests left today"
        lines.append(f"{name:>8}  {left}")
    return lines


def enqueue(settings: ResolveSettings, parts: Producer) -> int:
    """Make a job of each organisation that has none; return how many were made."""
    with parts.database.transaction() as connection:
        wanted = [
            NewJob(JobType.RESOLVE_ENTITY, entity_id, f"entity:{entity_id}")
            for entity_id in resolve_store.waiting(connection)
        ]
        made = jobs.enqueue(connection, wanted, max_attempts=settings.job_max_attempts)
    return len(made)


def main(arguments: list[str]) -> int:
    """Do as the command line says; return the exit code."""
    parser = Parser(
        prog="make resolve",
        usage="make resolve (options: LIMIT=…, DRY_RUN=1)",
        description="Look up canonical ids of organisations.",
    )
    parser.add_argument("--dry-run", action="store_true", help="only count")
    parser.add_argument(
        "--limit", type=number, default=100, help="maximum number of jobs to start now; the schedule starts the rest"
    )
    chosen = parser.parse_args(arguments)
    if chosen.limit < 1:
        parser.error("--limit must be at least 1")
    try:
        settings, parts = _opened()
        with closing(parts.database):
            print("\n".join(plan(settings, parts)))
            if not settings.providers():
                print("Nothing to do: ENTITY_PROVIDERS is empty.")
                return 0
            if CsvNames.name in settings.providers():
                CsvNames(Path(settings.entity_csv)).load()
            if not chosen.dry_run:
                made = enqueue(settings, parts)
                handed_out = parts.publisher.hand_out(Queue.RESOLUTION, limit=chosen.limit, scheduled=True)
                print(f"{made:>8}  jobs created, {handed_out} started")
    except (SiftlineError, SetUpError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    run(main, beside=True)
