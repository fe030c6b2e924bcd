"""XML that is not well-formed, written anew so that it is.

The rules are those of HTML parsers, and of feeds: an end tag ends what was left open within its element, and is left
out where it ends nothing; an entry never stands within another, nor an entry's part within its title. A comment or a
CDATA section without an end is none. Characters and references that XML forbids are dropped.
"""

import re
from html.entities import name2codepoint

from siftline.fetch.feed.feeds import FeedTooComplexError

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


def repaired(text: str) -> str:
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
            raise too_many()

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


def too_many() -> FeedTooComplexError:
    """Return the error of a feed that is a flood of elements."""
    return FeedTooComplexError(f"The feed has more than {NODES_MAX} elements and attributes.")
