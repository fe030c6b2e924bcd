"""Dead letters: what was parked, why, and back to work.

PostgreSQL is the truth; SQS holds copies, and malformed messages.

A job is redriven in PostgreSQL, whether or not its copy still lies on the dead-letter queue. A copy whose job is no
longer dead is deleted; one that stays, or is moved back by hand, revives nothing, because its ``park_id`` is spent.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, Protocol
from uuid import UUID

from botocore.exceptions import BotoCoreError, ClientError
from pydantic import ValidationError

from siftline.contracts import MESSAGE, Queue
from siftline.jobs import dead_letters_store as dead
from siftline.jobs import jobs_store
from siftline.jobs.dead_letters_store import CauseCount, DeadCause, DeadJob
from siftline.jobs.publish import Sender
from siftline.jobs.queues import BATCH_MAX, Envelope, QueueUnavailableError, chunks
from siftline.kit.clock import Clock
from siftline.kit.db import Database
from siftline.kit.errors import TransientError
from siftline.kit.lines import line
from siftline.kit.log import logger

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import (
        ChangeMessageVisibilityBatchRequestEntryTypeDef,
        DeleteMessageBatchRequestEntryTypeDef,
        MessageTypeDef,
    )

# The code of a message without attributes: SQS moved it after too many receives, no code of ours saw its end.
RECEIVED_TOO_OFTEN = "received_too_often"
_log = logger("jobs")
# One transaction redrives this many, so that none holds its rows for long.
_BATCH = 500
_MESSAGES_MAX = 100_000
_log = logger("jobs")


@dataclass(frozen=True, slots=True)
class Letter:
    """One message on a dead-letter queue."""

    message_id: str
    receipt: str
    body: str
    attributes: Mapping[str, str]
    group: str
    sent_at: datetime

    @property
    def error_code(self) -> str:
        """Why it lies here."""
        return line(self.attributes.get("error_code", RECEIVED_TOO_OFTEN))

    @property
    def parking(self) -> tuple[UUID, UUID] | None:
        """The job id and park id of a parked job's copy; ``None`` for a message that stands for no failed job."""
        if "original_message_id" in self.attributes:
            return None
        try:
            message = MESSAGE.validate_json(self.body)
        except ValidationError:
            return None
        return (message.job_id, message.park_id) if message.job_id and message.park_id else None


Visitor = Callable[[Sequence[Letter]], Sequence[Letter]]
"""Is shown letters and returns those that stay."""


class SqsDeadLetters:
    """Works on the dead-letter queues, by the logical name of the queue whose they are."""

    def __init__(
        self,
        client: "SQSClient",
        sender: Sender,
        urls: Mapping[Queue, str],
        dead_letter_urls: Mapping[Queue, str],
        clock: Clock,
    ) -> None:
        self._client = client
        self._sender = sender
        self._urls = urls
        self._dead_letter_urls = dead_letter_urls
        self._clock = clock

    def visit(self, queue: Queue, visitor: Visitor, *, budget_s: float, messages_max: int) -> bool:
        """Show the visitor what lies on a dead-letter queue, ten at most at a time; ``True`` when that was all of it.

        Letters are hidden from others meanwhile; those that stay are visible again at the end, at the latest some
        seconds after ``budget_s`` should this process die. Raises ``QueueUnavailableError``.
        """
        url = self._dead_letter_urls[queue]
        ends = self._clock.monotonic() + budget_s
        seen = 0
        stay: list[Letter] = []
        try:
            while seen < messages_max and self._clock.monotonic() < ends:
                letters = self._receive(url, hidden_s=math.ceil(budget_s) + 15)
                if not letters:
                    return True
                seen += len(letters)
                stay += visitor(letters)
            return False
        finally:
            self._show_again(url, stay)

    def delete(self, queue: Queue, letters: Sequence[Letter]) -> int:
        """Delete letters; returns how many SQS deleted. The others are visible again later."""
        url = self._dead_letter_urls[queue]
        deleted = 0
        for some in chunks(letters):
            entries: list[DeleteMessageBatchRequestEntryTypeDef] = [
                {"Id": str(place), "ReceiptHandle": letter.receipt} for place, letter in enumerate(some)
            ]
            with _translated("The dead-letter queue did not delete a message."):
                answer = self._client.delete_message_batch(QueueUrl=url, Entries=entries)
            deleted += len(answer.get("Successful", []))
            if answer.get("Failed"):
                _log.warning("dead_letters_not_deleted", queue=queue.value, messages=len(answer["Failed"]))
        return deleted

    def send_back(self, queue: Queue, letters: Sequence[Letter]) -> set[str]:
        """Send letters as they are (text attributes kept) to their queue, then delete them; returns the ids that went.

        A crash between the two leaves both, which is harmless: the queue's messages may come twice.
        """
        accepted = self._sender.send(
            queue,
            [
                Envelope(key=letter.message_id, body=letter.body, group=letter.group, attributes=letter.attributes)
                for letter in letters
            ],
        )
        self.delete(queue, [letter for letter in letters if letter.message_id in accepted])
        return accepted

    def move_all(self, queue: Queue) -> bool:
        """Let SQS itself move everything back to the queue; ``False`` where it cannot, or does so already.

        The destination is named, because SQS knows no source of messages that were sent to a dead-letter queue.
        """
        try:
            self._client.start_message_move_task(
                SourceArn=self._arn(self._dead_letter_urls[queue]), DestinationArn=self._arn(self._urls[queue])
            )
        except (BotoCoreError, ClientError) as error:
            _log.info("move_task_refused", queue=queue.value, reason=str(error))
            return False
        return True

    def _arn(self, url: str) -> str:
        return self._client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]

    def _receive(self, url: str, *, hidden_s: int) -> list[Letter]:
        with _translated("The dead-letter queue could not be read."):
            answer = self._client.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=BATCH_MAX,
                VisibilityTimeout=hidden_s,
                WaitTimeSeconds=1,  # a receive that does not wait asks only some of SQS's servers
                MessageSystemAttributeNames=["SentTimestamp", "MessageGroupId"],
                MessageAttributeNames=["All"],
            )
        return [_letter(message) for message in answer.get("Messages", [])]

    def _show_again(self, url: str, letters: Sequence[Letter]) -> None:
        for some in chunks(letters):
            entries: list[ChangeMessageVisibilityBatchRequestEntryTypeDef] = [
                {"Id": str(place), "ReceiptHandle": letter.receipt, "VisibilityTimeout": 0}
                for place, letter in enumerate(some)
            ]
            with _translated("The dead-letter queue could not be redriven."):
                answer = self._client.change_message_visibility_batch(QueueUrl=url, Entries=entries)
            if answer.get("Failed"):
                _log.warning("dead_letters_hidden_for_a_while", queue_url=url, messages=len(answer["Failed"]))


