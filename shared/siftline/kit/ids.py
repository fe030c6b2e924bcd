"""Time-ordered identifiers (UUIDv7, RFC 9562 section 5.7), made by the application."""

from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """Return a new UUIDv7."""
    return uuid7()
