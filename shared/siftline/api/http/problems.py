"""Errors as problem documents (RFC 9457, ``application/problem+json``); one way out for every failure.

A problem names a stable ``code``, a sentence for a person, and for a refused request each fault with its place: a JSON
pointer into the body (RFC 6901) or the name of a parameter. Nothing that the caller sent is repeated in it, and nothing
of what went wrong inside is told.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Any, Literal, get_args, get_origin

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, ConfigDict, Field, field_validator

from siftline.kit.lines import line
from siftline.settings.fault_words import facts_of, sentence

PROBLEM_JSON = "application/problem+json"
FAULTS_MAX = 100
"""So many faults of a request are listed; of more, only their number is told."""
_POINTER_MAX_CHARS = 300
# No answer of ours may be taken for a page, or be kept by a cache between us and the caller.
SAFE_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
_UNSAFE = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}
_TIME = "Must be a date and time with an offset (RFC 3339), such as 2026-11-28T09:30:00Z"

_TOPIC_ID = "Must be 1 to 64 lower-case letters, digits, - or _, starting with a letter or digit"

PATTERNS = {
    "first_import": "Must be skip, all or newest:N, such as newest:10",
    "id": _TOPIC_ID,
    "idempotency-key": "Must be 1 to 255 visible ASCII characters without spaces",
    "lang": "Must be an ISO 639 language code in lower case, such as en",
    "only": _TOPIC_ID,
    "sort": "Must be recent or score",
}
"""What a field or parameter is to look like whose regular expression says it to programs."""


class Fault(BaseModel):
    """One error in a rejected request."""

    code: str = Field(description="Stable error code", examples=["string_too_long"])
    detail: str = Field(description="Human-readable explanation", examples=["At most 64 characters."])
    pointer: str | None = Field(
        default=None, description="Location in the body as a JSON Pointer (RFC 6901)", examples=["#/tags/0"]
    )
    parameter: str | None = Field(
        default=None, description="Name of the invalid query, path or header parameter", examples=["limit"]
    )

    @field_validator("detail")
    @classmethod
    def _with_full_stop(cls, detail: str) -> str:
        """Close a detail as a sentence: validators' texts are of many places, and of pydantic."""
        return detail if detail.endswith(".") else f"{detail}."


class Problem(BaseModel):
    """A problem document (RFC 9457)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Unprocessable Content",
                    "status": 422,
                    "detail": "The request has 1 error.",
                    "code": "invalid_request",
                    "errors": [
                        {
                            "code": "string_too_long",
                            "detail": "At most 64 characters.",
                            "pointer": "#/tags/0",
                        }
                    ],
                }
            ]
        }
    )

    type: str = Field(default="about:blank", description="Always `about:blank`; use `code` to distinguish problems")
    title: str = Field(description="HTTP status phrase", examples=["Not Found"])
    status: int = Field(description="HTTP status code", examples=[404])
    detail: str = Field(description="Human-readable explanation")
    code: str = Field(description="Stable error code", examples=["not_found"])
    errors: list[Fault] | None = Field(
        default=None, description=f"The errors in a rejected request; at most the first {FAULTS_MAX}"
    )
    errors_total: int | None = Field(default=None, description="Total number of errors", examples=[1])
    request_id: str | None = Field(default=None, description="Id of the request in the log; set for internal errors")


class GatewayMessage(BaseModel):
    """An error from API Gateway itself: no token or an invalid one, too large, too many requests, or unavailable."""

    message: str = Field(examples=["Unauthorized"])


class ProblemError(Exception):
    """Ends a request with a problem document."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        errors: Sequence[Fault] = (),
        headers: Mapping[str, str] | None = None,
        *,
        errors_total: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = errors
        self.errors_total = errors_total or len(errors)
        self.headers = headers

    def problem(self) -> Problem:
        """Return the document."""
        return Problem(
            title=title(self.status),
            status=self.status,
            detail=self.detail,
            code=self.code,
            errors=list(self.errors) or None,
            errors_total=self.errors_total or None,
        )


def title(status: int) -> str:
    """Return a status in the words of RFC 9110."""
    renamed = {413: "Content Too Large", 422: "Unprocessable Content"}  # older Pythons still say Entity
    return renamed.get(status) or HTTPStatus(status).phrase


def not_found(what: str) -> ProblemError:
    """Return the answer for an id that is unknown, or another user's: the two look the same."""
    return ProblemError(404, "not_found", f"There is no such {what}.")


def unknown_user() -> ProblemError:
    """Return the answer for a caller whose account was deleted: an authorizer's answer lives on for its stated time."""
    return ProblemError(403, "unknown_user", "This account no longer exists.")


def conflict(code: str, detail: str) -> ProblemError:
    """Return the answer for a request that does not fit the present state."""
    return ProblemError(409, code, detail)


