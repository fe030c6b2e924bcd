"""A feed's bytes as a tree: decoded, and read by lxml; repaired first where they are not well-formed.

Nothing outside the document is ever read: no entities, no DTD, no network (lxml's own defaults said explicitly).
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from lxml import etree

from siftline.fetch.feed.feeds import FeedTooComplexError
from siftline.fetch.feed.xml_repair import ATTRIBUTES_MAX, NODES_MAX, repaired, too_many
from siftline.text.charsets import ONE_BYTE, codec, decoded

Element: TypeAlias = etree._Element  # noqa: SLF001 - lxml has no public name for what it makes

# The longer marks first: UTF-32 begins as UTF-16 does.
_WIDE = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"), (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)  # fmt: skip
_HEADER_CHARSET = re.compile(rb"""charset\s*=\s*["']?([\w:.-]+)""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""\s*<\?xml\s[^<>]*?encoding\s*=\s*["']([\w:.-]+)""", re.IGNORECASE)
_UNICODE = re.compile(r"(?:utf|ucs|u|iso-10646-ucs)[-_]?(?:8|16|32|2|4)(?:le|be)?")
# Encodings of Python's that are no alphabets, some of them dear to decode.
_NO_ALPHABETS = re.compile(r"idna|punycode|(?:raw[-_ ])?unicode[-_ ]escape|undefined|utf[-_ ]?7|u7")

_CONTROL = bytes(code for code in range(32) if code not in b"\t\n\r")
_ROOT = re.compile(rb"<[A-Za-z_]")
_UNREAD = re.compile(rb"""<!DOCTYPE|<!ENTITY|version=['"]1\.1""")
_NAMESPACE = re.compile(rb"""xmlns[\w:.-]*+\s*+=\s*+["'][^"'<>]*+""")
_SECTION = re.compile(rb"<!\[CDATA\[.*?\]\]>|<!--.*?-->", re.DOTALL)
_NODE_BYTES = len(b"<a/>")
_VALUE = re.compile(rb"""=\s*+["']""")
_FLOODED = etree.XPath(f"boolean(descendant-or-self::*/@*[{ATTRIBUTES_MAX + 1}])")


def tree_of(body: bytes, content_type: str) -> Element:
    """Return the root of a document; what was repaired stands within one element more.

    Raises ``FeedTooComplexError`` for what is built to hurt.
    """
    # XML without forbidden characters is the rule, and to look for them takes as long as to find that there are none.
    utf8 = _utf8(body, content_type)
    root = _well_formed(utf8)
    if root is None:
        bare = utf8.translate(None, delete=_CONTROL).removeprefix(codecs.BOM_UTF8).lstrip()
        root = _well_formed(bare) if len(bare) < len(utf8) else None
        if root is None:
            root = etree.fromstring(repaired(_readable(bare)).encode(), _parser(recover=True))
    return root


def _parser(*, recover: bool) -> etree.XMLParser:
    return etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=recover,  # what was repaired is not deeper or larger than we let it
        recover=recover,
        remove_comments=True,
        remove_pis=True,
        strip_cdata=True,
        collect_ids=False,
    )


def _well_formed(body: bytes) -> Element | None:
    root_at = _ROOT.search(body)
    _check_size(body)
    if _UNREAD.search(body, 0, root_at.start() if root_at else len(body)):
        return None
    if body.count(b"xmlns") > ATTRIBUTES_MAX and len(set(_NAMESPACE.findall(body))) > ATTRIBUTES_MAX:
        return None  # repairing counts those that are no text
    try:
        root = etree.fromstring(body, _parser(recover=False))
    except (etree.XMLSyntaxError, ValueError):
        return None
    if _FLOODED(root):
        raise FeedTooComplexError(f"An element of the feed has more than {ATTRIBUTES_MAX} attributes.")
    return root


def _check_size(body: bytes) -> None:
    """Raise ``FeedTooComplexError`` for a flood of elements and attributes; texts that look like some are none."""
    if len(body) <= NODES_MAX * _NODE_BYTES or body.count(b"<") + body.count(b"=") <= NODES_MAX:
        return
    end = max(body.rfind(b"]]>"), body.rfind(b"-->")) + 3
    body = _SECTION.sub(b"", body[:end]) + body[end:]
    if body.count(b"<") - body.count(b"</") + sum(1 for _ in _VALUE.finditer(body)) > NODES_MAX:
        raise too_many()


