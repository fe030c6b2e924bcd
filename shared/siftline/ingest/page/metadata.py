"""What a page says of itself: Open Graph, JSON-LD, Twitter cards, microdata, plain meta elements and links.

Only what is stated is taken; nothing is guessed from the running text. Every value is one line of limited length.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any
from urllib.parse import urlsplit

from lxml import html

from siftline.ingest.page.page_tree import Outline
from siftline.ingest.page.plain import beginning, clean_line, clean_text
from siftline.ingest.page.statements import (
    READ_CHARS,
    STATED_MAX,
    Statements,
    is_article_type,
    kind_of_types,
    media_kind,
    value_of,
)
from siftline.ingest.page_model import MAX_TEXT_CHARS, Stated, Track
from siftline.text.instants import Claimed, Dates, day_in_path

TRACKS_MAX = 50

_SUFFIXES = {
    **dict.fromkeys((".mp4", ".m4v", ".webm", ".mov", ".ogv", ".mpg", ".mpeg"), "video"),
    **dict.fromkeys((".mp3", ".m4a", ".ogg", ".oga", ".opus", ".aac", ".wav", ".flac"), "audio"),
}
_CAPTIONS = frozenset({"captions", "subtitles", ""})
_CAPTION_TYPES = frozenset(
    {"text/vtt", "application/x-subrip", "application/srt", "text/srt", "application/ttml+xml", "application/ttaf+xml"}
)
_GRAPH = ("og:video:secure_url", "og:video:url", "og:video", "og:audio:secure_url", "og:audio:url", "og:audio")
_LABEL_MAX_CHARS = 100

TITLE_MAX_CHARS = 500
_AUTHOR_MAX_CHARS = 300
_SITE_MAX_CHARS = 200
_DESCRIPTION_MAX_CHARS = 2_000
_SEPARATOR = r"\s+[|\-\u2013\u2014·•:»/]+\s+"
_PUBLISHED = (
    "article:published_time",
    "og:published_time",
    "og:article:published_time",
    "datepublished",
    "parsely-pub-date",
    "sailthru.date",
    "dcterms.created",
    "dcterms.date",
    "dc.date.issued",
    "dc.date",
    "citation_publication_date",
    "publishdate",
    "pubdate",
    "date",
)
_LANGUAGE = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9_-]+)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _StatedMedia:
    """What a page states of its video or audio."""

    player: str | None
    """``video`` or ``audio`` where the page holds one to be played, not a decoration."""
    media_url: str | None
    tracks: tuple[Track, ...]
    transcript: str | None


def _read_media(page: Outline, says: Statements) -> _StatedMedia:
    linked = says.linked
    players = [node for node in page.of("video", "audio") if _is_player(node)]
    node = linked.media
    files = [
        linked.text(node, "contentUrl"),
        linked.first_address(node, "associatedMedia", "encoding"),
        *(text for player in islice(players, TRACKS_MAX) for text in _sources(player)),
        *(says.first(name) for name in _GRAPH if _is_file(says, name)),
    ]
    found = (says.address(text) for text in files)
    media_url = next((url for url in found if url and not _is_playlist(url)), None)
    player = media_kind(node) or (str(players[0].tag) if players else _by_suffix(media_url))
    transcript = clean_text(linked.text(node, "transcript", inner="text") or "")[:MAX_TEXT_CHARS]
    tracks: dict[str, Track] = {}
    for track in islice(_tracks(page, says), TRACKS_MAX):
        tracks.setdefault(track.url, track)
    return _StatedMedia(player, media_url, tuple(tracks.values()), transcript or None)


def _is_player(node: html.HtmlElement) -> bool:
    """Tell a film from a moving background."""
    return "controls" in node.attrib or node.find("track") is not None or not {"loop", "muted"} & set(node.attrib)


def _sources(player: html.HtmlElement) -> Iterator[str | None]:
    yield player.get("src")
    for source in player.iterdescendants("source"):  # each within the one before: the parser takes it to have content
        yield source.get("src")


def _is_file(says: Statements, name: str) -> bool:
    """Tell a file from a page with a player, which Open Graph states under the same name."""
    kind = (says.first("og:video:type" if "video" in name else "og:audio:type") or "").lower()
    return kind.startswith(("video/", "audio/")) or (not kind and _by_suffix(says.first(name)) is not None)


def _by_suffix(url: str | None) -> str | None:
    try:
        path = urlsplit(url or "").path.lower()
    except ValueError:
        return None
    return next((kind for suffix, kind in _SUFFIXES.items() if path.endswith(suffix)), None)


def _is_playlist(url: str) -> bool:
    return urlsplit(url).path.lower().endswith((".m3u8", ".mpd", ".m3u", ".pls"))


def _tracks(page: Outline, says: Statements) -> Iterator[Track]:
    for node in page.of("track"):
        if node.get("kind", "").strip().lower() in _CAPTIONS and (url := says.address(node.get("src"))):
            yield _track(url, None, node.get("srclang"), node.get("label"))
    stated: Any = says.linked.media.get("caption")
    for caption in stated if isinstance(stated, list) else [stated]:
        if isinstance(caption, dict) and (url := says.address(says.linked.first_address({"at": caption}, "at"))):
            kind, language, name = (says.linked.text(caption, key) for key in ("encodingFormat", "inLanguage", "name"))
            yield _track(url, kind, language, name)
    for node in page.of("link"):
        kind = node.get("type", "").split(";")[0].strip().lower()
        if kind in _CAPTION_TYPES and (url := says.address(node.get("href"))):
            yield _track(url, kind, node.get("hreflang"), node.get("title"))


def _track(url: str, media_type: str | None, language: str | None, label: str | None) -> Track:
    kind = (media_type or "").split(";")[0].strip().lower()
    return Track(url, kind or None, clean_line(language, 35), clean_line(label, _LABEL_MAX_CHARS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata(Stated):
    """A page's own statements."""

    titles: tuple[str, ...] = ()
    """Every spelling of the title: what may stand above the text again."""
    is_article: bool = False
    """Whether the page says that it is an article."""
    is_list: bool = False
    """Whether the page says that it is a list of others."""
    player: str | None = None
    """``video`` or ``audio`` where the page holds one to be played."""
    locked_parts: tuple[str, ...] | None = None
    """CSS selectors of what only subscribers may read; empty for all of it, ``None`` for nothing."""


