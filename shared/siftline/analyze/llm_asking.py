"""One question to a language model: money set aside, asked, checked, repaired once, settled and kept.

What was paid for is stored in the very transaction that settles it, before anything is made of it: a worker that dies
later pays nothing again, one that dies between answer and storing is repeated once, and both calls are counted.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from siftline.analyze import llm_guard, llm_store
from siftline.analyze.language import Detected
from siftline.analyze.llm import (
    PROVIDER,
    Answer,
    LanguageModel,
    LlmAwayError,
    LlmBusyError,
    LlmMisconfiguredError,
    LlmRefusedError,
    LlmUnavailableError,
    Message,
)
from siftline.analyze.llm_guard import Verdict
from siftline.analyze.llm_prices import Price
from siftline.analyze.llm_prompt import Marks, Question, messages_of, repair_of, schema_of
from siftline.analyze.llm_reply import Reply, UnusableReplyError, read_reply
from siftline.analyze.llm_store import Asked, KeptReply
from siftline.jobs import pauses_store, spending_store
from siftline.jobs.model import ClaimedJob
from siftline.jobs.spending_store import Cap, Caps, Spending
from siftline.kit.clock import Clock
from siftline.kit.db import Database
from siftline.kit.errors import NotTriedError, TransientError
from siftline.kit.ids import new_id
from siftline.kit.log import logger

_UNSETTLED_MAX = 2
"""Calls of one job whose answers were lost: after so many no other is paid for."""
_UNAVAILABLE_TRIES = 2
_OVER = {Cap.ALL: "over_budget", Cap.USER: "user_over_budget"}
_log = logger("analyze")


class LlmPausedError(NotTriedError):
    """The model asked somebody to wait; so does everybody."""

    code = "llm_paused"


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


@dataclass(frozen=True, slots=True)
class AskingRule:
    """What an answer may hold, what a day may cost, and for how long the model is waited for."""

    caps: Caps
    output_tokens: int = 1_500
    patience_s: float = 21_600.0


class _SettledError(Exception):
    """There will be no reply now; ``reason`` says why. It is kept where asking again would bring the same."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class _Paid:
    """An answer, and what settles it."""

    spending: Spending
    answer: Answer