def _utf8(body: bytes, content_type: str) -> bytes:
    """Return a document in UTF-8 where its first bytes, its header or itself claim another alphabet; else as it is."""
    for mark, encoding in _WIDE:
        if body.startswith(mark):
            return body.decode(encoding, "replace").removeprefix("\ufeff").encode("utf-8", "replace").lstrip()
    body = body.removeprefix(codecs.BOM_UTF8).lstrip()
    claims = list(dict.fromkeys(_claimed(body, content_type)))
    return body if {"utf-8"}.issuperset(claims) else _borne_out(body, claims)


def _borne_out(body: bytes, claims: Sequence[str]) -> bytes:
    """Return a document in UTF-8, read in the first claim that its bytes bear out, else in the one that reads it best.

    Hardly any text but UTF-8 is valid UTF-8, and any bytes are valid in an alphabet of one byte a character.
    """
    faults, understood = _utf8_damage(body, body.decode("utf-8", "replace"))
    beyond = not body.isascii()
    if beyond and ((claims[0] in ONE_BYTE and not faults) or ("utf-8" in claims and faults <= understood)):
        return body
    best, least = body, faults + 1 if beyond else len(body)
    for name in claims:
        text = _read_as(body, name) if name != "utf-8" else None
        if text is None:
            continue
        damaged, understood = _damage(text)
        if damaged < least and damaged <= understood:
            best, least = text.encode(), damaged
        if not damaged:
            break
    return best


def _read_as(body: bytes, name: str) -> str | None:
    """Return what the bytes are in an alphabet; ``None`` where there is no such.

    What Windows-1252 lacks is a part of UTF-8, in texts that are (``xml_elements.mended``).
    """
    try:
        text = decoded(body, name)
    except (LookupError, UnicodeError):
        return None
    return body.decode("iso-8859-1") if name == "cp1252" and "\ufffd" in text else text


def _claimed(body: bytes, content_type: str) -> Iterator[str]:
    """Yield Python's codecs for the alphabets that the header and the body claim.

    "us-ascii" is what text/xml without a charset would mean by RFC 3023, and nobody means it. What is no UTF-8 and
    still reads as far as its claim is no UTF-16.
    """
    for claim in (_HEADER_CHARSET.search(content_type.encode("ascii", "ignore")), _XML_ENCODING.match(body)):
        label = claim[1].decode("ascii", "ignore").lower() if claim else ""
        if _UNICODE.fullmatch(label):
            yield "utf-8"
        elif label not in {"", "us-ascii", "ascii"} and not _NO_ALPHABETS.fullmatch(label):
            yield codec(label) or label


def _damage(text: str, meant: int = 0) -> tuple[int, int]:
    """Return how many bytes are no characters in an alphabet, and how many characters beyond ASCII it makes of others.

    Of U+FFFD so many were ``meant``.
    """
    damaged = text.count("\ufffd") - meant
    return damaged, len(text) - len(text.encode("ascii", "ignore")) - damaged


def _utf8_damage(body: bytes, text: str) -> tuple[int, int]:
    return _damage(text, body.count("\ufffd".encode()))


def _readable(body: bytes) -> str:
    """Return a body that claims to be UTF-8 as text, with U+FFFD for the bytes that are not.

    Without a claim it counts as UTF-8 too (XML 1.0, section 4.3.3). Where such bytes outnumber the characters that
    UTF-8 makes sense of, it is read as Windows-1252. One stray byte in text that is ASCII else is such a body, and
    rightly so: the rest reads the same in both, and alone a byte is nearly always a quotation mark or an accented
    letter of that alphabet. Two together are no sign of UTF-8 cut short: "é" and a no-break space look like it.
    """
    text = body.decode("utf-8", "replace")
    damaged, understood = _utf8_damage(body, text)
    return text if damaged <= understood else body.decode("cp1252", "replace")
