"""Strangers' text and HTML made safe to store: plain titles, sanitised bodies, absolute links."""

import html
import re
from functools import lru_cache
from html.entities import name2codepoint
from urllib.parse import urljoin, urlsplit

import nh3

from siftline.kit import lines
from siftline.kit.errors import PermanentError
from siftline.net.urls import validate_url

TITLE_MAX_CHARS = 1_000
DESCRIPTION_MAX_CHARS = 500
HTML_MAX_CHARS = 1_000_000
HTML_DEPTH_MAX = 256
HTML_ATTRIBUTES_MAX = 5_000

# What neither XML nor PostgreSQL takes in text: control characters, lone surrogates, non-characters.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_ASCII_ILLEGAL = bytes(code for code in range(128) if _ILLEGAL.match(chr(code)))
_SHORT_CHARS = 500
# A reference that may be one to such a character: most are to the punctuation and the letters of these ranges.
_ODD_REFERENCE = re.compile(r"&#(?!(?:3[2-9]|[4-9][0-9]|1[01][0-9]|12[0-6]|1[6-9][0-9]|[2-9][0-9]{2}|[1-9][0-9]{3});)")
_BREAK = re.compile(
    r"<(?:br|/?(?:p|div|li|ul|ol|h[1-6]|tr|td|blockquote|pre|figure|figcaption))\b[^<>]*>", re.IGNORECASE
)
# Cleaned tags are in lower case, and found three times as fast by it.
_CLEAN_BREAK = re.compile(_BREAK.pattern)
_TAG = re.compile(r"<[^<>]*>")
_TAGS = re.compile(r"""<(/?)([A-Za-z][A-Za-z0-9]*)([^"'<>]*(?:"[^"]*"[^"'<>]*|'[^']*'[^"'<>]*)*)""")
# Elements without content, and those that end by themselves where the next one begins.
_NOT_NESTING = frozenset({
    "area", "base", "br", "col", "colgroup", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta", "option",
    "p", "param", "rp", "rt", "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
})  # fmt: skip
_SEPARATORS = re.compile(r"[\s/=]")
_UNCHECKED_CHARS = 100_000
_SCHEMES = {"http", "https", "mailto"}
# Without ``cite``: nobody is shown it, and of ``q`` nh3 does not look at its scheme.
_ATTRIBUTES = {tag: names - {"cite"} for tag, names in nh3.ALLOWED_ATTRIBUTES.items()}
_CLEANER = nh3.Cleaner(attributes=_ATTRIBUTES, url_schemes=_SCHEMES, url_relative="pass_through")
_STRIPPER = nh3.Cleaner(tags=set())
# Looked for by its rarest part: prose has many spaces.
_RELATIVE = re.compile(r'="(?!https?:|mailto:)(?:(?<= href=")|(?<= src="))')
# What stands before an address in a cleaned tag, where that leads to the top of its site and on, so plainly that it
# needs nothing but the site before it: it has no dot segments, and nothing that would be escaped.
_ROOTED_LINK = re.compile(
    r'<(?:a|img)(?: [a-z]+="[^"]*")*? (?:href|src)="'
    r'(?=/(?:(?!\.)[A-Za-z0-9._~!$()*+,=:@-]++/?+)*+(?:\?(?:[A-Za-z0-9._~/!$()*+,=:@?-]++|&amp;)*+)?")'
)
_IMAGE = re.compile(r'<img [^>]*?src="([^"]+)"')
# Addresses that are already as validate_url would return them: nearly all, and so they need not go through it.
_PLAIN_URL = re.compile(
    r"https?://(?:(?:[a-z0-9][a-z0-9_-]{0,62}+\.){1,8}+[a-z]{2,24}+|[0-9]{1,3}(?:\.[0-9]{1,3}){3})"
    r"(?::[1-9][0-9]{0,3}|:[1-5][0-9]{4})?"
    r"/(?:[A-Za-z0-9._~/!$&'()*+,=:@-]++|%[0-9A-Fa-f]{2})*+"
    r"(?:\?(?:[A-Za-z0-9._~/!$&'()*+,=:@?-]++|%[0-9A-Fa-f]{2})++)?"
    r"(?:#(?:[A-Za-z0-9._~/!$&'()*+,=:@?-]++|%[0-9A-Fa-f]{2})++)?"
)
_PLAIN_URL_MAX_CHARS = 2_000
# Addresses within a site that need nothing but the site put before them: no dot segments, nothing to be dropped.
_ROOTED = re.compile(r"(?:/(?!\.)[A-Za-z0-9._~!$&'()*+,=:@%-]+)+/?(?:\?[A-Za-z0-9._~/!$&'()*+,=:@?%-]+)?")
_BARE_HOST = re.compile(r"(?:[\w-]++\.)++[^\W\d_]{2,24}(?::[0-9]{1,5})?(?=[/?#]|$)")
_WWW = re.compile(r"www\.[\w-]+\.", re.IGNORECASE)
_BASES_KEPT = 128

