"""What one element of a feed says: its name and attributes as feeds mean them, its text, address or markup."""

import base64
import contextlib
import re
from collections.abc import Mapping
from html import escape
from types import MappingProxyType

from siftline.fetch.feed import sanitised
from siftline.fetch.feed.entries import HTML, PLAIN, XHTML, Text
from siftline.fetch.feed.xml_tree import Element

# Feeds' namespaces, in lower case as they are compared, by the prefix that they usually have. Those of the formats
# themselves have none: elements of Atom within RSS mean what they mean in Atom.
_PREFIXES = {
    "": "",
    "http://backend.userland.com/rss": "",
    "http://blogs.law.harvard.edu/tech/rss": "",
    "http://purl.org/rss/1.0/": "",
    "http://my.netscape.com/rdf/simple/0.9/": "",
    "http://www.w3.org/2005/atom": "",
    "http://purl.org/atom/ns#": "",
    "http://purl.org/rss/1.0/modules/rss091#": "",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://purl.org/rss/1.0/modules/content/": "content",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "http://search.yahoo.com/mrss": "media",
    "http://search.yahoo.com/mrss/": "media",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner",
    "https://podcastindex.org/namespace/1.0": "podcast",
    "https://github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md": "podcast",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://www.w3.org/1999/xhtml": "xhtml",
    "http://web.resource.org/cc/": "cc",
    "http://creativecommons.org/ns#license": "cc",
    "http://backend.userland.com/creativecommonsrssmodule": "creativecommons",
    "http://cyber.law.harvard.edu/rss/creativecommonsrssmodule.html": "creativecommons",
}
# An element of another namespace, or of none that is declared, is told by its prefix where it is one of these.
_KNOWN = frozenset(_PREFIXES.values())
_OF_FORMATS = frozenset({"", "atom", "a10", "rss"})
XML = "{http://www.w3.org/XML/1998/namespace}"
_ATOM = "{http://www.w3.org/2005/Atom}"

_NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})
# Attributes that are written as we look for them, and nearly all that there are.
_USUAL = frozenset({
    "domain", "duration", "height", "href", "ispermalink", "label", "language", "length", "medium", "rel", "scheme",
    "term", "title", "type", "url", "width",
})  # fmt: skip
_MEDIA_TYPES = {
    "text": PLAIN, "plain": PLAIN, PLAIN: PLAIN, "html": HTML, HTML: HTML, "xhtml": XHTML, XHTML: XHTML,
}  # fmt: skip

_NAME = re.compile(r"(?:tag|urn|uuid):[^\s\[\]]*")
_SCHEME_SLASHES = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)/+")
_C1 = re.compile("[\x80-\x9f]")
# The bytes of Windows-1252's own characters.
_WINDOWS = {
    ord(character): byte for byte in range(0x80, 0xA0) if (character := bytes([byte]).decode("cp1252", "ignore"))
}
_BYTES = "\x80-\xbf" + "".join(map(chr, _WINDOWS))
_NO_BYTE = re.compile(f"[^\0-\xff{_BYTES}]")
_TWICE = re.compile(f"[\xc2-\xf4][{_BYTES}]")
# A letter and what may follow it at the end of a word: "CAF\xc9\u2122" is no UTF-8.
_WORD_END = re.compile("\\w[\xc0-\xff][\u2019\u201d\u2026\u2122\u203a\xae\xbb]{1,2}(?!\\w)")


def name_of(element: Element) -> str:
    """Return an element's name in lower case, under its namespace's usual prefix; ``?`` for one that means nothing."""
    tag: str = element.tag
    namespace, _, local = tag.rpartition("}")
    namespace = namespace[1:].lower()
    prefix = "" if "backend.userland.com/rss" in namespace else _PREFIXES.get(namespace)
    if prefix is None:
        prefix = (element.prefix or "").lower()
    elif not prefix and ":" in local:  # it was never declared
        prefix, _, local = local.lower().partition(":")
    if prefix in _OF_FORMATS:
        return local.lower()
    return f"{prefix}:{local.lower()}" if prefix in _KNOWN else "?"


def local_name(element: Element) -> str:
    """Return an element's name in lower case without its namespace."""
    tag: str = element.tag
    return tag.rpartition("}")[2].rpartition(":")[2].lower()


def attributes_of(element: Element) -> Mapping[str, str]:
    """Return an element's own attributes by their names in lower case; ``rel`` and ``type`` have lower values, too."""
    items = element.items()
    if not items:
        return _NO_ATTRIBUTES
    found = dict(items)
    if not _USUAL.issuperset(found):
        found = {name.lower(): value for name, value in items if name[0] != "{"}
    if "rel" in found:
        found["rel"] = found["rel"].lower()
    if "type" in found:
        found["type"] = found["type"].lower()
    return found


