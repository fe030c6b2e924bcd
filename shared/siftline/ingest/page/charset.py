"""Bytes to characters: what the server says, then a byte order mark, then what the page says of itself.

A declaration is believed only as far as the bytes bear it out. A page is archived in UTF-8, its own word on its
character set made true.
"""

import codecs
import gzip
import re
from email.message import Message

from charset_normalizer import from_bytes

from siftline.text.charsets import ONE_BYTE, codec, decoded

_SNIFF_BYTES = 8_192
_GUESS_BYTES = 65_536
# The longer first: UTF-32's mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Without a mark zeros tell: the upper bytes of letters in wide signs are zero, the lowest never are. Markup and spaces
# give enough of them to a text in any writing.
_WIDE_ZEROS_MIN = 0.2
_LOW_ZEROS_MAX = 0.02
_DECLARED = re.compile(
    # Neither half reads past the next "<", and white space is given back to nobody: linear in the bytes.
    rb"""<meta\s[^<>]*?charset\s*+=\s*+["']?\s*+([\w:.-]+)|<\?xml\s[^<>]*?encoding\s*+=\s*+["']([\w:.-]+)""",
    re.IGNORECASE,
)
_DAMAGE_MAX_RATIO = 0.01
_HEAD_CHARS = 65_536
# What a page says of its character set: once it is saved as UTF-8, anything else would garble it.
_META = re.compile(r"""(<meta\s[^<>]*?charset\s*+=\s*+["']?\s*+)([\w:.-]+)""", re.IGNORECASE)
_DECLARATION = re.compile(r"""(^\s*<\?xml\s[^<>]*?encoding\s*+=\s*+["'])([\w:.-]+)""", re.IGNORECASE)


def decode(body: bytes, content_type: str = "") -> str:
    """Return the text of an HTML or plain-text body. Never raises: what cannot be read becomes U+FFFD."""
    mark, marked = _byte_order_mark(body)
    if marked and (text := _strictly(body[len(mark) :], marked)) is not None:
        return text
    if wide := _wide(body):
        size = 4 if "32" in wide else 2
        if (text := _strictly(body[: len(body) // size * size], wide)) is not None:
            return text
    declared = [name for name in (_from_header(content_type), marked, _from_markup(body)) if name]
    for name in declared:
        if name in ONE_BYTE and not body.isascii() and (text := _strictly(body, "utf-8")) is not None:
            return text  # any bytes are "valid" in a one-byte set; hardly any text but UTF-8 is valid UTF-8
        if (text := _strictly(body, name)) is not None:
            return text
    for name in [*declared, "utf-8"]:
        text = decoded(body, name)
        if text.count("\ufffd") <= len(text) * _DAMAGE_MAX_RATIO:
            return text
    guess = from_bytes(body[:_GUESS_BYTES]).best()
    return body.decode(codec(guess.encoding if guess else "") or "cp1252", "replace")


def archived_page(body: bytes, content_type: str) -> bytes:
    """Return a page's bytes for the archive: decoded as it was read, its stale declaration replaced, gzipped.

    The same page always becomes the same bytes.
    """
    text = decode(body, content_type).removeprefix("\ufeff")
    head, rest = text[:_HEAD_CHARS], text[_HEAD_CHARS:]
    for declared in (_META, _DECLARATION):
        head = declared.sub(r"\1utf-8", head)
    return gzip.compress((head + rest).encode("utf-8", "replace"), mtime=0)


def _byte_order_mark(body: bytes) -> tuple[bytes, str | None]:
    return next(((mark, name) for mark, name in _MARKS if body.startswith(mark)), (b"", None))


def _wide(body: bytes) -> str | None:
    """Return the codec of text in two or four bytes a sign, told by where its zeros stand."""
    signs = min(len(body), _SNIFF_BYTES) // 4
    if signs == 0 or 0 not in body[: 4 * signs]:
        return None
    first, second, third, fourth = (body[place : 4 * signs : 4].count(0) / signs for place in range(4))
    if fourth == 1 and third > 1 - _WIDE_ZEROS_MIN and first <= _LOW_ZEROS_MAX:
        return "utf-32-le"
    if first == 1 and second > 1 - _WIDE_ZEROS_MIN and fourth <= _LOW_ZEROS_MAX:
        return "utf-32-be"
    even, odd = (first + third) / 2, (second + fourth) / 2
    if odd >= _WIDE_ZEROS_MIN and even <= _LOW_ZEROS_MAX:
        return "utf-16-le"
    return "utf-16-be" if even >= _WIDE_ZEROS_MIN and odd <= _LOW_ZEROS_MAX else None


def _from_header(content_type: str) -> str | None:
    header = Message()
    header["content-type"] = content_type.replace("\r", " ").replace("\n", " ")
    return codec(header.get_content_charset(""))


def _from_markup(body: bytes) -> str | None:
    match = _DECLARED.search(body[:_SNIFF_BYTES])
    if match is None:
        return None
    name = codec((match[1] or match[2]).decode("ascii"))
    return "utf-8" if name in {"utf-16-le", "utf-16-be"} else name  # it was read as ASCII, so it is not UTF-16


def _strictly(body: bytes, name: str) -> str | None:
    try:
        return body.decode(name)
    except UnicodeDecodeError:
        return None