# Every element that HTML has or had: plain text that closes one of these is not plain.
_ELEMENTS = frozenset({
    "a", "abbr", "acronym", "address", "applet", "area", "article", "aside", "audio", "b", "base", "basefont", "bdi",
    "bdo", "bgsound", "big", "blink", "blockquote", "body", "br", "button", "canvas", "caption", "center", "cite",
    "code", "col", "colgroup", "command", "data", "datagrid", "datalist", "dd", "del", "details", "dfn", "dialog",
    "dir", "div", "dl", "dt", "em", "embed", "event-source", "fieldset", "figcaption", "figure", "font", "footer",
    "form", "frame", "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup", "hr", "html", "i",
    "iframe", "img", "input", "ins", "isindex", "kbd", "keygen", "label", "legend", "li", "link", "m", "main", "map",
    "mark", "marquee", "menu", "meta", "meter", "multicol", "nav", "nextid", "nobr", "noembed", "noframes",
    "noscript", "object", "ol", "optgroup", "option", "output", "p", "param", "picture", "plaintext", "pre",
    "progress", "q", "rb", "rp", "rt", "rtc", "ruby", "s", "samp", "script", "search", "section", "select", "slot",
    "small", "sound", "source", "spacer", "span", "strike", "strong", "style", "sub", "summary", "sup", "svg",
    "table", "tbody", "td", "template", "textarea", "tfoot", "th", "thead", "time", "title", "tr", "track", "tt", "u",
    "ul", "var", "video", "wbr", "xmp",
})  # fmt: skip
_CLOSING = re.compile(r"</\w+>|&#?\w+;")
_ELEMENT = re.compile(r"</?(\w+)")
_ENTITY = re.compile(r"&(\w+);")


def legal(text: str) -> str:
    """Return text without the characters that neither XML nor PostgreSQL takes."""
    if len(text) <= _SHORT_CHARS and text.isprintable():
        return text
    try:
        raw = text.encode()
    except UnicodeEncodeError:  # lone surrogates
        return _ILLEGAL.sub("", text)
    # Of the others those beyond ASCII begin with these two bytes; most text beyond ASCII has neither.
    if b"\xc2" in raw or b"\xef" in raw:
        return _ILLEGAL.sub("", text)
    kept = raw.translate(None, _ASCII_ILLEGAL)
    return text if len(kept) == len(raw) else kept.decode()


def line(text: str, max_chars: int = TITLE_MAX_CHARS) -> str:
    """Return plain text as one line (``siftline.kit.lines``)."""
    return lines.line(text, max_chars)


def text_of(markup: str, max_chars: int = TITLE_MAX_CHARS) -> str:
    """Return the text of HTML as one line: no tags, no scripts, entities resolved."""
    if "<" in markup:
        markup = _cleaned(_STRIPPER, _BREAK.sub(r" \g<0>", markup[:HTML_MAX_CHARS]))
    return line(html.unescape(markup) if "&" in markup else markup, max_chars)


