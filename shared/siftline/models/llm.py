"""A language model behind OpenAI's API, or one that speaks the same: what it is asked, what it costs and what it says.

``LanguageModel`` makes one request a call; nothing is tried again there. ``billed`` tells of a failed call whether it
may have been paid for all the same. ``PricedModel`` pays for it, and says what a failure means for a job.

A call that is refused may be so for its text or for how it is set up. Then a text of our own is asked about at once: if
that is refused too, the set-up is wrong, for everybody; if not, it was the text. So no text stops another.
"""

import json
import math
import re
import secrets
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from uuid import UUID

from siftline.jobs.job_model import ClaimedJob
from siftline.kit.aws import secret
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import ConfigurationError, NotTriedError
from siftline.kit.log import logger
from siftline.models import spending_store
from siftline.models.openai_client import (
    BUSY_S,
    CONTROL_TEXT,
    CallFailedError,
    FailureKind,
    ModelBusyError,
    ModelRefusedError,
    ModelUnavailableError,
    OpenAiOpener,
    count_of,
    failure_of,
)
from siftline.models.paid_call import NotAskedError, PaidCalls
from siftline.models.spending_store import Caps, Spending
from siftline.settings.functions import AnalyzeSettings

if TYPE_CHECKING:
    from openai import OpenAIError

PROVIDER = "llm"
_SET_UP_FIELDS = frozenset({"model", "response_format"})
"""Parameters in which nothing of a text is sent; how long an answer may be is none, for it depends on the text's."""

Message = Mapping[str, str]
_DECODER = json.JSONDecoder(strict=False)
_BEGIN = re.compile(r"\{")
# The end of a model's thoughts; their beginning often stands in the prompt and not in the reply.
_THOUGHT = re.compile(
    r"</(?:think|thinking|thought|reasoning)>|<\|(?:message|end_of_thought)\|>|\[/THINK\]", re.IGNORECASE
)
_CHARS_MAX = 200_000
_TRIES_MAX = 2_000
"""Of a reply with more braces than this the rest is not looked at: each may be read to its end in vain."""
_DATE = re.compile(r"-\d{4}-\d\d-\d\d$")
_TOKENS_BESIDES = 64
"""What a server may add to each message: roles, separators."""
PATIENCE_S = 21_600.0
"""A text waits no longer for the model to be reached, or to stop answering 429: today's reading beats a better one."""
_UNAVAILABLE_TRIES = 2
TEXT_REFUSED = "text_refused"
"""Why there is no reply about a text that the model does not take, while it takes others."""
_log = logger("llm")


class LlmMisconfiguredError(CallFailedError, ConfigurationError):
    """The key is refused, the model is unknown there or takes no such parameter, or the account has no money left."""

    code = "llm_misconfigured"
    provider = PROVIDER


class LlmBusyError(ModelBusyError):
    """The model wants to be asked later; nothing was billed."""

    code = "llm_busy"


class LlmAwayError(ModelBusyError):
    """The model's server cannot be reached at all; nothing was sent."""

    code = "llm_away"


class LlmUnavailableError(ModelUnavailableError):
    """The model gave an unexpected answer. ``billed``: the call may have been paid for all the same."""

    code = "llm_unavailable"


class LlmRefusedError(ModelRefusedError):
    """The model's server does not take this call."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model answered. Tokens are ``None`` where the server counts none."""

    text: str
    cut_off: bool
    refused: bool
    tokens_in: int | None
    tokens_out: int | None


@dataclass(frozen=True, slots=True)
class Marks:
    """The fence around what strangers wrote, and the word that the answer must carry. New for each call."""

    fence: str = field(default_factory=lambda: f"ARTICLE-{secrets.token_hex(8)}")
    receipt: str = field(default_factory=lambda: secrets.token_hex(6))


_NO_REPLY = Answer("", cut_off=False, refused=False, tokens_in=None, tokens_out=None)


class LanguageModel:
    """Calls one model. Thread-safe."""

    def __init__(
        self,
        *,
        model: str,
        base_url: str,
        api_key: Callable[[], str],
        timeout_s: float,
        clock: Clock,
        reply_format: str = "json_schema",
        tokens_field: str = "max_completion_tokens",
    ) -> None:
        self.model = model
        self._reply_format = reply_format
        self._tokens_field = tokens_field
        self._opener = OpenAiOpener(base_url=base_url, api_key=api_key, timeout_s=timeout_s)
        self._clock = clock

    def ask(self, messages: Sequence[Message], schema: Mapping[str, Any], *, tokens_max: int) -> Answer:
        """Return the answer of at most ``tokens_max`` tokens to messages, as JSON of this schema.

        Raises the error classes of this module.
        """
        from openai import OpenAIError  # noqa: PLC0415 - loaded with the first call

        strict = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        body = {
            "model": self.model,
            "messages": list(messages),
            "response_format": strict if self._reply_format == "json_schema" else {"type": "json_object"},
            self._tokens_field: tokens_max,
        }
        try:
            answer = self._opener.client().post("/chat/completions", body=body, cast_to=dict[str, Any])
        except OpenAIError as error:
            raise self._meaning(error) from error
        except RecursionError:  # nested without end
            return _NO_REPLY
        except ValueError as error:  # the body is no JSON
            raise LlmUnavailableError("The language model's answer could not be read.", billed=True) from error
        return _answer(answer)

    def close(self) -> None:
        """Close the connections."""
        self._opener.close()

    def _meaning(self, error: "OpenAIError") -> Exception:
        """Return what an error of the library means for the job."""
        failure = failure_of(error, self._clock.now(), set_up_fields=_SET_UP_FIELDS)
        status = failure.status
        match failure.kind:
            case FailureKind.AWAY:
                return LlmAwayError("The language model could not be reached.", retry_after_s=BUSY_S)
            case FailureKind.SILENT:
                return LlmUnavailableError("The language model did not answer in time.", billed=True)
            case FailureKind.UNREADABLE:
                return LlmUnavailableError("The language model's answer could not be read.", billed=True)
            case FailureKind.BUSY:
                wait_s = failure.retry_after_s or BUSY_S
                return LlmBusyError("The language model asked us to retry later.", retry_after_s=wait_s)
            case FailureKind.FAILED:
                return LlmUnavailableError(f"The language model answered {status}.", billed=failure.billed)
            case FailureKind.TEXT_REFUSED | FailureKind.REFUSED:
                surely = failure.kind is FailureKind.TEXT_REFUSED
                set_up = None if surely else self._misconfigured(status, failure.code)
                return LlmRefusedError(
                    f"The language model does not accept this request (status {status}).", set_up=set_up
                )
        return self._misconfigured(status, failure.code)

    def _misconfigured(self, status: int, code: str | None) -> LlmMisconfiguredError:
        asked = f"{self._reply_format}, {self._tokens_field}"
        detail = (
            f"The language model {self.model} rejected the request with {status} ({code or 'no code'}; asked: {asked})."
        )
        return LlmMisconfiguredError(detail)


