"""The work of ``confirm_address``: one mail that asks an address's owner, before any edition is sent there."""

from uuid import UUID

from siftline.brief.channels import UnansweredError
from siftline.brief.mail import PROVIDER, Letterhead, SesMailer, confirmation_mail
from siftline.catalog import mail_address_store as store
from siftline.contracts import ConfirmAddress as ConfirmMessage
from siftline.contracts import JobType, Message
from siftline.jobs.job_model import ClaimedJob, Done
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database, settled
from siftline.kit.errors import NotTriedError, SiftlineError


class AsksUsedUpError(NotTriedError):
    """The user had as many owners asked within a day as a user may: this one is asked when another turn is due."""

    code = "too_many_mail_asks"
    in_turn = True


class ConfirmAddress:
    """Asks once a day and address. The turn is committed before the mail is sent: none is ever sent twice."""

    job_type = JobType.CONFIRM_ADDRESS

    def __init__(
        self,
        database: Database,
        mailer: SesMailer | None,
        head: Letterhead,
        clock: Clock,
        *,
        asks_per_day: int = store.ASKS_PER_DAY,
    ) -> None:
        """Without a ``mailer`` nobody is asked; a user may have ``asks_per_day`` owners asked within a day."""
        self._database = database
        self._mailer = mailer
        self._head = head
        self._clock = clock
        self._asks_per_day = asks_per_day
        self.providers = frozenset({PROVIDER}) if mailer else frozenset[str]()

    def process(self, job: ClaimedJob) -> Done:
        """Ask the owner of the job's address, unless that was done lately.

        Raises as ``SesMailer.send`` does, and ``AsksUsedUpError``.
        """
        if self._mailer is None:
            return Done(result={"outcome": "mail_not_configured"})
        asked = settled(
            self._database,
            lambda connection: store.claim(connection, job.subject_id, asks_per_day=self._asks_per_day),
        )
        if asked is None:
            return Done(result={"outcome": "not_asked"})
        if isinstance(asked, float):
            detail = f"The limit of {self._asks_per_day} confirmation emails per day is reached."
            raise AsksUsedUpError(detail, retry_after_s=asked)
        mail = confirmation_mail(asked.token, asked.address, self._head, self._clock.now())
        try:
            self._mailer.send(mail, asked.address)
        except UnansweredError:
            return Done(result={"outcome": "unanswered"})
        except SiftlineError:
            settled(self._database, lambda connection: store.give_back(connection, job.subject_id, asked.ask_id))
            raise
        return Done(result={"outcome": "asked"})

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Nothing: the next edition asks again."""


def address_of(connection: Connection, message: Message) -> UUID | None:
    """Return the address that a message without a job means, if it is there."""
    if not isinstance(message, ConfirmMessage):
        return None
    return message.mail_address_id if store.exists(connection, message.mail_address_id) else None
