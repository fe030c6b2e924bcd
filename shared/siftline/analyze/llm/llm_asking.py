"""One question to a language model: money set aside, asked, checked, repaired once, settled and kept.

What was paid for is stored in the very transaction that settles it, before anything is made of it: a worker that dies
later pays nothing again, one that dies between answer and storing is repeated once, and both calls are counted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from siftline.analyze.llm import llm_guard, llm_store
from siftline.analyze.llm.llm_guard import Verdict
from siftline.analyze.llm.llm_prompt import Question, messages_of, repair_of, schema_of
from siftline.analyze.llm.llm_reply import Reply, UnusableReplyError, read_reply
from siftline.analyze.llm.llm_store import Asked, KeptReply
from siftline.analyze.text.language import Detected
from siftline.jobs.job_model import ClaimedJob
from siftline.kit.errors import TransientError
from siftline.kit.log import logger
from siftline.models import spending_store
from siftline.models.llm import Answer, Marks, Message, NoReplyError, Paid, PricedModel

_log = logger("analyze")


class Judge(Protocol):
    """Says what may be used of a reply; ``llm_guard.judge`` does."""

    def __call__(
        self, reply: Reply, marks: Marks, *, title: str, text: str, ranking: Sequence[str], same_language: bool
    ) -> Verdict:
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

    def __init__(self, priced: PricedModel, judge: Judge = llm_guard.judge) -> None:
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
