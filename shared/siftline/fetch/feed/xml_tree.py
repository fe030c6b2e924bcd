"""A feed's bytes as a tree: decoded, and read by lxml; written anew first where they are not well-formed.

Nothing outside the document is ever read: no entities, no DTD, no network (lxml's own defaults said explicitly).

The rules of repair are those of HTML parsers, and of feeds: an end tag ends what was left open within its element, and
is left out where it ends nothing; an entry never stands within another, nor an entry's part within its title. A comment
or a CDATA section without an end is none. Characters and references that XML forbids are dropped.
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from html.entities import name2codepoint
from typing import TypeAlias

from lxml import etree

from siftline.fetch.feed.feeds import FeedTooComplexError
from siftline.text.charsets import ONE_BYTE, codec, decoded

DEPTH_MAX = 256
ATTRIBUTES_MAX = 256
ENTITIES_MAX = 512
NAMESPACES_MAX = 512
NODES_MAX = 800_000
"""Elements and attributes, of which a feed at the size cap could have millions: each costs a tree some 200 bytes."""
EXPANDED_MAX_CHARS = 1_000_000
"""Characters that references to entities may become."""

# A tag ends at the first ">" outside of quotes, or, where quotes are out of step, at the first of all.
_QUOTED = r"""(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+"""
_TAG = re.compile(rf"<(/?+)([A-Za-z_][\w.:-]*+)(?:({_QUOTED})>|([^<>]*+)>)")
_ATTRIBUTE = re.compile(r"""(?<![\w.:-])([A-Za-z_][\w.:-]*+)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""")
# References once every ampersand is escaped, whether it begins one or not.
_REFERENCE = re.compile(r"&amp;(?:#(?:[xX]([0-9a-fA-F]++)|([0-9]++));?|([A-Za-z][\w.-]*+);)")
_VALUE_AT_END = re.compile(r"""=\s*+["']?+[^\s"'=]*+$""")
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_DOCTYPE = re.compile(r"<!DOCTYPE(?:[^\[<>\"']++|\"[^\"]*+\"|'[^']*+')*+(?:\[(.*?)\]\s*+)?>", re.IGNORECASE | re.DOTALL)
_ENTITY = re.compile(r"""<!ENTITY\s+(?:%\s+)?([\w.:-]+)\s+(?:"([^"]*)"|'([^']*)'|\w+)""")
_ENTRY_TAG = re.compile(r"<(/?)(?:(?:rss|atom):)?(?:item|entry)[\s>]", re.IGNORECASE)
_SECTIONS_WITHIN_MAX = 8
_SECTION_MARK = re.compile(r"<!\[CDATA\[|\]\]>")
_OWN_NAMES = {"amp": "&amp;", "lt": "&lt;", "gt": "&gt;", "quot": "&quot;", "apos": "&apos;"}

_ENTRIES = frozenset({"item", "entry", "rss:item", "atom:item", "rss:entry", "atom:entry"})
_HOLDERS = _ENTRIES | {"rss", "rdf:rdf", "feed", "channel"}
# Elements of HTML without content.
_VOID = frozenset({"br", "hr", "img", "wbr"})
# Those that end where the next one begins.
_NOT_IN_ITSELF = frozenset({"dd", "dt", "li", "p", "td", "tr"})
# Parts of feeds and entries that have no parts within, and those that hold HTML.
_LEAVES = frozenset({
    "title", "link", "guid", "id", "pubdate", "published", "updated", "category", "comments", "enclosure", "atom:link",
    "dc:creator", "dc:date", "itunes:image", "media:content", "media:thumbnail", "podcast:transcript",
})  # fmt: skip
_TEXTS = _LEAVES | {"description", "summary", "content", "content:encoded"}
# What parts never stand within, beside themselves: HTML has names of some, too.
_NOT_IN_LEAVES = frozenset({"title", "link", "summary"})
_NOT_IN_TEXTS = frozenset({
    "guid", "id", "pubdate", "published", "updated", "category", "comments", "enclosure", "author", "dc:creator",
    "dc:date", "description", "content:encoded",
})  # fmt: skip
_NOT_WITHIN = {
    **{name: frozenset({name}) for name in _TEXTS},
    **{name: _LEAVES | {name} for name in _NOT_IN_LEAVES},
    **dict.fromkeys(_NOT_IN_TEXTS, _TEXTS),
    **dict.fromkeys(_ENTRIES, _ENTRIES),
}

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


def _repaired(text: str) -> str:
    """Return a document that is well-formed but for its namespaces, within one element more.

    Raises ``FeedTooComplexError`` for floods of elements, attributes, levels, namespaces or entities, and for nested
    entities.
    """
    return _Repair(_ILLEGAL.sub("", text)).run()


class _Repair:
    def __init__(self, text: str) -> None:
        self._text = text
        self._pieces = ["<_>"]
        self._open: list[str] = []
        """The open elements, outermost first, as they were written."""
        self._names: list[str] = []
        """The same in lower case."""
        self._starts: list[int] = []
        """Which of the pieces begins each."""
        self._parts: list[tuple[int, str]] = []
        """Of these the entries, and the parts that hold no others, each with its place."""
        self._nodes = 0
        self._has_doctype = False
        self._namespaces: set[tuple[str, str]] = set()
        self._entities: dict[str, str] = {}
        self._expanded = 0
        # Beyond its last end no section is looked for: each beginning would be followed to the end of the feed.
        self._ends = {mark: text.rfind(mark) for mark in ("-->", "]]>", "?>")}

    def run(self) -> str:
        text, at = self._text, 0
        while (start := text.find("<", at)) >= 0:
            if start > at:
                self._pieces.append(self._referring(text[at:start]))
            at = self._markup(start)
        self._pieces.append(self._referring(text[at:]))
        self._close(0)
        self._pieces.append("</_>")
        return "".join(self._pieces)

    def _markup(self, start: int) -> int:
        """Write what begins with a less-than sign, and return where it ends."""
        text = self._text
        if match := _TAG.match(text, start):
            closes, name, quoted, rest = match.groups()
            if closes:
                self._end(name)
            else:
                self._start(name, quoted if quoted is not None else rest)
            return match.end()
        if text.startswith("<!--", start):
            return self._end_of("-->", start) or self._literal(start)
        if text.startswith("<![CDATA[", start):
            return self._cdata(start)
        if text.startswith("<?", start):
            return self._end_of("?>", start) or self._literal(start)
        if not self._has_doctype and text.startswith("<!D", start):
            self._has_doctype = True
            if match := _DOCTYPE.match(text, start):
                self._declare(match[1] or "")
                return match.end()
        return self._literal(start)

    def _literal(self, start: int) -> int:
        self._pieces.append("&lt;")
        return start + 1

    def _end_of(self, mark: str, start: int) -> int:
        """Return where a section ends; 0 where it does not."""
        return self._text.index(mark, start) + len(mark) if start < self._ends[mark] else 0

    def _cdata(self, start: int) -> int:
        begin = start + len("<![CDATA[")
        end = self._end_of("]]>", start)
        section = self._text[begin : end - len("]]>")] if end else ""
        for _ in range(_SECTIONS_WITHIN_MAX):
            further = self._end_without_beginning(end) if "<![CDATA[" in section else 0
            if not further:
                break
            section = section.replace("<![CDATA[", "", 1) + self._text[end : further - len("]]>")]
            end = further
        tags = _ENTRY_TAG.findall(section)
        if not end or (tags and tags[0] == "/" and "" in tags):
            return (
                begin  # it holds the end of its own entry and then another: its end is missing, and this is another's
            )
        self._pieces.append(_escaped(section))
        return end

    def _end_without_beginning(self, start: int) -> int:
        """Return where a section ends that does not begin behind ``start``; 0 where the next one there does."""
        match = _SECTION_MARK.search(self._text, start)
        return match.end() if match and match[0] == "]]>" else 0

    def _start(self, name: str, rest: str) -> None:
        lower = name.lower()
        if lower in _NOT_WITHIN:
            self._close_within(_NOT_WITHIN[lower])
        elif lower in _NOT_IN_ITSELF and self._names[-1:] == [lower]:
            self._close(len(self._names) - 1)
        attributes = self._attributes(rest) if "=" in rest else ""
        self._count(1)
        if lower in _VOID or (rest.endswith("/") and not _VALUE_AT_END.search(rest)):
            self._pieces.append(f"<{name}{attributes}/>")
            return
        self._starts.append(len(self._pieces))
        self._pieces.append(f"<{name}{attributes}>")
        if lower in _TEXTS or lower in _ENTRIES:
            self._parts.append((len(self._names), lower))
        self._open.append(name)
        self._names.append(lower)
        if len(self._open) > DEPTH_MAX:
            raise FeedTooComplexError(f"The feed is nested more than {DEPTH_MAX} levels deep.")

    def _attributes(self, rest: str) -> str:
        found: dict[str, str] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(rest):
            value = double or single or bare
            found.setdefault(name, value)
            if name.startswith("xmlns"):
                self._namespaces.add((name, value))
        if len(found) > ATTRIBUTES_MAX:
            raise FeedTooComplexError(f"An element of the feed has more than {ATTRIBUTES_MAX} attributes.")
        if len(self._namespaces) > NAMESPACES_MAX:
            raise FeedTooComplexError(f"The feed declares more than {NAMESPACES_MAX} namespaces.")
        self._count(len(found))
        return "".join(f' {name}="{self._referring(value, "&quot;")}"' for name, value in found.items())

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > NODES_MAX:
            raise _too_many()

    def _end(self, name: str) -> None:
        lower = name.lower()
        if lower not in self._names:
            self._count(1)
        else:
            at = len(self._names) - 1
            while self._names[at] != lower:
                at -= 1
            self._close(at)

    def _close_within(self, names: frozenset[str]) -> None:
        """Close the outermost open element of these names within the entry, if there is one, and all within it."""
        found = None
        for at, name in reversed(self._parts):
            if name in names:
                found = at
            if name in _ENTRIES:
                break
        if found is not None:
            self._close(found)

    def _close(self, at: int) -> None:
        for place in range(len(self._open) - 1, at - 1, -1):
            start = self._starts[place]
            if place > at and self._is_unended(place):
                self._pieces[start] = f"{self._pieces[start][:-1]}/>"
            else:
                self._pieces.append(f"</{self._open[place]}>")
            if self._parts and self._parts[-1][0] == place:
                self._parts.pop()
        del self._open[at:], self._names[at:], self._starts[at:]

    def _is_unended(self, place: int) -> bool:
        """Return whether an element whose end is missing is none of a text, so that what follows is not within it."""
        inner = next((name for at, name in reversed(self._parts) if at <= place), "")
        return (not inner or inner in _ENTRIES) and self._names[place] not in _HOLDERS

    def _declare(self, subset: str) -> None:
        for name, double, single in _ENTITY.findall(subset):
            value = _REFERENCE.sub(_character, (double or single).replace("&", "&amp;"))
            if len(self._entities) >= ENTITIES_MAX or "&" in value:
                raise FeedTooComplexError("The feed declares nested XML entities.")
            self._entities.setdefault(name, value)

    def _referring(self, text: str, quote: str = '"') -> str:
        """Return text or an attribute's value as it may stand in XML."""
        if "&" in text:
            text = _REFERENCE.sub(self._reference, text.replace("&", "&amp;"))
        return text.replace(">", "&gt;").replace('"', quote)

    def _reference(self, match: re.Match[str]) -> str:
        name = match[3]
        if name is None:
            return _escaped(_character(match))
        if name in _OWN_NAMES:
            return _OWN_NAMES[name]
        if name in self._entities:
            self._expanded += len(self._entities[name])
            if self._expanded > EXPANDED_MAX_CHARS:
                raise FeedTooComplexError("The feed's entities become too much text.")
            return _escaped(self._entities[name])
        return chr(name2codepoint[name]) if name in name2codepoint else match[0]


def _character(match: re.Match[str]) -> str:
    """Return the character that a number refers to; nothing where XML forbids it, other references as they are."""
    if match[1] is None and match[2] is None:
        return match[0]
    code = int(match[1][-9:], 16) if match[1] else int(match[2][:10])
    is_legal = code in {9, 10, 13} or 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000
    return chr(code) if is_legal else ""


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _too_many() -> FeedTooComplexError:
    return FeedTooComplexError(f"The feed has more than {NODES_MAX} elements and attributes.")


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
            root = etree.fromstring(_repaired(_readable(bare)).encode(), _parser(recover=True))
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
        raise _too_many()


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
