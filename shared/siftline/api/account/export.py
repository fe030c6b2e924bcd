"""The export: all that is the caller's, in pages that any answer of Lambda can hold."""

from typing import Any

from pydantic import BaseModel, Field

from siftline.api.account import export_store as store
from siftline.api.http.auth import CurrentCaller
from siftline.api.http.paging import DEFAULT_LIMIT, Limit, Next, SectionCursor, decode_section
from siftline.api.http.routing import route
from siftline.api.http.shapes import ListPage
from siftline.api.parts import Routes

# Lambda answers 6 MB at most; a character is up to three bytes here, and a record begins within this.
_CHARS = 700_000
_KINDS = [*store.SECTIONS]


class ExportRecord(BaseModel):
    """One record of your data."""

    kind: str = Field(json_schema_extra={"enum": [*_KINDS]}, examples=["item"])
    data: dict[str, Any] = Field(description="Its fields, without secrets; more may be added")


class Export(ListPage):
    """A page of your data."""

    items: list[ExportRecord]


class ExportRoutes(Routes):
    """``/v1/export``."""

    tag = "me"

    @route("GET /v1/export", (200, Export, "A page of the export"), operation_id="exportAll")
    def browse(
        self,
        caller: CurrentCaller,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> Export:
        """Export all your data, page by page."""
        place = decode_section(next, _KINDS) or SectionCursor(_KINDS[0], None)
        following: str | None = None
        found: list[store.Record] = []
        chars = 0
        with self._database.transaction() as connection:
            for kind in _KINDS[_KINDS.index(place.section) :]:
                after = place.after if kind == place.section else None
                rows = store.page(
                    connection, caller.user_id, kind, after, limit=limit - len(found), chars=_CHARS - chars
                )
                found += rows
                chars += sum(row.chars for row in rows)
                if len(found) >= limit or chars >= _CHARS:
                    following = SectionCursor(found[-1].kind, found[-1].key).encode()
                    break
        return Export(items=[ExportRecord(kind=row.kind, data=row.data) for row in found], next=following)
