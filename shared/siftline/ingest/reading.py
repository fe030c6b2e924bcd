"""Reads one content: its page, what a feed brought of it, or YouTube's video; and the words of a video or audio.

What reads strangers' bytes is handed in (``siftline.ingest.page_child``), and so is what fetches them.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from siftline.ingest.archive import PageArchive
from siftline.ingest.ingest_store import StoredContent
from siftline.ingest.media.media import Media, TranscriptState, Words, file_page, played
from siftline.ingest.media.transcripts import Transcripts
from siftline.ingest.media.youtube import Video, video_id
from siftline.ingest.page_child import PageReader
from siftline.ingest.page_model import (
    A_FEED,
    MEDIA_TYPES,
    EmptyContentError,
    EntryText,
    Page,
    UnsupportedContentTypeError,
    VideoUnavailableError,
)
from siftline.kit.errors import PermanentError, SiftlineError
from siftline.kit.log import logger
from siftline.net.blocks import PageWithheldError, named_refusal
from siftline.net.http_model import Http, Requester, StatusRefusedError, StatusTransientError, UnsupportedMediaTypeError
from siftline.net.pacing import Pacing
from siftline.net.recordings import KINDS, VIDEO, named_kind
from siftline.net.urls import canonical_url, clean_url, speaks_for
from siftline.text.words import extent

PAGE_MAX_BYTES = 10_000_000
"""A larger page is not read: it is parsed whole, in a child whose memory is made for this size."""
ENTRY_ENOUGH_CHARS = 2_000
"""A feed entry that brings this much is not fetched."""
ENTRY_USABLE_CHARS = 200
"""A feed entry that brings this much stands in for a page that cannot be had."""
PAGE_UNAVAILABLE = "page_unavailable"
TITLE_ONLY = "title_only"
NOTE = "note"
"""The kind of a feed entry without a page of its own, or with one that others share: there is nothing to fetch."""
_ACCEPT = "text/html, application/xhtml+xml, text/plain;q=0.8, application/pdf;q=0.8, */*;q=0.1"
_HTML = frozenset({"text/html", "application/xhtml+xml"})
"""What is archived."""
_UNNAMED = frozenset({"application/octet-stream"})
"""Not worth downloading from where a recording seems to be."""
_FEEDS = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"})
_YOUTUBE = "YouTube"
_log = logger("ingest")


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading a content came to. ``media`` and ``words`` are those of a video or audio."""

    page: Page
    http_status: int | None = None
    notice_code: str | None = None
    url_keys: Sequence[str] = ()
    media: Media | None = None
    words: Words | None = None
    missed: SiftlineError | None = None
    """Why the page itself could not be read, where what its feed told stands in for it."""
    keeps: bool = False
    """Whether what was read of the page before says more than its feed, and stays."""


