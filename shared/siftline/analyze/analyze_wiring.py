"""Where the parts of reading are put together."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from siftline.analyze.analyze_service import AnalyzeContent, ReadingSetup
from siftline.analyze.article_reader import SOURCE, SUMMARY_VERSION, TAGS_VERSION, TOPICS_VERSION, Reader, ReadingRules
from siftline.analyze.entities.entity_rules import RuleRecognizer
from siftline.analyze.entities.entity_step import EntityStep, told_version
from siftline.analyze.entities.mentions import Recognizer
from siftline.analyze.llm.llm_prompt import ReplyLimits, prompt_version
from siftline.analyze.llm.llm_reader import Asking, LlmReader, LlmRule
from siftline.analyze.text import language
from siftline.analyze.text.language import LanguageDetector
from siftline.analyze.text.summary import SummaryRule
from siftline.analyze.text.tags import TagRule
from siftline.analyze.topics.anchors import AnchorCache
from siftline.analyze.topics.cascade import Cascade, CascadeRule
from siftline.analyze.topics.directions import Directions
from siftline.analyze.topics.labelling import LabelUser
from siftline.analyze.topics.nli import open_entailment
from siftline.analyze.topics.own_topics import OwnTopics
from siftline.analyze.topics.topic_list import (
    LabelSet,
    load_labels,
    shipped_hypotheses,
    shipped_labels,
    shipped_news,
)
from siftline.analyze.topics.topic_scoring import TopicRule, calibration_for
from siftline.catalog import reading_profile_store
from siftline.catalog.reading_profile_store import LlmProfile, ReadingProfile
from siftline.kit.aws import secret
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Database
from siftline.models.embedder import OnnxEmbedder
from siftline.models.embedding_models import EmbeddingModels, Opened
from siftline.models.llm import open_priced_model, price_of
from siftline.settings.functions import AnalyzeSettings

JUDGED_TOKENS = 192
"""What the second pass reads of a text: its beginning says what it is about, and time grows with length."""
_TEXT_S = 10.0
"""The longest that reading one text on this machine may take."""
_WINDOW_TOKENS = 256
"""What a model reads of a text at a time: its memory grows with their square."""
_MADE_HERE: Mapping[str, str] = {"topics": TOPICS_VERSION, "summary": SUMMARY_VERSION, "tags": TAGS_VERSION}


def open_analysis(settings: AnalyzeSettings, database: Database) -> AnalyzeContent:
    """Return the work of ``analyze_content``; which model's vectors count is asked before each text."""
    setups = ReadingSetups(settings, database)
    setups.open()
    return AnalyzeContent(
        database,
        setups.open,
        llm=open_llm(settings, database),
        entities=open_entities(settings),
    )


def open_labelling(settings: AnalyzeSettings, database: Database) -> LabelUser:
    """Return the work of ``label_user``; which model's vectors count is asked before each run."""
    setups = ReadingSetups(settings, database)
    setups.open()

    def open_own() -> OwnTopics:
        return setups.open().reader.own_topics()

    return LabelUser(database, open_own, SystemClock())


class ReadingSetups:
    """Opens what texts are read with, and keeps it for as long as the same model's vectors count. Thread-safe.

    Whenever that is another, everybody is told what texts are read with from now on.
    """

    def __init__(self, settings: AnalyzeSettings, database: Database) -> None:
        self._settings = settings
        self._database = database
        self._models = EmbeddingModels(settings, database)
        self._setup: tuple[Opened, ReadingSetup] | None = None
        self._lock = threading.Lock()

    def open(self) -> ReadingSetup:
        """Return what texts are read with now. Raises what opening the models raises."""
        opened = self._models.active()
        with self._lock:
            if self._setup is None or self._setup[0] is not opened:
                setup = self._made(opened)
                tell_profile(self._settings, self._database, setup.reader)
                self._setup = (opened, setup)
            return self._setup[1]

    def _made(self, opened: Opened) -> ReadingSetup:
        if isinstance(opened.embedder, OnnxEmbedder):
            return ReadingSetup(opened.version, open_reader(self._settings, opened.embedder), opened.index)
        reader = open_reader(self._settings, self._models.local())
        return ReadingSetup(opened.version, reader, opened.index, opened.embedder)


def open_reader(settings: AnalyzeSettings, embedder: OnnxEmbedder) -> Reader:
    """Return a reader with the topics and the rules that the settings name."""
    anchor_cache = open_anchors(settings, embedder)
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
    return Reader(embedder, anchor_cache, LanguageDetector(), rules, open_cascade(settings, labels))


