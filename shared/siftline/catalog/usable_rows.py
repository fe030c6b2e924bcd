"""One bad value stops nothing: rows as they are read for people, without what in them cannot be used.

A column of JSON or of an array holds whatever was written to it. What is not in the format that it is read as is left
out, entry by entry; the row is shown with the rest, and one line in the log says in which rows and columns it was.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from siftline.kit.log import logger
from siftline.text.score_words import score_parts
from siftline.text.topic_scores import topic_scores

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_log = logger("catalog")
_CODE = "unusable_row"  # as of rows that a job sets aside
_TOLD = 10
_Row = TypeVar("_Row", bound="DataclassInstance")


def _texts(stored: Any) -> list[str]:
    return [one for one in stored if isinstance(one, str)] if isinstance(stored, list) else []


_READ: Mapping[str, Callable[[Any], list[Any]]] = {
    "topics": topic_scores,
    "own_topics": topic_scores,
    "granular_topics": topic_scores,
    "score_reasons": score_parts,
    "content_tags": _texts,
    "own_tags": _texts,
}
"""Columns by name, and how they are read; other columns stay as they are."""


def usable(rows: Sequence[_Row]) -> list[_Row]:
    """Return the rows, each without the entries that cannot be used; null stays null."""
    read: list[_Row] = []
    odd: dict[str, list[str]] = {}
    for row in rows:
        changes = _changes(row)
        if changes:
            odd[str(getattr(row, "id", ""))] = list(changes)
        read.append(replace(row, **changes) if changes else row)
    if odd:
        columns = sorted({name for names in odd.values() for name in names})
        _log.warning(
            "stored_values_left_out", error_code=_CODE, rows=len(odd), columns=columns, ids=sorted(odd)[:_TOLD]
        )
    return read


def _changes(row: object) -> dict[str, list[Any]]:
    """Return the columns that hold more than can be used, with what of them can."""
    changes = {}
    for name, read in _READ.items():
        stored = getattr(row, name, None)
        if stored is not None and (used := read(stored)) != stored:
            changes[name] = used
    return changes
