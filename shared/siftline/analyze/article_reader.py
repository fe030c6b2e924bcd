"""Reads one article: language, vector, topics, summary, tags. Pure but for the models; nothing is written here.

Below a minimum of text, and of what is no text but signs taken for one, nothing is invented: no summary, no tags, no
topics but those that most of its source is about, and the vector of what is there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siftline.analyze.entities.mentions import Named
from siftline.analyze.text import language as languages
from siftline.analyze.text.language import Detected, LanguageDetector, primary_language
from siftline.analyze.text.summary import SummaryRule, centred, summarize
from siftline.analyze.text.tags import TagRule, choose_tags, find_phrases
from siftline.analyze.topics.anchors import ANY, AnchorCache
from siftline.analyze.topics.cascade import Cascade, Decision
from siftline.analyze.topics.own_topics import OwnTopics
from siftline.analyze.topics.topic_list import Label
from siftline.analyze.topics.topic_scoring import (
    MeanRule,
    PullRule,
    Seen,
    Topic,
    TopicRule,
    TopicVerdict,
    classify,
    mean_vector,
    read_directions,
)
from siftline.models.embedder import Embedder
from siftline.text.readable import says_something
from siftline.text.words import letters

INSUFFICIENT = "insufficient_content"
SOURCE_SHARE_MIN = 0.5
"""What says too little is about what its source writes about only where at least this share of the source is."""
SOURCE = "source"
"""The model id of topics that are no model's: those that the source mostly writes about."""
# Go up when what they name is made in another way.
TOPICS_VERSION = "3"
SUMMARY_VERSION = "1"
TAGS_VERSION = "2"
_RANKED_KEPT = 5


@dataclass(frozen=True, slots=True)
class Article:
    """What is read: a title and a text, either may be empty, and the language its page claims."""

    title: str
    text: str
    claimed_language: str | None = None

    @property
    def whole(self) -> str:
        """Title and text as one."""
        title = self.title.strip()
        joint = " " if title.endswith((".", "!", "?", "\u3002", "\uff01", "\uff1f", "\u2026")) else ". "
        return f"{title}{joint}{self.text}" if title else self.text


