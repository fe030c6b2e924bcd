"""The work of ``record_mail_event``: what SES tells of mails it took. Bounces and complaints end delivery there.

Shapes: https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html (the ``detail`` of
EventBridge's events is the same).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parseaddr
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from siftline.brief import deliveries_store as store
from siftline.contracts import JobType, Message, RecordMailEvent
from siftline.jobs.job_model import ClaimedJob, Done
from siftline.kit.db import Connection, Database
from siftline.kit.errors import PermanentError, SiftlineError
from siftline.kit.log import logger
from siftline.text.mail_address import mailbox_key

_DETAIL_MAX_CHARS = 500
_log = logger("brief")


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Recipient(_Model):
    email_address: str = Field(alias="emailAddress", max_length=1_000)
    diagnostic: str | None = Field(default=None, alias="diagnosticCode")


class _Mail(_Model):
    message_id: str = Field(alias="messageId")


class _Bounce(_Model):
    kind: Literal["Permanent", "Transient", "Undetermined"] = Field(alias="bounceType")
    subkind: str = Field(default="", alias="bounceSubType")
    recipients: list[_Recipient] = Field(alias="bouncedRecipients")


class _Complaint(_Model):
    recipients: list[_Recipient] = Field(alias="complainedRecipients")
    feedback: str | None = Field(default=None, alias="complaintFeedbackType")


class _Reject(_Model):
    reason: str = ""


class SesEvent(_Model):
    """What is read of an event; everything else in it is left alone."""

    kind: str = Field(alias="eventType")
    mail: _Mail
    bounce: _Bounce | None = None
    complaint: _Complaint | None = None
    reject: _Reject | None = None


@dataclass(frozen=True, slots=True)
class Noted:
    """What an event means."""

    outcome: str
    message_id: str = ""
    addresses: Sequence[str] = ()
    """In lower case."""
    detail: str = ""


def read_event(event: Mapping[str, Any]) -> Noted:
    """Return what an event means; of shapes that are not known, nothing.

    >>> read_event({"eventType": "Delivery", "mail": {"messageId": "m"}}).outcome
    'nothing_to_do'
    """
    try:
        read = SesEvent.model_validate(event)
    except ValidationError:
        return Noted("unknown_shape")
    match read:
        case SesEvent(kind="Bounce", bounce=_Bounce(kind="Permanent") as bounce):
            told = next((one.diagnostic for one in bounce.recipients if one.diagnostic), "")
            return _noted("bounced", read, bounce.recipients, f"{bounce.subkind} {told}".strip())
        case SesEvent(kind="Complaint", complaint=_Complaint(feedback=feedback) as complaint) if feedback != "not-spam":
            return _noted("complained", read, complaint.recipients, feedback or "")
        case SesEvent(kind="Reject", reject=_Reject() as reject):
            return _noted("rejected", read, (), reject.reason)
        case _:
            return Noted("nothing_to_do", read.mail.message_id)


def _noted(outcome: str, event: SesEvent, recipients: Sequence[_Recipient], detail: str) -> Noted:
    addresses = [mailbox_key(parseaddr(one.email_address)[1]) for one in recipients]
    return Noted(outcome, event.mail.message_id, [one for one in addresses if one], detail[:_DETAIL_MAX_CHARS])


class RecordEvent:
    """Writes down what an event means, however often it comes, and forgets the event."""

    job_type = JobType.RECORD_MAIL_EVENT
    providers: frozenset[str] = frozenset()

    def __init__(self, database: Database) -> None:
        self._database = database

    def process(self, job: ClaimedJob) -> Done:
        """Record the job's event."""
        with self._database.transaction() as connection:
            event = store.load_event(connection, job.subject_id)
        if event is None:
            return Done(result={"outcome": "gone"})
        noted = read_event(event)
        if noted.outcome == "unknown_shape":
            _log.warning("mail_event_unknown", keys=sorted(event)[:20])

        def write(connection: Connection) -> None:
            if noted.outcome in ("bounced", "complained"):
                store.suppress(connection, noted.addresses, noted.outcome, noted.detail)
            if noted.outcome != "unknown_shape":
                store.note_event(connection, noted.message_id, noted.outcome, noted.detail)
            store.forget_event(connection, job.subject_id)

        return Done(write, result={"outcome": noted.outcome})

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Nothing: the event is kept for the next try."""


class NoEventError(PermanentError):
    """A message that brings no event and names none."""

    code = "no_mail_event"


def event_of(connection: Connection, message: Message) -> UUID | None:
    """Keep the event that a message brings and return its id. Raises ``NoEventError``."""
    if not isinstance(message, RecordMailEvent):
        return None
    if message.event is not None:
        return store.keep_event(connection, message.event)
    if message.mail_event_id is None:
        raise NoEventError("It contains no event.")
    return message.mail_event_id if store.load_event(connection, message.mail_event_id) is not None else None
