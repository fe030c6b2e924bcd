"""Takes a content from its address to a stored text.

The reading of pages is handed in, so that who only saves addresses (``siftline.ingest.saving``) carries no HTML reader.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from siftline.contracts import JobType
from siftline.ingest import duplicates_store, store
from siftline.ingest.duplicates import Measures
from siftline.ingest.errors import ContentGoneError, EmptyContentError, UnsupportedContentTypeError
from siftline.ingest.model import MEDIA_TYPES, EntryText, Page
from siftline.ingest.saving import SavedItem, ensure_content, save_url, subject_of
from siftline.ingest.signature import SIGNATURE_VERSION
from siftline.jobs.model import ClaimedJob, Done, NewJob
from siftline.kit.db import Connection, Database
from siftline.kit.errors import PermanentError, SiftlineError
from siftline.kit.http_errors import UnsupportedMediaTypeError
from siftline.kit.log import logger
from siftline.kit.urls import canonical_url, same_site

__all__ = ["IngestContent", "SavedItem", "ensure_content", "save_url", "subject_of"]

ENTRY_ENOUGH_CHARS = 2_000
"""A feed entry that brings this much is not fetched."""
ENTRY_USABLE_CHARS = 200
"""A feed entry that brings this much stands in for a page that cannot be had."""
PAGE_UNAVAILABLE = "page_unavailable"
NOTE = "note"
"""The kind of a feed entry without a page of its own: there is nothing to fetch."""
_ACCEPT = "text/html, application/xhtml+xml, text/plain;q=0.8, */*;q=0.1"
_log = logger("ingest")


class Response(Protocol):
    """What answered (``siftline.kit.http.Response``)."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def url(self) -> str:
        """The address that answered, after redirects."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, by name in any case."""
        ...

    @property
    def body(self) -> bytes:
        """The decoded body."""
        ...


class Http(Protocol):
    """Fetches a page (``siftline.kit.http.HttpClient``)."""

    def get(self, url: str, *, max_bytes: int, accept: str, media_types: Collection[str]) -> Response:
        """Return the whole answer. Raises ``TransientError`` and ``PermanentError``."""
        ...


class Reader(Protocol):
    """Reads HTML (``siftline.ingest.reader.PageReader``)."""

    def page(self, body: bytes, content_type: str, url: str) -> Page:
        """Return what a page holds. Raises ``PermanentError``."""
        ...

    def entry(self, entry_html: str | None) -> EntryText:
        """Return what a feed brought of an article."""
        ...


@dataclass(frozen=True, slots=True)
class _Reading:
    page: Page
    http_status: int | None = None
    notice_code: str | None = None
    url_keys: Sequence[str] = ()


class IngestContent:
    """Does ``ingest_content``: fetches and reads a page, or takes what a feed brought of it, and stores the text."""

    job_type = JobType.INGEST_CONTENT
    providers: frozenset[str] = frozenset()

    def __init__(
        self,
        database: Database,
        http: Http,
        reader: Reader,
        *,
        page_max_bytes: int,
        analysis_enabled: bool,
        measures: Measures | None = None,
    ) -> None:
        self._database = database
        self._http = http
        self._reader = reader
        self._page_max_bytes = page_max_bytes
        self._analysis_enabled = analysis_enabled
        self._measures = measures or Measures()

    def process(self, job: ClaimedJob) -> Done:
        """Read the content's page. Text that is new to us is handed on to its analysis; known text is ``READY``."""
        with self._database.transaction() as connection:
            content = store.load(connection, job.subject_id)
            analysed = store.analysed_text(connection, job.subject_id, version=SIGNATURE_VERSION)
        if content is None:
            raise ContentGoneError("The item was deleted before it could be read.")
        reading = self._read(content)
        found = _found(reading)
        changed = found.content_sha256 != content.content_sha256
        traits = self._measures.traits(found)
        minor = changed and content.analysed and self._measures.is_minor_edit(analysed, traits)
        analyse = self._analysis_enabled and ((changed and not minor) or not content.analysed)

        def write(connection: Connection) -> None:
            duplicates_store.link(connection, content.id, traits)
            store.write(connection, content.id, found, status="PENDING" if analyse else "READY")
            duplicates_store.sign(connection, content.id, traits, analyse=analyse)

        _log.info(
            "content_read",
            job_id=str(job.id),
            content_id=str(content.id),
            http_status=reading.http_status,
            words=found.word_count,
            changed=changed,
            minor=minor,
            notice_code=reading.notice_code,
        )
        analysis = NewJob(
            job_type=JobType.ANALYZE_CONTENT,
            subject_id=content.id,
            group_key=job.group_key,
            priority=job.priority,
        )
        return Done(
            write=write,
            follow=[analysis] if analyse else [],
            result={"words": found.word_count, "changed": changed, "http_status": reading.http_status},
        )

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Keep the page's HTTP status; the content's own status follows its job."""
        http_status = getattr(error, "status", None)
        if http_status is not None:
            store.write_http_status(connection, job.subject_id, http_status)

    def _read(self, content: store.StoredContent) -> _Reading:
        entry = self._reader.entry(content.entry_html)
        if len(entry.text) >= ENTRY_ENOUGH_CHARS or (content.kind == NOTE and entry.text):
            return _Reading(_entry_page(entry))
        if content.kind == NOTE:
            raise EmptyContentError("The feed's entry has neither text nor a page of its own.")
        try:
            reading = self._fetch(content.url)
        except PermanentError as error:
            if len(entry.text) < ENTRY_USABLE_CHARS:
                raise
            _log.info("page_unavailable", content_id=str(content.id), error_code=error.error_code)
            return _Reading(_entry_page(entry), getattr(error, "status", None), PAGE_UNAVAILABLE)
        if len(entry.text) >= ENTRY_USABLE_CHARS and len(entry.text) > 2 * len(reading.page.text):
            # What the publisher itself sent out says more than what was found on the page.
            return replace(reading, page=replace(reading.page, text=entry.text, word_count=entry.word_count))
        return reading

    def _fetch(self, url: str) -> _Reading:
        try:
            response = self._http.get(url, max_bytes=self._page_max_bytes, accept=_ACCEPT, media_types=MEDIA_TYPES)
        except UnsupportedMediaTypeError as error:
            raise UnsupportedContentTypeError(error.detail) from error
        page = self._reader.page(response.body, response.headers.get("content-type", ""), response.url)
        names = [name for name in (response.url, page.canonical_url) if name and same_site(url, name)]
        keys = [key for key in dict.fromkeys(map(canonical_url, names)) if key != canonical_url(url)]
        return _Reading(page, response.status, url_keys=keys)


def _entry_page(entry: EntryText) -> Page:
    return Page(text=entry.text, word_count=entry.word_count)


def _found(reading: _Reading) -> store.Found:
    page = reading.page
    return store.Found(
        text=page.text,
        content_sha256=hashlib.sha256(page.text.encode()).digest(),
        word_count=page.word_count,
        kind=page.kind,
        title=page.title,
        author=page.author,
        site_name=page.site_name,
        image_url=page.image_url,
        description=page.description,
        lang=page.lang_hint,
        published_at=page.published_at,
        http_status=reading.http_status,
        notice_code=reading.notice_code,
        url_keys=reading.url_keys,
    )
