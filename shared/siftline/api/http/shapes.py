"""What requests and answers of several resources share, and how a caller narrows down what they hold."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from siftline.api.http.paging import Time
from siftline.api.http.problems import Fault, faulty
from siftline.kit.lines import line

EXAMPLE_ID = "018f4e5a-7b1c-7000-8000-0123456789ab"
Note = Annotated[str, StringConstraints(max_length=10_000)]


def _as_line(text: str) -> str:
    shown = line(text)
    if not shown:
        raise ValueError("Must contain a visible character")
    return shown


ByLang = Annotated[
    str | None, Query(pattern="^[a-z]{2,3}$", description="ISO 639-1 language code, such as `en`", examples=["en"])
]

_AS_KEPT = AfterValidator(lambda named: None if named is None else _as_line(named))
"""A name to look for, as its like is kept (``Label``)."""
ByTopic = Annotated[
    str | None, Query(min_length=1, max_length=200, description="A topic: a default one or your own"), _AS_KEPT
]
ByTag = Annotated[
    str | None, Query(min_length=1, max_length=64, description="A tag: your own or an automatic one"), _AS_KEPT
]
ByEntity = Annotated[
    str | None,
    Query(min_length=1, max_length=200, description="An entity named in the item: canonical or temporary id"),
    _AS_KEPT,
]
BySource = Annotated[
    UUID | None, Query(description="The source that delivered it, or another source you follow that also lists it")
]
ByFolder = Annotated[
    UUID | None, Query(description="One of your folders: a source in it delivered or also lists the item")
]
BySince = Annotated[Time | None, Query(description="At or after this time (`sort_at`)")]
ByUntil = Annotated[Time | None, Query(description="Before this time (`sort_at`)")]
ByUnread = Annotated[bool | None, Query(description="true: only unread items; false: only read items")]
ByStarred = Annotated[bool | None, Query(description="true: only starred items; false: only items without a star")]


Label = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64), AfterValidator(_as_line)]
"""A tag or a topic's name."""
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), AfterValidator(_as_line)]


class Asked(BaseModel):
    """A request's body. Unknown fields are refused: a misspelt one would otherwise change nothing, silently."""

    model_config = ConfigDict(extra="forbid")


class Changes(Asked):
    """What to change of something; what is left out stays, so that no field has a default."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError(f"Set at least one of {', '.join(type(self).model_fields)}")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe it without the defaults that stand for what was left out: clients would send them."""
        described = handler(schema)
        whole = handler.resolve_ref_schema(described)
        whole["minProperties"] = 1
        for field in whole.get("properties", {}).values():
            field.pop("default", None)
        return described


class NothingAsked(Asked):
    """An empty request body: none, or an empty object."""


class ListPage(BaseModel):
    """The one envelope of lists."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    items: list[Any]
    next: str | None = Field(default=None, description="Pass it as `next` to get the next page; null on the last page")


class Cause(BaseModel):
    """A reason: a stable code and a human-readable explanation."""

    code: str = Field(examples=["http_404"])
    detail: str = Field(examples=["The site answered that there is no such page (404)."])


class Waiting(BaseModel):
    """What a job is waiting for."""

    code: str = Field(
        description="`in_work`, `worker_lost`, `handed_out`, `in_turn` or `no_credit`; otherwise why it was postponed",
        examples=["http_503"],
    )
    until: datetime | None = Field(
        default=None, description="Time of the next attempt; for `in_work`, when its worker is considered lost"
    )
    reason: str = Field(description="Human-readable explanation", examples=["The site answered 503."])


@dataclass(frozen=True, slots=True)
class Filters:
    """Which of the caller's items are meant; ``None`` means any. Raises 422 where ``since`` is after ``until``."""

    topic: str | None = None
    tag: str | None = None
    source_id: UUID | None = None
    folder_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    unread: bool | None = None
    starred: bool | None = None

    def __post_init__(self) -> None:
        if self.since is not None and self.until is not None and self.since > self.until:
            detail = "Must not be after `until`."
            raise faulty([Fault(code="invalid_range", detail=detail, parameter="since")])
