"""Mails as bytes, and through Amazon SES v2: an edition's frozen renderings, and the question whether one wants any.

The head is written here, line by line through ``siftline.kit.lines``, all of it in 7-bit (RFC 5322, RFC 2047); only the
MIME parts are made by Python's ``email`` package, whose folding decodes what strangers encoded. SES is called once a
mail, never repeated here.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, formataddr, parseaddr
from typing import Any, NoReturn
from urllib.parse import urlsplit

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

from siftline.brief.channels import UnansweredError
from siftline.brief.deliveries_store import Delivery
from siftline.brief.edition import Links
from siftline.brief.rendering import subject
from siftline.kit.clock import Clock
from siftline.kit.errors import ConfigurationError, PermanentError, TransientError
from siftline.kit.lines import header_value, line, mail_text
from siftline.text.mail_address import mail_address, mailbox_key

_SUBJECT_MAX_CHARS = 200
_NOT_ASCII_MAX_RATIO = 0.17
"""Text with more bytes beyond ASCII is shorter in base64 than in quoted-printable."""
# Lines of 76: so long may one of quoted-printable be (RFC 2045, section 6.7).
_PARTS = SMTP.clone(cte_type="7bit", max_line_length=76)
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


@dataclass(frozen=True, slots=True)
class Letterhead:
    """What all mails have in common: who they are from, and where what they link to is."""

    mail_from: str
    links: Links
    unsubscribe_to: str = ""
    """A mailbox that takes unsubscriptions too; empty for none."""

    @property
    def host(self) -> str:
        """The name in message and list ids."""
        return urlsplit(self.links.base_url).hostname or "localhost"


def edition_mail(delivery: Delivery, to: str, head: Letterhead, now: datetime) -> bytes:
    """Return an edition as a mail to ``to``: its frozen text and HTML, and how to end it with one click (RFC 8058)."""
    link = head.links.unsubscribe(delivery.unsubscribe_token)
    mailed = f", <mailto:{head.unsubscribe_to}?subject=unsubscribe>" if head.unsubscribe_to else ""
    more = {
        "Message-ID": f"<edition.{delivery.edition_id}@{head.host}>",
        "X-Edition-Id": str(delivery.edition_id),
        "List-Id": f"<{delivery.briefing_id}.{head.host}>",
        "List-Unsubscribe": f"<{link}>{mailed}",
    }
    if link.startswith("https:"):  # RFC 8058, section 3.1
        more["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    parts = EmailMessage(policy=_PARTS)
    parts.set_content(delivery.plain, cte=_encoding(delivery.plain))
    parts.add_alternative(delivery.html, subtype="html", cte=_encoding(delivery.html))
    return _mail(head, to, subject(delivery.document), now, more, parts)


def confirmation_mail(token: str, to: str, head: Letterhead, now: datetime) -> bytes:
    """Return the mail that asks an address's owner; text alone, and nothing in it that the user wrote."""
    text = (
        f"Someone asked {head.host} to send briefings to {to}.\n\n"
        "If it was you, open this page and press the button:\n\n"
        f"{head.links.confirm(token)}\n\n"
        "If not, ignore this email: no briefing will be sent to you.\n"
    )
    parts = EmailMessage(policy=_PARTS)
    parts.set_content(text, cte="quoted-printable")
    message_id = f"<confirm.{token[:12]}.{int(now.timestamp())}@{head.host}>"
    return _mail(head, to, "Receive briefings by email?", now, {"Message-ID": message_id}, parts)


def _mail(head: Letterhead, to: str, about: str, now: datetime, more: Mapping[str, str], parts: EmailMessage) -> bytes:
    """Return a mail: its head by us, its parts by the package; ``more`` of its headers are ours to the last sign."""
    ours = {"To": to, "Date": format_datetime(now), "Auto-Submitted": "auto-generated", **more}
    written = {"From": _mailbox(head.mail_from), "Subject": mail_text("Subject", about, _SUBJECT_MAX_CHARS)}
    written |= {name: header_value(value) for name, value in ours.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in written.items())
    return lines.encode("ascii") + parts.as_bytes()


def _mailbox(text: str) -> str:
    """Return a name and an address as a header holds them; the name is the operator's and may be in any script."""
    name, address = parseaddr(text)
    shown = mail_text("From", name)
    return header_value(formataddr((shown, address))) if shown == name else f"{shown} <{header_value(address)}>"


def _encoding(text: str) -> str:
    data = text.encode()
    beyond = sum(byte > 127 for byte in data)
    return "base64" if beyond > _NOT_ASCII_MAX_RATIO * len(data) else "quoted-printable"


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
        """Send to this one address and return SES's id of the mail. Raises as ``DeliveryChannel.send`` does."""
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

    def send(self, delivery: Delivery) -> str:
        """Send an edition; see ``DeliveryChannel``. Raises ``InvalidMailAddressError`` besides."""
        to = mail_address(delivery.destination)
        return self._mailer.send(edition_mail(delivery, to, self._head, self._clock.now()), to)
