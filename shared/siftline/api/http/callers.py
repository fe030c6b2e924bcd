"""Who may call: a user by one of their tokens, and what it allows. Light, because the authorizer imports it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


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
