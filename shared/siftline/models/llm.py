"""Calls a language model behind OpenAI's API, or one that speaks the same, and says what its failures mean.

One call is one request: nothing is tried again here. ``billed`` tells of a failed call whether it may have been paid
for all the same.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from siftline.kit.clock import Clock
from siftline.kit.errors import ConfigurationError
from siftline.models.call_errors import CallFailedError, ModelBusyError, ModelRefusedError, ModelUnavailableError
from siftline.models.openai_client import FailureKind, OpenAiOpener, count_of, failure_of

if TYPE_CHECKING:
    from openai import OpenAIError

PROVIDER = "llm"
BUSY_S = 60.0
"""A model that answers 429 and names no time, or that cannot be reached at all, is left alone this long."""
_SET_UP_FIELDS = frozenset({"model", "response_format"})
"""Parameters in which nothing of a text is sent; how long an answer may be is none, for it depends on the text's."""

Message = Mapping[str, str]


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
