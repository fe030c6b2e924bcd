"""The work of ``confirm_address``: one mail that asks an address's owner, before any edition is sent there."""

from uuid import UUID

from siftline.brief import mail_addresses_store as store
from siftline.brief.channel import UnansweredError
from siftline.brief.mail_message import Letterhead, confirmation_mail
from siftline.brief.mail_ses import PROVIDER, SesMailer
from siftline.contracts import ConfirmAddress as ConfirmMessage
from siftline.contracts import JobType, Message
from siftline.jobs.model import ClaimedJob, Done
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database, settled
from siftline.kit.errors import SiftlineError


class ConfirmAddress:
    """Asks once a day and address. The turn is committed before the mail is sent: none is ever sent twice."""

    job_type = JobType.CONFIRM_ADDRESS

    def __init__(self, database: Database, mailer: SesMailer | None, head: Letterhead, clock: Clock) -> None:
        """Without a ``mailer`` nobody is asked."""
        self._database = database
        self._mailer = mailer
        self._head = head
        self._clock = clock
        self.providers = frozenset({PROVIDER}) if mailer else frozenset[str]()

    def process(self, job: ClaimedJob) -> Done:
        """Ask the owner of the job's address, unless that was done lately. Raises as ``SesMailer.send`` does."""
        if self._mailer is None:
            return Done(result={"outcome": "mail_not_configured"})
        asked = settled(self._database, lambda connection: store.claim(connection, job.subject_id))
        if asked is None:
            return Done(result={"outcome": "not_asked"})
        mail = confirmation_mail(asked.token, asked.address, self._head, self._clock.now())
        try:
            self._mailer.send(mail, asked.address)
        except UnansweredError:
            return Done(result={"outcome": "unanswered"})
        except SiftlineError:
            settled(self._database, lambda connection: store.give_back(connection, job.subject_id))
            raise
        return Done(result={"outcome": "asked"})

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Nothing: the next edition asks again."""


def address_of(connection: Connection, message: Message) -> UUID | None:
    """Return the address that a message without a job means, if it is there."""
    if not isinstance(message, ConfirmMessage):
        return None
    return message.mail_address_id if store.exists(connection, message.mail_address_id) else None
