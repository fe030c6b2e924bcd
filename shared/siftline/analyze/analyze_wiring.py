"""Where the parts of reading are put together."""

import threading
from collections.abc import Callable
from pathlib import Path

from siftline.analyze.analyze_service import AnalyzeContent
from siftline.analyze.article_reader import Reader, ReadingRules
from siftline.analyze.entities.entity_wiring import open_entities
from siftline.analyze.llm.llm_reader_wiring import open_llm
from siftline.analyze.reading_profile import tell_profile
from siftline.analyze.reading_setup import Desk
from siftline.analyze.text.language import LanguageDetector
from siftline.analyze.text.summary import SummaryRule
from siftline.analyze.text.tags import TagRule
from siftline.analyze.topics.anchors import Shelf
from siftline.analyze.topics.calibration import calibration_for
from siftline.analyze.topics.cascade import Cascade, CascadeRule
from siftline.analyze.topics.directions import Directions
from siftline.analyze.topics.nli import open_entailment
from siftline.analyze.topics.topic_list import LabelSet, load_labels, shipped_hypotheses, shipped_labels, shipped_news
from siftline.analyze.topics.topic_scoring import TopicRule
from siftline.kit.clock import Clock
from siftline.kit.db import Database
from siftline.models.embedder import OnnxEmbedder
from siftline.models.embedding_models import EmbeddingModels, Opened
from siftline.settings.functions import AnalyzeSettings

JUDGED_TOKENS = 192
"""What the second pass reads of a text: its beginning says what it is about, and time grows with length."""
_TEXT_S = 10.0
"""The longest that reading one text on this machine may take."""


def open_analysis(settings: AnalyzeSettings, database: Database) -> AnalyzeContent:
    """Return the work of ``analyze_content``; which model's vectors count is asked before each text."""
    desks = Desks(settings, database)
    desks.open()
    return AnalyzeContent(
        database,
        desks.open,
        llm=open_llm(settings, database),
        entities=open_entities(settings),
    )


class Desks:
    """Opens what texts are read with, and keeps it for as long as the same model's vectors count. Thread-safe.

    Whenever that is another, everybody is told what texts are read with from now on.
    """

    def __init__(self, settings: AnalyzeSettings, database: Database) -> None:
        self._settings = settings
        self._database = database
        self._models = EmbeddingModels(settings, database)
        self._desk: tuple[Opened, Desk] | None = None
        self._lock = threading.Lock()

    def open(self) -> Desk:
        """Return what texts are read with now. Raises what opening the models raises."""
        opened = self._models.active()
        with self._lock:
            if self._desk is None or self._desk[0] is not opened:
                desk = self._made(opened)
                tell_profile(self._settings, self._database, desk.reader)
                self._desk = (opened, desk)
            return self._desk[1]

    def _made(self, opened: Opened) -> Desk:
        if isinstance(opened.embedder, OnnxEmbedder):
            return Desk(opened.version, open_reader(self._settings, opened.embedder), opened.index)
        reader = open_reader(self._settings, self._models.local())
        return Desk(opened.version, reader, opened.index, opened.embedder)


def open_reader(settings: AnalyzeSettings, embedder: OnnxEmbedder) -> Reader:
    """Return a reader with the topics and the rules that the settings name."""
    shelf = open_shelf(settings, embedder)
    labels = open_labels(settings)
    rules = ReadingRules(
        topics=TopicRule(
            threshold=settings.topic_threshold,
            limit=settings.topics_max,
            calibration=calibration_for(embedder.folder.manifest.model_version, labels),
        ),
        summary=SummaryRule(sentences=settings.summary_sentences),
        tags=TagRule(limit=settings.tags_max),
    )
    return Reader(embedder, shelf, LanguageDetector(), rules, open_cascade(settings, labels))


def open_labels(settings: AnalyzeSettings) -> LabelSet:
    """Return the topics that the settings name."""
    return load_labels(Path(settings.topics_file)) if settings.topics_file else shipped_labels()


def open_shelf(settings: AnalyzeSettings, embedder: OnnxEmbedder) -> Shelf:
    """Return what the topics mean to a model."""
    folders = lambda: [embedder.folder.path(), Path(settings.model_cache_dir)]  # noqa: E731 - asked at the first text
    return Shelf(embedder, open_labels(settings), shipped_news(), folders)


def open_directions(settings: AnalyzeSettings, database: Database, clock: Clock) -> Callable[[], Directions]:
    """Return what tells, at each call, what texts and phrases mean to the model whose vectors count."""
    models = EmbeddingModels(settings, database)
    made: dict[str, Directions] = {}

    def directions() -> Directions:
        opened = models.active()
        version = opened.version
        if version.model_version not in made:
            own = opened.embedder if isinstance(opened.embedder, OnnxEmbedder) else None
            embedder = own or models.local()
            kept = None if own else (version.model_version, version.dimensions)
            shelf = open_shelf(settings, embedder)
            made[version.model_version] = Directions(database, embedder, shelf, clock, kept=kept)
        return made[version.model_version]

    return directions


def open_cascade(settings: AnalyzeSettings, labels: LabelSet) -> Cascade:
    """Return what decides where the first pass is not sure; with no TOPIC_MODEL_URI it asks no model, and says so."""
    judge = (
        open_entailment(
            settings.topic_model_uri,
            settings.model_cache_dir,
            tokens_max=JUDGED_TOKENS,
            threads=settings.model_threads,
        )
        if settings.topic_model_uri
        else None
    )
    rule = CascadeRule(margin=settings.topic_margin, time_s=settings.topic_model_s)
    return Cascade(labels.labels, shipped_hypotheses(), judge, rule)


def longest_s(settings: AnalyzeSettings) -> float:
    """Return the longest that reading one text may take: the language model is asked twice where it is repaired."""
    llm_s = 2 * settings.llm_timeout_s if settings.llm_model else 0.0
    api_s = settings.embedding_api_timeout_s if settings.embedding_api_model else 0.0
    return _TEXT_S + llm_s + api_s
