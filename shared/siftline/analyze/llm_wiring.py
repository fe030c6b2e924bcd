"""Where the parts that ask a language model are put together."""

from pathlib import Path

from siftline.analyze.labels import load_labels, shipped_labels
from siftline.analyze.language import LanguageDetector
from siftline.analyze.llm import CallOptions, LanguageModel
from siftline.analyze.llm_asking import Asking, AskingRule
from siftline.analyze.llm_prices import price_of
from siftline.analyze.llm_prompt import ReplyLimits
from siftline.analyze.llm_reader import LlmReader, LlmRule
from siftline.jobs.spending_store import Caps
from siftline.kit.aws import secret
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.settings import AnalyzeSettings

_MICRO = 1_000_000


def open_llm(settings: AnalyzeSettings, database: Database) -> LlmReader | None:
    """Return what asks the language model that the settings name; ``None`` where they name none.

    Raises ``LlmPriceUnknownError``. The client is opened, and its key asked for, at the first text.
    """
    if not settings.llm_model:
        return None
    labels = load_labels(Path(settings.topics_file)) if settings.topics_file else shipped_labels()
    clock = SystemClock()
    model = LanguageModel(
        model=settings.llm_model,
        base_url=settings.llm_base_url,
        api_key=lambda: secret(settings.llm_api_key.get_secret_value()),
        timeout_s=settings.llm_timeout_s,
        clock=clock,
        options=CallOptions(settings.llm_format, settings.llm_tokens_field),
    )
    price = price_of(settings.llm_model, settings.llm_usd_per_million_in, settings.llm_usd_per_million_out)
    caps = Caps(round(settings.llm_usd_per_day * _MICRO), round(settings.llm_usd_per_user_per_day * _MICRO))
    asking = Asking(
        database,
        model,
        price,
        AskingRule(caps, output_tokens=settings.llm_output_tokens, patience_s=settings.llm_patience_s),
        clock,
    )
    rule = LlmRule(
        asked_for=settings.llm_for,
        margin=settings.topic_margin,
        input_chars=settings.llm_input_chars,
        summary_language=settings.llm_summary_language or None,
        topic_threshold=settings.topic_threshold,
        limits=ReplyLimits(topics=settings.topics_max, tags=settings.tags_max),
    )
    return LlmReader(database, asking, labels.labels, LanguageDetector(), rule)
