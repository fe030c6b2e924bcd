"""Gets the words of a video or audio in a second step: refused before, or to be generated for money.

The content stands meanwhile with what is known of it. Who refuses is asked again after ever longer times, for as long
as a job may be put off; then the content keeps its state. What costs money is reserved before it is asked for, and
stored in the very transaction that settles it.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from siftline.contracts import JobType
from siftline.ingest import ingest_store
from siftline.ingest.duplicates import traits_of
from siftline.ingest.ingest_service import analysis_after, write_text
from siftline.ingest.media import media_store
from siftline.ingest.media.audio_model import PROVIDER, AudioFiles, AudioModel, TranscriptionRefusedError
from siftline.ingest.media.media import GOT, RETRY_S, Media, TranscriptState, Words, text_with_words
from siftline.ingest.media.media_store import StoredMedia
from siftline.ingest.media.transcripts import Transcripts
from siftline.ingest.media.youtube import video_id
from siftline.ingest.page_model import ContentDeletedError
from siftline.jobs.job_model import DEFER_MAX_S, ClaimedJob, Done
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import SiftlineError, TransientError
from siftline.kit.log import logger
from siftline.models import spending_store
from siftline.models.paid_call import NotAskedError, PaidCalls
from siftline.models.spending_store import Caps
from siftline.net.http_model import Requester

FLOOR_BPS = 32_000
"""Bits a second at which the length of a file is guessed, to set its cost aside: low, so that it is rather too much."""
_MICRO = 1_000_000
_EARLY_S = 5.0
_log = logger("ingest")


class WordsLaterError(TransientError):
    """The words cannot be had now; ``state`` says why, as far as it is known."""

    code = "transcript_not_yet"

    def __init__(
        self, detail: str, *, state: TranscriptState | None, code: str | None = None, retry_after_s: float | None
    ) -> None:
        super().__init__(detail, code=code, retry_after_s=retry_after_s)
        self.state = state


@dataclass(frozen=True, slots=True)
class Costs:
    """What generating may cost. Dollars."""

    usd_per_minute: float
    usd_per_day: float
    max_s: float

    def micro_usd(self, seconds: float) -> int:
        """Return what so much speech costs, in millionths of a dollar, rounded up."""
        return math.ceil(round(seconds / 60 * self.usd_per_minute * _MICRO, 3))


@dataclass(frozen=True, slots=True)
class _Found:
    words: Words
    settle: Callable[[Connection], None] | None = None


class TranscribeContent:
    """Does ``transcribe_content``."""

    job_type = JobType.TRANSCRIBE_CONTENT

    def __init__(
        self,
        database: Database,
        transcripts: Transcripts,
        *,
        model: AudioModel | None,
        files: AudioFiles,
        costs: Costs,
        analysis_enabled: bool,
        clock: Clock,
        patience_s: float = DEFER_MAX_S,
    ) -> None:
        self.providers = frozenset({PROVIDER}) if model is not None else frozenset[str]()
        self._database = database
        self._transcripts = transcripts
        self._model = model
        self._files = files
        self._costs = costs
        self._patience_s = patience_s
        self._analysis_enabled = analysis_enabled
        self._clock = clock

    def process(self, job: ClaimedJob) -> Done:
        """Get the words; new ones are a new text, which is handed on to its analysis."""
        with self._database.transaction() as connection:
            content = media_store.load(connection, job.subject_id, source_id=job.payload.get("source_id"))
        if content is None:
            raise ContentDeletedError("The item was deleted before it could be transcribed.")
        media = Media.of(content.media) or Media()
        if media.state in GOT:
            return Done(result={"transcript": media.state})
        found = self._found(job, content, media)
        words = found.words
        state = words.state.value if words.state is not None else None
        _log.info("transcript_looked_for", content_id=str(content.id), job_id=str(job.id), transcript_state=state)
        text = _with(content, words) if words.text else None
        traits = traits_of(text) if text is not None else None
        analyse = text is not None and self._analysis_enabled

        def write(connection: Connection) -> None:
            if text is not None and traits is not None:
                write_text(connection, content.id, text, traits, analyse=analyse)
            media_store.write(connection, content.id, media, words)
            if found.settle is not None:
                found.settle(connection)

        return Done(write=write, follow=[analysis_after(job)] if analyse else [], result={"transcript": state})

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Keep why the words are not there yet."""
        if isinstance(error, WordsLaterError):
            media_store.write_state(connection, job.subject_id, error.state)

    def _found(self, job: ClaimedJob, content: StoredMedia, media: Media) -> _Found:
        requester = job.requester(content.typed_origin)
        found = _Found(self._written(job, content, media, requester))
        if found.words.text or self._model is None or media.url is None:
            return found
        generated = self._generated(job, content, media, requester, self._model)
        return found if generated.words.state is TranscriptState.NONE and not generated.settle else generated

    def _written(self, job: ClaimedJob, content: StoredMedia, media: Media, requester: Requester) -> Words:
        """Look where the words stand in writing; raises as long as it is worth asking again."""
        id_ = video_id(content.url)
        if id_ is not None:
            words, _ = self._transcripts.of_youtube(id_, requester, facts=False)
        else:
            words = self._transcripts.of_tracks(media, requester, language=content.lang)
        if not words.later:
            return words
        if words.state is None:
            if job.attempts < job.max_attempts:
                detail = "The transcript's server gave an unexpected answer."
                raise WordsLaterError(detail, state=None, retry_after_s=words.retry_after_s)
            return Words(TranscriptState.NONE, source=words.source)
        if not self._waited_out(job):
            raise WordsLaterError(
                "The transcript's server refuses our requests at the moment.",
                state=words.state,
                code="transcript_blocked",
                retry_after_s=max(RETRY_S, words.retry_after_s or 0),
            )
        return words

    def _generated(
        self, job: ClaimedJob, content: StoredMedia, media: Media, requester: Requester, model: AudioModel
    ) -> _Found:
        """Have the words made of the sound, within the limits of size, length and money."""
        if media.duration_s is not None and media.duration_s > self._costs.max_s:
            return _Found(Words(TranscriptState.TOO_LONG))
        audio = self._files.fetch(media, requester)
        if isinstance(audio, TranscriptState):
            return _Found(Words(audio))
        seconds = max(media.duration_s or 0.0, len(audio.body) * 8 / FLOOR_BPS)
        cost_max, caps = self._costs.micro_usd(seconds), Caps(round(self._costs.usd_per_day * _MICRO))
        if cost_max > caps.day_micro_usd:
            return _Found(Words(TranscriptState.OVER_BUDGET))
        language = content.lang if content.lang and len(content.lang) == 2 else None
        calls = PaidCalls(self._database, PROVIDER, model.model, caps, self._clock, lost_per="subject")
        payer = partial(spending_store.payer, content_id=content.id, job_id=job.id)
        try:
            with calls.reserved(cost_max, content.id, payer, job.id) as spending:
                heard = model.hear(audio.body, ending=audio.ending, language=language)
        except NotAskedError as error:
            if error.reason == "answers_lost" or self._waited_out(job):
                return _Found(Words(TranscriptState.OVER_BUDGET))
            raise WordsLaterError(
                "Today's budget for transcripts is spent.",
                state=TranscriptState.OVER_BUDGET,
                code="transcript_over_budget",
                retry_after_s=error.retry_after_s + 60,
            ) from error
        except TranscriptionRefusedError:
            return _Found(Words(TranscriptState.NONE, source=model.model))
        cost = cost_max if heard.seconds is None else self._costs.micro_usd(heard.seconds)
        words = self._transcripts.of_speech(heard.text, language=language, source=model.model)
        return _Found(words, lambda connection: spending_store.settle(connection, spending.id, cost))

    def _waited_out(self, job: ClaimedJob) -> bool:
        """Tell whether the job has been put off for as long as one may be."""
        if job.deferred_since is None:
            return False
        return (self._clock.now() - job.deferred_since).total_seconds() >= self._patience_s - _EARLY_S


def _with(content: StoredMedia, words: Words) -> ingest_store.StoredReading:
    text, word_count = text_with_words(content.text or "", content.word_count or 0, words)
    return ingest_store.StoredReading(
        text=text,
        content_sha256=hashlib.sha256(text.encode()).digest(),
        word_count=word_count,
        kind=content.kind,
        title=content.title,
        author=content.author,
        site_name=content.site_name,
        image_url=content.image_url,
        description=content.description,
        lang=content.lang or words.language,
        published_at=content.published_at,
        undated_code=None,
        undated_claim=None,
        http_status=content.http_status,
        notice_code=content.notice_code,
        url_keys=(),
    )
