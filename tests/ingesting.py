"""The work of the ingest function, put together for tests: real parts, no waiting for anybody's turn."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from siftline.ingest.archive import PageArchive
from siftline.ingest.audio import AudioFiles
from siftline.ingest.reader import PageReader
from siftline.ingest.reading import ContentReading
from siftline.ingest.service import IngestContent
from siftline.ingest.transcribing import Costs, TranscribeContent
from siftline.ingest.transcription import AudioModel
from siftline.ingest.transcripts import Transcripts
from siftline.ingest.youtube import YouTube
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Database
from siftline.kit.errors import TransientError
from siftline.kit.http import HttpClient


class FreePace:
    """A pace at which everything is asked at once; remembers who was admitted where and what it was told."""

    def __init__(self) -> None:
        self.admitted: list[tuple[str, UUID]] = []
        self.refusals: list[tuple[str, str]] = []

    def admit(self, url: str, *, who: UUID) -> None:
        self.admitted.append((url, who))

    def told(self, url: str, error: TransientError) -> None:
        self.refusals.append((url, error.error_code))

    def heard(self, url: str, headers: Mapping[str, str]) -> None:
        """Nothing is made of it."""


def transcripts(http: HttpClient, reader: PageReader, *, pace: Any = None, media_s: float = 60) -> Transcripts:
    return Transcripts(
        http,
        reader,
        YouTube(http, max_bytes=1_000_000),
        pace or FreePace(),
        max_bytes=1_000_000,
        media_s=media_s,
        clock=SystemClock(),
    )


def ingest_content(
    database: Database,
    http: HttpClient,
    reader: PageReader,
    *,
    analysis: bool = True,
    generates: bool = False,
    archive: PageArchive | None = None,
    pace: Any = None,
) -> IngestContent:
    reading = ContentReading(
        http,
        reader,
        transcripts(http, reader, pace=pace),
        pace or FreePace(),
        page_max_bytes=1_000_000,
        archive=archive,
    )
    return IngestContent(
        database, reading, analysis_enabled=analysis, clock=SystemClock(), generates=generates, retry_s=3_600
    )


def transcribe_content(
    database: Database,
    http: HttpClient,
    reader: PageReader,
    *,
    analysis: bool = True,
    model: AudioModel | None = None,
    clock: Clock | None = None,
    max_bytes: int = 1_000_000,
    patience_s: float = 172_800,
    **costs: Any,
) -> TranscribeContent:
    return TranscribeContent(
        database,
        transcripts(http, reader),
        model=model,
        files=AudioFiles(http, FreePace(), max_bytes=max_bytes),
        costs=Costs(**{"usd_per_minute": 0.006, "usd_per_day": 1.0, "max_s": 7_200, "floor_bps": 32_000, **costs}),
        retry_s=3_600,
        patience_s=patience_s,
        analysis_enabled=analysis,
        clock=clock or SystemClock(),
    )
