"""Unicode's normal form C, of strangers' text too."""

import re
import unicodedata

MARKS_MAX = 30
"""Combining marks in a row, as in the Stream-Safe Text Format (UAX #15); no writing has as many."""
# Combining marks are neither letters nor digits, and begin here; the run is looked at more closely below.
_SIGNS = re.compile(rf"[^\x00-\u02ff\w]{{{MARKS_MAX + 1},}}")


def nfc(text: str) -> str:
    """Return ``text`` in normal form C, without the marks beyond ``MARKS_MAX`` in a row.

    Linear on any text: putting a run of marks in order costs the square of its length, in C and with everything else
    of the process waiting.

    >>> len(nfc("a" + "\\u0323\\u0301" * 1_000))
    30
    """
    return text if text.isascii() else unicodedata.normalize("NFC", _SIGNS.sub(_capped, text))


def _capped(signs: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for sign in signs.group():
        marks = marks + 1 if unicodedata.combining(sign) else 0
        if marks <= MARKS_MAX:
            kept.append(sign)
    return "".join(kept)
