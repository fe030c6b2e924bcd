"""Read again what other versions read: ``make reprocess``. ``DRY_RUN=1`` only counts and prices it.

Which versions are outdated, and what a text costs, is what the worker told when it opened its models.
"""

import sys
from contextlib import closing
from datetime import UTC

from pydantic import ValidationError

from siftline.jobs.jobs_wiring import Producer, producer
from siftline.kit.errors import SiftlineError
from siftline.operate.command_line import Parser, moment, number
from siftline.operate.set_up_error import SetUpError, settings_fault
from siftline.reprocess.reprocess import Plan, Reprocess
from siftline.reprocess.reprocess_store import KINDS, Order, Run
from siftline.settings.functions import ProducerSettings


def _opened() -> tuple[ProducerSettings, Producer]:
    """Open the database. What texts are read with is what the worker told: this shell's settings need not be its."""
    try:
        settings = ProducerSettings()
    except ValidationError as error:
        raise settings_fault(error) from error
    return settings, producer(settings)


def plan_lines(plan: Plan) -> list[str]:
    """Return a plan as lines of text."""
    basis = "measured on this system" if plan.measured else "a typical value; nothing was measured on this system yet"
    return [
        *(f"{one.contents:>8}  {one.kind:<10} {one.model_version}" for one in plan.by),
        f"{plan.contents:>8}  contents, free for users",
        f"{plan.usd:>8.2f}  USD for the language model, for {plan.llm_texts} of them",
        f"{plan.work_s / 60:>8.1f}  minutes of one worker, {basis}",
    ]


def run_line(run: Run | None) -> str:
    """Return how far a run has come as a line of text."""
    if run is None:
        return "Nothing has been reprocessed yet."
    waits = f", waits for {run.waits_for}" if run.waits_for else ""
    done = run.enqueued - run.live - run.failed
    return f"{run.state}: {done} of {run.planned} reprocessed, {run.live} in progress, {run.failed} failed{waits}"


def main(arguments: list[str]) -> int:
    """Do as the command line says; return the exit code."""
    parser = Parser(
        prog="make reprocess",
        usage="make reprocess (options: KIND=…, VERSION=…, OLDER_THAN=…, LIMIT=…, DRY_RUN=1, SHOW=1, CANCEL=1)",
        description="Reprocess the results of other versions.",
    )
    parser.add_argument("--kind", choices=KINDS, help="only values of this kind")
    parser.add_argument("--version", help="only results of this version, even the current one")
    parser.add_argument("--older-than", type=moment, help="only older results, such as 2026-11-01")
    parser.add_argument("--limit", type=number, help="maximum number of contents")
    parser.add_argument("--dry-run", action="store_true", help="only estimate number and cost")
    parser.add_argument("--show", action="store_true", help="show the progress")
    parser.add_argument("--cancel", action="store_true", help="cancel the current run")
    chosen = parser.parse_args(arguments)
    if chosen.limit is not None and chosen.limit < 1:
        parser.error("--limit must be at least 1")
    older_than = chosen.older_than
    if older_than is not None and older_than.tzinfo is None:
        older_than = older_than.replace(tzinfo=UTC)
    order = Order(chosen.kind, chosen.version, older_than, chosen.limit)
    try:
        settings, parts = _opened()
        with closing(parts.database):
            reprocess = Reprocess(parts.database, max_attempts=settings.job_max_attempts)
            if chosen.cancel:
                print("Cancelled." if reprocess.cancel() else "No run is in progress.")
            elif chosen.show:
                print(run_line(reprocess.run()))
            else:
                plan = reprocess.plan(order) if chosen.dry_run else reprocess.start(order)
                print("\n".join(plan_lines(plan)))
    except (SiftlineError, SetUpError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0
