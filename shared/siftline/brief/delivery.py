"""The work of ``deliver_briefing``: one edition by its channel, at most once for sure and never more than twice."""

from collections.abc import Mapping
from uuid import UUID

from siftline.brief import deliveries_store as store
from siftline.brief.channels import DeliveryChannel, UnansweredError, WebhookGoneError
from siftline.brief.deliveries_store import Delivery
from siftline.brief.mail import PROVIDER
from siftline.catalog import mail_address_store as addresses
from siftline.contracts import DeliverBriefing as DeliverBriefingMessage
from siftline.contracts import JobType, Message
from siftline.jobs.job_model import ClaimedJob, Done, NewJob
from siftline.kit.db import Connection, Database, settled
from siftline.kit.errors import PermanentError, SiftlineError
from siftline.text.mail_address import mail_address

# Why an edition was not sent, or not sent again: a code, and what it means for the person whose edition it is.
WHY = {
    "mail_not_configured": "This system does not send email. You can read the edition in your account.",
    "channel_not_configured": "This system does not deliver in this way. You can read the edition in your account.",
    "too_many_mail_addresses": "You have reached the limit of email addresses. Delete one first.",
    "unanswered": "It was sent twice without an answer; it may have arrived.",
    "bounced": "Email to this address bounces.",
    "complained": "The owner of this address reported our email as spam.",
    "unsubscribed": "The recipient unsubscribed from this briefing.",
    "gone": "The webhook no longer accepts deliveries.",
}
STOPPED = "Delivery was stopped."
# Of ``address_not_confirmed``: how it stands with the mail that asks.
BEING_ASKED = "The address is not confirmed. A confirmation email will be sent."
ASKED = "The address is not confirmed. Its owner was asked but has not confirmed it."
ASKED_LATELY = "The address is not confirmed. Its owner was asked in the last 24 hours; a later edition asks again."
ASKED_IN_TURN = "The address is not confirmed. Its owner will be asked later: the daily limit of requests is reached."


UNANSWERED_MAX = 2
"""Tries whose answer nobody has: after so many there is no other."""
EMAIL = "email"
_OVER = frozenset({"sent", "unconfirmed", "suppressed"})


class DeliverBriefing:
    """Sends one edition to one destination.

    That sending begins is committed before anything is sent, and the answer as soon as there is one. A worker that dies
    between the two leaves a try without an answer; the next one repeats it, with the same edition id, and if that has
    no answer either the delivery is ``unconfirmed``. Only what was surely not taken is tried as often as a job is.
    """

    job_type = JobType.DELIVER_BRIEFING

    def __init__(
        self, database: Database, channels: Mapping[str, DeliveryChannel], *, asks_per_day: int = addresses.ASKS_PER_DAY
    ) -> None:
        """``channels`` by their names; without one for ``email`` editions are made and not mailed.

        A user may have ``asks_per_day`` owners of addresses asked within a day.
        """
        self._database = database
        self._channels = channels
        self._asks_per_day = asks_per_day
        self.providers = frozenset({PROVIDER}) if EMAIL in channels else frozenset[str]()

    def needed(self, connection: Connection, job: ClaimedJob) -> frozenset[str]:
        """Only a mail needs the mail provider: webhooks are not held up while that is away."""
        found = store.destination(connection, job.subject_id)
        return self.providers if found is not None and found[0] == EMAIL else frozenset()

    def process(self, job: ClaimedJob) -> Done:
        """Send the job's delivery, if it may be.

        Raises as ``DeliveryChannel.send`` does, and ``InvalidMailAddressError``.
        """
        begun = settled(self._database, lambda connection: self._begin(connection, job.subject_id))
        if isinstance(begun, Done):
            return begun
        channel, delivery = begun
        try:
            provider_id = channel.send(delivery)
        except UnansweredError:
            raise
        except SiftlineError:
            settled(self._database, lambda connection: store.answered(connection, delivery.id))
            raise
        settled(self._database, lambda connection: store.sent(connection, delivery.id, provider_id))
        return Done(result={"outcome": "sent"})

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Say on the delivery what went wrong; after the last try it is over."""
        last = isinstance(error, PermanentError) or job.attempts >= job.max_attempts
        store.note_failure(connection, job.subject_id, error.error_code, error.detail, last=last)
        if isinstance(error, WebhookGoneError):
            store.stop(connection, job.subject_id, error.error_code)

    def _begin(self, connection: Connection, delivery_id: UUID) -> Done | tuple[DeliveryChannel, Delivery]:
        """Decide whether to send; what is not sent is settled here, and what is sent is counted."""
        found = store.destination(connection, delivery_id)
        address = mail_address(found[1]) if found is not None and found[0] == EMAIL else ""
        held = store.hold(connection, delivery_id, address)
        if held is None:
            return Done(result={"outcome": "gone"})
        if held.state in _OVER:
            return Done(result={"outcome": held.state})
        if (refusal := self._refusal(held)) is not None:
            state, code = refusal
            if code == "address_not_confirmed":
                return self._ask(connection, held, address)
            store.settle(connection, held.id, state, code, WHY.get(code, STOPPED))
            return Done(result={"outcome": state, "reason": code})
        store.begin(connection, held.id)
        return self._channels[held.channel], held

    def _ask(self, connection: Connection, held: Delivery, address: str) -> Done:
        """Have the owner of an unconfirmed address asked, if they may be, and say so on the delivery."""
        address_id = addresses.ensure(connection, held.user_id, address)
        if address_id is None:
            code, detail, follow = "too_many_mail_addresses", WHY["too_many_mail_addresses"], []
        else:
            code, detail = "address_not_confirmed", self._asking(connection, address_id)
            follow = [NewJob(JobType.CONFIRM_ADDRESS, address_id, f"user:{held.user_id}")]
        store.settle(connection, held.id, "suppressed", code, detail)
        return Done(follow=follow, result={"outcome": "suppressed", "reason": code})

    def _asking(self, connection: Connection, address_id: UUID) -> str:
        standing = addresses.standing(connection, address_id, asks_per_day=self._asks_per_day)
        if standing is not None and standing.lately:
            return ASKED if standing.asked_before else ASKED_LATELY
        return BEING_ASKED if standing is None or standing.wait_s is None else ASKED_IN_TURN

    def _refusal(self, held: Delivery) -> tuple[str, str] | None:
        """Return the state that a delivery ends in without being sent, and why."""
        if held.stopped_code is not None:
            return "suppressed", held.stopped_code
        if held.channel not in self._channels:
            return "suppressed", "mail_not_configured" if held.channel == EMAIL else "channel_not_configured"
        if held.channel == EMAIL and held.suppressed is not None:
            return "suppressed", held.suppressed
        if held.channel == EMAIL and not held.confirmed:
            return "suppressed", "address_not_confirmed"
        if held.unanswered >= UNANSWERED_MAX:
            return "unconfirmed", "unanswered"
        return None


def delivery_of(connection: Connection, message: Message) -> UUID | None:
    """Return the delivery that a message without a job means, if it is there."""
    if not isinstance(message, DeliverBriefingMessage):
        return None
    return message.delivery_id if store.destination(connection, message.delivery_id) else None
