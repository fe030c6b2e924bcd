"""Takes a content from its address to a stored text.

The reading is handed in (``siftline.ingest.reading``), so that who only saves addresses (``siftline.ingest.saving``)
carries no HTML reader.
"""

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from siftline.contracts import JobType, Priority
from siftline.ingest import duplicates_store, ingest_store, unreadable_store
from siftline.ingest.duplicates import SIGNATURE_VERSION, Traits, is_minor_edit, traits_of
from siftline.ingest.ingest_store import StoredContent, StoredReading
from siftline.ingest.media import media_store
from siftline.ingest.media.media import RETRY_S, Media, TranscriptState, Words, text_with_words
from siftline.ingest.page_model import ContentDeletedError, EmptyContentError, UnsupportedContentTypeError
from siftline.ingest.reading import ContentReading, Reading
from siftline.jobs import jobs_store as jobs
from siftline.jobs.job_model import ClaimedJob, Done, NewJob, follower
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import NotTriedError, SiftlineError, TransientError
from siftline.kit.log import logger
from siftline.net.blocks import BlockedBySiteError
from siftline.net.http_model import StatusRefusedError
from siftline.net.urls import own_url
from siftline.text.instants import Claimed, plausible_at

_PAYMENT_REQUIRED = 402
_OWN_ATTEMPTS = 2
"""A page that was asked for in vain just now is not tried for as long again before its feed's words stand in."""
_SOON_S = 60.0
"""A transcript's server that did not answer is asked again after this."""
_log = logger("ingest")


class IngestContent:
    """Does ``ingest_content``: reads a page, a video or what a feed brought, and stores the text.

    ``generates`` says that an audio model is set up: what has no words in writing is then given to
    ``transcribe_content``, as is whatever was refused, after ``RETRY_S``.
    """

    job_type = JobType.INGEST_CONTENT
    providers: frozenset[str] = frozenset()

    def __init__(
        self,
        database: Database,
        reader: ContentReading,
        *,
        analysis_enabled: bool,
        clock: Clock,
        generates: bool = False,
    ) -> None:
        self._database = database
        self._reader = reader
        self._analysis_enabled = analysis_enabled
        self._clock = clock
        self._generates = generates

    def process(self, job: ClaimedJob) -> Done:
        """Read the content's page. Text that is new to us is handed on to its analysis; known text is ``READY``."""
        with self._database.transaction() as connection:
            content = ingest_store.load(connection, job.subject_id, source_id=job.payload.get("source_id"))
            analysed = ingest_store.analysed_text(connection, job.subject_id, version=SIGNATURE_VERSION)
            known = media_store.load_words(connection, job.subject_id) if content and content.media else None
        if content is None:
            raise ContentDeletedError("The item was deleted before it could be read.")
        reading = self._read(job, replace(content, url=own_url(content.url, content.url_key)))
        if reading.keeps and reading.missed is not None:
            return self._kept(job, content, reading.missed)
        # What was got before is not given up because it is not to be had today; what was paid for is not paid again.
        words = known if known is not None and reading.words is not None and not reading.words.text else reading.words
        found = _found(reading, words, self._clock.now())
        changed = found.content_sha256 != content.content_sha256
        traits = traits_of(found)
        minor = changed and content.analysed and is_minor_edit(analysed, traits)
        analyse = self._analysis_enabled and ((changed and not minor) or not content.analysed)

        def write(connection: Connection) -> None:
            write_text(connection, content.id, found, traits, analyse=analyse)
            if reading.media is not None and words is not None:
                media_store.write(connection, content.id, reading.media, words)
            self._note(connection, content, reading.missed)

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
            ingest_store.write_http_status(connection, job.subject_id, http_status)
        if isinstance(error, UnsupportedContentTypeError):
            ingest_store.write_unsupported(connection, job.subject_id)
        owns = unreadable_store.take_for_their_own(connection, job.subject_id)
        jobs.enqueue(connection, [_reading_of(own, job) for own in owns], max_attempts=_OWN_ATTEMPTS)
        if _may_pass(error):
            unreadable_store.missed(connection, job.subject_id, error, failed_job=job.id)

    def _read(self, job: ClaimedJob, content: StoredContent) -> Reading:
        """Read a content; what its feed told stands in for a page that cannot be had at the last try either."""
        try:
            return self._reader.read(content, job.requester(content.typed_origin))
        except NotTriedError:
            raise
        except TransientError as error:
            if job.attempts < job.max_attempts:
                raise
            return self._reader.stand_in(content, error)

    def _kept(self, job: ClaimedJob, content: StoredContent, missed: SiftlineError) -> Done:
        """Let the text stand that was read before; it is analysed if it never was."""
        analyse = self._analysis_enabled and not content.analysed

        def write(connection: Connection) -> None:
            ingest_store.keep(connection, content.id, status="PENDING" if analyse else "READY")
            self._note(connection, content, missed)

        follow = [analysis_after(job)] if analyse else []
        return Done(write=write, follow=follow, result={"changed": False, "page": missed.error_code})

    @staticmethod
    def _note(connection: Connection, content: StoredContent, missed: SiftlineError | None) -> None:
        if missed is not None and _may_pass(missed):
            unreadable_store.missed(connection, content.id, missed)
        elif content.asks:
            unreadable_store.was_read(connection, content.id)

    def _listening(self, job: ClaimedJob, media: Media | None, words: Words | None) -> list[NewJob]:
        """Return the job that looks for the words again, or has them made, where that is of use."""
        if media is None or words is None or words.text:
            return []
        wait_s = 0.0
        if words.later:
            wait_s = _SOON_S if words.state is None else RETRY_S
            wait_s = max(wait_s, words.retry_after_s or 0.0)
        elif words.state is not TranscriptState.NONE or not self._generates or media.url is None:
            return []
        listening = NewJob(
            job_type=JobType.TRANSCRIBE_CONTENT,
            subject_id=job.subject_id,
            group_key=job.group_key,
            priority=job.priority,
            payload=job.payload,
            due_at=self._clock.now() + timedelta(seconds=wait_s),
        )
        return [listening]


