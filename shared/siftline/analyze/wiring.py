"""Where the parts of reading are put together."""

from collections.abc import Callable
from pathlib import Path

from siftline.analyze.anchors import Shelf
from siftline.analyze.calibration import calibration_for
from siftline.analyze.cascade import Cascade, CascadeRule
from siftline.analyze.directions import Directions
from siftline.analyze.entity_wiring import open_entities
from siftline.analyze.labels import LabelSet, load_labels, shipped_hypotheses, shipped_labels, shipped_news
from siftline.analyze.language import LanguageDetector
from siftline.analyze.llm_wiring import open_llm
from siftline.analyze.nli import open_entailment
from siftline.analyze.reader import Reader, ReadingRules
from siftline.analyze.service import AnalyzeContent
from siftline.analyze.summary import SummaryRule
from siftline.analyze.tags import TagRule
from siftline.analyze.topics import TopicRule
from siftline.kit.aws import secret
from siftline.kit.clock import Clock
from siftline.kit.db import Database
from siftline.kit.embedder import OnnxEmbedder, open_embedder
from siftline.kit.vectors import VectorIndex
from siftline.settings import AnalyzeSettings


def open_analysis(settings: AnalyzeSettings, database: Database) -> AnalyzeContent:
    """Return the work of ``analyze_content``; the model's manifest is read now, its files at the first text."""
    embedder = _embedder(settings)
    index = VectorIndex(
        settings.qdrant_url,
        model_version=embedder.model_version,
        dimensions=embedder.dimensions,
        api_key=secret(settings.qdrant_api_key.get_secret_value()),
    )
    reader = open_reader(settings, embedder)
    return AnalyzeContent(
        database,
        reader,
        index,
        llm=open_llm(settings, database),
        cluster_every=settings.cluster_every,
        entities=open_entities(settings),
    )


def open_reader(settings: AnalyzeSettings, embedder: OnnxEmbedder) -> Reader:
    """Return a reader with the topics and the rules that the settings name."""
    shelf = open_shelf(settings, embedder)
    labels = open_labels(settings)
    rules = ReadingRules(
        letters_min=settings.text_letters_min,
        topics=TopicRule(
            threshold=settings.topic_threshold,
            limit=settings.topics_max,
            calibration=calibration_for(embedder.model_version, labels),
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
    """Return what tells, at each call, what texts and phrases mean: for the scores of items."""
    embedder = _embedder(settings)
    directions = Directions(database, embedder, open_shelf(settings, embedder), clock)
    return lambda: directions


def open_cascade(settings: AnalyzeSettings, labels: LabelSet) -> Cascade:
    """Return what decides where the first pass is not sure; with no TOPIC_MODEL_URI it asks no model, and says so."""
    judge = (
        open_entailment(
            settings.topic_model_uri,
            settings.model_cache_dir,
            tokens_max=settings.topic_model_tokens,
            threads=settings.model_threads,
        )
        if settings.topic_model_uri
        else None
    )
    rule = CascadeRule(
        margin=settings.topic_margin, candidates=settings.topic_candidates, time_s=settings.topic_model_s
    )
    return Cascade(labels.labels, shipped_hypotheses(), judge, rule)


def _embedder(settings: AnalyzeSettings) -> OnnxEmbedder:
    return open_embedder(
        settings.model_uri,
        settings.model_cache_dir,
        tokens_max=settings.embedding_tokens,
        threads=settings.model_threads,
    )
