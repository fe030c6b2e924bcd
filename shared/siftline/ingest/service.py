"""Takes a content from its address to a stored text.

The reading is handed in (``siftline.ingest.reading``), so that who only saves addresses (``siftline.ingest.saving``)
carries no HTML reader.
"""

import hashlib
from dataclasses import replace
from datetime import timedelta
from typing import Protocol

from siftline.contracts import JobType, Queue
from siftline.ingest import media_store, store
from siftline.ingest.duplicates import Measures
from siftline.ingest.errors import ContentGoneError, UnsupportedContentTypeError
from siftline.ingest.media import Media, TranscriptState, Words, text_with_words
from siftline.ingest.reading import Reading
from siftline.ingest.saving import SavedItem, ensure_content, save_url, subject_of
from siftline.ingest.signature import SIGNATURE_VERSION
from siftline.ingest.texts import analysis_after, write_text
from siftline.jobs.model import ClaimedJob, Done, NewJob
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import SiftlineError
from siftline.kit.hosts import own_url
from siftline.kit.http_typed import typed
from siftline.kit.log import logger

__all__ = ["IngestContent", "SavedItem", "ensure_content", "save_url", "subject_of"]

_SOON_S = 60.0
"""A transcript's server that did not answer is asked again after this."""
_log = logger("ingest")


class ContentReader(Protocol):
    """Reads contents (``siftline.ingest.reading.ContentReading``)."""

    def read(self, content: store.StoredContent) -> Reading:
        """Return what there is of a content. Raises ``TransientError`` and ``PermanentError``."""
        ...


class IngestContent:
    """Does ``ingest_content``: reads a page, a video or what a feed brought, and stores the text.

    ``generates`` says that an audio model is set up: what has no words in writing is then given to
    ``transcribe_content``, as is whatever was refused, after ``retry_s``.
    """

    job_type = JobType.INGEST_CONTENT
    providers: frozenset[str] = frozenset()

    def __init__(
        self,
        database: Database,
        reader: ContentReader,
        *,
        analysis_enabled: bool,
        clock: Clock,
        measures: Measures | None = None,
        generates: bool = False,
        retry_s: float = 3_600.0,
    ) -> None:
        self._database = database
        self._reader = reader
        self._analysis_enabled = analysis_enabled
        self._clock = clock
        self._measures = measures or Measures()
        self._generates = generates
        self._retry_s = retry_s

    def process(self, job: ClaimedJob) -> Done:
        """Read the content's page. Text that is new to us is handed on to its analysis; known text is ``READY``."""
        with self._database.transaction() as connection:
            content = store.load(connection, job.subject_id, source_id=job.payload.get("source_id"))
            analysed = store.analysed_text(connection, job.subject_id, version=SIGNATURE_VERSION)
            known = media_store.load_words(connection, job.subject_id) if content and content.media else None
        if content is None:
            raise ContentGoneError("The item was deleted before it could be read.")
        with typed(content.typed_origin):
            reading = self._reader.read(replace(content, url=own_url(content.url, content.url_key)))
        # What was got before is not given up because it is not to be had today; what was paid for is not paid again.
        words = known if known is not None and reading.words is not None and not reading.words.text else reading.words
        found = _found(reading, words)
        changed = found.content_sha256 != content.content_sha256
        traits = self._measures.traits(found)
        minor = changed and content.analysed and self._measures.is_minor_edit(analysed, traits)
        analyse = self._analysis_enabled and ((changed and not minor) or not content.analysed)

        def write(connection: Connection) -> None:
            write_text(connection, content.id, found, traits, analyse=analyse)
            if reading.media is not None and words is not None:
                media_store.write(connection, content.id, reading.media, words)

        _log.info(
            "content_read",
            job_id=str(job.id),
            content_id=str(content.id),
            http_status=reading.http_status,
            words=found.word_count,
            changed=changed,
            minor=minor,
            notice_code=reading.notice_code,
            transcript_state=words.state if words is not None else None,
        )
        return Done(
            write=write,
            follow=[*([analysis_after(job)] if analyse else []), *self._listening(job, reading.media, words)],
            result={"words": found.word_count, "changed": changed, "http_status": reading.http_status},
        )

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Keep the page's HTTP status; the content's own status follows its job."""
        http_status = getattr(error, "status", None)
        if http_status is not None:
            store.write_http_status(connection, job.subject_id, http_status)
        if isinstance(error, UnsupportedContentTypeError):
            store.write_unsupported(connection, job.subject_id)

    def _listening(self, job: ClaimedJob, media: Media | None, words: Words | None) -> list[NewJob]:
        """Return the job that looks for the words again, or has them made, where that is of use."""
        if media is None or words is None or words.text:
            return []
        wait_s = 0.0
        if words.later:
            wait_s = _SOON_S if words.state is None else self._retry_s
            wait_s = max(wait_s, words.retry_after_s or 0.0)
        elif words.state is not TranscriptState.NONE or not self._generates or media.url is None:
            return []
        listening = NewJob(
            job_type=JobType.TRANSCRIBE_CONTENT,
            subject_id=job.subject_id,
            group_key=job.group_key,
            priority=job.priority,
            queue=Queue.CONTENT_BACKGROUND,
            payload=job.payload,
            due_at=self._clock.now() + timedelta(seconds=wait_s),
        )
        return [listening]


def _found(reading: Reading, words: Words | None) -> store.Found:
    page = reading.page
    text, word_count = page.text, page.word_count
    if words is not None:
        notes = (text, word_count) if text else (page.description or "", len((page.description or "").split()))
        text, word_count = text_with_words(*notes, words)
    return store.Found(
        text=text,
        content_sha256=hashlib.sha256(text.encode()).digest(),
        word_count=word_count,
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
