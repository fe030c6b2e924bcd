"""Entities of labelled sentences, found the way the product finds them: exact spans beside those of people.

The sets lie beside this repository (``shared/corpora/text``: WikiNEuRal, Tedeschi et al. 2021, a thousand sentences of
each test set; IOB tags). Where one is missing it says so. Nothing was tuned on them: the rules know no sentence of
theirs, and this prints figures only.
"""

import csv
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from siftline.analyze.entities import Kind, Recognizer
from siftline.analyze.entity_rules import RuleRecognizer

_CORPORA = Path(__file__).resolve().parents[2] / "shared" / "corpora" / "text"
_LANGUAGES = ("en", "fr", "de", "es")
# What spaCy's small models reach on the same kind of set, as handed to this project; they are not on the package index.
_TRAINED = {"en": 0.50, "fr": 0.61}
_Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as one text, and the places of its organisations."""

    text: str
    organisations: frozenset[_Place]


@dataclass(frozen=True, slots=True)
class Score:
    """How many places were found, how many there are, how many of both agree."""

    found: int
    there: int
    right: int

    @property
    def precision(self) -> float:
        """The share of what was found that is right."""
        return self.right / max(self.found, 1)

    @property
    def recall(self) -> float:
        """The share of what is there that was found."""
        return self.right / max(self.there, 1)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.right / max(self.found + self.there, 1)


def sentences_of(file: Path) -> Iterator[Sentence]:
    """Yield a file's sentences: columns ``sent_id``, ``token``, ``tag``; tokens are joined by single spaces."""
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    by_sentence: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        by_sentence.setdefault(row["sent_id"], []).append((row["token"], row["tag"]))
    for words in by_sentence.values():
        yield _sentence(words)


def _sentence(words: Sequence[tuple[str, str]]) -> Sentence:
    places: list[_Place] = []
    at, before = 0, "O"
    for token, tag in words:
        end = at + len(token)
        if tag == "I-ORG" and before in {"B-ORG", "I-ORG"}:
            places[-1] = (places[-1][0], end)
        elif tag.endswith("-ORG"):
            places.append((at, end))
        at, before = end + 1, tag
    return Sentence(" ".join(token for token, _ in words), frozenset(places))


def score(sentences: Sequence[Sentence], recognizer: Recognizer, language: str) -> Score:
    """Return how well a recogniser finds the organisations, by exact spans."""
    found = there = right = 0
    for sentence in sentences:
        mentions = recognizer.recognize(sentence.text, language)
        places = {(mention.start, mention.end) for mention in mentions if mention.kind is Kind.ORGANISATION}
        found += len(places)
        there += len(sentence.organisations)
        right += len(places & sentence.organisations)
    return Score(found, there, right)


def main() -> None:
    """Print precision, recall and F1 of organisations a language."""
    recognizer = RuleRecognizer()
    print(f"ORG, exact spans, recogniser {recognizer.model_id}-{recognizer.model_version}")
    for language in _LANGUAGES:
        file = _CORPORA / f"wikineural_{language}_test1000.csv"
        if not file.is_file():
            print(f"  {language}  skipped: {file.name} is not there")
            continue
        sentences = list(sentences_of(file))
        started = time.perf_counter()
        got = score(sentences, recognizer, language)
        each_ms = (time.perf_counter() - started) * 1000 / max(len(sentences), 1)
        trained = f"   spaCy small, as its users measured: {_TRAINED[language]:.2f}" if language in _TRAINED else ""
        print(
            f"  {language}  P {got.precision:.3f}  R {got.recall:.3f}  F1 {got.f1:.3f}  "
            f"({got.there} in {len(sentences)} sentences, {each_ms:.2f} ms each){trained}"
        )


if __name__ == "__main__":
    main()
