"""Where the parts that ask a language model are put together."""

from pathlib import Path

from siftline.analyze.llm.llm_asking import Asking
from siftline.analyze.llm.llm_prompt import ReplyLimits
from siftline.analyze.llm.llm_reader import LlmReader, LlmRule
from siftline.analyze.text.language import LanguageDetector
from siftline.analyze.topics.topic_list import load_labels, shipped_labels
from siftline.kit.db import Database
from siftline.models.llm_wiring import open_priced_model
from siftline.settings.functions import AnalyzeSettings


def open_llm(settings: AnalyzeSettings, database: Database) -> LlmReader | None:
    """Return what asks the language model that the settings name; ``None`` where they name none.

    Raises ``LlmPriceUnknownError``. The client is opened, and its key asked for, at the first text.
    """
    priced = open_priced_model(settings, database)
    if priced is None:
        return None
    labels = load_labels(Path(settings.topics_file)) if settings.topics_file else shipped_labels()
    rule = LlmRule(
        asked_for=settings.llm_for,
        margin=settings.topic_margin,
        input_chars=settings.llm_input_chars,
        summary_language=settings.llm_summary_language or None,
        topic_threshold=settings.topic_threshold,
        limits=ReplyLimits(topics=settings.topics_max, tags=settings.tags_max),
    )
    return LlmReader(database, Asking(priced), labels.labels, LanguageDetector(), rule)
