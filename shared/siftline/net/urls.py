"""Web addresses: one form to fetch (``validate_url``), one for all to see (``clean_url``), one key (``canonical_url``).

Syntax after RFC 3986 and, where the web is laxer, the WHATWG URL standard. Whether an address may be visited is not
decided here but where it is connected to (``siftline.net.http``).
"""

import hashlib
import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import idna

from siftline.kit.errors import PermanentError
from siftline.kit.log import logger
from siftline.net.hosts import plain_host, reached_host, registrable_domain, suffixes
from siftline.net.ip_addresses import literal_address, name_refusal, refusal
from siftline.net.variants import desktop_host, is_tracking, is_variant, known_site, plain_path, unwrapped, wraps

_log = logger("net")
MAX_URL_LENGTH = 8_192
# A unique B-tree index takes entries of at most 2,704 bytes, so longer keys are hashed.
MAX_KEY_LENGTH = 2_000
_DEFAULT_PORT = {"http": 80, "https": 443}

_SPACE = "".join(map(chr, range(0x21)))
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_SPLIT = re.compile(r"//([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
# RFC 1035, section 2.3.4: what is longer names no host, in whatever letters.
LABEL_MAX_CHARS = 63
HOST_MAX_CHARS = 253
_MAIL = re.compile(r"[^\s/?#@:]+@[^\s/?#@:]+")
_DOT = re.compile("[.\u3002\uff0e\uff61]")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})|[^!$&'()*+,;=:@/?\[\]A-Za-z0-9._~-]")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
# Nearly all addresses are already in the form in which they can be fetched, but for their host and port.
_IN_PATH = r"[!$&'()*+,;=:@/\[\]A-Za-z0-9._~-]++|%[0-9A-Fa-f]{2}"
_IN_QUERY = r"[!$&'()*+,;=:@/?\[\]A-Za-z0-9._~-]++|%[0-9A-Fa-f]{2}"
_PLAIN = re.compile(
    rf"(https?)://([a-z0-9_.-]+(?::[0-9]+)?)(/(?:{_IN_PATH})*+)(?:\?((?:{_IN_QUERY})*+))?(?:#((?:{_IN_QUERY})*+))?"
)
_AUTHORITIES_KEPT = 512
_HOSTS_KEPT = 1_024
LOOPBACK = "loopback"
# Far more than any address holds; each pass takes something off.
_FORMS_MAX = 100
# A visitor's session in a path: Java's (Servlet 6, section 7.1.3) and PHP's way, and ASP.NET's without cookies.
_SESSION = re.compile(r";(?:j|php)?sess(?:ion)?id=[^/?#;]*|/\((?:[A-Z]\([a-z0-9-]+\))+\)(?=/)", re.IGNORECASE)


class InvalidUrlError(PermanentError):
    """The text is not an address that could be fetched."""

    code = "invalid_url"


class UnsupportedSchemeError(PermanentError):
    """The address is of another kind than http or https."""

    code = "unsupported_scheme"


class _Parts(NamedTuple):
    scheme: str
    host: str
    port: int | None
    path: str
    query: str | None
    fragment: str | None

    def text(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        query = "" if self.query is None else f"?{self.query}"
        fragment = "" if self.fragment is None else f"#{self.fragment}"
        return f"{self.scheme}://{host}{port}{self.path}{query}{fragment}"


def validate_url(url: str) -> str:
    """Return ``url`` in the form in which it can be fetched and shown: stripped, ASCII, host in lower case.

    Credentials are dropped (they are not ours to keep), an international host becomes its ASCII form (UTS 46), what may
    not stand in an address is percent-encoded. Raises ``InvalidUrlError`` and ``UnsupportedSchemeError``.
    """
    if (plain := _plain(url)) is not None:
        return plain.text()
    parts = _parse(url)
    text = parts._replace(
        path=_escaped(parts.path),
        query=None if parts.query is None else _escaped(parts.query),
        fragment=None if parts.fragment is None else _escaped(parts.fragment),
    ).text()
    if len(text) > MAX_URL_LENGTH:
        raise InvalidUrlError(f"The address is longer than {MAX_URL_LENGTH} characters.")
    return text


def canonical_url(url: str) -> str:
    """Return the key under which ``url`` is known: equal for addresses that differ only in spelling.

    http counts as https on their default ports; escapes, dot segments and a trailing slash are normalised (RFC 3986,
    section 6.2); known tracking parameters and the fragment go, except a fragment that routes (``#!`` or ``#/``). All
    other parameters keep their order. AMP, mobile and short forms that are known (``siftline.net.variants``) are the
    page they stand for. ``www.`` stays: whether both names show one page only the site can say.
    Idempotent. Raises as ``validate_url`` does.
    """
    parts = _parts(url)
    # What one form leaves may be another: the mobile host of a viewer, a short address behind an AMP one.
    for _ in range(_FORMS_MAX):
        key = _key(parts)
        if key == parts:
            break
        parts = key
    text = key.text()
    if len(text) <= MAX_KEY_LENGTH:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()
    return key._replace(path="/", query=None, fragment=f"!sha256:{digest}").text()


def stored_key(url: str) -> str | None:
    """Return the key of an address that stands in a row; ``None`` for what is none, so that only that is left out."""
    try:
        return canonical_url(url)
    except PermanentError as error:
        _log.warning("stored_address_left_out", error_code=error.error_code)
        return None


def _key(address: _Parts) -> _Parts:
    """Return the parts of an address with each known form taken off it once."""
    parts = _unwrapped(address)
    default = parts.port in (None, _DEFAULT_PORT[parts.scheme])
    host = plain_host(parts.host.rstrip("."))
    path = plain_path(host, _key_path(_without_session(_normalised(parts.path))))
    host, path, query = known_site(host, path, _normalised(parts.query or ""))
    kept = _key_query(host, query)
    return _Parts(
        scheme="https" if default else parts.scheme,
        # A home page is not the other host's: below mobile. there may be another site.
        host=desktop_host(host) if default and (path != "/" or kept) else host,
        port=None if default else parts.port,
        path=path,
        query=kept,
        fragment=_key_fragment(_normalised(parts.fragment or "")),
    )


def clean_url(url: str) -> str:
    """Return ``url`` as it can be fetched and shown to everybody: without what tells whose copy of it this is.

    What says nothing of the page goes: tracking, ids of subscribers and sessions, fragments but those that route. A
    page shown by an AMP cache or viewer is asked for itself, and an IPv4 address is in its usual form. All else stays
    as it is written, for the site to understand. Idempotent, and of the same key. Raises as ``validate_url`` does.
    """
    parts = _unwrapped(_parts(url))
    host, query = parts.host.rstrip("."), parts.query
    if query:
        pairs = (pair for pair in query.split("&") if not is_tracking(host, _normalised(pair.partition("=")[0])))
        query = "&".join(pairs) or None
    fragment = _key_fragment(parts.fragment or "")
    return parts._replace(
        host=plain_host(parts.host), path=_without_session(parts.path) or "/", query=query, fragment=fragment
    ).text()


def origin_of(url: str) -> str:
    """Return the origin of an address (RFC 6454), its port always told: ``http://127.0.0.1:80`` for ``http://127.1/x``.

    Raises as ``validate_url`` does.
    """
    parts = _parts(url)
    host = plain_host(parts.host.rstrip("."))
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{parts.port or _DEFAULT_PORT[parts.scheme]}"


def host_of_url(url: str) -> str:
    """Return the host of an address as it is fetched: ASCII, in lower case, an IPv6 one without brackets.

    Raises as ``validate_url`` does.
    """
    return _parts(url).host


def host_of(url: str) -> str:
    """Return the host of an address in one spelling, whichever it is given in; empty if there is none."""
    return reached_host(host_of_url(url).rstrip("."))


def same_site(one: str, other: str) -> bool:
    """Return whether two addresses are of one site: the same host, or one a sub-domain of the other; ``www.`` aside."""
    names = [(_plain(address) or _parse(address)).host.rstrip(".").removeprefix("www.") for address in (one, other)]
    short, long = sorted(names, key=len)
    return short == long or ("." in short and long.endswith(f".{short}"))


def is_home(url: str) -> bool:
    """Return whether a canonical address says nothing of what stands there: it is a site's first page."""
    parts = urlsplit(url)
    return parts.path in ("", "/") and not parts.query and not parts.fragment


def own_url(url: str, key: str) -> str:
    """Return where a page that is known under ``key`` is asked for: at ``url``, if that is of the key's own owner.

    Else it is somebody's who shows pages of others, or has a name that looks like theirs: then at the key itself, so
    that nobody's word ever stands under another's address. Keys that are no address are of nobody's page.
    """
    if not key.startswith(("http://", "https://")):
        return url
    same = registrable_domain(host_of(url)) == registrable_domain(host_of(key))
    return url if same else key


def speaks_for(speakers: Iterable[str], url: str) -> bool:
    """Return whether what came from these addresses may say what stands at ``url``.

    Each of them must be of the same host (``www.`` aside) or of one above it: where anybody can have a sub-domain, that
    one is not the site, and what a site redirects to is another's word. Public suffixes are above none.
    """
    host = _bare_host(url)
    return all(_above(_bare_host(speaker), host) for speaker in speakers)


def _above(speaker: str, host: str) -> bool:
    return speaker == host or (host.endswith(f".{speaker}") and suffixes().privatesuffix(speaker) is not None)


# A feed's own addresses are asked for with each of its entries.
@lru_cache(maxsize=_HOSTS_KEPT)
def _bare_host(url: str) -> str:
    return host_of_url(url).rstrip(".").removeprefix("www.")


def typed_origin(url: str) -> str | None:
    """Return the origin that a person opens by typing ``url``; ``None`` where it is none of this machine's.

    Loopback is reached there alone, and only where the setting allows it: who works off what a person asked for says
    which origin they typed (``siftline.net.http_model.Requester``), and the client compares it with each address it is
    about to ask. What a feed, a page, a redirect or a provider's answer names is an origin that nobody typed.
    Only what anyone can see to be loopback counts. A name that leads there is somebody else's to change: whoever typed
    it meant the public server that it was then. Raises as
    ``validate_url`` does.
    """
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        address = literal_address(host)
    except ValueError:
        return None
    reason = name_refusal(host) if address is None else refusal(address)
    return origin_of(url) if reason == LOOPBACK else None


def _parts(url: str) -> _Parts:
    return _plain(url) or _parse(validate_url(url))


def _plain(url: str) -> _Parts | None:
    """Return the parts of an address in which nothing has to be escaped; ``None`` for others. Raises as ``_parse``."""
    match = _PLAIN.fullmatch(url) if len(url) <= MAX_URL_LENGTH else None
    if match is None:
        return None
    host, port = _host_and_port(match[2])
    return _Parts(match[1], host, port, match[3], match[4], match[5])


def _parse(url: str) -> _Parts:
    url = re.sub(r"[\t\r\n]", "", url.strip(_SPACE))
    if len(url) > MAX_URL_LENGTH:
        raise InvalidUrlError(f"The address is longer than {MAX_URL_LENGTH} characters.")
    scheme = _SCHEME.match(url)
    if scheme is None:
        raise _no_scheme(url)
    name = scheme[1].lower()
    if name not in _DEFAULT_PORT:
        raise UnsupportedSchemeError(f"Only http and https addresses are supported, not {name[:20]}.")
    if _CONTROL.search(url):
        raise InvalidUrlError("The address contains an invalid character.")
    rest, mark, tail = _cut(url[scheme.end() :])
    match = _SPLIT.fullmatch(rest.replace("\\", "/") + mark + tail)
    if match is None:
        raise _no_host()
    host, port = _host_and_port(match[1].rpartition("@")[2])
    return _Parts(name, host, port, match[2] or "/", match[3], match[4])


def _unwrapped(parts: _Parts) -> _Parts:
    """Return the page that an AMP cache or viewer shows; one within another is no form that is known."""
    inner = _inner(parts)
    return parts if inner is None or _inner(inner) is not None else inner


def _inner(parts: _Parts) -> _Parts | None:
    host = parts.host.rstrip(".")
    if not wraps(host):
        return None
    address = unwrapped(host, _key_path(_without_session(_normalised(parts.path))))
    if address is None:
        return None
    rest = parts._replace(scheme="", host="", port=None, path="").text().removeprefix("://")
    try:
        return _parse(validate_url(address + rest))
    except PermanentError:
        return None


def _cut(text: str) -> tuple[str, str, str]:
    """Split before the query or the fragment: only in front of them is a backslash a slash (WHATWG)."""
    at = re.search(r"[?#]", text)
    return (text, "", "") if at is None else (text[: at.start()], at[0], text[at.end() :])


@lru_cache(maxsize=_AUTHORITIES_KEPT)
def _host_and_port(authority: str) -> tuple[str, int | None]:
    match = re.fullmatch(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]*))?", authority)
    if match is None or not match[1]:
        raise _no_host()
    port = int(match[2].lstrip("0")[:6] or "0") if match[2] else None
    if port is not None and not 0 < port < 65_536:
        raise InvalidUrlError("The address has an invalid port.")
    return (_ipv6(match[1][1:-1]) if match[1].startswith("[") else _ascii_host(match[1])), port


