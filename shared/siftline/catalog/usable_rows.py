"""One bad value stops nothing: rows as they are read for people, without what in them cannot be used.

A column of JSON or of an array holds whatever was written to it. What is not in the format that it is read as is left
out, entry by entry; the row is shown with the rest, and one line in the log says in which rows and columns it was.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from psycopg.rows import dict_row

from siftline.kit.db import Connection
from siftline.kit.log import logger
from siftline.text.stored_scores import score_parts, topic_scores

_log = logger("catalog")
_CODE = "unusable_row"  # as of rows that a job sets aside
_TOLD = 10
_Row = TypeVar("_Row")


def entries_of(column: str) -> str:
    """Return the SQL of the entries of a column of JSON, a set: where it holds no array, there are none."""
    return f"jsonb_array_elements(case when jsonb_typeof({column}) = 'array' then {column} else '[]' end)"


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


def usable(
    connection: Connection,
    kind: Callable[..., _Row],
    statement: str,
    values: Mapping[str, Any],
    *,
    binary: bool = False,
) -> list[_Row]:
    """Return the rows of a statement, each without the entries that cannot be used; null stays null.

    ``kind`` makes one of a row's columns, as ``psycopg.rows.class_row`` does.
    """
    with connection.cursor(row_factory=dict_row, binary=binary) as cursor:
        rows = cursor.execute(statement, values).fetchall()
    odd: dict[str, list[str]] = {}
    for row in rows:
        if changes := _changes(row):
            odd[str(row.get("id"))] = list(changes)
            row.update(changes)
    if odd:
        columns = sorted({name for names in odd.values() for name in names})
        _log.warning(
            "stored_values_left_out", error_code=_CODE, rows=len(odd), columns=columns, ids=sorted(odd)[:_TOLD]
        )
    return [kind(**row) for row in rows]


def _changes(row: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the columns that hold more than can be used, with what of them can."""
    return {
        name: used
        for name, read in _READ.items()
        if (stored := row.get(name)) is not None and (used := read(stored)) != stored
    }
