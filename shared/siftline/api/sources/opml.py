"""Subscriptions as OPML (versions 1.0 to 2.0, opml.org): read leniently, within limits, and written for every reader.

Sound files are read as XML. Others are read tag by tag: what stands before the XML, another character set than is
named, bare ampersands, names of HTML's characters, control characters and missing ends cost nothing.

What holds others is a folder of all that stands in it, at any depth, and each part of an outline's ``category`` is a
topic; what stands in several places is in several folders. An outline of the first level that has a name and nothing
else is a folder in which nothing is yet. What other readers have no word for (a page whose links are
followed, by which selector, how often, topics with signs that part categories) stands in attributes of our own
namespace.
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html.entities import html5
from xml.parsers import expat

from siftline.api.feed.xml_writing import attributes, escaped
from siftline.api.http.problems import ProblemError
from siftline.api.sources.source_models import Source
from siftline.catalog.source_kinds import SourceKind
from siftline.kit.lines import line
from siftline.text.charsets import codec

NAMESPACE = "urn:siftline:opml"
TITLE_MAX_CHARS, TOPIC_MAX_CHARS, TOPICS_MAX = 200, 64, 20
REFRESH_LEAST_MINUTES, REFRESH_MOST_MINUTES = 5, 10_080
_DEPTH_MAX = 32
_ATTRIBUTES_MAX = 100
_TAGS_MAX = 100_000
_DECLARED = re.compile(rb"""<\?xml\s[^<>]*?encoding\s*=\s*["']([\w:.-]{1,40})""", re.IGNORECASE)
_DECLARED_WITHIN_BYTES = 1_024
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
# What has two bytes a character cannot declare anything in ASCII: .NET's writers do, of what they write as UTF-8.
_WIDE = ("utf-16", "utf-32")
# Browsers' own stand-in, and that of most exports from Windows.
_UNDECLARED = "cp1252"
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_TAG = re.compile(r"<(?:(!--)|(!\[CDATA\[)|([!?])|(/?)([A-Za-z_][\w:.-]*))")
# A quote that never ends is looked for once: behind it there is no other.
_ATTRIBUTE = re.compile(r"""([^\s=<>"'/]++)\s*+(?:=\s*+("[^"]*+"|'[^']*+'|[^\s<>"']*+))?""")
_GAP = re.compile(r"\s++")
_REFERENCE = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]{1,31}));")
# Types of outlines that lead somewhere without being subscriptions (OPML 2.0, "Other special types").
_BOOKMARKS = frozenset({"link", "include"})
_ADDRESSES = frozenset({"siftline:url", "xmlurl", "htmlurl", "url"})


@dataclass(frozen=True, slots=True)
class Outline:
    """A subscription as a file names it."""

    url: str
    title: str | None = None
    folders: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    kind: str | None = None
    selector: str | None = None
    bookmark: bool = False
    """A link that is kept, and no subscription."""
    refresh_minutes: int | None = None
    refresh_min_minutes: int | None = None
    refresh_max_minutes: int | None = None


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """What a file holds."""

    outlines: list[Outline]
    """In its order."""
    empty_folders: list[str]
    """Names of folders in which nothing is, in its order."""


def read(body: bytes, *, encoding: str | None, most: int) -> Subscriptions:
    """Return the subscriptions of an OPML file; ``encoding`` goes before what the file itself says.

    A damaged file yields what can be read of it. Raises 400 for what is no OPML, and 422 for more than ``most``
    subscriptions or what is built to hurt.
    """
    try:
        return _Reading(most).of(body, "utf-8" if body.startswith(codecs.BOM_UTF8) else encoding)
    except (expat.ExpatError, ValueError, LookupError):
        return _Reading(most).of_damaged(_text(body, encoding))


def _text(body: bytes, encoding: str | None) -> str:
    """Return a file's text by its byte order mark, else by what is given or declared, else by what its bytes allow."""
    body = body.lstrip()
    declared = _DECLARED.search(body[:_DECLARED_WITHIN_BYTES])
    named = next((name for mark, name in _MARKS if body.startswith(mark)), None) or codec(
        encoding or (declared[1].decode() if declared else "utf-8")
    )
    if named is None or (declared and named.startswith(_WIDE)):
        named = "utf-8"
    try:
        return _ILLEGAL.sub("", body.decode(named).lstrip("\ufeff"))
    except ValueError:
        text = body.decode("utf-8", "replace")
    wrong, right = text.count("\ufffd"), sum(char > "\x7f" for char in text) - text.count("\ufffd")
    return _ILLEGAL.sub("", text if wrong <= right else body.decode(_UNDECLARED, "replace"))