def _no_scheme(text: str) -> InvalidUrlError:
    if not text:
        return InvalidUrlError("The address is empty.")
    if _MAIL.fullmatch(text):
        return InvalidUrlError("This is an email address, not a web address.")
    if "." not in re.split("[/?#]", text.lstrip("/"), maxsplit=1)[0]:
        return InvalidUrlError("This is not a web address such as example.org/page.")
    return InvalidUrlError("The address must start with http:// or https://.")


def _no_host() -> InvalidUrlError:
    return InvalidUrlError("The address has no valid host.")


def _ipv6(text: str) -> str:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError as error:
        raise _no_host() from error
    if address.scope_id is not None:
        raise _no_host()
    return address.compressed


def _ascii_host(text: str) -> str:
    try:
        typed = _of_length(unquote(text, errors="strict"))
        host = _of_length(idna.uts46_remap(typed, std3_rules=False, transitional=False))
        labels = [_a_label(label) for label in host.split(".")]
    except UnicodeError as error:
        raise _no_host() from error
    names = labels[:-1] if labels[-1] == "" else labels  # a trailing dot marks the root
    host = ".".join(labels)
    if len(host.removesuffix(".")) > HOST_MAX_CHARS or not names or not all(_LABEL.fullmatch(label) for label in names):
        raise _no_host()
    return host