def _letter(message: "MessageTypeDef") -> Letter:
    system = message.get("Attributes", {})
    attributes = {
        name: value["StringValue"]
        for name, value in message.get("MessageAttributes", {}).items()
        if "StringValue" in value
    }
    return Letter(
        message_id=message["MessageId"],
        receipt=message["ReceiptHandle"],
        body=message["Body"],
        attributes=attributes,
        group=system.get("MessageGroupId", "malformed"),
        sent_at=datetime.fromtimestamp(int(system.get("SentTimestamp", 0)) / 1000, UTC),
    )


@contextmanager
def _translated(detail: str) -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise QueueUnavailableError(detail) from error


class DeadLetterQueues(Protocol):
    """The dead-letter queues, as ``SqsDeadLetters`` has them."""

    def visit(self, queue: Queue, visitor: Visitor, *, budget_s: float, messages_max: int) -> bool:
        """Show the visitor what lies there; ``True`` when that was all of it."""
        ...

    def delete(self, queue: Queue, letters: Sequence[Letter]) -> int:
        """Delete letters; returns how many."""
        ...

    def send_back(self, queue: Queue, letters: Sequence[Letter]) -> set[str]:
        """Move letters back to their queue as they are; returns the ids of those that went."""
        ...

    def move_all(self, queue: Queue) -> bool:
        """Let the service move everything back; ``False`` where it cannot."""
        ...


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be redriven: dead letters of a queue, of one cause if told, at most so many."""

    queue: Queue
    error_code: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Peeked:
    """Malformed messages by their code; ``complete`` is false where not everything could be looked at."""

    by_code: dict[str, list[Letter]]
    complete: bool


@dataclass(frozen=True, slots=True)
class Redriven:
    """What a redrive did, or would do."""

    causes: list[CauseCount]
    left: int
    """Dead letters of this order that could still be redriven."""
    messages: int = 0
    """Malformed messages moved back."""
    copies: int = 0
    """Copies deleted from the dead-letter queue, because their job is not dead any more."""
    moved_by: Literal["sqs", "siftline"] | None = None
    """Who moves messages: SQS goes on by itself, uncounted, after this returned. ``None``: nobody could be asked."""

    @property
    def jobs(self) -> int:
        """How many jobs."""
        return sum(cause.jobs for cause in self.causes)


class DeadLetters:
    """Shows dead letters and gives them back to work."""

    def __init__(
        self,
        database: Database,
        queues: DeadLetterQueues,
        hand_out: Callable[[Sequence[UUID]], object],
        clock: Clock,
        *,
        budget_s: float = 8.0,
    ) -> None:
        self._database = database
        self._queues = queues
        self._hand_out = hand_out
        self._clock = clock
        self._budget_s = budget_s

    def causes(self, queue: Queue | None) -> tuple[list[DeadCause], list[DeadJob]]:
        """Return the parked jobs by cause, the most frequent first, and some of each."""
        with self._database.transaction() as connection:
            return dead.causes(connection, queue), dead.samples(connection, queue)

    def peek(self, queue: Queue, *, budget_s: float, messages_max: int = 1_000) -> Peeked:
        """Look for malformed messages on a dead-letter queue; they stay there. Raises ``QueueUnavailableError``."""
        seen: dict[str, Letter] = {}

        def look(letters: Sequence[Letter]) -> Sequence[Letter]:
            seen.update({letter.message_id: letter for letter in letters if letter.parking is None})
            return letters

        complete = self._queues.visit(queue, look, budget_s=budget_s, messages_max=messages_max)
        by_code: dict[str, list[Letter]] = defaultdict(list)
        for letter in sorted(seen.values(), key=lambda letter: letter.sent_at):
            by_code[letter.error_code].append(letter)
        return Peeked(by_code, complete)

    def dry_run(self, order: Order) -> Redriven:
        """Count the jobs that ``redrive`` would give back to work, from PostgreSQL alone."""
        with self._database.transaction() as connection:
            chosen = dead.count_redrivable(connection, order.queue, order.error_code, limit=order.limit)
            every = dead.count_redrivable(connection, order.queue, order.error_code, limit=None)
        return Redriven(chosen, left=_total(every) - _total(chosen))

    def redrive(self, order: Order) -> Redriven:
        """Give dead letters back to work, oldest first, then tidy their queue, as far as the time allows.

        Without a filter and a limit SQS moves the messages itself where it can. Whatever is left over, a repeat takes
        up; nothing is done twice by it.
        """
        causes, ids = self._redrive_jobs(order)
        self._hand_out(ids)
        with self._database.transaction() as connection:
            left = _total(dead.count_redrivable(connection, order.queue, order.error_code, limit=None))
        if order.error_code is None and order.limit is None and self._queues.move_all(order.queue):
            done = Redriven(causes, left, moved_by="sqs")
        else:
            done = self._tidy(order, Redriven(causes, left))
        _log.info(
            "dead_letters_redriven",
            queue=order.queue.value,
            error_code=order.error_code,
            jobs=done.jobs,
            messages=done.messages,
            copies=done.copies,
            moved_by=done.moved_by,
        )
        return done

    def _redrive_jobs(self, order: Order) -> tuple[list[CauseCount], list[UUID]]:
        counted: dict[tuple[str, str], int] = defaultdict(int)
        ids: list[UUID] = []
        ends = self._clock.monotonic() + self._budget_s
        while self._clock.monotonic() < ends:
            room = _BATCH if order.limit is None else min(_BATCH, order.limit - len(ids))
            with self._database.transaction() as connection:
                chosen = dead.redrivable(connection, order.queue, order.error_code, limit=room)
                some = set(jobs_store.redrive_all(connection, [(job.id, job.park_id) for job in chosen]))
            for job in chosen:
                counted[job.job_type, job.error_code] += job.id in some
            ids += some
            if not some or len(chosen) < room:
                break
        causes = [CauseCount(job_type, code, jobs) for (job_type, code), jobs in sorted(counted.items()) if jobs]
        return causes, ids

    def _tidy(self, order: Order, done: Redriven) -> Redriven:
        """Delete copies of jobs that are not dead any more, and move the order's malformed messages back.

        What a worker parks again meanwhile stays: it would come and go until the time is up.
        """
        began_at = self._clock.now()
        room = _MESSAGES_MAX if order.limit is None else order.limit - done.jobs
        moved = copies = 0

        def sort(letters: Sequence[Letter]) -> Sequence[Letter]:
            nonlocal moved, copies
            spent = self._spent(letters)
            before = [letter for letter in letters if letter.parking is None and letter.sent_at <= began_at]
            wanted = [letter for letter in before if _is_of(order, letter)][: room - moved]
            copies += self._queues.delete(order.queue, spent)
            sent = self._queues.send_back(order.queue, wanted)
            moved += len(sent)
            gone = sent.union(letter.message_id for letter in spent)
            return [letter for letter in letters if letter.message_id not in gone]

        by: Literal["siftline"] | None = "siftline"
        try:
            self._queues.visit(order.queue, sort, budget_s=self._budget_s, messages_max=_MESSAGES_MAX)
        except TransientError as error:
            _log.warning("dead_letters_not_tidied", queue=order.queue.value, error_code=error.error_code)
            by = None
        return Redriven(done.causes, done.left, messages=moved, copies=copies, moved_by=by)

    def _spent(self, letters: Sequence[Letter]) -> list[Letter]:
        """Return the copies whose job was redriven, or is gone."""
        parkings = {letter.message_id: letter.parking for letter in letters}
        keys = [parking for parking in parkings.values() if parking is not None]
        if not keys:
            return []
        with self._database.transaction() as connection:
            alive = dead.still_dead(connection, keys)
        return [letter for letter in letters if (key := parkings[letter.message_id]) and key[1] not in alive]


def _is_of(order: Order, letter: Letter) -> bool:
    return order.error_code is None or letter.error_code == order.error_code


def _total(causes: Sequence[CauseCount]) -> int:
    return sum(cause.jobs for cause in causes)
