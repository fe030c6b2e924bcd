"""Give dead letters back to work: ``make redrive QUEUE=analysis``. ``DRY_RUN=1`` only counts, from PostgreSQL."""

import sys
from contextlib import closing

from pydantic import ValidationError

from siftline.contracts import Queue
from siftline.jobs.dead_letters import DeadLetters, Order, Redriven, SqsDeadLetters
from siftline.jobs.jobs_wiring import Producer, producer
from siftline.kit.aws import sqs_client
from siftline.kit.errors import SiftlineError
from siftline.kit.lines import line
from siftline.operate.command_line import Parser, number
from siftline.operate.set_up_error import SetUpError, settings_fault
from siftline.settings.functions import ConsumerSettings

# Nobody waits for a command as for a request: it may look through a dead-letter queue for as long as this.
_BUDGET_S = 600.0
_MOVED = {
    "sqs": "SQS moves the messages back in the background.",
    "siftline": "",
    None: "SQS did not answer: malformed messages and copies stay on the dead-letter queue.",
}


def _opened() -> tuple[Producer, DeadLetters]:
    try:
        settings = ConsumerSettings()
    except ValidationError as error:
        raise settings_fault(error) from error
    parts = producer(settings)
    queues = SqsDeadLetters(sqs_client(), parts.queues, settings.queue_urls(), settings.dead_letter_urls(), parts.clock)
    return parts, DeadLetters(parts.database, queues, parts.publisher.publish, parts.clock, budget_s=_BUDGET_S)


def report(done: Redriven, *, dry_run: bool) -> str:
    """Return what a redrive did as lines of text: a line a cause, then the sums."""
    lines = [f"{cause.jobs:>8}  {cause.job_type:<18} {line(cause.error_code)}" for cause in done.causes]
    lines.append(f"{done.jobs:>8}  jobs {'would be' if dry_run else 'are'} pending again, {done.left} left")
    if not dry_run:
        lines.append(f"{done.messages:>8}  malformed messages moved back, {done.copies} copies deleted")
        lines.append(_MOVED[done.moved_by])
    return "\n".join(line for line in lines if line)


def main(arguments: list[str]) -> int:
    """Redrive as the command line says; return the exit code."""
    queues = ", ".join(queue.value for queue in Queue)
    parser = Parser(
        prog="make redrive",
        usage="make redrive QUEUE=analysis (options: ERROR_CODE=…, LIMIT=…, DRY_RUN=1)",
        description="Redrive dead letters.",
    )
    parser.add_argument("--queue", required=True, choices=[queue.value for queue in Queue])
    parser.add_argument("--error-code", help="only this error code")
    parser.add_argument("--limit", type=number, help="maximum number, oldest first")
    parser.add_argument("--dry-run", action="store_true", help="only count")
    if "--queue=" in arguments:  # as the Makefile passes what was not typed
        parser.error(f"set QUEUE=… to one of {queues}")
    chosen = parser.parse_args(arguments)
    if chosen.limit is not None and chosen.limit < 1:
        parser.error("--limit must be at least 1")
    order = Order(Queue(chosen.queue), chosen.error_code, chosen.limit)
    try:
        parts, dead_letters = _opened()
        with closing(parts.database):
            done = dead_letters.dry_run(order) if chosen.dry_run else dead_letters.redrive(order)
    except (SiftlineError, SetUpError) as error:
        print(error, file=sys.stderr)
        return 1
    print(report(done, dry_run=chosen.dry_run))
    return 0
