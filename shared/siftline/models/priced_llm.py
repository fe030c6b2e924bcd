"""A language model that costs money: set aside before a call, settled after it, with what came of it in one go.

A call that is refused may be so for its text or for how it is set up. Then a text of our own is asked about at once: if
that is refused too, the set-up is wrong, for everybody; if not, it was the text. So no text stops another.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from siftline.jobs.job_model import ClaimedJob
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import NotTriedError
from siftline.kit.ids import new_id
from siftline.kit.log import logger
from siftline.models import pauses_store, spending_store
from siftline.models.llm import (
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
from siftline.models.llm_prices import Price, most_tokens
from siftline.models.openai_client import CONTROL_TEXT
from siftline.models.spending_store import Cap, Caps, Spending

_UNSETTLED_MAX = 2
"""Calls of one job whose answers were lost: after so many no other is paid for."""
_UNAVAILABLE_TRIES = 2
TEXT_REFUSED = "text_refused"
"""Why there is no reply about a text that the model does not take, while it takes others."""
_OVER = {Cap.ALL: "over_budget", Cap.USER: "user_over_budget"}
_log = logger("llm")


class LlmPausedError(NotTriedError):
    """The model asked somebody to wait; so does everybody."""

    code = "llm_paused"


class NoReplyError(Exception):
    """There will be no reply now; ``reason`` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class AskingRule:
    """What an answer may hold, what a day may cost, and for how long the model is waited for."""

    caps: Caps
    output_tokens: int = 1_500
    patience_s: float = 21_600.0


@dataclass(frozen=True, slots=True)
class Paid:
    """An answer, and what settles it."""

    spending: Spending
    answer: Answer
    tokens_in_max: int
    """More than that cannot have been sent, whatever was counted."""


def _nothing(_: Connection) -> None:
    """Keep nothing."""


class PricedModel:
    """Asks one model, with everybody's money. Thread-safe."""

    def __init__(self, database: Database, model: LanguageModel, price: Price, rule: AskingRule, clock: Clock) -> None:
        self._database = database
        self._model = model
        self._price = price
        self._rule = rule
        self._clock = clock

    @property
    def model_id(self) -> str:
        """The model's name."""
        return self._model.model

    def ask(
        self,
        job: ClaimedJob,
        subject_id: UUID,
        payer: Callable[[Connection], UUID | None],
        messages: Sequence[Message],
        schema: Mapping[str, Any],
    ) -> Paid:
        """Ask, for money that is set aside before; what is refused costs nothing.

        Raises ``NoReplyError``; ``LlmMisconfiguredError``, and a ``TransientError`` where the job is to be tried again
        later.
        """
        try:
            return self._call(job, subject_id, payer, messages, schema)
        except LlmRefusedError as error:
            answered = any(message["role"] == "assistant" for message in messages)
            if error.set_up is not None and not answered:
                self._control(job, subject_id, payer, messages[0], schema, error.set_up)
            _log.warning("llm_text_refused", model=self.model_id, subject_id=str(subject_id), detail=str(error))
            raise NoReplyError(TEXT_REFUSED) from error

    def _control(
        self,
        job: ClaimedJob,
        subject_id: UUID,
        payer: Callable[[Connection], UUID | None],
        system: Message,
        schema: Mapping[str, Any],
        set_up: LlmMisconfiguredError,
    ) -> None:
        """Ask the same about a text of our own. Raises ``set_up`` where that is refused, too."""
        try:
            messages = [system, {"role": "user", "content": CONTROL_TEXT}]
            self.settle(self._call(job, subject_id, payer, messages, schema))
        except LlmRefusedError as error:
            raise set_up from error

    def _call(
        self,
        job: ClaimedJob,
        subject_id: UUID,
        payer: Callable[[Connection], UUID | None],
        messages: Sequence[Message],
        schema: Mapping[str, Any],
    ) -> Paid:
        """Set the money aside and make one call. Raises what ``ask`` does, and ``LlmRefusedError``."""
        tokens_in_max = most_tokens([*(message["content"] for message in messages), json.dumps(schema)])
        spending = self._reserved(job, subject_id, payer, tokens_in_max)
        try:
            answer = self._model.ask(messages, schema, tokens_max=self._rule.output_tokens)
            return Paid(spending, answer, tokens_in_max)
        except (LlmRefusedError, LlmMisconfiguredError):
            self._release(spending)
            raise
        except LlmUnavailableError as error:
            if not error.billed:
                self._release(spending)
            if job.attempts < _UNAVAILABLE_TRIES:
                raise
            raise NoReplyError(error.error_code) from error
        except (LlmBusyError, LlmAwayError) as error:
            self._release(spending, pause_s=error.retry_after_s)
            if not self._waited_out(job):
                raise
            raise NoReplyError(error.error_code) from error

    def settle(self, paid: Paid, keep: Callable[[Connection], None] = _nothing) -> None:
        """Replace what was set aside by what was counted, and keep what came of it, in one transaction."""
        counted_in = self._bounded(paid.answer.tokens_in, paid.tokens_in_max)
        counted_out = self._bounded(paid.answer.tokens_out, self._rule.output_tokens)
        cost = paid.spending.micro_usd
        if counted_in is not None and counted_out is not None:
            cost = self._price.micro_usd(counted_in, counted_out)
        with self._database.transaction() as connection:
            spending_store.settle(connection, paid.spending.id, cost, tokens_in=counted_in, tokens_out=counted_out)
            keep(connection)

    def _bounded(self, counted: int | None, most: int) -> int | None:
        """Return a server's count as far as it can be true: a wrong one must use up nobody's day and stop no plan."""
        if counted is None or counted <= most:
            return counted
        _log.warning("llm_dearer_than_reserved", model=self.model_id, tokens=counted, tokens_max=most)
        return most

    def _reserved(
        self,
        job: ClaimedJob,
        subject_id: UUID,
        payer: Callable[[Connection], UUID | None],
        tokens_in_max: int,
    ) -> Spending:
        most = self._price.micro_usd(tokens_in_max, self._rule.output_tokens)
        with self._database.transaction() as connection:
            paused_s = pauses_store.paused_s(connection, PROVIDER)
            if paused_s is not None and not self._waited_out(job):
                raise LlmPausedError("The language model wants to be asked later.", retry_after_s=max(paused_s, 1.0))
            lost = spending_store.unsettled(connection, kind=PROVIDER, subject_id=subject_id, job_id=job.id)
            if lost >= _UNSETTLED_MAX or paused_s is not None:
                raise NoReplyError("answers_lost" if paused_s is None else LlmBusyError.code)
            day = self._clock.now().date()
            spending = Spending(new_id(), PROVIDER, day, subject_id, most, self.model_id, payer(connection), job.id)
            over = spending_store.reserve(connection, spending, self._rule.caps)
        if over is not None:
            raise NoReplyError(_OVER[over])
        return spending

    def _release(self, spending: Spending, *, pause_s: float | None = None) -> None:
        with self._database.transaction() as connection:
            spending_store.release(connection, spending.id)
            if pause_s is not None:
                pauses_store.pause(connection, PROVIDER, pause_s)

    def _waited_out(self, job: ClaimedJob) -> bool:
        """Tell whether the job has been put off for as long as the model is waited for."""
        if job.deferred_since is None:
            return False
        return (self._clock.now() - job.deferred_since).total_seconds() >= self._rule.patience_s
