"""Text constructs of sound feeds: plain text, HTML in text, and XHTML in elements."""

from html import escape

from lxml import etree

from siftline.fetch.feed.draft import HTML, PLAIN, XHTML, Text
from siftline.fetch.feed.xml_tree import DoubtError, attributes_of, mended, text_in

_TYPES = {
    "text": PLAIN, "plain": PLAIN, PLAIN: PLAIN, "html": HTML, HTML: HTML, "xhtml": XHTML, XHTML: XHTML,
}  # fmt: skip
_XHTML_NAMESPACE = "{http://www.w3.org/1999/xhtml}"
# Drawings have titles of their own, and a body within a body ends it: feedparser reads on differently then.
_DOUBTFUL = {"svg", "math", "body"}
# Of the elements without a namespace those that are HTML's alone: RSS has a title and a link, too.
_NAKED = frozenset({
    "a", "abbr", "b", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img",
    "ins", "li", "ol", "p", "pre", "s", "strong", "u", "ul",
})  # fmt: skip


def construct(element: etree._Element, base: str, default: str, *, is_atom: bool) -> Text:
    """Return a text construct (RFC 4287, section 3.1); without a type it is of the ``default`` one.

    Raises ``DoubtError`` for older ways of writing one (``mode``, base64) and for elements where text should be.
    """
    attributes = attributes_of(element)
    media_type = _TYPES.get(attributes.get("type", default)) if attributes else default
    if media_type is None or "mode" in attributes:
        raise DoubtError
    if media_type == XHTML:
        return Text(mended(_inner(element, in_div=is_atom)), XHTML, base)
    if media_type == HTML and len(element) and not is_atom:
        return Text(mended(_naked(element)), XHTML, base)
    return Text(text_in(element), media_type, base)


def _inner(element: etree._Element, *, in_div: bool) -> str:
    """Return what stands within an element as markup; in Atom without the one div that holds it all."""
    if in_div and len(element) == 1 and element[0].tag == f"{_XHTML_NAMESPACE}div":
        around = (element.text or "") + (element[0].tail or "")
        if not around.strip():
            element = element[0]
            attributes_of(element)
    pieces: list[str] = [escape(element.text or "", quote=False)]
    for child in element:
        _write(child, pieces, _XHTML_NAMESPACE)
    return "".join(pieces).strip()


def _naked(element: etree._Element) -> str:
    """Return HTML that should have been escaped but was not, as it often is in RSS."""
    pieces = [element.text or ""]
    for child in element:
        _write(child, pieces, "")
    return "".join(pieces).strip()


def _write(element: etree._Element, pieces: list[str], within: str) -> None:
    namespace, mark, local = element.tag.rpartition("}")
    name = local.lower()
    if namespace + mark != within or name in _DOUBTFUL or not (within or name in _NAKED):
        raise DoubtError
    pieces.append(f"<{name}")
    pieces += [f' {key}="{escape(value)}"' for key, value in attributes_of(element).items()]
    pieces += (">", escape(element.text or "", quote=False))
    for child in element:
        _write(child, pieces, within)
    pieces += (f"</{name}>", escape(element.tail or "", quote=False))
