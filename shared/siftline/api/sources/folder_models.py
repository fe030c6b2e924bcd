"""Folders as the API takes and shows them."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from siftline.api.http.shapes import Asked, Name, Page

_ID = "018f4e5a-7b1c-7000-8000-0123456789ab"

FolderIds = Annotated[list[UUID], Field(max_length=500)]


class NewFolder(Asked):
    """A new folder."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "News"}]})

    name: Name = Field(description="Unique among your folders, ignoring case", examples=["News"])


class ChangeFolder(NewFolder):
    """A folder's new name."""


class FolderName(BaseModel):
    """A folder, by name."""

    id: UUID = Field(examples=[_ID])
    name: str = Field(examples=["News"])


class Folder(FolderName):
    """A folder of sources."""

    sources: int = Field(description="Number of sources in it", examples=[12])
    created_at: datetime


class Folders(Page):
    """All your folders, by name."""

    items: list[Folder]
