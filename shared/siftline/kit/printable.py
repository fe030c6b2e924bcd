"""Text of others as a queue, a terminal and a page may be given it."""

import re

# C0 and C1 controls, what turns the direction of writing, surrogates and non-characters: SQS refuses the most of them
# (SendMessage, "Invalid characters"), and a terminal obeys some.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_BLANK = re.compile(r"[\t\n\r\x85]+")


def printable(text: str) -> str:
    r"""Return text on one line: breaks and tabs as one space, every other control character as U+FFFD.

    >>> printable("so\r\nfar\x1b[31m")
    'so far�[31m'
    """
    return _CONTROL.sub("\ufffd", _BLANK.sub(" ", text))
