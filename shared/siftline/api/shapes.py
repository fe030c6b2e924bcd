"""What requests and answers of several resources share."""

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from siftline.kit.lines import line


def _as_line(text: str) -> str:
    shown = line(text)
    if not shown:
        raise ValueError("Nothing in it can be seen")
    return shown


Label = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64), AfterValidator(_as_line)]
"""A tag or a topic's name."""
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), AfterValidator(_as_line)]
Note = Annotated[str, StringConstraints(max_length=10_000)]


class Asked(BaseModel):
    """A request's body. Unknown fields are refused: a misspelt one would otherwise change nothing, silently."""

    model_config = ConfigDict(extra="forbid")


class NothingAsked(Asked):
    """The body of a request that has nothing to say: none, or an empty object."""


class Cause(BaseModel):
    """Why something is as it is: a stable code and a sentence for a person."""

    code: str = Field(examples=["http_404"])
    detail: str = Field(examples=["The site answered that there is no such page (404)."])


class Waiting(BaseModel):
    """What something waits for."""

    code: str = Field(
        description="`in_work`, `worker_lost`, `handed_out`, `in_turn` or `no_credit`; for what is put off, why",
        examples=["http_503"],
    )
    until: datetime | None = Field(
        default=None, description="When it is tried next; for `in_work`, when its worker counts as lost"
    )
    reason: str = Field(description="The same for a person", examples=["The site answered 503."])