def open_labels(settings: AnalyzeSettings) -> LabelSet:
    """Return the topics that the settings name."""
    return load_labels(Path(settings.topics_file)) if settings.topics_file else shipped_labels()


def open_anchors(settings: AnalyzeSettings, embedder: OnnxEmbedder) -> AnchorCache:
    """Return what the topics mean to a model."""
    folders = lambda: [embedder.folder.path(), Path(settings.model_cache_dir)]  # noqa: E731 - asked at the first text
    return AnchorCache(embedder, open_labels(settings), shipped_news(), folders)


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
            anchor_cache = open_anchors(settings, embedder)
            made[version.model_version] = Directions(database, embedder, anchor_cache, clock, kept=kept)
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


def open_llm(settings: AnalyzeSettings, database: Database) -> LlmReader | None:
    """Return what asks the language model that the settings name; ``None`` where they name none.

    Raises ``LlmPriceUnknownError``. The client is opened, and its key asked for, at the first text.
    """
    priced = open_priced_model(settings, database)
    if priced is None:
        return None
    labels = open_labels(settings)
    rule = LlmRule(
        asked_for=settings.llm_for,
        margin=settings.topic_margin,
        input_chars=settings.llm_input_chars,
        summary_language=settings.llm_summary_language or None,
        topic_threshold=settings.topic_threshold,
        limits=ReplyLimits(topics=settings.topics_max, tags=settings.tags_max),
    )
    return LlmReader(database, Asking(priced), labels.labels, LanguageDetector(), rule)


def open_entities(settings: AnalyzeSettings) -> EntityStep:
    """Return the step; a model's manifest is read now, where one is set, its files at the first text."""
    return EntityStep(
        _recognizer(settings),
        salt=secret(settings.entity_salt.get_secret_value()),
        resolves=bool(settings.providers()),
        max_attempts=settings.job_max_attempts,
    )


def profile_of(reader: Reader, entities: EntityStep | None, llm: LlmProfile | None) -> ReadingProfile:
    """Return what a reader, with all that comes after it, reads texts with."""
    versions = {kind: [f"{reader.model_version}/{kind}-{recipe}"] for kind, recipe in _MADE_HERE.items()}
    versions["topics"].append(f"{SOURCE}/topics-{TOPICS_VERSION}")
    versions["language"] = [language.MODEL_VERSION]
    versions["entities"] = [] if entities is None else [entities.version]
    if llm is not None and llm.asked_for != "never":
        for kind in _MADE_HERE:
            versions[kind].append(f"{llm.model}/prompt-{prompt_version()}")
        versions["entities"].append(told_version(llm.model, prompt_version()))
    topics = [
        {"id": label.id, "descriptions": {lang: ", ".join(terms) for lang, terms in sorted(label.terms.items())}}
        for label in reader.labels
    ]
    return ReadingProfile(topics, versions, reader.label_digests, llm)


def tell_profile(settings: AnalyzeSettings, database: Database, reader: Reader) -> None:
    """Tell everybody what this reader, as these settings have it, reads texts with."""
    profile = profile_of(reader, open_entities(settings), _llm_profile(settings))
    with database.transaction() as connection:
        reading_profile_store.tell(connection, profile)


def longest_s(settings: AnalyzeSettings) -> float:
    """Return the longest that reading one text may take: the language model is asked twice where it is repaired."""
    llm_s = 2 * settings.llm_timeout_s if settings.llm_model else 0.0
    api_s = settings.embedding_api_timeout_s if settings.embedding_api_model else 0.0
    return _TEXT_S + llm_s + api_s


def _recognizer(settings: AnalyzeSettings) -> Recognizer:
    if not settings.entity_model_uri:
        return RuleRecognizer()
    from siftline.analyze.entities.entity_onnx import open_recognizer  # noqa: PLC0415 - only where a model is set

    return open_recognizer(
        settings.entity_model_uri,
        settings.model_cache_dir,
        tokens_max=_WINDOW_TOKENS,
        threads=settings.model_threads,
    )


def _llm_profile(settings: AnalyzeSettings) -> LlmProfile | None:
    if not settings.llm_model:
        return None
    price = price_of(settings.llm_model, settings.llm_usd_per_million_in, settings.llm_usd_per_million_out)
    return LlmProfile(
        model=settings.llm_model,
        asked_for=settings.llm_for,
        usd_per_million_in=price.usd_per_million_in,
        usd_per_million_out=price.usd_per_million_out,
        usd_per_day=settings.llm_usd_per_day,
    )
