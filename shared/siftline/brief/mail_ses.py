"""Mails through Amazon SES v2: one call a mail, never repeated here, and what each way of failing means."""

from collections.abc import Callable
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
from siftline.kit.mail_address import mail_address

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

    def __init__(self, client: Callable[[], Any], configuration_set: str = "") -> None:
        """``client`` opens boto3's client of ``sesv2`` at the first mail."""
        self._client = client
        self._more = {"ConfigurationSetName": configuration_set} if configuration_set else {}

    def send(self, raw: bytes, to: str) -> str:
        """Send to this one address and return SES's id of the mail. Raises as ``Channel.send`` does."""
        try:
            answer = self._client().send_email(
                Content={"Raw": {"Data": raw}}, Destination={"ToAddresses": [to]}, **self._more
            )
        except ClientError as error:
            _refused(error)
        except (NoCredentialsError, NoRegionError, PartialCredentialsError) as error:
            raise MailMisconfiguredError(f"SES cannot be asked ({type(error).__name__}).") from error
        except (ConnectTimeoutError, EndpointConnectionError, SSLError) as error:
            raise MailUnavailableError("The mail service could not be reached.") from error
        except BotoCoreError as error:
            raise UnansweredError("The mail service gave no answer.") from error
        return str(answer["MessageId"])


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


def _refused(error: ClientError) -> NoReturn:
    name = str(error.response.get("Error", {}).get("Code", "unknown"))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if name in _BUSY or status == 429 or status >= 500:
        raise MailUnavailableError(f"The mail service takes no mail just now ({name}).") from error
    if name in _SET_UP or status in (401, 403):
        raise MailMisconfiguredError(f"SES answered {name}.") from error
    raise MailRefusedError(f"The mail service refused this mail ({name}).") from error
