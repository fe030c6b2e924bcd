"""Links to an edition's page for who reads by a token: they open what the token opens, and end with it.

What was sent has a link of its own (``editions.read_token``), for whoever it was sent to: that one lasts as long as the
edition, so it is shown to no token, nor is the link that stops a briefing. A link of a token names the edition and the
token and is signed with the edition's own secret; nothing of it is stored.
"""

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass
from uuid import UUID

_ID_BYTES = 16
_SIGNATURE_BYTES = 16
_LINK = re.compile(r"[A-Za-z0-9_-]{64}")
# As ``brief/templates/edition.html.j2`` and ``edition.txt.j2`` write them.
_STOP_HTML = re.compile(r' · <a [^>]*href="[^"]*/v1/unsubscribe/[^"]*"[^>]*>[^<]*</a>')
_STOP_PLAIN = re.compile(r"^Stop this briefing: \S+/v1/unsubscribe/\S+\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Link:
    """What a link says; ``token_id`` is an access or a feed token's."""

    edition_id: UUID
    token_id: UUID
    signature: bytes

    def signed_with(self, secret: str) -> bool:
        """Say whether it was made by who knows the edition's secret."""
        return hmac.compare_digest(self.signature, _signature(self.edition_id, self.token_id, secret))


def link_of(edition_id: UUID, token_id: UUID, secret: str) -> str:
    """Return the end of a page's address for who reads by this token."""
    whole = edition_id.bytes + token_id.bytes + _signature(edition_id, token_id, secret)
    return base64.urlsafe_b64encode(whole).decode()


def parsed(text: str) -> Link | None:
    """Return what the end of an address says, if it is a token's link."""
    if not _LINK.fullmatch(text):
        return None
    try:
        whole = base64.urlsafe_b64decode(text)
    except binascii.Error:
        return None
    edition_id, token_id = UUID(bytes=whole[:_ID_BYTES]), UUID(bytes=whole[_ID_BYTES : 2 * _ID_BYTES])
    return Link(edition_id, token_id, whole[2 * _ID_BYTES :])


def for_reader(body: str, secret: str, link: str) -> str:
    """Return an edition's page or text with the reader's link in the place of the one that lasts, and none to stop it.

    ``secret`` is the edition's own, the end of the link that lasts.
    """
    return _STOP_PLAIN.sub("", _STOP_HTML.sub("", body)).replace(secret, link)


def _signature(edition_id: UUID, token_id: UUID, secret: str) -> bytes:
    return hmac.digest(secret.encode(), edition_id.bytes + token_id.bytes, hashlib.sha256)[:_SIGNATURE_BYTES]
