"""The video or audio of a page: its file, its caption tracks and its words, as far as the page states them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from lxml import html

from siftline.ingest.page.linked_data import media_kind
from siftline.ingest.page.outline import Outline
from siftline.ingest.page.plain import clean_line, clean_text
from siftline.ingest.page.statements import Statements
from siftline.ingest.readings import MAX_TEXT_CHARS, Track

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


@dataclass(frozen=True, slots=True)
class StatedMedia:
    """What a page states of its video or audio."""

    player: str | None
    """``video`` or ``audio`` where the page holds one to be played, not a decoration."""
    media_url: str | None
    tracks: tuple[Track, ...]
    transcript: str | None


def read_media(page: Outline, says: Statements) -> StatedMedia:
    """Return what the page states of its video or audio."""
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
    return StatedMedia(player, media_url, tuple(tracks.values()), transcript or None)


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