def write_text(
    connection: Connection, content_id: UUID, found: StoredReading, traits: Traits, *, analyse: bool
) -> None:
    """Store a text; ``analyse`` says whether its analysis follows, in the same transaction."""
    duplicates_store.link(connection, content_id, traits)
    ingest_store.write(connection, content_id, found, status="PENDING" if analyse else "READY")
    duplicates_store.sign(connection, content_id, traits, analyse=analyse)


def analysis_after(job: ClaimedJob) -> NewJob:
    """Return the job that reads the text which ``job`` brought, for the same tenant."""
    return NewJob(
        job_type=JobType.ANALYZE_CONTENT, subject_id=job.subject_id, group_key=job.group_key, priority=job.priority
    )


def _reading_of(own: unreadable_store.Own, job: ClaimedJob) -> NewJob:
    return NewJob(
        job_type=JobType.INGEST_CONTENT,
        subject_id=own.id,
        group_key=f"source:{own.source_id}" if own.user_id is None else follower(own.user_id),
        priority=min(job.priority, Priority.UNDER_24_HOURS),
        payload={"source_id": str(own.source_id)},
        subject_waits=True,
    )


def _may_pass(error: SiftlineError) -> bool:
    """Tell whether a page that failed so may be there later: not what is no page, or none that is shown to us."""
    if isinstance(error, StatusRefusedError):
        return error.status != _PAYMENT_REQUIRED
    return isinstance(error, BlockedBySiteError | EmptyContentError | TransientError)


def _found(reading: Reading, words: Words | None, now: datetime) -> StoredReading:
    page = reading.page
    published = plausible_at(page.published_at, now, page.published_claim) if page.published_at else Claimed()
    text, word_count = page.text, page.word_count
    if words is not None:
        notes = (text, word_count) if text else (page.description or "", len((page.description or "").split()))
        text, word_count = text_with_words(*notes, words)
    return StoredReading(
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
        published_at=published.at,
        undated_code=published.undated_code or page.undated_code,
        undated_claim=published.claim or page.undated_claim,
        http_status=reading.http_status,
        notice_code=reading.notice_code,
        url_keys=reading.url_keys,
    )