def _of_length(host: str) -> str:
    """Return a host that is no longer than one may be: punycode takes the square of a label's length and more."""
    labels = _DOT.split(host)
    if len(host) > HOST_MAX_CHARS + (labels[-1] == "") or any(len(label) > LABEL_MAX_CHARS for label in labels):
        raise InvalidUrlError("The host name in the address is too long.")
    return host


def _a_label(label: str) -> str:
    # Not idna.alabel: the web resolves names that IDNA 2008 forbids to register (emoji, underscores).
    return label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")


def _escaped(text: str) -> str:
    """Percent-encode what may not stand in an address; keep every escape as it is."""
    return _ESCAPE.sub(lambda match: match[0] if match[1] else _percent(match[0]), text)


def _normalised(text: str) -> str:
    """Decode escapes of unreserved characters, write the others in capitals (RFC 3986, section 6.2.2)."""

    def one(match: re.Match[str]) -> str:
        if match[1] is None:
            return _percent(match[0])
        character = chr(int(match[1], 16))
        return character if _UNRESERVED.fullmatch(character) else f"%{match[1].upper()}"

    return _ESCAPE.sub(one, text)


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


def _without_session(path: str) -> str:
    """Return a path without sessions; what stood before one may be another."""
    while (shorter := _SESSION.sub("", path)) != path:
        path = shorter
    return path


def _key_path(path: str) -> str:
    """Remove dot segments (RFC 3986, section 5.2.4) and trailing slashes."""
    kept: list[str] = []
    for segment in path.split("/")[1:]:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    return "/" + "/".join(kept).rstrip("/")


def _key_query(host: str, query: str) -> str | None:
    pairs = [pair.partition("=") for pair in query.split("&") if pair]
    return "&".join("".join(pair) for pair in pairs if not _says_nothing(host, pair[0], pair[2])) or None


def _says_nothing(host: str, name: str, value: str) -> bool:
    return is_tracking(host, name) or is_variant(name, value)


def _key_fragment(fragment: str) -> str | None:
    route = fragment.split(":~:", 1)[0]  # text fragments only scroll
    return route if len(route) > 1 and route[0] in "!/" else None
