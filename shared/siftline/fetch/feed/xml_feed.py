"""RSS, Atom and RDF: read quickly where they are sound, and by the parser that forgives where they are not.

Which of the two read a feed cannot be seen in the result.
"""

import codecs
import re
from typing import Final

from siftline.fetch.feed.draft import FeedDraft
from siftline.fetch.feed.feeds import Feed
from siftline.fetch.feed.finish import finish
from siftline.fetch.feed.xml_fast import read_fast
from siftline.fetch.feed.xml_guard import check_shape

_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, b"<\0", b"\0<", b"\0\0")
# ESC stays: it switches alphabets in ISO-2022 encodings.
_CONTROL = bytes(code for code in range(32) if code not in b"\t\n\r\x1b")

_REFERENCE = re.compile(rb"&#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?")

_HEADER_CHARSET = re.compile(rb"""charset\s*=\s*["']?([\w:.-]+)""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""\s*<\?xml\s[^<>]*?encoding\s*=\s*["']([\w:.-]+)""", re.IGNORECASE)
_UNICODE = re.compile(r"(?:utf|ucs|u|iso-10646-ucs)[-_]?(?:8|16|32|2|4)(?:le|be)?")
_COMMON_ALPHABET = re.compile(
    r"iso-8859-\d+|latin-?1|(?:windows|cp)-?125\d|koi8-[ru]|gb2312|gbk|gb18030|big5|euc-(?:jp|kr)|shift_jis"
)
_UTF8: Final = "application/xml; charset=utf-8"


def parse_xml(body: bytes, *, url: str, content_type: str, max_entries: int) -> Feed:
    """Return what an RSS, Atom or RDF feed says. Raises as ``siftline.fetch.feed.feeds``."""
    return finish(_read(body, url, content_type, max_entries), url=url)


def parse_xml_fast(body: bytes, *, url: str, content_type: str, max_entries: int = 50_000) -> Feed | None:
    """Return what ``parse_xml`` would by its fast way alone; ``None`` where that doubts."""
    draft = _fast(body, url, content_type, max_entries)
    return None if draft is None else finish(draft, url=url)


def parse_xml_lenient(body: bytes, *, url: str, content_type: str, max_entries: int = 50_000) -> Feed:
    """Return what ``parse_xml`` would by its forgiving way alone. Raises as ``siftline.fetch.feed.feeds``."""
    return finish(_lenient(body, url, content_type, max_entries), url=url)


def _read(body: bytes, url: str, content_type: str, max_entries: int) -> FeedDraft:
    draft = _fast(body, url, content_type, max_entries)
    return _lenient(body, url, content_type, max_entries) if draft is None else draft


def _fast(body: bytes, url: str, content_type: str, max_entries: int) -> FeedDraft | None:
    if body.startswith(_WIDE):
        return None
    # XML without such characters is the rule, and to look for them takes as long as to find that there are none.
    body = body.removeprefix(codecs.BOM_UTF8).lstrip()
    draft = _as_it_is(body, url, content_type, max_entries)
    if draft is None and len(bare := _bare(body)) < len(body):
        draft = _as_it_is(bare, url, content_type, max_entries)
    return draft


def _as_it_is(body: bytes, url: str, content_type: str, max_entries: int) -> FeedDraft | None:
    alphabet = _alphabet(body, content_type)
    if alphabet is not None:
        if not _COMMON_ALPHABET.fullmatch(alphabet):
            return None
        try:
            body = body.decode("gb18030" if alphabet == "gb2312" else alphabet).encode()
        except (UnicodeError, LookupError):
            return None
    return read_fast(body, url=url, max_entries=max_entries)


def _lenient(body: bytes, url: str, content_type: str, max_entries: int) -> FeedDraft:
    """Characters that XML forbids are dropped before parsing, so that one of them costs no entry."""
    from siftline.fetch.feed.xml_lenient import read_lenient  # noqa: PLC0415 - dear to load, and most feeds do without

    if not body.startswith(_WIDE):
        body = _REFERENCE.sub(_legal_reference, _bare(body))
        if _alphabet(body, content_type) is None:
            body, is_utf8 = _readable(body)
            content_type = _UTF8 if is_utf8 else content_type
    check_shape(body)
    return read_lenient(body, url=url, content_type=content_type, max_entries=max_entries)


def _bare(body: bytes) -> bytes:
    """Return the body without what may not stand in XML, nor before it."""
    return body.translate(None, delete=_CONTROL).removeprefix(codecs.BOM_UTF8).lstrip()


def _alphabet(body: bytes, content_type: str) -> str | None:
    """Return the alphabet that the header, or else the body, claims; ``None`` for UTF-8, and where no claim counts.

    "us-ascii" is what text/xml without a charset would mean by RFC 3023, and nobody means it; UTF-16 would not have
    been read as far as its claim.
    """
    claims = (_HEADER_CHARSET.search(content_type.encode("ascii", "ignore")), _XML_ENCODING.match(body))
    labels = (claim[1].decode("ascii", "ignore").lower() for claim in claims if claim)
    label = next((label for label in labels if label not in {"us-ascii", "ascii"}), "utf-8")
    return None if _UNICODE.fullmatch(label) else label


def _readable(body: bytes) -> tuple[bytes, bool]:
    """Return a body that claims to be UTF-8 with U+FFFD for the bytes that are not, and whether it is UTF-8 then.

    Without a claim it counts as UTF-8 too (XML 1.0, section 4.3.3). Where such bytes outnumber the characters that
    UTF-8 makes sense of, it is read as Windows-1252. One stray byte in text that is ASCII else is such a body, and
    rightly so: the rest reads the same in both, and alone a byte is nearly always a quotation mark or an accented
    letter of that alphabet. Two together are no sign of UTF-8 cut short: "é" and a no-break space look like it.
    What does not begin as markup is no kin of ASCII, and left to feedparser's own guess.
    """
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        if not body.startswith(b"<"):
            return body, False
        text = body.decode("utf-8", "replace")
        damaged = text.count("\ufffd")
        understood = len(text) - len(text.encode("ascii", "ignore")) - damaged
        return (text if damaged <= understood else body.decode("cp1252", "replace")).encode(), True
    return body, True


def _legal_reference(match: re.Match[bytes]) -> bytes:
    """Drop a reference to a character that XML forbids (XML 1.0, section 2.2) or that is none at all; keep others."""
    code = int(match[1], 16) if match[1] else int(match[2][:10])
    return match[0] if code in {9, 10, 13} or 32 <= code < 0xD800 or 0xE000 <= code < 0x110000 else b""
