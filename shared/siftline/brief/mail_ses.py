"""Mails through Amazon SES v2: one call a mail, never repeated here, and what each way of failing means."""

import re
from collections.abc import Callable
from email.utils import parseaddr
from typing import Any, NoReturn

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    SSLError,
)

from siftline.brief.channel import Parcel, UnansweredError
from siftline.brief.mail_message import Letterhead, edition_mail
from siftline.kit.clock import Clock
from siftline.kit.errors import ConfigurationError, PermanentError, TransientError
from siftline.kit.lines import line
from siftline.text.mail_address import mail_address, mailbox_key

PROVIDER = "mail"
# https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html#API_SendEmail_Errors and, of the account's
# own, .../CommonErrors.html. What is not named here goes by its HTTP status.
_BUSY = frozenset({"LimitExceededException", "Throttling", "ThrottlingException", "TooManyRequestsException"})
_SET_UP = frozenset(
    {
        "AccountSuspendedException",
        "MailFromDomainNotVerifiedException",
        "NotFoundException",
        "SendingPausedException",
    }
)
# ``MessageRejected`` names who is not verified: our sender, or a receiver while the account is in SES's sandbox.
# https://docs.aws.amazon.com/ses/latest/dg/troubleshoot-error-messages.html
_UNVERIFIED = re.compile(r"identities failed the check[^:]*:(.*)", re.DOTALL)
_IDENTITY = re.compile(r"[^\s<>,;\"']+")
_REASON_CHARS = 300


class MailMisconfiguredError(ConfigurationError):
    """SES does not let this account send: paused, not verified, not allowed, or no such configuration set."""

    code = "mail_misconfigured"
    provider = PROVIDER


class MailUnavailableError(TransientError):
    """SES could not be reached, is in trouble, or takes no more just now. The mail was not taken."""

    code = "mail_unavailable"


class MailRefusedError(PermanentError):
    """SES will never take this mail."""

    code = "mail_refused"


class SesMailer:
    """Hands raw mails to SES."""

    def __init__(self, client: Callable[[], Any], mail_from: str, configuration_set: str = "") -> None:
        """``client`` opens boto3's client of ``sesv2`` at the first mail; ``mail_from`` is the mails' From."""
        self._client = client
        self._sender = mailbox_key(parseaddr(mail_from)[1])
        self._more = {"ConfigurationSetName": configuration_set} if configuration_set else {}

    def send(self, raw: bytes, to: str) -> str:
        """Send to this one address and return SES's id of the mail. Raises as ``Channel.send`` does."""
        try:
            answer = self._client().send_email(
                Content={"Raw": {"Data": raw}}, Destination={"ToAddresses": [to]}, **self._more
            )
        except ClientError as error:
            self._refused(error)
        except (NoCredentialsError, NoRegionError, PartialCredentialsError) as error:
            raise MailMisconfiguredError(f"SES cannot be called ({type(error).__name__}).") from error
        except (ConnectTimeoutError, EndpointConnectionError, SSLError) as error:
            raise MailUnavailableError("The email service could not be reached.") from error
        except BotoCoreError as error:
            raise UnansweredError("The email service did not answer.") from error
        if "MessageId" not in answer:  # botocore reads an answer that breaks off as one that says nothing
            raise UnansweredError("The email service's response was cut off.")
        return str(answer["MessageId"])

    def _refused(self, error: ClientError) -> NoReturn:
        told = error.response.get("Error", {})
        name = str(told.get("Code", "unknown"))
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        reason = line(f"{name}: {told.get('Message') or 'no reason given'}", _REASON_CHARS)
        if name in _BUSY or status == 429 or status >= 500:
            raise MailUnavailableError(f"The email service does not accept email at the moment ({reason}).") from error
        if name in _SET_UP or status in (401, 403) or self._unverified(str(told.get("Message"))):
            raise MailMisconfiguredError(f"SES does not allow this account to send ({reason}).") from error
        raise MailRefusedError(f"The email service rejected this email ({reason}).") from error

    def _unverified(self, message: str) -> bool:
        """Say whether SES names our sender, by its address or its domain, as not verified."""
        found = _UNVERIFIED.search(message)
        named = {mailbox_key(one) for one in _IDENTITY.findall(found[1])} if found else set()
        return bool(named & {self._sender, self._sender.rpartition("@")[2]})


class MailChannel:
    """Sends editions by mail."""

    def __init__(self, mailer: SesMailer, head: Letterhead, clock: Clock) -> None:
        self._mailer = mailer
        self._head = head
        self._clock = clock

    def send(self, parcel: Parcel) -> str:
        """Send an edition; see ``Channel``. Raises ``InvalidMailAddressError`` besides."""
        to = mail_address(parcel.destination)
        return self._mailer.send(edition_mail(parcel, to, self._head, self._clock.now()), to)