def _answer(body: Any) -> Answer:
    """Read an answer as it came: servers differ in what they leave out."""
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise LlmUnavailableError("The language model's answer contains no reply.", billed=True)
    choice, usage = choices[0], body.get("usage")
    said, counted = choice.get("message"), usage if isinstance(usage, dict) else {}
    message = said if isinstance(said, dict) else {}
    text = message.get("content")
    return Answer(
        text=text.encode("utf-8", "replace").decode() if isinstance(text, str) else "",
        cut_off=choice.get("finish_reason") == "length",
        refused=bool(message.get("refusal")) or choice.get("finish_reason") == "content_filter",
        tokens_in=count_of(counted.get("prompt_tokens")),
        tokens_out=count_of(counted.get("completion_tokens")),
    )


def json_object(text: str, keys: Collection[str]) -> dict[str, Any] | None:
    """Return the last object of a reply that has all ``keys``, else the first object; ``None`` where there is none.

    Servers without schemas answer as people do: in a code fence, after their thoughts, with a sentence before or
    behind. What is found is only found: whoever asked still checks it.
    What a model says after its thoughts goes before what it drafts in them.

    >>> json_object('Sure:\\n```json\\n{"a": 1}\\n```\\nI hope {this} helps.', ["a"])
    {'a': 1}
    """
    text = text[:_CHARS_MAX]
    thoughts = [*_THOUGHT.finditer(text)]
    said = text[thoughts[-1].end() :] if thoughts else text
    found = _best_object(said, keys)
    # The mark may stand within the JSON itself, where an article is about such models.
    if thoughts and (found is None or not found.keys() >= set(keys)):
        found = _best_object(text, keys) or found
    return found


def _best_object(text: str, keys: Collection[str]) -> dict[str, Any] | None:
    best: dict[str, Any] | None = None
    for found in _objects(text, frozenset(keys)):
        if best is None or found.keys() >= set(keys):
            best = found
    return best


def _objects(text: str, keys: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects that stand in a text, in its order; within one that has all keys none is looked for."""
    at = 0
    for _ in range(_TRIES_MAX):
        begin = _BEGIN.search(text, at)
        if begin is None:
            return
        at = begin.end()
        try:
            found, end = _DECODER.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            if found.keys() >= keys:
                at = end
            yield found


class LlmPriceUnknownError(ConfigurationError):
    """Nobody says what the model costs, so it is not asked."""

    code = "llm_price_unknown"
    provider = PROVIDER


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens, which is as many millionths of a dollar for one: of what is sent, of what comes."""

    usd_per_million_in: float
    usd_per_million_out: float

    def micro_usd(self, tokens_in: int, tokens_out: int) -> int:
        """Return what so many tokens cost, in millionths of a dollar, rounded up.

        >>> Price(0.15, 0.6).micro_usd(1_000, 100)
        210
        """
        cost = tokens_in * self.usd_per_million_in + tokens_out * self.usd_per_million_out
        return math.ceil(round(cost, 6))


def most_tokens(texts: Iterable[str]) -> int:
    """Return the most tokens that texts can be when they are sent: no tokeniser makes more of one than it has bytes."""
    return sum(len(text.encode("utf-8", "replace")) + _TOKENS_BESIDES for text in texts)


def price_of(model: str, usd_per_million_in: float | None, usd_per_million_out: float | None) -> Price:
    """Return a model's price: what is set, else what ``data/prices.toml`` says. Raises ``LlmPriceUnknownError``."""
    if usd_per_million_in is not None and usd_per_million_out is not None:
        return Price(usd_per_million_in, usd_per_million_out)
    known = _table().get(_DATE.sub("", model))
    if known is None:
        raise LlmPriceUnknownError(
            f"The price of the language model {model} is unknown. Set LLM_USD_PER_MILLION_IN and "
            "LLM_USD_PER_MILLION_OUT (0 for your own model)."
        )
    return known


@cache
def _table() -> dict[str, Price]:
    text = (files("siftline.models") / "data" / "prices.toml").read_text(encoding="utf-8")
    return {
        name: Price(float(price["in"]), float(price["out"])) for name, price in tomllib.loads(text)["models"].items()
    }


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
    caps = Caps.of_usd(settings.llm_usd_per_day, settings.llm_usd_per_user_per_day)
    rule = AskingRule(caps, output_tokens=settings.llm_output_tokens)
    return PricedModel(database, model, price, rule, clock)
