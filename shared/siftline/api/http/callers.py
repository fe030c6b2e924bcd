"""Who may call, by which token, and what it allows. Light, because the authorizer imports it.

A token is ``sl_`` (a user's) or ``sf_`` (a feed's) and 32 random bytes; only its SHA-256 is stored.
"""

import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

_PREFIX, _FEED_PREFIX = "sl_", "sf_"
# 32 random bytes as base64url without padding are 43 characters. The scheme's name is caseless (RFC 9110, 11.1).
_BEARER = re.compile(rf"[Bb][Ee][Aa][Rr][Ee][Rr] +({_PREFIX}[A-Za-z0-9_-]{{43}})")
_FEED_TOKEN = re.compile(rf"{_FEED_PREFIX}[A-Za-z0-9_-]{{43}}")


class Scope(StrEnum):
    """A permission of a token."""

    READ = "read"
    WRITE = "write"
    OPS = "ops"


@dataclass(frozen=True, slots=True)
class Caller:
    """The user of a request and what their token allows."""

    user_id: UUID
    token_id: UUID
    scopes: frozenset[Scope]
    expires_at: datetime | None = None
    """When the token ends: the gateway keeps the authorizer's answer for longer."""

    def context(self) -> dict[str, str]:
        """Return what the authorizer tells the gateway, whose context holds only flat values."""
        told = {
            "user_id": str(self.user_id),
            "token_id": str(self.token_id),
            "scopes": " ".join(sorted(self.scopes)),
        }
        return told if self.expires_at is None else told | {"expires_at": self.expires_at.isoformat()}


def known_scopes(names: Iterable[str]) -> frozenset[Scope]:
    """Return the scopes among ``names``; what we do not know allows nothing."""
    known = {scope.value for scope in Scope}
    return frozenset(Scope(name) for name in names if name in known)


def new_token() -> str:
    """Return a fresh secret: ``sl_`` and 32 random bytes."""
    return _PREFIX + secrets.token_urlsafe(32)


def new_feed_token() -> str:
    """Return a fresh secret for a feed's address: no bearer token, and of the same length."""
    return _FEED_PREFIX + secrets.token_urlsafe(32)


def is_feed_token(text: str) -> bool:
    """Say whether a text is a well-formed feed token."""
    return _FEED_TOKEN.fullmatch(text) is not None


def token_sha256(token: str) -> bytes:
    """Return what is stored of a token. Its 256 random bits need no salt, and finding by hash leaks no timing of it."""
    return hashlib.sha256(token.encode("ascii")).digest()


def read_bearer(header: str | None) -> str | None:
    """Return the token of an ``Authorization`` header, or ``None`` for anything but one well-formed bearer token.

    >>> read_bearer("Bearer sl_" + "a" * 43) == "sl_" + "a" * 43
    True
    >>> read_bearer("Basic c2VjcmV0") is None
    True
    """
    match = _BEARER.fullmatch(header or "")
    return match[1] if match else None