class ContentReading:
    """Reads contents. Thread-safe."""

    def __init__(
        self,
        http: Http,
        reader: PageReader,
        transcripts: Transcripts,
        pace: Pacing,
        *,
        archive: PageArchive | None = None,
    ) -> None:
        self._http = http
        self._reader = reader
        self._transcripts = transcripts
        self._pace = pace
        self._archive = archive

    def read(self, content: StoredContent, requester: Requester) -> Reading:
        """Return what there is of a content. Raises ``TransientError`` and ``PermanentError``."""
        media = Media.of(content.media)
        id_ = video_id(content.url)
        if id_ is not None and content.kind != NOTE:
            return self._watch(content, id_, requester)
        reading = self._article(content, media, requester)
        kind = content.kind if content.kind in KINDS else reading.page.kind
        if kind not in KINDS:
            return reading
        reading = replace(reading, page=replace(reading.page, kind=kind))
        return self._listen(content, reading, media or reading.media or Media(), requester)

    def stand_in(self, content: StoredContent, error: SiftlineError) -> Reading:
        """Return what a content's feed told of it in the place of a page that cannot be had.

        However little that is, it is what its follower would see in any other reader. Raises ``error`` where the feed
        told nothing.
        """
        entry, media = self._told(content), Media.of(content.media)
        # An episode is there with its file alone.
        if not entry.text and not content.titled_by_feed and (media is None or content.content_sha256 is not None):
            raise error
        _log.info("page_unavailable", content_id=str(content.id), error_code=error.error_code)
        notice = error.error_code if isinstance(error, PageWithheldError) else PAGE_UNAVAILABLE
        keeps = content.content_sha256 is not None and extent(entry.text) < ENTRY_USABLE_CHARS
        return Reading(_entry_page(entry), getattr(error, "status", None), notice, missed=error, keeps=keeps)

    def _told(self, content: StoredContent) -> EntryText:
        """Return what a feed brought of a content: its text, or the summary beside a body without any."""
        entry = self._reader.entry(content.entry_html)
        if entry.text or not content.entry_html or not content.description:
            return entry
        return EntryText(content.description, len(content.description.split()))

    def _article(self, content: StoredContent, media: Media | None, requester: Requester) -> Reading:
        entry = self._told(content)
        # What a feed tells of another site's page stands in for that page and never goes before it.
        elsewhere = content.url_key.startswith("entry:") and content.kind != NOTE and media is None
        enough = extent(entry.text) >= ENTRY_ENOUGH_CHARS and not elsewhere
        if enough or (content.kind == NOTE and entry.text):
            return Reading(_entry_page(entry))
        if content.kind == NOTE and content.titled_by_feed:
            return Reading(_entry_page(entry), notice_code=TITLE_ONLY)
        if content.kind == NOTE:
            raise EmptyContentError("The feed entry has neither text nor a page.")
        if media is not None and media.url and clean_url(media.url) == content.url:
            page = file_page(content.url, content.kind, title=content.title)  # a file without a page
            return Reading(replace(page, text=entry.text, word_count=entry.word_count))
        try:
            reading = self._fetch(content, requester)
        except PermanentError as error:
            return self.stand_in(content, error)
        more = extent(entry.text) >= ENTRY_USABLE_CHARS and len(entry.text) > 2 * len(reading.page.text)
        if more and not elsewhere:
            # What the publisher itself sent out says more than what was found on the page.
            return replace(reading, page=replace(reading.page, text=entry.text, word_count=entry.word_count))
        return reading

    def _fetch(self, content: StoredContent, requester: Requester) -> Reading:
        url = content.url
        media_types = MEDIA_TYPES - _UNNAMED if named_kind(url) else MEDIA_TYPES
        try:
            with self._pace.asking(url, requester) as admitted:
                response = self._http.get(
                    url, requester=admitted, max_bytes=PAGE_MAX_BYTES, accept=_ACCEPT, media_types=media_types
                )
        except UnsupportedMediaTypeError as error:
            kind = played(error.media_type, url)
            if kind is not None:
                page = file_page(url, kind, title=content.title)
                return Reading(page, media=Media(url, error.media_type))
            raise UnsupportedContentTypeError(A_FEED if error.media_type in _FEEDS else error.detail) from error
        except (StatusRefusedError, StatusTransientError) as error:
            if isinstance(error, StatusTransientError):
                self._pace.told(url, error)
            named = named_refusal(error)
            if named is error:
                raise
            raise named from error
        self._pace.heard(response.url, response.headers)
        content_type = response.headers.get("content-type", "")
        page = self._reader.page(response.body, content_type, response.url)
        if self._archive is not None and content_type.split(";", maxsplit=1)[0].strip().lower() in _HTML:
            self._archive.keep(content.id, response.body, content_type)
        # What a site redirects to elsewhere does not speak for it.
        said = (page.canonical_url, (url, response.url)), (response.url, (url,))
        names = [name for name, speakers in said if name and speaks_for(speakers, name)]
        keys = [key for key in dict.fromkeys(map(canonical_url, names)) if key != canonical_url(url)]
        return Reading(page, response.status, page.notice_code, url_keys=keys)

    def _listen(self, content: StoredContent, reading: Reading, media: Media, requester: Requester) -> Reading:
        """Add the words of a page's video or audio, and what is known of its file."""
        page = reading.page
        media = replace(media, url=media.url or page.media_url, tracks=page.tracks)
        language = page.lang_hint or content.lang
        if page.transcript:
            words = self._transcripts.of_page(page.transcript, language=language, source=content.url)
            if words.text:
                return replace(reading, media=media, words=words)
        words = self._transcripts.of_tracks(media, requester, language=language)
        return replace(reading, media=media, words=words)

    def _watch(self, content: StoredContent, id_: str, requester: Requester) -> Reading:
        """Read a video of YouTube's: its captions, and what it says of itself."""
        words, video = self._transcripts.of_youtube(id_, requester)
        if words.state is TranscriptState.PRIVATE and not (video.title or content.title):
            raise VideoUnavailableError(
                "The video is not available on YouTube: it is private, removed or does not exist."
            )
        entry = self._reader.entry(content.entry_html)
        page = self._video_page(video, entry)
        status = video.page.status if video.page is not None else None
        return Reading(page, status, media=Media(duration_s=video.duration_s), words=words)

    def _video_page(self, video: Video, entry: EntryText) -> Page:
        """Return what a video says of itself: by its player, its page, or the feed that brought it."""
        stated = Page(kind=VIDEO, text="", word_count=0)
        if video.page is not None and video.title:
            # A page without text of its own, as YouTube's are: the rest is known without it.
            with suppress(PermanentError):
                headers = video.page.headers
                stated = self._reader.page(video.page.body, headers.get("content-type", ""), video.page.url)
        notes = self._reader.entry(_as_html(video.description)) if video.description else entry
        return Page(
            kind=VIDEO,
            title=video.title,
            author=video.channel or stated.author,
            site_name=_YOUTUBE,
            published_at=stated.published_at,
            published_claim=stated.published_claim,
            undated_code=stated.undated_code,
            undated_claim=stated.undated_claim,
            image_url=video.image_url or stated.image_url,
            description=(video.description or "")[:2_000] or stated.description,
            text=notes.text,
            word_count=notes.word_count,
        )


def _as_html(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(
        f"<p>{paragraph}</p>" for paragraph in escaped.replace("\n\n", "\0").replace("\n", "<br>").split("\0")
    )


def _entry_page(entry: EntryText) -> Page:
    return Page(text=entry.text, word_count=entry.word_count)
