"""The one failure the local commands show to a person."""


class SetUpError(Exception):
    """Something on this machine stands in the way; the message is one line that says what to do about it."""
