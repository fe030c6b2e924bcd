"""Has a language model read what the local models are not sure of, as far as there is money for it.

What is good of its reply takes the place of what was made here; where nothing is, what was made here stands, and its
derivations say why. No failure of the model is one of the article, but those that an operator must mend or that pass:

- it wants to be asked later, or cannot be reached: the job is put off, at no attempt, for ``patience_s`` at most;
- it fails otherwise: the job is tried once more; then what was made here is good enough;
- it is set up wrongly: the breaker of ``llm`` opens and all wait;
- it refuses this text and takes others: the text is read here, and not asked about again.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from uuid import UUID

from siftline.analyze.article_reader import Article, ArticleLanguage, Derivation, Reading
from siftline.analyze.entities.mentions import Kind, Mention
from siftline.analyze.llm import llm_store
from siftline.analyze.llm.llm_asking import Asking, Context
from siftline.analyze.llm.llm_prompt import Question, ReplyLimits, prompt_version
from siftline.analyze.llm.llm_reply import Reply, ReplyEntity
from siftline.analyze.llm.llm_store import Asked, KeptReply
from siftline.analyze.text.language import Detected
from siftline.analyze.topics.topic_list import Label
from siftline.analyze.topics.topic_scoring import Topic
from siftline.jobs.job_model import ClaimedJob
from siftline.kit.db import Database
from siftline.models.llm import PROVIDER, TEXT_REFUSED
from siftline.text.folding import visible

_DESCRIBED_IN = "en"
_MADE = ("topics", "summary", "tags")
_KINDS: Mapping[str, Kind] = {
    "organisation": Kind.ORGANISATION,
    "person": Kind.PERSON,
    "place": Kind.PLACE,
}


class Detector(Protocol):
    """Tells languages; ``siftline.analyze.text.language.LanguageDetector`` is one."""

    def detect(self, text: str) -> Detected | None:
        """Return the language of a text, or ``None`` where it is not sure."""
        ...


@dataclass(frozen=True, slots=True)
class LlmRule:
    """When the model is asked, and about how much."""

    asked_for: str = "unsure"
    """``always``, ``unsure`` (the first pass's lead is below ``margin``) or ``never``."""
    margin: float = 0.05
    input_chars: int = 12_000
    summary_language: str | None = None
    """The language of summaries (ISO 639); ``None``: that of the text."""
    topic_threshold: float = 0.3
    limits: ReplyLimits = field(default_factory=ReplyLimits)


class ToldNames:
    """A recogniser (``entities.mentions.Recognizer``) of the names told for one text; other kinds are left.

    They are found in the text again: what the model made up stands nowhere.
    """

    def __init__(self, names: Sequence[ReplyEntity], model_id: str, model_version: str) -> None:
        self._kinds = {" ".join(one.name.split()).casefold(): _KINDS[one.type] for one in names if one.type in _KINDS}
        self.model_id = model_id
        self.model_version = model_version

    def recognize(self, text: str, language: str | None) -> Sequence[Mention]:  # noqa: ARG002 - as recognisers are asked
        """Return where these names stand, whole words only; where one holds another, the longer."""
        if not self._kinds:
            return []
        longest_first = sorted(self._kinds, key=lambda name: (-len(name), name))
        names = "|".join(r"\s+".join(map(re.escape, name.split())) for name in longest_first)
        found = re.finditer(rf"(?<!\w)(?:{names})(?!\w)", text, re.IGNORECASE)
        return [
            Mention(match.start(), match.end(), self._kinds[name])
            for match in found
            if (name := " ".join(match.group().split()).casefold()) in self._kinds
        ]


@dataclass(frozen=True, slots=True)
class Improved:
    """A reading, and what finds the names in the text that the model told; ``None`` where it told none."""

    reading: Reading
    names: ToldNames | None = None


class LlmReader:
    """Improves readings."""

    provider = PROVIDER

    def __init__(
        self, database: Database, asking: Asking, labels: Sequence[Label], detector: Detector, rule: LlmRule = LlmRule()
    ) -> None:
        self._database = database
        self._asking = asking
        self._labels = labels
        self._detector = detector
        self._rule = rule

    def improve(
        self, job: ClaimedJob, content_id: UUID, article: Article, language: ArticleLanguage, reading: Reading
    ) -> Improved:
        """Return the reading with what the model says in place of what it says better, or as it is.

        Raises ``LlmMisconfiguredError``, and a ``TransientError`` where the job is to be tried again later.
        """
        if not self._wanted(reading):
            return Improved(reading)
        summary_language = self._rule.summary_language or language.code
        title, text = visible(article.title)[:500], visible(article.text)[: self._rule.input_chars]
        question = Question(title, text, summary_language, self._described(language.code), self._rule.limits)
        asked = Asked(content_id, question.sha256(), prompt_version(), self._asking.model_id)
        with self._database.transaction() as connection:
            kept = llm_store.kept_reply(connection, asked)
        if kept is None:
            context = Context(question, _ranking(reading), language.code, self._detector.detect)
            kept = self._asking.ask(job, asked, context)
            if kept.reason == TEXT_REFUSED:  # it would be so again
                with self._database.transaction() as connection:
                    llm_store.keep_reply(connection, asked, kept)
        if kept.reply is None:
            return Improved(_noted(reading, {"llm": kept.reason}))
        return self._merged(reading, kept)

    def _wanted(self, reading: Reading) -> bool:
        """Only what has enough text, and what the local models are not sure of, is worth money."""
        if reading.notice_code is not None or self._rule.asked_for == "never":
            return False
        margin = next((made.details.get("margin") for made in reading.derivations if made.kind == "topics"), None)
        return self._rule.asked_for == "always" or margin is None or margin < self._rule.margin

    def _described(self, language: str | None) -> Mapping[str, str]:
        """Return what each topic is about, in the text's language, else in English, else as it is described."""

        def about(label: Label) -> str:
            spoken = next((name for name in (language, _DESCRIBED_IN) if name in label.terms), min(label.terms))
            return ", ".join(label.terms[str(spoken)])

        return {label.id: about(label) for label in self._labels}

    def _merged(self, reading: Reading, kept: KeptReply) -> Improved:
        reply = Reply.model_validate(kept.reply)
        topics = tuple(
            Topic(topic.topic, round(topic.confidence, 4))
            for topic in reply.topics
            if topic.confidence >= self._rule.topic_threshold
        )
        replaced = {"summary"} | ({"topics"} if topics else set()) | ({"tags"} if reply.tags else set())
        version = f"{self._asking.model_id}/prompt-{prompt_version()}"

        def by(made: Derivation) -> Derivation:
            if made.kind not in replaced:
                return made
            details = {**made.details, "llm": "used", "instead_of": made.model_version}
            return Derivation(made.kind, self._asking.model_id, version, details)

        better = replace(
            reading,
            topics=topics or reading.topics,
            summary=reply.summary,
            tags=reply.tags or reading.tags,
            derivations=tuple(by(made) for made in reading.derivations),
        )
        told = ToldNames(reply.entities, self._asking.model_id, f"prompt-{prompt_version()}")
        return Improved(better, told if reply.entities else None)


def _ranking(reading: Reading) -> tuple[str, ...]:
    """Return the topics that the local models hold possible, best first."""
    made = next((made for made in reading.derivations if made.kind == "topics"), None)
    return () if made is None else tuple(pair[0] for pair in made.details.get("ranking", ()))


def _noted(reading: Reading, note: Mapping[str, Any]) -> Reading:
    """Return a reading whose derivations say what came of asking the model."""
    derivations = tuple(
        replace(made, details={**made.details, **note}) if made.kind in _MADE else made for made in reading.derivations
    )
    return replace(reading, derivations=derivations)