class MetadataReader:
    """Reads what the page at ``url`` says of itself."""

    def __init__(self, page: Outline, url: str) -> None:
        self._page = page
        self._url = url
        self._says = Statements(page, url)
        self._linked = self._says.linked
        self._main = self._linked.main
        self._first = self._says.first

    def read(self) -> Metadata:
        """Return it."""
        site = clean_line(
            self._first("og:site_name")
            or self._linked.text(self._main, "publisher")
            or self._first("application-name"),
            _SITE_MAX_CHARS,
        )
        titles = self._titles(site)
        language = self._language()
        hint = _LANGUAGE.match((language or "").strip())
        media = _read_media(self._page, self._says)
        published = self._published(language)
        locked = self._linked.locked_parts()
        if locked is None and self._first("article:content_tier", "og:article:content_tier") == "locked":
            locked = []
        return Metadata(
            title=titles[0] if titles else None,
            author=self._author(),
            site_name=site,
            published_at=published.at,
            published_claim=published.written,
            undated_code=published.undated_code,
            undated_claim=published.claim,
            image_url=self._image(),
            description=clean_line(
                self._first("og:description", "description", "twitter:description")
                or self._linked.text(self._main, "description"),
                _DESCRIPTION_MAX_CHARS,
            ),
            html_lang=clean_line(language, 35),
            lang_hint=hint[1].lower() if hint else None,
            canonical_url=self._canonical(),
            kind=self._kind(),
            tracks=media.tracks,
            media_url=media.media_url,
            transcript=media.transcript,
            titles=titles,
            is_article=self._is_article(),
            is_list=self._linked.is_list,
            player=media.player,
            locked_parts=None if locked is None else tuple(locked),
        )

    def _language(self) -> str | None:
        root = self._page.nodes[0]
        return (
            root.get("lang")
            or root.get("{http://www.w3.org/XML/1998/namespace}lang")
            or root.get("xml:lang")
            or self._first("content-language", "og:locale", "language")
            or self._linked.text(self._main, "inLanguage", inner="alternateName")
        )

    def _titles(self, site: str | None) -> tuple[str, ...]:
        headings = [beginning(node, READ_CHARS) for node in islice(self._page.of("h1"), STATED_MAX)]
        whole = next((node.text for node in self._page.of("title") if node.text), None)
        stated = [
            self._first("og:title"),
            self._linked.text(self._main, "headline"),
            self._linked.text(self._linked.media, "name") if not self._linked.article else None,
            self._first("twitter:title"),
            *(value_of(node) for node in self._says.props["headline"]),
            headings[0] if len(headings) == 1 else None,
            whole,
            *headings,
        ]
        lines = (clean_line(text, TITLE_MAX_CHARS) for text in stated)
        return tuple(dict.fromkeys(_without_site(line, site) for line in lines if line))

    def _author(self) -> str | None:
        stated = [
            self._linked.text(self._main, "author") or self._linked.text(self._main, "creator"),
            self._first(
                "author", "article:author", "parsely-author", "sailthru.author", "dc.creator", "twitter:creator"
            ),
        ]
        links = (node for node in self._page.of("a", "link", "span") if "author" in node.get("rel", "").split())
        linked = (beginning(node, READ_CHARS) for node in islice(links, STATED_MAX))
        for text in chain(stated, linked, map(value_of, self._says.props["author"])):
            line = re.sub(r"^by\s+", "", clean_line(text, _AUTHOR_MAX_CHARS) or "", flags=re.IGNORECASE)
            if line and not line.lower().startswith(("http://", "https://", "@")):
                return line
        return None

    def _published(self, language: str | None) -> Claimed:
        found = Dates(language).first(*self._dates())
        day = day_in_path(urlsplit(self._url).path) if found.at is None else None
        return found if day is None else Claimed(day)

    def _dates(self) -> Iterator[str | None]:
        for name in ("datePublished", "uploadDate", "dateCreated"):
            yield self._linked.text(self._main, name)
        for name in _PUBLISHED:
            yield self._first(name)
        for name in ("datePublished", "uploadDate"):
            for node in self._says.props[name][:1]:
                yield value_of(node)
        root = self._page.nodes[0]
        for path in (".//time[@pubdate]", ".//article//time[@datetime]"):
            node = root.find(path)
            if node is not None:
                yield node.get("datetime")

    def _image(self) -> str | None:
        stated = [
            self._first("og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src"),
            self._linked.first_address(self._main, "image", "thumbnailUrl", "thumbnail"),
            *(node.get("href") for node in self._says.links("image_src")),
        ]
        return next((address for text in stated if (address := self._says.address(text))), None)

    def _canonical(self) -> str | None:
        stated = [*(node.get("href") for node in self._says.links("canonical")), self._first("og:url")]
        for text in stated:
            address = self._says.address(text)
            # Many a site names its front page as every page's canonical one.
            if address and (urlsplit(address).path.strip("/") or not urlsplit(self._url).path.strip("/")):
                return address
        return None

    def _kind(self) -> str:
        """Return what the page says that it is; an article that holds a video is an article."""
        stated = (self._first("og:type") or "").lower()
        if stated.startswith(("video", "music")):
            return "video" if stated.startswith("video") else "audio"
        if self._is_article():
            return "article"
        return media_kind(self._linked.media) or kind_of_types(self._says.types) or "article"

    def _is_article(self) -> bool:
        stated = (self._first("og:type") or "").lower()
        return bool(
            self._linked.article
            or stated.startswith("article")
            or any(map(is_article_type, self._says.types))
            or self._first("article:published_time") is not None
        )


def _without_site(title: str, site: str | None) -> str:
    """Cut the site's name off a title, where a separator parts them."""
    if site:
        name = re.escape(site)
        cut = re.sub(rf"(?:{_SEPARATOR}{name}$|^{name}{_SEPARATOR})", "", title, flags=re.IGNORECASE)
        return cut or title
    return title
