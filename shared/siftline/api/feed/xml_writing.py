"""Text as XML may hold it."""

import re
from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

# XML 1.0, section 2.2.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def attributes(values: Mapping[str, str | None]) -> str:
    """Return those attributes that have a value, each behind a blank."""
    return "".join(f" {name}={quoteattr(_ILLEGAL.sub('', value))}" for name, value in values.items() if value)


def escaped(text: str) -> str:
    r"""Return text as an element's content.

    >>> escaped("1 < 2 & \x00 ]]>")
    '1 &lt; 2 &amp;  ]]&gt;'
    """
    return _ILLEGAL.sub("", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
