"""What the API answers to a list of subscriptions."""

from enum import StrEnum
from uuid import UUID

from pydantic import BaseModel, Field

from siftline.api.http.shapes import Cause


class Outcome(StrEnum):
    """The result for an outline."""

    SUBSCRIBED = "subscribed"
    ALREADY = "already"
    MERGED = "merged"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


class OutlineAnswer(BaseModel):
    """The result for one outline with an address."""

    outcome: Outcome = Field(
        description="`already`: you already followed it, and it was only added to its folders in the file; `merged`: "
        "an earlier outline names the same source, and the folders and topics of this one were added; "
        "`duplicate`: an earlier outline names it, and this one adds nothing; `refused`: see `error`"
    )
    title: str | None = Field(description="Title given in the file")
    source_id: UUID | None = Field(default=None, description="The source you now follow")
    error: Cause | None = Field(default=None, description="Why it cannot be followed")


class OpmlAnswer(BaseModel):
    """The results of an import, in the order of the file."""

    subscribed: int = Field(examples=[12])
    already: int = Field(examples=[3])
    merged: int = Field(examples=[0])
    duplicate: int = Field(examples=[0])
    refused: int = Field(examples=[1])
    outlines: list[OutlineAnswer]
