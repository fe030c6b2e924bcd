"""What the API answers to a list of subscriptions."""

from enum import StrEnum
from uuid import UUID

from pydantic import BaseModel, Field

from siftline.api.http.shapes import Cause


class Outcome(StrEnum):
    """What became of an outline."""

    SUBSCRIBED = "subscribed"
    ALREADY = "already"
    MERGED = "merged"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


class OutlineAnswer(BaseModel):
    """What became of one outline that names an address."""

    outcome: Outcome = Field(
        description="`already`: you followed it before, and nothing but this changed: it is in its folders of the file "
        "too; `merged`: an outline before this one names the same source, and the folders and topics of this one were "
        "added; `duplicate`: one before names it, and this one adds nothing; `refused`: see `error`"
    )
    title: str | None = Field(description="As the file calls it")
    source_id: UUID | None = Field(default=None, description="The source that you follow now")
    error: Cause | None = Field(default=None, description="Why it cannot be followed")


class OpmlAnswer(BaseModel):
    """What became of a file, in its order."""

    subscribed: int = Field(examples=[12])
    already: int = Field(examples=[3])
    merged: int = Field(examples=[0])
    duplicate: int = Field(examples=[0])
    refused: int = Field(examples=[1])
    outlines: list[OutlineAnswer]
