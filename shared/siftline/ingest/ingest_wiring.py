"""Where the parts of reading are put together."""

from collections.abc import Sequence

from siftline.ingest.archive import PageArchive
from siftline.ingest.ingest_service import IngestContent
from siftline.ingest.media.audio_model import AudioFiles, AudioModel
from siftline.ingest.media.transcribe_service import Costs, TranscribeContent
from siftline.ingest.media.transcripts import MEDIA_REQUEST_S, MEDIA_S, Transcripts
from siftline.ingest.media.youtube import YouTube
from siftline.ingest.page_child import ENTRY_S, PageReader
from siftline.ingest.reading import ContentReading
from siftline.jobs.job_model import Processor
from siftline.jobs.jobs_wiring import Producer
from siftline.kit.aws import s3_client, secret
from siftline.kit.clock import Clock
from siftline.net.http import HttpClient
from siftline.net.pacing import Pace
from siftline.settings.functions import IngestSettings

_ARCHIVE_S = 3.0


def open_ingest(settings: IngestSettings, parts: Producer) -> Sequence[Processor]:
    """Return the work of ``ingest_content`` and ``transcribe_content``."""
    reader = PageReader(page_read_s=settings.page_read_s, memory_bytes=settings.page_read_memory_bytes)
    pace = Pace(parts.database, settings, parts.clock)
    http = HttpClient.of(settings)
    captions = HttpClient.of(settings, total_s=MEDIA_REQUEST_S, retries=1)
    transcripts = Transcripts(captions, reader, YouTube(captions), pace, clock=parts.clock)
    bucket = settings.page_archive_bucket
    archive = PageArchive(s3_client(_ARCHIVE_S), bucket, reader) if bucket else None
    reading = ContentReading(http, reader, transcripts, pace, archive=archive)
    model = _audio_model(settings, parts.clock)
    ingest = IngestContent(
        parts.database,
        reading,
        analysis_enabled=settings.siftline_analysis_enabled,
        clock=parts.clock,
        generates=model is not None,
    )
    transcribe = TranscribeContent(
        parts.database,
        transcripts,
        model=model,
        files=AudioFiles(http, pace, max_bytes=settings.transcription_max_bytes),
        costs=Costs(
            usd_per_minute=settings.transcription_usd_per_minute,
            usd_per_day=settings.transcription_usd_per_day,
            max_s=settings.transcription_max_s,
        ),
        analysis_enabled=settings.siftline_analysis_enabled,
        clock=parts.clock,
    )
    return [ingest, transcribe]


def longest_s(settings: IngestSettings) -> float:
    """Return the longest that one job may take."""
    looking_s = MEDIA_S + MEDIA_REQUEST_S + settings.page_read_s
    page_s = settings.http_total_s + settings.page_read_s + ENTRY_S
    if settings.page_archive_bucket:
        page_s += settings.page_read_s + 2 * _ARCHIVE_S
    sound_s = settings.http_total_s + settings.transcription_s if settings.transcription_model else 0
    return looking_s + max(page_s, sound_s)


def _audio_model(settings: IngestSettings, clock: Clock) -> AudioModel | None:
    if not settings.transcription_model:
        return None
    return AudioModel(
        model=settings.transcription_model,
        base_url=settings.transcription_base_url,
        api_key=lambda: secret(settings.transcription_api_key.get_secret_value()),
        timeout_s=settings.transcription_s,
        clock=clock,
    )