def _resolved(value: str) -> str:
    """Return an attribute's value with its references resolved; what is none stays as it is."""
    return _REFERENCE.sub(_character, value) if "&" in value else value


def _character(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    if name is not None:
        return html5.get(f"{name};", reference[0])
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return _ILLEGAL.sub("", chr(code)) if code <= 0x10FFFF else reference[0]


def write(sources: Iterable[Source], *, title: str, folder_names: Iterable[str] = ()) -> str:
    """Return OPML 2.0: what is in no folder first, then each folder with what is in it, in the order of the sources.

    Those of ``folder_names`` in which nothing is come last.
    """
    folders: dict[str, list[str]] = {}
    loose: list[str] = []
    for source in sources:
        outline = _outline(source)
        for folder in source.folders:
            folders.setdefault(folder.name, []).append(f"  {outline}")
        if not source.folders:
            loose.append(outline)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<opml version="2.0" xmlns:siftline="{NAMESPACE}">']
    lines += [f"  <head><title>{escaped(title)}</title></head>", "  <body>", *loose]
    for name, inside in folders.items():
        lines += [f"    <outline{attributes({'text': line(name)})}>", *inside, "    </outline>"]
    lines += [f"    <outline{attributes({'text': line(name)})}/>" for name in folder_names if name not in folders]
    return "\n".join([*lines, "  </body>", "</opml>", ""])


@dataclass(frozen=True, slots=True)
class _Tag:
    name: str
    begins: bool
    ends: bool
    attributes: Mapping[str, str]


def _tags(text: str) -> Iterator[_Tag]:
    """Yield the tags of what need not be XML, in its order, with their names in lower case."""
    at, missing = 0, set[str]()
    for _ in range(_TAGS_MAX):
        found = _TAG.search(text, at)
        if found is None:
            return
        comment, section, other, slash, name = found.groups()
        if comment or section or other:
            mark = "-->" if comment else "]]>" if section else ">"
            end = -1 if mark in missing else text.find(mark, found.end())
            # What never ends hides nothing, and is looked for once.
            at = found.end() if end < 0 else end + len(mark)
            missing |= {mark} if end < 0 else set()
            continue
        attributes: dict[str, str] = {}
        at, empty, odd = found.end(), False, 0
        while at < len(text) and text[at] not in "<>":
            attribute = _ATTRIBUTE.match(text, at)
            if attribute is None:
                gap = _GAP.match(text, at)
                empty, at, odd = (empty, gap.end(), odd) if gap else (text[at] == "/", at + 1, odd + 1)
                if odd > _ATTRIBUTES_MAX:
                    break
                continue
            value = attribute[2] or ""
            attributes.setdefault(attribute[1], _resolved(value[1:-1] if value[:1] in {'"', "'"} else value))
            at, empty = attribute.end(), False
            if len(attributes) > _ATTRIBUTES_MAX:
                break
        yield _Tag(name.lower(), not slash, bool(slash) or empty, attributes)
    raise ProblemError(422, "opml_too_complex", "The file is damaged and has too many tags to repair.")


class _Reading:
    """One pass over a file. Anything may hold outlines, and attributes may be in any case: real files differ."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: list[Outline] = []
        self._folders: list[str | None] = []
        self._open: list[int | None] = []
        """The places of the outlines that are still open, if they are in the list: what holds others is a folder."""
        self._empty: list[str] = []
        self._lone: str | None = None
        """The outline that is open, where it may be an empty folder."""
        self._depth = 0
        self._opml = False

    def of(self, body: bytes, encoding: str | None) -> Subscriptions:
        parser = expat.ParserCreate(encoding)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.EntityDeclHandler = _refuse_entity
        parser.Parse(body, True)  # noqa: FBT003 - expat takes it by place only
        if not self._opml:
            raise _no_opml("The body is XML but not OPML.")
        return Subscriptions(self._found, self._empty)

    def of_damaged(self, text: str) -> Subscriptions:
        """Read tag by tag what is no XML; each place of the text is looked at once."""
        if "<!entity" in text.lower():
            _refuse_entity()
        # Each tag that begins an outline counts one, each that ends one takes it away; an empty one does both.
        unended = sum(tag.begins - tag.ends for tag in _tags(text) if tag.name == "outline") > 0
        for tag in _tags(text):
            if tag.name != "outline":
                self._opml = self._opml or (tag.begins and tag.name == "opml")
                continue
            if tag.begins:
                # Where ends are missing, it is most likely those of the subscriptions.
                if unended and self._open and self._open[-1] is not None and self._found[self._open[-1]].url:
                    self._end(tag.name)
                self._start(tag.name, tag.attributes)
            if tag.ends and self._open:
                self._end(tag.name)
        if not self._opml or not self._found:
            raise _no_opml("The body is neither XML nor a list of subscriptions.")
        return Subscriptions(self._found, self._empty)

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEPTH_MAX or len(attributes) > _ATTRIBUTES_MAX:
            raise ProblemError(422, "opml_too_complex", "The file is nested too deeply, or its outlines are too large.")
        name = name.lower()
        self._opml = self._opml or (name == "opml" and self._depth == 1)
        if name == "outline":
            self._outline({key.lower(): value.strip() for key, value in attributes.items()})

    def _end(self, name: str) -> None:
        self._depth -= 1
        if name.lower() == "outline":
            self._folders.pop()
            self._open.pop()
            if self._lone is not None:
                if len(self._empty) == self._most:
                    raise ProblemError(422, "too_many_outlines", f"The file has more than {self._most} folders.")
                self._empty.append(self._lone)
                self._lone = None

    def _outline(self, said: Mapping[str, str]) -> None:
        title = line(said.get("title") or said.get("text") or "", TITLE_MAX_CHARS)
        feed, page = said.get("siftline:url") or said.get("xmlurl"), said.get("htmlurl")
        address = feed or page or said.get("url") or ("" if _ADDRESSES & said.keys() else None)
        # Deeper ones, and those that say more, are more likely a text's lines than folders.
        self._lone = title if title and not self._open and said.keys() <= {"text", "title"} else None
        above = self._open[-1] if self._open else None
        if above is not None and not self._found[above].url:
            # What names no address and holds others is a folder, whatever empty attributes it has.
            self._folders[-1] = self._found.pop(above).title
            self._open[-1] = None
        if address is None:
            self._folders.append(title or None)
            self._open.append(None)
            return
        if len(self._found) == self._most:
            raise ProblemError(422, "too_many_outlines", f"The file has more than {self._most} subscriptions.")
        folders = dict.fromkeys(folder for folder in self._folders if folder)
        self._folders.append(None)
        self._open.append(len(self._found))
        self._found.append(
            Outline(
                address,
                title or None,
                tuple(folders),
                _topics(said),
                said.get("siftline:kind"),
                said.get("siftline:selector"),
                bookmark=not feed and not page and said.get("type", "").lower() in _BOOKMARKS,
                refresh_minutes=_minutes(said.get("siftline:refresh")),
                refresh_min_minutes=_minutes(said.get("siftline:refreshmin")),
                refresh_max_minutes=_minutes(said.get("siftline:refreshmax")),
            )
        )


def _topics(said: Mapping[str, str]) -> tuple[str, ...]:
    """Return the parts of what OPML calls slash-delimited strings, separated by commas, or our own lines of topics."""
    own = said.get("siftline:topics")
    parts = own.split("\n") if own else re.split("[/,]", said.get("category", ""))
    topics = dict.fromkeys(line(part, TOPIC_MAX_CHARS) for part in parts[: 2 * TOPICS_MAX])
    return tuple(topic for topic in topics if topic)[:TOPICS_MAX]


def _minutes(said: str | None) -> int | None:
    if said is None or not re.fullmatch("[0-9]{1,6}", said):
        return None
    return minutes if REFRESH_LEAST_MINUTES <= (minutes := int(said)) <= REFRESH_MOST_MINUTES else None


def _refuse_entity(*_: object) -> None:
    raise ProblemError(422, "opml_too_complex", "The file declares XML entities, which are not allowed.")


def _no_opml(detail: str) -> ProblemError:
    return ProblemError(400, "invalid_opml", detail)


def _outline(source: Source) -> str:
    feed = source.feed_url or (None if source.kind == SourceKind.WEB else source.url)
    title = line(source.title or "") or source.url
    said = {
        "type": "rss" if feed else "link",
        "text": title,
        "title": title,
        "xmlUrl": feed if source.kind != SourceKind.REDDIT else _feed_of_reddit(source.url),
        "htmlUrl": source.url if source.kind == SourceKind.WEB else source.site_url,
        "category": ",".join(source.topics),
        "siftline:topics": "\n".join(source.topics) if re.search("[/,]", "".join(source.topics)) else None,
        "siftline:url": source.url if source.feed_url else None,
        "siftline:kind": source.kind,
        "siftline:selector": source.selector,
        "siftline:refresh": _number(source.own_refresh_minutes),
        "siftline:refreshMin": _number(source.own_refresh_min_minutes),
        "siftline:refreshMax": _number(source.own_refresh_max_minutes),
    }
    return f"    <outline{attributes(said)}/>"


def _number(minutes: int | None) -> str | None:
    return None if minutes is None else str(minutes)


def _feed_of_reddit(url: str) -> str:
    """Return the Atom feed that other readers can follow in place of a listing."""
    place, mark, query = url.partition("?")
    return f"{place}.rss{mark}{query}"
