"""A sound XML document as a tree, and its names and values as feeds mean them.

Nothing outside the document is ever read: no entities, no DTD, no network (lxml's own defaults said explicitly). What
libxml2 refuses by itself (levels beyond 256, texts beyond 10 MB, undefined entities, anything not well-formed) and
what a feed has no use for is doubted: the forgiving way reads it, or refuses it by name.
"""

import contextlib
import re
from collections.abc import Mapping
from types import MappingProxyType

from lxml import etree

from siftline.fetch.feed import sanitised
from siftline.fetch.feed.xml_guard import ATTRIBUTES_MAX, check_shape, check_size


class DoubtError(Exception):
    """The fast way might read the feed otherwise than the forgiving one."""


XML_NAMESPACE = "{http://www.w3.org/XML/1998/namespace}"
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
    "http://purl.org/rss/1.0/modules/slash/": "slash",
    "http://purl.org/rss/1.0/modules/syndication/": "sy",
    "http://wellformedweb.org/commentapi/": "wfw",
    "http://webns.net/mvcb/": "admin",
    "http://www.georss.org/georss": "georss",
    "http://www.opengis.net/gml": "gml",
    "http://www.w3.org/2003/01/geo/wgs84_pos#": "geo",
    "http://podlove.org/simple-chapters": "psc",
}
# Elements of other namespaces are told by their prefix where it is one of these (as feedparser does).
_SPOKEN_FOR = frozenset(_PREFIXES.values())
_ATOM = "http://www.w3.org/2005/Atom"
_RSS_1 = frozenset({"http://purl.org/rss/1.0/", "http://my.netscape.com/rdf/simple/0.9/"})
_NAMESPACES_UNCHECKED = ATTRIBUTES_MAX
_NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})
_NAME = re.compile(r"(?:tag|urn|uuid):[^\s\[\]]*")
_ROOT = re.compile(rb"<[A-Za-z_]")
_DECLARATION = re.compile(rb"xmlns")
_FLOODED = etree.XPath(f"boolean(descendant-or-self::*/@*[{ATTRIBUTES_MAX + 1}])")
_SCHEME_SLASHES = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)/+")
_C1 = re.compile("[\x80-\x9f]")
# Attributes that mean something wherever they stand; of a foreign namespace they would be mistaken for ours.
_MEANT = frozenset({
    "base", "domain", "href", "ispermalink", "label", "lang", "language", "length", "mode", "rel", "scheme", "src",
    "term", "text", "type", "uri", "url", "version",
})  # fmt: skip
# Those that are written as we look for them, and nearly all that there are.
_USUAL = frozenset({
    "domain", "duration", "height", "href", "ispermalink", "label", "language", "length", "medium", "rel", "scheme",
    "term", "title", "type", "url", "width",
})  # fmt: skip
_KEYWORDS = ("rel", "type")


def tree_of(body: bytes) -> etree._Element:
    """Return the root of a document in UTF-8. Raises ``DoubtError``, and ``FeedTooComplexError`` for a flood."""
    root_at = _ROOT.search(body)
    head = body[: root_at.start()] if root_at else body
    if b"<!DOCTYPE" in head or b"<!ENTITY" in head or b"version='1.1'" in head or b'version="1.1"' in head:
        raise DoubtError
    check_size(body)
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        recover=False,
        remove_comments=True,
        remove_pis=True,
        strip_cdata=True,
        collect_ids=False,
    )
    try:
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DoubtError from error
    if _FLOODED(root):
        raise DoubtError
    if len(_DECLARATION.findall(body)) > _NAMESPACES_UNCHECKED:
        check_shape(body)
    return root


def kind_of(root: etree._Element) -> str:
    """Return ``rss``, ``rdf`` or ``atom``. Raises ``DoubtError`` for other roots, and for those of two kinds."""
    name = name_of(root)
    declared = set(root.nsmap.values())
    if root.tag == f"{{{_ATOM}}}feed" and not declared & _RSS_1:
        return "atom"
    if name == "rss":
        return "rss"
    if name == "rdf:rdf" and declared & _RSS_1 and _ATOM not in declared:
        return "rdf"
    raise DoubtError


def name_of(element: etree._Element) -> str:
    """Return an element's name in lower case, under its namespace's usual prefix; ``?`` for one that means nothing.

    Raises ``DoubtError`` where feedparser would take a foreign element for one of a feed.
    """
    namespace, _, local = element.tag.rpartition("}")
    namespace = namespace[1:].lower()
    prefix = "" if "backend.userland.com/rss" in namespace else _PREFIXES.get(namespace)
    if prefix is None:
        given = element.prefix
        if given is None or given.lower() in _SPOKEN_FOR:
            raise DoubtError
        return "?"
    return f"{prefix}:{local}".lower() if prefix else local.lower()


def attributes_of(element: etree._Element) -> Mapping[str, str]:
    """Return an element's own attributes by their names in lower case; ``rel`` and ``type`` have lower values, too."""
    items = element.items()
    if not items:
        return _NO_ATTRIBUTES
    found = dict(items)
    if _USUAL.issuperset(found):
        if "rel" in found:
            found["rel"] = found["rel"].lower()
        if "type" in found:
            found["type"] = found["type"].lower()
        return found
    found = {}
    for name, value in items:
        if name[0] == "{":
            namespace, _, local = name.rpartition("}")
            known = _PREFIXES.get(namespace[1:].lower()) or f"{namespace}}}" == XML_NAMESPACE
            if not known and local.lower() in _MEANT:
                raise DoubtError
            continue
        key = name.lower()
        found[key] = value.lower() if key in _KEYWORDS else value
    return found


def leaf(element: etree._Element) -> str:
    """Return the text of an element, stripped. Raises ``DoubtError`` for an element that has others within it."""
    if len(element):
        raise DoubtError
    return (element.text or "").strip()


def text_in(element: etree._Element) -> str:
    """Return the text of a ``leaf``, ``mended``."""
    if len(element):
        raise DoubtError
    text = element.text
    if text is None:
        return ""
    text = text.strip()
    return text if text.isascii() else mended(text)


def mended(text: str) -> str:
    """Return text with two faults of feeds undone: UTF-8 that was encoded twice, and Windows-1252 read as Latin-1."""
    if text.isascii():
        return text
    with contextlib.suppress(UnicodeError):
        text = text.encode("iso-8859-1").decode("utf-8")
    return _C1.sub(_from_windows, text)


def _from_windows(match: re.Match[str]) -> str:
    try:
        return match[0].encode("iso-8859-1").decode("cp1252")
    except UnicodeDecodeError:
        return match[0]


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
