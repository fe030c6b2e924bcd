"""Reddit's listings, known by one address in whatever spelling they are named: ``r/python``, old hosts, feeds."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

SITE = "https://www.reddit.com"
_HOST = re.compile(r"(?:[a-z]{1,3}\.|www\.|old\.|new\.)?reddit\.com\.?")
_AUTHORITY = re.compile(r"https?://([^/?#]*)", re.IGNORECASE)
_SHORT = re.compile(r"(/?(?:r|u|user)/[^?#\s]+)(?:\?([^#\s]*))?", re.IGNORECASE)
_NAMES = re.compile(r"[a-z0-9_]{2,21}(?:\+[a-z0-9_]{2,21}){0,49}|u_[a-z0-9_-]{3,20}")
_USER = re.compile(r"[a-z0-9_-]{3,20}")
_SORTS = frozenset({"hot", "new", "rising", "top", "controversial"})
_TIMED = frozenset({"top", "controversial"})
_PERIODS = frozenset({"hour", "day", "week", "month", "year", "all"})


@dataclass(frozen=True, slots=True)
class Listing:
    """The posts of one or several subreddits, or of a user."""

    name: str
    """In lower case: Reddit tells no case."""
    user: bool = False
    sort: str | None = None
    """``None`` for what Reddit shows unasked."""
    period: str | None = None

    @property
    def shown_name(self) -> str:
        """As people write it: ``r/python``, ``u/spez``."""
        return f"{'u' if self.user else 'r'}/{self.name}"

    @property
    def path(self) -> str:
        """Its path, without a slash at the end."""
        place = f"/user/{self.name}/submitted" if self.user else f"/r/{self.name}"
        return f"{place}/{self.sort}" if self.sort and not self.user else place

    @property
    def query(self) -> str:
        """Its query, possibly empty."""
        pairs = [("sort", self.sort if self.user else None), ("t", self.period)]
        return "&".join(f"{name}={value}" for name, value in pairs if value)

    @property
    def url(self) -> str:
        """Its one address."""
        return f"{SITE}{self.path}/" + (f"?{self.query}" if self.query else "")


def listing_of(text: str) -> Listing | None:
    """Return the listing that an address or a short name (``r/name``, ``/u/name``) means, ``None`` for all else."""
    text = text.strip()
    if short := _SHORT.fullmatch(text):
        return _listing(short[1], short[2] or "")
    site = _AUTHORITY.match(text)
    if site is None or not site[1].isascii():  # urlsplit takes the square of what is not
        return None
    try:
        parts = urlsplit(text)
        host = (parts.hostname or "").lower()
    except ValueError:
        return None
    if parts.scheme.lower() not in {"http", "https"} or not _HOST.fullmatch(host):
        return None
    return _listing(parts.path, parts.query)


def _listing(path: str, query: str) -> Listing | None:
    steps = [step for step in re.sub(r"/?\.(?:rss|json|xml)$", "", path.lower()).split("/") if step]
    if len(steps) < 2:
        return None
    kind, name, *rest = steps
    asked = {key: values[0].lower() for key, values in parse_qs(query).items()}
    if kind == "r" and _NAMES.fullmatch(name) and (not rest or (len(rest) == 1 and rest[0] in _SORTS)):
        sort = rest[0] if rest else asked.get("sort")
        return Listing(name, sort=sort if sort in _SORTS else None, period=_period(sort, asked))
    if kind in {"u", "user"} and _USER.fullmatch(name) and (not rest or rest in (["submitted"], ["posts"])):
        sort = asked.get("sort")
        return Listing(name, user=True, sort=sort if sort in _SORTS else None, period=_period(sort, asked))
    return None


def _period(sort: str | None, asked: dict[str, str]) -> str | None:
    period = asked.get("t")
    return period if sort in _TIMED and period in _PERIODS else None
