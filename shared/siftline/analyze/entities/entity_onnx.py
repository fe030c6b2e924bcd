"""Names by a model: token classification (BIO, BILOU or IOBES labels) in ONNX on the processor.

A model folder says in its manifest what its outputs mean (``task`` is ``token``, ``labels`` in their order). A long
text is read in windows that end with sentences where they can; a name is where its words stand, whatever the tokens.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from tokenizers import Encoding

from siftline.analyze.entities.mentions import Kind, Mention
from siftline.models.model_folders import ModelFolder, ModelUnavailableError
from siftline.models.onnx_model import ModelUnfitError, OnnxModel, model_errors_as

_KINDS = {
    "ORG": Kind.ORGANISATION,
    "ORGANIZATION": Kind.ORGANISATION,
    "CORP": Kind.ORGANISATION,
    "PER": Kind.PERSON,
    "PERSON": Kind.PERSON,
    "LOC": Kind.PLACE,
    "LOCATION": Kind.PLACE,
    "GPE": Kind.PLACE,
}
_OPENS, _CLOSES = frozenset("BUS"), frozenset("LEUS")
_CHARS_PER_TOKEN = 8
_SURROGATES = re.compile("[\ud800-\udfff]")
_SENTENCE_ENDS = re.compile(r"[.!?\u3002\uff01\uff1f]+[\"'\u201d\u00bb)]*(?=\s|$)|\n|\u3002")
_SPACE = re.compile(r"\s")


class EntityModelUnfitError(ModelUnfitError):
    """ENTITY_MODEL_URI names no folder of a model of token classification that can be loaded."""

    code = "entity_model_unfit"
    provider = "entity_model"


class EntityModelUnavailableError(ModelUnavailableError):
    """The model of names could not be fetched now."""

    code = "entity_model_unavailable"
    provider = "entity_model"


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    end: int
    label: str


class OnnxRecognizer:
    """A recogniser over a model folder; its files are fetched and loaded at the first text.

    Its errors are ``EntityModelUnfitError`` and ``EntityModelUnavailableError``.
    """

    def __init__(self, uri: str, cache_folder: Path, *, tokens_max: int | None = None, threads: int = 2) -> None:
        with model_errors_as(EntityModelUnfitError, EntityModelUnavailableError, "ENTITY_MODEL_URI"):
            folder = ModelFolder(uri, cache_folder)
        self._manifest = folder.manifest
        if self._manifest.task != "token":
            raise EntityModelUnfitError(
                f"ENTITY_MODEL_URI is a model for {self._manifest.task}, not for token classification."
            )
        self._model = OnnxModel(folder, tokens_max=tokens_max, threads=threads)

    @property
    def model_id(self) -> str:
        """The model's name, from its manifest."""
        return self._manifest.model_id

    @property
    def model_version(self) -> str:
        """The model's version, from its manifest."""
        return self._manifest.model_version

    def recognize(self, text: str, language: str | None) -> Sequence[Mention]:  # noqa: ARG002 - the model tells
        """Return the mentions in order, none overlapping another."""
        mentions: list[Mention] = []
        clean = _SURROGATES.sub("?", text)
        with model_errors_as(EntityModelUnfitError, EntityModelUnavailableError, "ENTITY_MODEL_URI"):
            for start, encoding in self._windows(clean):
                mentions += _mentions(clean, self._words(clean, start, encoding))
        return mentions

    def _windows(self, text: str) -> Iterator[tuple[int, Encoding]]:
        """Yield where each window begins, and its tokens."""
        start = 0
        while start < len(text):
            window = text[start : start + self._model.tokens_max * _CHARS_PER_TOKEN]
            encoding = self._model.encode(window)
            fits = max((end for _, end in encoding.offsets), default=0) if encoding.overflowing else len(window)
            end = start + (fits if start + fits == len(text) else _cut(window, fits))
            if end < start + len(window):
                encoding = self._model.encode(text[start:end])
            yield start, encoding
            start = end

    def _words(self, text: str, start: int, encoding: Encoding) -> Iterator[_Word]:
        """Yield words with the label of their first token; a sign is a word of its own."""
        logits = self._model.run(encoding)
        labels = self._manifest.labels
        if logits.shape != (len(encoding.ids), len(labels)):
            raise EntityModelUnfitError(
                f"The model returned {logits.shape}, but its manifest states {len(labels)} labels per token."
            )
        best = np.nan_to_num(logits.astype(np.float64), nan=-np.inf).argmax(axis=-1)
        word: _Word | None = None
        before: int | None = None
        for place, (word_id, (left, right)) in enumerate(zip(encoding.word_ids, encoding.offsets, strict=True)):
            if word_id is None or left == right:
                continue
            sign = not any(char.isalnum() for char in text[start + left : start + right])
            if word is not None and word_id == before and not sign:
                word = _Word(word.start, start + right, word.label)
                continue
            if word is not None:
                yield word
            word = _Word(start + left, start + right, labels[int(best[place])])
            before = None if sign else word_id
        if word is not None:
            yield word


def _mentions(text: str, words: Iterator[_Word]) -> Iterator[Mention]:
    """Yield the names that labelled words make: a name goes on with I, L or E of the kind that it began with."""
    here: tuple[int, int, Kind] | None = None
    for word in words:
        position, _, name = word.label.partition("-")
        kind = _KINDS.get(name.upper())
        goes_on = here is not None and kind is here[2] and position not in _OPENS
        if here is not None and not goes_on:
            yield from _stripped(text, here[0], here[1], here[2])
            here = None
        if kind is not None:
            here = (here[0] if here else word.start, word.end, kind)
            if position in _CLOSES:
                yield from _stripped(text, here[0], here[1], kind)
                here = None
    if here is not None:
        yield from _stripped(text, here[0], here[1], here[2])


def _stripped(text: str, start: int, end: int, kind: Kind) -> Iterator[Mention]:
    """Yield a mention without the white space that some tokenizers count to their tokens."""
    piece = text[start:end]
    left, right = start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
    if left < right:
        yield Mention(left, right, kind)


def _cut(window: str, fits: int) -> int:
    """Return where a window of which only the beginning fits ends: behind a sentence, else a word, else a token."""
    kept = window[: max(fits, 1)]
    sentence = max((match.end() for match in _SENTENCE_ENDS.finditer(kept)), default=0)
    if sentence:
        return sentence
    space = max((match.end() for match in _SPACE.finditer(kept)), default=0)
    return space or len(kept)


@cache
def open_recognizer(uri: str, cache_folder: str, *, tokens_max: int | None = None, threads: int = 2) -> OnnxRecognizer:
    """Return this process's model of names: its manifest is read now, its files at the first text."""
    return OnnxRecognizer(uri, Path(cache_folder), tokens_max=tokens_max, threads=threads)
