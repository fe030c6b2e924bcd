"""A language model that costs money: what a call may cost, what it did cost, and what its failures mean for a job.

A call that is refused may be so for its text or for how it is set up. Then a text of our own is asked about at once: if
that is refused too, the set-up is wrong, for everybody; if not, it was the text. So no text stops another.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from siftline.jobs.job_model import ClaimedJob
from siftline.kit.aws import secret
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import NotTriedError
from siftline.kit.log import logger
from siftline.models import spending_store
from siftline.models.call_errors import ModelBusyError
from siftline.models.llm import (
    PROVIDER,
    Answer,
    LanguageModel,
    LlmBusyError,
    LlmRefusedError,
    LlmUnavailableError,
    Message,
)
from siftline.models.llm_prices import Price, most_tokens, price_of
from siftline.models.openai_client import CONTROL_TEXT
from siftline.models.paid_call import NotAskedError, PaidCalls
from siftline.models.spending_store import Caps, Spending
from siftline.settings.functions import AnalyzeSettings

PATIENCE_S = 21_600.0
"""A text waits no longer for the model to be reached, or to stop answering 429: today's reading beats a better one."""
_UNAVAILABLE_TRIES = 2
TEXT_REFUSED = "text_refused"
"""Why there is no reply about a text that the model does not take, while it takes others."""
_log = logger("llm")
_MICRO = 1_000_000


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
    patience_s: float = PATIENCE_S


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
        self._calls = PaidCalls(database, PROVIDER, model.model, rule.caps, clock, lost_per="job")

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
                control = [messages[0], {"role": "user", "content": CONTROL_TEXT}]
                try:
                    self.settle(self._call(job, subject_id, payer, control, schema))
                except LlmRefusedError as refused:
                    raise error.set_up from refused
            _log.warning("llm_text_refused", model=self.model_id, subject_id=str(subject_id), detail=str(error))
            raise NoReplyError(TEXT_REFUSED) from error

    def _call(
        self,
        job: ClaimedJob,
        subject_id: UUID,
        payer: Callable[[Connection], UUID | None],
        messages: Sequence[Message],
        schema: Mapping[str, Any],
    ) -> Paid:
        """Make one call. Raises what ``ask`` does, and ``LlmRefusedError``."""
        tokens_in_max = most_tokens([*(message["content"] for message in messages), json.dumps(schema)])
        cost_max = self._price.micro_usd(tokens_in_max, self._rule.output_tokens)
        try:
            with self._calls.reserved(cost_max, subject_id, payer, job.id) as spending:
                answer = self._model.ask(messages, schema, tokens_max=self._rule.output_tokens)
            return Paid(spending, answer, tokens_in_max)
        except NotAskedError as error:
            if error.reason != "paused":
                raise NoReplyError(error.reason) from error
            if self._waited_out(job):
                raise NoReplyError(LlmBusyError.code) from error
            detail = "The language model asked us to retry later."
            raise LlmPausedError(detail, retry_after_s=error.retry_after_s) from error
        except LlmUnavailableError as error:
            if job.attempts < _UNAVAILABLE_TRIES:
                raise
            raise NoReplyError(error.error_code) from error
        except ModelBusyError as error:
            if not self._waited_out(job):
                raise
            raise NoReplyError(error.error_code) from error

    def settle(self, paid: Paid, keep: Callable[[Connection], None] = _nothing) -> None:
        """Replace what was set aside by what was counted, and keep what came of it, in one transaction."""
        counted_in = self._calls.believed(paid.answer.tokens_in, paid.tokens_in_max)
        counted_out = self._calls.believed(paid.answer.tokens_out, self._rule.output_tokens)
        cost = paid.spending.micro_usd
        if counted_in is not None and counted_out is not None:
            cost = self._price.micro_usd(counted_in, counted_out)
        with self._database.transaction() as connection:
            spending_store.settle(connection, paid.spending.id, cost, tokens_in=counted_in, tokens_out=counted_out)
            keep(connection)

    def _waited_out(self, job: ClaimedJob) -> bool:
        """Tell whether the job has been put off for as long as the model is waited for."""
        if job.deferred_since is None:
            return False
        return (self._clock.now() - job.deferred_since).total_seconds() >= self._rule.patience_s


def open_priced_model(settings: AnalyzeSettings, database: Database) -> PricedModel | None:
    """Return the language model that the settings name; ``None`` where they name none.

    Raises ``LlmPriceUnknownError``. The client is opened, and its key asked for, at the first call.
    """
    if not settings.llm_model:
        return None
    clock = SystemClock()
    model = LanguageModel(
        model=settings.llm_model,
        base_url=settings.llm_base_url,
        api_key=lambda: secret(settings.llm_api_key.get_secret_value()),
        timeout_s=settings.llm_timeout_s,
        clock=clock,
        reply_format=settings.llm_format,
        tokens_field=settings.llm_tokens_field,
    )
    price = price_of(settings.llm_model, settings.llm_usd_per_million_in, settings.llm_usd_per_million_out)
    caps = Caps(round(settings.llm_usd_per_day * _MICRO), round(settings.llm_usd_per_user_per_day * _MICRO))
    rule = AskingRule(caps, output_tokens=settings.llm_output_tokens)
    return PricedModel(database, model, price, rule, clock)