def faulty(faults: Iterable[Fault], code: str = "invalid_request") -> ProblemError:
    """Return the answer for a request with faults in it: the first ``FAULTS_MAX`` of them, and how many there are."""
    waiting = iter(faults)
    listed = list(islice(waiting, FAULTS_MAX))
    total = len(listed) + sum(1 for _ in waiting)
    count = "1 error" if total == 1 else f"{total} errors"
    return ProblemError(422, code, f"The request has {count}.", listed, errors_total=total)


def fault_of(error: Mapping[str, Any], body: Any = None) -> Fault:
    """Return a pydantic error as a fault; its place becomes a pointer or a parameter's name.

    ``body`` is the type that the request's body should have: of a field that it does not know, it tells those it does.

    >>> fault_of({"type": "missing", "loc": ("body", "tags", 0), "msg": "Field required"}).pointer
    '#/tags/0'
    >>> fault_of({"type": "missing", "loc": ("query", "limit"), "msg": "Field required"}).parameter
    'limit'
    """
    place, *path = error["loc"] or ("body",)
    path = list(_without_tags(body, path))
    if error["type"] in {"union_tag_invalid", "union_tag_not_found"}:
        path.append(str(error["ctx"]["discriminator"]).strip("'"))
    fault = Fault(code=str(error["type"]), detail=_sentence(error, path))
    if place != "body":
        return fault.model_copy(update={"parameter": line(str(path[0] if path else place), _POINTER_MAX_CHARS)})
    if fault.code == "extra_forbidden" and (known := fields_at(body, path[:-1])):
        fault = fault.model_copy(update={"detail": f"Unknown field. Known fields: {', '.join(known)}."})
    return fault.model_copy(update={"pointer": pointer(path)})


def fields_at(body: Any, path: Iterable[str | int]) -> list[str]:
    """Return the fields that a body of this type knows at a place; none where that is no object of known fields."""
    for step in path:
        found = (model.model_fields.get(str(step)) for model in _models(body))
        body = next((field.annotation for field in found if field is not None), body)
    fields = (field.alias or name for model in _models(body) for name, field in model.model_fields.items())
    return list(dict.fromkeys(fields))


def _without_tags(body: Any, path: Sequence[str | int]) -> Iterator[str | int]:
    """Yield a fault's place without what pydantic puts in there: which member of a tagged union was meant."""
    for step in path:
        models = list(_models(body))
        found = [model.model_fields[str(step)] for model in models if str(step) in model.model_fields]
        if not found and step in _tags(models):
            continue
        body = next((field.annotation for field in found), body)
        yield step


def _tags(models: Sequence[type[BaseModel]]) -> set[Any]:
    """Return by which values the members of a tagged union are told apart; none where there is one model alone."""
    kinds = [field.annotation for model in models for field in model.model_fields.values()] if len(models) > 1 else []
    return {value for kind in kinds if get_origin(kind) is Literal for value in get_args(kind)}


def _models(kind: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that a type is, may be, or holds."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for part in get_args(kind):
        yield from _models(part)


def pointer(path: Iterable[str | int]) -> str:
    """Return a JSON pointer in its URI fragment form (RFC 6901, section 6) without percent-encoding; a long one is cut.

    >>> pointer(["items", 3, "a/b"])
    '#/items/3/a~1b'
    """
    whole = "#" + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return whole if len(whole) <= _POINTER_MAX_CHARS else f"{whole[:_POINTER_MAX_CHARS]}\u2026"


def to_json(body: Any) -> str:
    """Return JSON in which no character can end a script or open a tag, should a browser ever take it for a page."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_UNSAFE)


def answer(problem: Problem, headers: Mapping[str, str] | None = None) -> Response[str]:
    """Return a problem document as the resolver's answer."""
    return Response(
        status_code=problem.status,
        content_type=PROBLEM_JSON,
        body=to_json(problem.model_dump(exclude_none=True)),
        headers={**SAFE_HEADERS, **(headers or {})},
    )


def _sentence(error: Mapping[str, Any], path: Sequence[str | int]) -> str:
    """Return what is wrong in our words, without what was sent (an own validator's text is ours to word)."""
    kind = str(error["type"])
    if kind == "string_pattern_mismatch":
        named = (PATTERNS[str(step).lower()] for step in reversed(path) if str(step).lower() in PATTERNS)
        return next(named, "Wrong format")
    if kind.startswith("time_"):
        return 'Must be a local time as "HH:MM", such as "07:00"'
    if kind.startswith(("datetime_", "timezone_")):
        return _TIME
    if kind == "missing" and not path:
        return "The body must be a JSON object."
    if kind == "too_long" and facts_of(error).get("field_type") == "Value":  # a text that is checked once it was read
        return sentence({**error, "type": "string_too_long"})
    return sentence(error)
