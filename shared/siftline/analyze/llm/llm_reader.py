"""Has a language model read what the local models are not sure of, as far as there is money for it.

What is good of its reply takes the place of what was made here; where nothing is, what was made here stands, and its
derivations say why. No failure of the model is one of the article, but those that an operator must mend or that pass:

- it wants to be asked later, or cannot be reached: the job is put off, at no attempt, for ``patience_s`` at most;
- it fails otherwise: the job is tried once more; then what was made here is good enough;
- it is set up wrongly: the breaker of ``llm`` opens and all wait;
- it refuses this text and takes others: the text is read here, and not asked about again.

A question is one call: money set aside, asked, checked, repaired once, settled and kept. What was paid for is stored in
the very transaction that settles it, before anything is made of it: a worker that dies later pays nothing again, one
that dies between answer and storing is repeated once, and both calls are counted.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol
from uuid import UUID

from siftline.analyze.article_reader import Article, ArticleLanguage, Derivation, Reading
from siftline.analyze.entities.mentions import Kind, Mention
from siftline.analyze.llm import llm_guard, llm_store
from siftline.analyze.llm.llm_guard import ReplyVerdict
from siftline.analyze.llm.llm_prompt import Question, ReplyLimits, messages_of, prompt_version, repair_of, schema_of
from siftline.analyze.llm.llm_reply import Reply, ReplyEntity, UnusableReplyError, read_reply
from siftline.analyze.llm.llm_store import Asked, KeptReply
from siftline.analyze.text.language import Detected, LanguageDetector
from siftline.analyze.topics.topic_list import Label
from siftline.analyze.topics.topic_scoring import Topic
from siftline.jobs.job_model import ClaimedJob
from siftline.kit.db import Database
from siftline.kit.errors import TransientError
from siftline.kit.log import logger
from siftline.models import spending_store
from siftline.models.llm import PROVIDER, TEXT_REFUSED, Answer, Marks, Message, NoReplyError, Paid, PricedModel
from siftline.text.machine_talk import visible

_log = logger("analyze")


class ReplyJudge(Protocol):
    """Says what may be used of a reply; ``llm_guard.judge`` does."""

    def __call__(
        self, reply: Reply, marks: Marks, *, title: str, text: str, ranking: Sequence[str], same_language: bool
    ) -> ReplyVerdict:
        """Return it."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """A question, and what its answer is held against."""

    question: Question
    ranking: Sequence[str]
    """The topics that the local models hold possible, best first."""
    language: str | None
    """The language of the text."""
    detect: Callable[[str], Detected | None]


class Asking:
    """Asks one model, with everybody's money. Thread-safe."""

    def __init__(self, priced: PricedModel, judge: ReplyJudge = llm_guard.judge) -> None:
        self._priced = priced
        self._judge = judge

    @property
    def model_id(self) -> str:
        """The model's name."""
        return self._priced.model_id

    def ask(self, job: ClaimedJob, asked: Asked, context: Context) -> KeptReply:
        """Return a reply that may be used, or the reason why there is none.

        Raises ``LlmMisconfiguredError``, and a ``TransientError`` where the job is to be tried again later.
        """
        marks = Marks()
        messages = messages_of(context.question, marks)
        try:
            paid = self._call(job, asked, messages, context)
        except NoReplyError as ended:
            return KeptReply(None, ended.reason)
        try:
            return self._kept(asked, paid, self._usable(paid.answer, marks, context), None)
        except UnusableReplyError as fault:
            if fault.reason in llm_guard.FINAL:
                return self._kept(asked, paid, None, fault.reason)
            self._priced.settle(paid)
            return self._repaired(job, asked, context, marks, [*messages, *repair_of(paid.answer.text, fault.fault)])

    def _repaired(
        self, job: ClaimedJob, asked: Asked, context: Context, marks: Marks, messages: Sequence[Message]
    ) -> KeptReply:
        """Ask once more, with what was wrong; whatever goes wrong now is the end of it."""
        try:
            paid = self._call(job, asked, messages, context)
        except (NoReplyError, TransientError) as error:
            reason = error.reason if isinstance(error, NoReplyError) else error.error_code
            return KeptReply(None, f"no_repair: {reason}")
        try:
            return self._kept(asked, paid, self._usable(paid.answer, marks, context), None)
        except UnusableReplyError as fault:
            return self._kept(asked, paid, None, fault.reason)

    def _usable(self, answer: Answer, marks: Marks, context: Context) -> Reply:
        """Return what may be used of an answer. Raises ``UnusableReplyError``."""
        if answer.refused:
            raise UnusableReplyError("refused", "it was refused.")
        question = context.question
        reply = read_reply(answer, question, marks)
        detected = context.detect(reply.summary)
        if question.language is not None and detected is not None and detected.language != question.language:
            raise UnusableReplyError("wrong_language", f"summary: it must be in the language {question.language}.")
        verdict = self._judge(
            reply,
            marks,
            title=question.title,
            text=question.text,
            ranking=context.ranking,
            same_language=context.language is None or question.language == context.language,
        )
        if verdict.reply is None:
            raise UnusableReplyError(str(verdict.reason), "it does not tell of the article.")
        return verdict.reply

    def _call(self, job: ClaimedJob, asked: Asked, messages: Sequence[Message], context: Context) -> Paid:
        payer = partial(spending_store.payer, content_id=asked.content_id, job_id=job.id)
        return self._priced.ask(job, asked.content_id, payer, messages, schema_of([*context.question.topics]))

    def _kept(self, asked: Asked, paid: Paid, reply: Reply | None, reason: str | None) -> KeptReply:
        kept = KeptReply(None if reply is None else reply.model_dump(mode="json"), reason)
        self._priced.settle(paid, lambda connection: llm_store.keep_reply(connection, asked, kept))
        _log.info("llm_asked", content_id=str(asked.content_id), model=self.model_id, reason=reason or "used")
        return kept


_DESCRIBED_IN = "en"
_MADE = ("topics", "summary", "tags")
_KINDS: Mapping[str, Kind] = {
    "organisation": Kind.ORGANISATION,
    "person": Kind.PERSON,
    "place": Kind.PLACE,
}


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
        self,
        database: Database,
        asking: Asking,
        labels: Sequence[Label],
        detector: LanguageDetector,
        rule: LlmRule = LlmRule(),
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