def text_of_clean(clean_html: str, max_chars: int) -> str:
    """Return the beginning of the text of HTML that ``sanitised`` or ``escaped`` made, as one line."""
    # Cut before a tag: half a tag, or half a reference, would be taken for text.
    for considered in (max_chars + max_chars // 4, 3 * max_chars, 10 * max_chars):
        cut = clean_html.find("<", considered)
        if cut < 0:
            break
        found = _text(clean_html[:cut], max_chars)
        if len(found) == max_chars:
            return found
    return _text(clean_html, max_chars)


def _text(clean_html: str, max_chars: int) -> str:
    text = _TAG.sub("", _CLEAN_BREAK.sub(" ", clean_html)) if "<" in clean_html else clean_html
    return line(html.unescape(text) if "&" in text else text, max_chars)


def looks_like_html(text: str) -> bool:
    """Return whether text that is called plain is HTML: it closes elements or names entities, all of them known."""
    if ("</" not in text and "&" not in text) or not _CLOSING.search(text):
        return False
    if "<" in text and not all(name.lower() in _ELEMENTS for name in _ELEMENT.findall(text)):
        return False
    return "&" not in text or all(name in name2codepoint for name in _ENTITY.findall(text))


def escaped(text: str) -> str:
    """Return plain text as HTML: what blank lines part becomes paragraphs, a single one stays as it is."""
    paragraphs = re.split(r"\n\s*\n", html.escape(legal(text[:HTML_MAX_CHARS]), quote=False).strip())
    if len(paragraphs) == 1:
        return paragraphs[0]
    return "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs if paragraph)


def sanitised(markup: str, base_url: str | None) -> str:
    """Return HTML with harmless elements and attributes only, its links and images absolute, http(s) or mailto.

    Relative addresses are resolved against ``base_url``, and dropped without one.
    """
    text = legal(markup[:HTML_MAX_CHARS])
    if "<" not in text:
        return html.escape(legal(html.unescape(text)) if "&" in text else text, quote=False).strip()
    clean = _cleaned(_CLEANER, text)
    if _RELATIVE.search(clean):
        clean = _with_absolute_links(clean, text, base_url)
    if "&#" in text and _ODD_REFERENCE.search(text):
        safe = legal(clean)
        # It may have stood within an address: what the rest of that is, is judged again.
        clean = safe if len(safe) == len(clean) else sanitised(safe, base_url)
    return clean.strip()


def _with_absolute_links(clean: str, markup: str, base_url: str | None) -> str:
    """Return what was cleaned of ``markup`` with its relative addresses made absolute, or dropped without a base."""
    if base_url and is_plain_url(base_url):
        site = _site_as_cleaned(base_url[: base_url.index("/", len("https://"))])
        linked = _ROOTED_LINK.sub(rf"\g<0>{site}", clean)
        if not _RELATIVE.search(linked):
            return linked
    # A cleaner for one base is dear to make, and the second cleaning dearer.
    return _cleaned(_cleaner_for(base_url), markup)


@lru_cache(maxsize=_BASES_KEPT)
def _site_as_cleaned(site: str) -> str:
    """Return scheme and host in the way in which a cleaner writes them before an address."""
    return _cleaner_for(site).clean('<a href="/">').removeprefix('<a href="').partition('/"')[0]


def _cleaner_for(base_url: str | None) -> nh3.Cleaner:
    return nh3.Cleaner(
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        url_relative=("rewrite_with_base", base_url) if base_url else "deny",
    )


def _cleaned(cleaner: nh3.Cleaner, markup: str) -> str:
    """Return cleaned HTML; what is built to hurt becomes text, as an HTML parser takes quadratic time for it."""
    if (markup.count("<") > HTML_DEPTH_MAX or len(markup) > _UNCHECKED_CHARS) and _hurts(markup):
        return html.escape(html.unescape(_TAG.sub(" ", markup)), quote=False)
    return cleaner.clean(markup)


def _hurts(markup: str) -> bool:
    """Return whether HTML is nested beyond use, or has an element with attributes beyond use."""
    opened: dict[str, int] = {}
    depth = 0
    for ends, given, attributes in _TAGS.findall(markup):
        if len(attributes) > HTML_ATTRIBUTES_MAX and len(_SEPARATORS.findall(attributes)) > 3 * HTML_ATTRIBUTES_MAX:
            return True
        name = given.lower()
        if name in _NOT_NESTING:
            continue
        if not ends:
            opened[name] = opened.get(name, 0) + 1
            depth += 1
            if depth > HTML_DEPTH_MAX:
                return True
        elif opened.get(name):
            opened[name] -= 1
            depth -= 1
    return False


def absolute(address: object, base_url: str | None = None) -> str | None:
    """Return an address as an absolute http(s) URL, or ``None`` when it is none."""
    if not isinstance(address, str):
        return None
    if is_plain_url(address):
        return address
    if not address.strip():
        return None
    given, base = address.strip(), base_url or ""
    try:
        return validate_url(with_scheme(given, base) or resolved(base, given))
    except (ValueError, PermanentError):
        return None


def with_scheme(address: str, base_url: str) -> str:
    """Return an address that begins with a bare host as one of the web; empty for others.

    Its first label is ``www``, or it is the host of the base: anything else is a file, as far as one can tell.
    """
    match = _BARE_HOST.match(address)
    if match is None:
        return ""
    scheme, _, own = _site(base_url).partition("://")
    if match[0].lower() == own.lower():
        return f"{scheme}://{address}"
    return f"https://{address}" if _WWW.match(address) else ""


def resolved(base_url: str, address: str) -> str:
    """Return what ``urljoin`` does, quickly where an address only lacks its site. Raises ``ValueError``."""
    if base_url and len(address) <= _PLAIN_URL_MAX_CHARS and _ROOTED.fullmatch(address):
        site = _site(base_url)
        if site:
            return site + address
    return urljoin(base_url, address)


@lru_cache(maxsize=_BASES_KEPT)
def _site(base_url: str) -> str:
    """Return scheme and host of an address of the web; empty for others."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("http", "https") and parts.netloc else ""


def is_plain_url(address: str) -> bool:
    """Return whether an address is absolute, and written in the one way in which we write it."""
    return len(address) <= _PLAIN_URL_MAX_CHARS and _PLAIN_URL.fullmatch(address) is not None


def first_image(clean_html: str) -> str | None:
    """Return the address of the first image in sanitised HTML."""
    at = clean_html.find("<img ")
    found = _IMAGE.search(clean_html, at) if at >= 0 else None
    return absolute(html.unescape(found[1]) if "&" in found[1] else found[1]) if found else None
