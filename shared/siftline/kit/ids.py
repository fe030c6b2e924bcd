"""Identifiers (RFC 9562), made by the application: time-ordered ones, and ones that tell nothing."""

from uuid import UUID, uuid4

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """Return a new UUIDv7."""
    return uuid7()


def random_id() -> UUID:
    """Return a new UUIDv4: for what several users hold, so that its id does not tell when the first of them came."""
    return uuid4()
