"""Bytes to characters: what the server says, then a byte order mark, then what the page says of itself.

Labels are read as browsers read them (WHATWG Encoding: ``gb2312`` is GB 18030, ``iso-8859-1`` is Windows-1252).
A declaration is believed only as far as the bytes bear it out.
"""

import codecs
import re
from email.message import Message

from charset_normalizer import from_bytes

_SNIFF_BYTES = 8_192
_GUESS_BYTES = 65_536
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(
    # Neither half reads past the next "<", and white space is given back to nobody: linear in the bytes.
    rb"""<meta\s[^<>]*?charset\s*+=\s*+["']?\s*+([\w:.-]+)|<\?xml\s[^<>]*?encoding\s*+=\s*+["']([\w:.-]+)""",
    re.IGNORECASE,
)
# Python's codec for a label that browsers read as a wider one.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}
_SEVERAL_BYTES = frozenset(
    {"utf-8", "utf-16-le", "utf-16-be", "gb18030", "big5hkscs", "cp932", "cp949", "euc_jp", "iso2022_jp"}
)
_ONE_BYTE = frozenset(
    {
        *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
        *(f"cp{page}" for page in (866, 874, *range(1250, 1259))),
        *("koi8-r", "koi8-u", "mac-roman", "mac-cyrillic"),
    }
)
_DAMAGE_MAX_RATIO = 0.01


def decode(body: bytes, content_type: str = "") -> str:
    """Return the text of an HTML or plain-text body. Never raises: what cannot be read becomes U+FFFD."""
    mark, marked = _byte_order_mark(body)
    if marked and (text := _strictly(body[len(mark) :], marked)) is not None:
        return text
    declared = [name for name in (_from_header(content_type), marked, _from_markup(body)) if name]
    for name in declared:
        if name in _ONE_BYTE and not body.isascii() and (text := _strictly(body, "utf-8")) is not None:
            return text  # any bytes are "valid" in a one-byte set; hardly any text but UTF-8 is valid UTF-8
        if (text := _strictly(body, name)) is not None:
            return text
    for name in [*declared, "utf-8"]:
        text = body.decode(name, "replace")
        if text.count("\ufffd") <= len(text) * _DAMAGE_MAX_RATIO:
            return text
    guess = from_bytes(body[:_GUESS_BYTES]).best()
    return body.decode(_codec(guess.encoding if guess else "") or "cp1252", "replace")


def _byte_order_mark(body: bytes) -> tuple[bytes, str | None]:
    return next(((mark, name) for mark, name in _MARKS if body.startswith(mark)), (b"", None))


def _from_header(content_type: str) -> str | None:
    header = Message()
    header["content-type"] = content_type.replace("\r", " ").replace("\n", " ")
    return _codec(header.get_content_charset(""))


def _from_markup(body: bytes) -> str | None:
    match = _DECLARED.search(body[:_SNIFF_BYTES])
    if match is None:
        return None
    name = _codec((match[1] or match[2]).decode("ascii"))
    return "utf-8" if name in {"utf-16-le", "utf-16-be"} else name  # it was read as ASCII, so it is not UTF-16


def _codec(label: str) -> str | None:
    """Return the Python codec for a label, or ``None`` when browsers know none."""
    try:
        name = codecs.lookup(label.strip(" \"'").lower().removeprefix("x-").removesuffix("-i")).name
    except (LookupError, ValueError):
        return None
    name = _WIDER.get(name, name)
    return name if name in _SEVERAL_BYTES or name in _ONE_BYTE else None


def _strictly(body: bytes, name: str) -> str | None:
    try:
        return body.decode(name)
    except UnicodeDecodeError:
        return None