@dataclass(frozen=True, slots=True)
class Derivation:
    """What made one of the derived values."""

    kind: str
    model_id: str
    model_version: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArticleLanguage:
    """The language an article is read in: what was detected, else what its page claims, else none."""

    code: str | None
    detected: Detected | None

    @property
    def group(self) -> str:
        """The language whose running mean it belongs to."""
        return self.code or ANY


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Everything that reading an article gave. ``vector`` is ``None`` only where there is no letter at all."""

    language: str | None
    vector: NDArray[np.float32] | None
    topics: tuple[Topic, ...]
    summary: str | None
    tags: tuple[str, ...]
    notice_code: str | None
    derivations: tuple[Derivation, ...]
    entities: tuple[Named, ...] = ()

    @property
    def best_topic(self) -> str | None:
        """The topic whose share of the running mean learns from this article; none where the text told none."""
        return self.topics[0].topic if self.topics and self.notice_code != INSUFFICIENT else None


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """How articles are read; each rule is explained where it is used."""

    letters_min: int = 120
    """A text that says less (in letters) is insufficient."""
    topics: TopicRule = field(default_factory=TopicRule)
    means: MeanRule = field(default_factory=MeanRule)
    pull: PullRule = field(default_factory=PullRule)
    summary: SummaryRule = field(default_factory=SummaryRule)
    tags: TagRule = field(default_factory=TagRule)


class Reader:
    """Reads articles with one embedding model and one set of topics."""

    def __init__(
        self,
        embedder: Embedder,
        anchor_cache: AnchorCache,
        detector: LanguageDetector,
        rules: ReadingRules = ReadingRules(),
        cascade: Cascade | None = None,
    ) -> None:
        self._embedder = embedder
        self._anchors = anchor_cache
        self._cascade = cascade or Cascade(anchor_cache.labels, {}, None)
        self._detector = detector
        self._rules = rules

    @property
    def model_version(self) -> str:
        """The version of the vectors."""
        return self._embedder.model_version

    @property
    def dimensions(self) -> int:
        """The length of the vectors."""
        return self._embedder.dimensions

    @property
    def label_digests(self) -> tuple[str, ...]:
        """What tells apart the set of topics that texts are sorted with, by language."""
        return tuple(self._anchors.digest(language) for language in self._anchors.languages)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The topics that texts are sorted into."""
        return self._anchors.labels

    def own_topics(self) -> OwnTopics:
        """Return what compares texts with topics of a user's own, beside the default ones."""
        return OwnTopics(self._embedder, self._anchors, self._rules.topics, self._rules.means, self._rules.pull)

    def language_of(self, article: Article) -> ArticleLanguage:
        """Return the language an article is read in."""
        detected = self._detector.detect(article.whole)
        return ArticleLanguage(detected.language if detected else primary_language(article.claimed_language), detected)

    def read(
        self, article: Article, language: ArticleLanguage, seen: Mapping[str, Seen], prior: Sequence[Topic] = ()
    ) -> Reading:
        """Read an article. Takes a good part of a second, and more where the second pass is asked.

        ``seen`` is what the running mean of its language has learnt; ``prior`` what its source mostly writes about,
        scored by its share: it counts where the text alone leaves the topic open, and from ``SOURCE_SHARE_MIN`` on
        instead of a text that says too little. Raises ``UnusableVectorError`` or a ``ConfigurationError`` of a model.
        """
        derivations = [_language_derivation(language.detected)] if language.detected else []
        vector = self._embedder.embed_passage(article.whole) if letters(article.whole) else None
        if vector is not None:
            derivations.append(Derivation("embedding", self._embedder.model_id, self.model_version))
        if vector is None or not self._says_enough(article, language):
            topics = self._rules.topics.counted([one for one in prior if one.score >= SOURCE_SHARE_MIN])
            derivations += [_source_derivation(prior)] if topics else []
            return Reading(language.code, vector, topics, None, (), INSUFFICIENT, tuple(derivations))
        anchors = self._anchors.of(language.code)
        mean = mean_vector(anchors, self._anchors.topics, seen, self._rules.means)
        directions = read_directions(anchors, mean, self._anchors.topics, seen, self._rules.pull)
        verdict = classify(vector, mean, self._anchors.topics, directions, self._rules.topics)
        decision = self._cascade.decide(article.whole, language.code, verdict, prior, self._rules.topics)
        summary = summarize(article.text, vector, mean, self._embedder, language.code, self._rules.summary)
        phrases = find_phrases(article.title, article.text, language.code, self._rules.tags)
        tags = choose_tags(phrases, centred(vector, mean), anchors.term_mean, self._embedder, self._rules.tags)
        derivations += [
            self._topics_derivation(verdict, decision, language, seen),
            self._derivation("summary", SUMMARY_VERSION, {"sentences": list(summary.places)}),
            self._derivation("tags", TAGS_VERSION, {"candidates": len(phrases)}),
        ]
        return Reading(language.code, vector, decision.topics, summary.text, tags, None, tuple(derivations))

    def _says_enough(self, article: Article, language: ArticleLanguage) -> bool:
        if letters(article.text) < self._rules.letters_min:
            return False
        return says_something(article.text, in_a_language=language.detected is not None)

    def _topics_derivation(
        self, verdict: TopicVerdict, decision: Decision, language: ArticleLanguage, seen: Mapping[str, Seen]
    ) -> Derivation:
        details = {
            "margin": round(verdict.margin, 4),
            "ranking": _pairs(decision.ranking[:_RANKED_KEPT]),
            "first_pass": _pairs(verdict.ranking[:_RANKED_KEPT]),
            **decision.details,
            "labels": self._anchors.digest(language.group),
            "mean_documents": sum(found.documents for found in seen.values()),
        }
        return self._derivation("topics", TOPICS_VERSION, details)

    def _derivation(self, kind: str, version: str, details: Mapping[str, Any]) -> Derivation:
        return Derivation(kind, self._embedder.model_id, f"{self.model_version}/{kind}-{version}", details)


def _pairs(topics: Sequence[Topic]) -> list[tuple[str, float]]:
    return [(topic.topic, topic.score) for topic in topics]


def _source_derivation(prior: Sequence[Topic]) -> Derivation:
    return Derivation("topics", SOURCE, f"source/topics-{TOPICS_VERSION}", {"source": _pairs(prior)})


def _language_derivation(detected: Detected) -> Derivation:
    details = {"probability": round(detected.probability, 4)}
    return Derivation("language", languages.MODEL_ID, languages.MODEL_VERSION, details)
