"""Where the step that finds whom a text is about is put together."""

from siftline.analyze.entities.entity_rules import RuleRecognizer
from siftline.analyze.entities.entity_step import EntityStep
from siftline.analyze.entities.mentions import Recognizer
from siftline.kit.aws import secret
from siftline.settings.functions import AnalyzeSettings

_WINDOW_TOKENS = 256
"""What a model reads of a text at a time: its memory grows with their square."""


def open_entities(settings: AnalyzeSettings) -> EntityStep:
    """Return the step; a model's manifest is read now, where one is set, its files at the first text."""
    return EntityStep(
        _recognizer(settings),
        salt=secret(settings.entity_salt.get_secret_value()),
        resolves=bool(settings.providers()),
        max_attempts=settings.job_max_attempts,
    )


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