def href_of(attributes: Mapping[str, str]) -> str | None:
    """Return the address that attributes name."""
    return attributes.get("url", attributes.get("uri", attributes.get("href"))) or attributes.get("href")


def base_of(element: Element, outer: str) -> str:
    """Return the address that relative ones within an element count from (XML Base; ``base`` in RSS)."""
    given = element.get(f"{XML}base") or element.get("base") or element.get("BASE")
    base = joined(outer, given) if given else ""
    return base if base.startswith(("http://", "https://")) else outer


def _whole(element: Element) -> str:
    return "".join(element.itertext()) if len(element) else element.text or ""


def text_of(element: Element) -> str:
    """Return the text of an element, and of all within it, stripped."""
    text = _whole(element).strip()
    return text if text.isascii() else mended(text)


def value_of(element: Element) -> str:
    """Return the text of an element; one that has attributes says nothing by it."""
    return "" if element.keys() else text_of(element)


def mended(text: str) -> str:
    """Return text with two faults of feeds undone: UTF-8 that was encoded twice, and Windows-1252 read as Latin-1.

    Its bytes were taken for Latin-1 or for Windows-1252.
    """
    if not _NO_BYTE.search(text):
        begun = _TWICE.findall(text)
        if len(begun) > 1 or (begun and not _WORD_END.search(text)):
            with contextlib.suppress(UnicodeError):
                text = text.translate(_WINDOWS).encode("iso-8859-1").decode("utf-8")
    return _C1.sub(_from_windows, text)


def _from_windows(match: re.Match[str]) -> str:
    try:
        return match[0].encode("iso-8859-1").decode("cp1252")
    except UnicodeDecodeError:
        return match[0]


def address_of(element: Element, base: str) -> str:
    """Return the text of an element as an address, as absolute as its base makes it."""
    text = _whole(element).strip()
    address = joined(base, text) if text else ""
    return address if address.isascii() else mended(address)


def joined(base: str, address: str) -> str:
    """Return an address as absolute as its base makes it; empty where it is none."""
    if not address.startswith("/"):
        if sanitised.is_plain_url(address) or _NAME.fullmatch(address):
            return address
        address = _SCHEME_SLASHES.sub(r"\1", address)
    try:
        return sanitised.resolved(base, address)
    except ValueError:
        return ""


def construct_of(element: Element, base: str, default: str, *, is_atom: bool) -> Text:
    """Return a text construct (RFC 4287, section 3.1); without a type it is of the ``default`` one.

    What holds elements is markup, whatever it says that it is.
    """
    attributes = attributes_of(element)
    given = attributes.get("type", default)
    media_type = _MEDIA_TYPES.get(given, given)
    if is_atom and (given not in _MEDIA_TYPES or "mode" in attributes) and _is_base64(attributes):
        return Text(_from_base64(_whole(element)), media_type, base)
    if len(element) == 1 and element.tag.startswith(_ATOM) and _is_around(element, element[0]):
        element = element[0]
        if media_type == HTML and not len(element):
            return Text(text_of(element), HTML, base)  # as TypePad wrote it
        media_type = XHTML
    if len(element) or media_type == XHTML:
        return Text(mended(_markup(element)), XHTML, base)
    return Text(text_of(element), media_type, base)


def _is_around(element: Element, child: Element) -> bool:
    """Return whether a child is the div of Atom that holds all markup, and is no part of it (section 3.1.1.3)."""
    return local_name(child) == "div" and not ((element.text or "") + (child.tail or "")).strip()


def _is_base64(attributes: Mapping[str, str]) -> bool:
    """Return whether content is written so: by its mode in Atom 0.3, by its type in 1.0 (RFC 4287, 4.1.3.3)."""
    given = attributes.get("type", "")
    is_text = given in _MEDIA_TYPES or given.startswith("text/") or given.endswith(("/xml", "+xml"))
    return attributes.get("mode") == "base64" or ("/" in given and not is_text)


def _from_base64(text: str) -> str:
    """Return the text that base64 holds: nothing where that is none (a picture), the text itself where it is none."""
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode().strip()
    except UnicodeDecodeError:
        return ""
    except ValueError:
        return text.strip()


def _markup(element: Element) -> str:
    """Return what stands within an element as markup."""
    pieces = [escape(element.text or "", quote=False)]
    for child in element:
        _write(child, pieces)
    return "".join(pieces).strip()


def _write(element: Element, pieces: list[str]) -> None:
    name = local_name(element)
    pieces.append(f"<{name}")
    pieces += [f' {key}="{escape(value)}"' for key, value in attributes_of(element).items()]
    pieces += (">", escape(element.text or "", quote=False))
    for child in element:
        _write(child, pieces)
    pieces += (f"</{name}>", escape(element.tail or "", quote=False))