class Asking:
    """Asks one model, with everybody's money. Thread-safe."""

    def __init__(
        self,
        database: Database,
        model: LanguageModel,
        price: Price,
        rule: AskingRule,
        clock: Clock,
        judge: Judge = llm_guard.judge,
    ) -> None:
        self._database = database
        self._model = model
        self._price = price
        self._rule = rule
        self._clock = clock
        self._judge = judge

    @property
    def model_id(self) -> str:
        """The model's name."""
        return self._model.model

    def ask(self, job: ClaimedJob, asked: Asked, context: Context) -> KeptReply:
        """Return a reply that may be used, or the reason why there is none.

        Raises ``LlmMisconfiguredError``, and a ``TransientError`` where the job is to be tried again later.
        """
        marks = Marks()
        messages = messages_of(context.question, marks)
        try:
            paid = self._call(job, asked, messages, context)
        except _SettledError as ended:
            return KeptReply(None, ended.reason)
        try:
            return self._kept(asked, paid, self._usable(paid.answer, marks, context), None)
        except UnusableReplyError as fault:
            if fault.reason in llm_guard.FINAL:
                return self._kept(asked, paid, None, fault.reason)
            self._settle(paid)
            return self._repaired(job, asked, context, marks, [*messages, *repair_of(paid.answer.text, fault.fault)])

    def _repaired(
        self, job: ClaimedJob, asked: Asked, context: Context, marks: Marks, messages: Sequence[Message]
    ) -> KeptReply:
        """Ask once more, with what was wrong; whatever goes wrong now is the end of it."""
        try:
            paid = self._call(job, asked, messages, context)
        except (_SettledError, TransientError) as error:
            reason = error.reason if isinstance(error, _SettledError) else error.error_code
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

    def _call(self, job: ClaimedJob, asked: Asked, messages: Sequence[Message], context: Context) -> _Paid:
        """Set the money aside and make the call; what is refused costs nothing."""
        schema = schema_of([*context.question.topics])
        spending = self._reserved(job, asked, [*(message["content"] for message in messages), json.dumps(schema)])
        try:
            return _Paid(spending, self._model.ask(messages, schema, tokens_max=self._rule.output_tokens))
        except LlmRefusedError as error:
            self._release(spending)
            raise _SettledError("text_refused") from error
        except LlmMisconfiguredError:
            self._release(spending)
            raise
        except LlmUnavailableError as error:
            if not error.billed:
                self._release(spending)
            if job.attempts < _UNAVAILABLE_TRIES:
                raise
            raise _SettledError(error.error_code) from error
        except (LlmBusyError, LlmAwayError) as error:
            self._release(spending, pause_s=error.retry_after_s)
            if not self._waited_out(job):
                raise
            raise _SettledError(error.error_code) from error

    def _reserved(self, job: ClaimedJob, asked: Asked, texts: Sequence[str]) -> Spending:
        most = self._price.most_micro_usd(texts, self._rule.output_tokens)
        with self._database.transaction() as connection:
            paused_s = pauses_store.paused_s(connection, PROVIDER)
            if paused_s is not None and not self._waited_out(job):
                raise LlmPausedError("The language model wants to be asked later.", retry_after_s=max(paused_s, 1.0))
            lost = spending_store.unsettled(connection, kind=PROVIDER, subject_id=asked.content_id, job_id=job.id)
            if lost >= _UNSETTLED_MAX or paused_s is not None:
                raise _SettledError("answers_lost" if paused_s is None else LlmBusyError.code)
            payer = spending_store.payer(connection, content_id=asked.content_id, job_id=job.id)
            day = self._clock.now().date()
            spending = Spending(new_id(), PROVIDER, day, asked.content_id, most, asked.model, payer, job.id)
            over = spending_store.reserve(connection, spending, self._rule.caps)
        if over is not None:
            raise _SettledError(_OVER[over])
        return spending

    def _release(self, spending: Spending, *, pause_s: float | None = None) -> None:
        with self._database.transaction() as connection:
            spending_store.release(connection, spending.id)
            if pause_s is not None:
                pauses_store.pause(connection, PROVIDER, pause_s)

    def _settle(self, paid: _Paid, asked: Asked | None = None, kept: KeptReply | None = None) -> None:
        """Replace what was set aside by what was counted, and keep what came of it, in one transaction."""
        counted_in, counted_out, most = paid.answer.tokens_in, paid.answer.tokens_out, paid.spending.micro_usd
        cost = most if counted_in is None or counted_out is None else self._price.micro_usd(counted_in, counted_out)
        if cost > most:
            _log.warning("llm_dearer_than_reserved", model=self.model_id, micro_usd=cost, reserved_micro_usd=most)
            cost = most  # more than was sent and asked for cannot be: one wrong count must not use up everybody's day
        with self._database.transaction() as connection:
            spending_store.settle(connection, paid.spending.id, cost, tokens_in=counted_in, tokens_out=counted_out)
            if asked is not None and kept is not None:
                llm_store.keep_reply(connection, asked, kept)

    def _kept(self, asked: Asked, paid: _Paid, reply: Reply | None, reason: str | None) -> KeptReply:
        kept = KeptReply(None if reply is None else reply.model_dump(mode="json"), reason)
        self._settle(paid, asked, kept)
        _log.info("llm_asked", content_id=str(asked.content_id), model=self.model_id, reason=reason or "used")
        return kept

    def _waited_out(self, job: ClaimedJob) -> bool:
        """Tell whether the job has been put off for as long as the model is waited for."""
        if job.deferred_since is None:
            return False
        return (self._clock.now() - job.deferred_since).total_seconds() >= self._rule.patience_s
