"""Mails as bytes: an edition's frozen renderings, and the question whether an address wants any.

The head is written here, line by line through ``siftline.kit.lines``, all of it in 7-bit (RFC 5322, RFC 2047); only the
MIME parts are made by Python's ``email`` package, whose folding decodes what strangers encoded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, formataddr, parseaddr
from urllib.parse import urlsplit

from siftline.brief.channel import Parcel
from siftline.brief.edition import Links
from siftline.brief.rendering import subject
from siftline.kit.lines import header_value, mail_text

_SUBJECT_MAX_CHARS = 200
_NOT_ASCII_MAX_RATIO = 0.17
"""Text with more bytes beyond ASCII is shorter in base64 than in quoted-printable."""
# Lines of 76: so long may one of quoted-printable be (RFC 2045, section 6.7).
_PARTS = SMTP.clone(cte_type="7bit", max_line_length=76)


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


def edition_mail(parcel: Parcel, to: str, head: Letterhead, now: datetime) -> bytes:
    """Return an edition as a mail to ``to``: its frozen text and HTML, and how to end it with one click (RFC 8058)."""
    link = head.links.unsubscribe(parcel.unsubscribe_token)
    mailed = f", <mailto:{head.unsubscribe_to}?subject=unsubscribe>" if head.unsubscribe_to else ""
    more = {
        "Message-ID": f"<edition.{parcel.edition_id}@{head.host}>",
        "X-Edition-Id": str(parcel.edition_id),
        "List-Id": f"<{parcel.briefing_id}.{head.host}>",
        "List-Unsubscribe": f"<{link}>{mailed}",
    }
    if link.startswith("https:"):  # RFC 8058, section 3.1
        more["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    parts = EmailMessage(policy=_PARTS)
    parts.set_content(parcel.plain, cte=_encoding(parcel.plain))
    parts.add_alternative(parcel.html, subtype="html", cte=_encoding(parcel.html))
    return _mail(head, to, subject(parcel.document), now, more, parts)


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
