"""Mails as bytes: an edition's frozen renderings, and the question whether an address wants any.

MIME by Python's ``email`` package, whose header objects take no line break, all of it in 7-bit (RFC 5322, RFC 2047).
"""

from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import format_datetime
from typing import Any
from urllib.parse import urlsplit

from siftline.brief.channel import Parcel
from siftline.brief.edition import Links
from siftline.brief.rendering import subject

_ONE_LINE = frozenset({"list-unsubscribe", "list-id", "message-id", "x-edition-id"})
_SUBJECT_MAX_CHARS = 200
_NOT_ASCII_MAX_RATIO = 0.17
"""Text with more bytes beyond ASCII is shorter in base64 than in quoted-printable."""


class _Policy(EmailPolicy):
    """Leaves alone what must not be broken up: folding would make encoded words of a long address."""

    def fold(self, name: str, value: Any) -> str:
        return self._whole(name, value) if name.lower() in _ONE_LINE else super().fold(name, value)

    def fold_binary(self, name: str, value: Any) -> bytes:
        return self._whole(name, value).encode() if name.lower() in _ONE_LINE else super().fold_binary(name, value)

    def _whole(self, name: str, value: Any) -> str:
        return f"{name}: {value}{self.linesep}"


# Lines of 76: so long may one of quoted-printable be (RFC 2045, section 6.7), and an encoded word one less (RFC 2047).
_POLICY = _Policy(linesep="\r\n", cte_type="7bit", max_line_length=76)


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
    mail = _mail(head, to, subject(parcel.document), now)
    mail["Message-ID"] = f"<edition.{parcel.edition_id}@{head.host}>"
    mail["X-Edition-Id"] = str(parcel.edition_id)
    mail["List-Id"] = f"<{parcel.briefing_id}.{head.host}>"
    link = head.links.unsubscribe(parcel.unsubscribe_token)
    mailed = f", <mailto:{head.unsubscribe_to}?subject=unsubscribe>" if head.unsubscribe_to else ""
    mail["List-Unsubscribe"] = f"<{link}>{mailed}"
    if link.startswith("https:"):  # RFC 8058, section 3.1
        mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    mail.set_content(parcel.plain, cte=_encoding(parcel.plain))
    mail.add_alternative(parcel.html, subtype="html", cte=_encoding(parcel.html))
    return mail.as_bytes()


def confirmation_mail(token: str, to: str, head: Letterhead, now: datetime) -> bytes:
    """Return the mail that asks an address's owner; text alone, and nothing in it that the user wrote."""
    mail = _mail(head, to, "Do you want briefings by mail?", now)
    mail["Message-ID"] = f"<confirm.{token[:12]}.{int(now.timestamp())}@{head.host}>"
    text = (
        f"Somebody asked {head.host} to send briefings to {to}.\n\n"
        "If that was you, open this page and press the button on it:\n\n"
        f"{head.links.confirm(token)}\n\n"
        "If not, do nothing: without this, no briefing is sent to you.\n"
    )
    mail.set_content(text, cte="quoted-printable")
    return mail.as_bytes()


def _mail(head: Letterhead, to: str, about: str, now: datetime) -> EmailMessage:
    mail = EmailMessage(policy=_POLICY)
    mail["From"] = head.mail_from
    mail["To"] = Address(addr_spec=to)
    mail["Subject"] = _one_line(about)
    mail["Date"] = format_datetime(now)
    mail["Auto-Submitted"] = "auto-generated"
    return mail


def _one_line(text: str) -> str:
    """Return a text that may stand in a header: users name briefings, and pages name themselves."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:_SUBJECT_MAX_CHARS]


def _encoding(text: str) -> str:
    data = text.encode()
    beyond = sum(byte > 127 for byte in data)
    return "base64" if beyond > _NOT_ASCII_MAX_RATIO * len(data) else "quoted-printable"
