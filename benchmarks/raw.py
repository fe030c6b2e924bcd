"""The floor under a poll's write: the rows that it left, read back, inserted into an identical database as they are."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from siftline.kit.db import Connection, Database

# Table by table the columns that the product writes, with their types; all others take their defaults in both ways.
_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "contents": {
        "id": "uuid",
        "url_key": "text",
        "url": "text",
        "kind": "text",
        "status": "text",
        "title": "text",
        "author": "text",
        "site_name": "text",
        "image_url": "text",
        "description": "text",
        "entry_html": "text",
        "published_at": "timestamptz",
        "sort_at": "timestamptz",
    },
    "source_entries": {
        "source_id": "uuid",
        "entry_key": "text",
        "guid": "text",
        "link": "text",
        "content_sha256": "bytea",
        "exact_sha256": "bytea",
        "content_id": "uuid",
        "url_key": "text",
    },
    "items": {"id": "uuid", "user_id": "uuid", "content_id": "uuid", "source_id": "uuid"},
    "jobs": {
        "id": "uuid",
        "job_type": "text",
        "queue": "text",
        "subject_id": "uuid",
        "group_key": "text",
        "priority": "int2",
        "payload": "jsonb",
        "due_at": "timestamptz",
        "max_attempts": "int2",
    },
    "job_events": {"job_id": "uuid", "event": "text", "attempt": "int2"},
}
_MINE = "select content_id from source_entries where source_id = %(source_id)s"
_WHOSE = {
    "contents": f"id in ({_MINE})",
    "source_entries": "source_id = %(source_id)s",
    "items": "source_id = %(source_id)s",
    "jobs": f"subject_id in ({_MINE})",
    "job_events": f"job_id in (select id from jobs where subject_id in ({_MINE}))",  # noqa: S608  -- a constant of ours
}
_ORDER = {
    "contents": "id",
    "source_entries": "content_id",
    "items": "content_id",
    "jobs": "subject_id",
    "job_events": "(select subject_id from jobs where jobs.id = job_id)",
}


Rows = Mapping[str, Mapping[str, Sequence[Any]]]
"""Columns of values by table and name."""


def read_rows(database: Database, source_id: UUID) -> Rows:
    """Return what a source's poll left in every table, each in the order of its contents' ids."""
    tables = {}
    with database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
        for table, columns in _COLUMNS.items():
            query = f"select {', '.join(columns)} from {table} where {_WHOSE[table]} order by {_ORDER[table]}"  # noqa: S608  -- names from above
            rows = cursor.execute(query, {"source_id": source_id}).fetchall()
            tables[table] = {name: [_given(row[name]) for row in rows] for name in columns}
    return tables


def copy_source(origin: Database, target: Database, source_id: UUID) -> None:
    """Make there the source, its subscribers and subscriptions, which the rows refer to."""
    with origin.transaction() as connection:
        source = connection.execute("select id, kind, url, url_key from sources where id = %s", [source_id]).fetchall()
        subscribed = connection.execute(
            "select id, user_id, source_id from subscriptions where source_id = %s", [source_id]
        ).fetchall()
    with target.transaction() as connection, connection.cursor() as cursor:
        cursor.executemany("insert into sources (id, kind, url, url_key) values (%s, %s, %s, %s)", source)
        cursor.executemany(
            "insert into users (id, name) values (%s, %s::text)", [(row[1], row[1]) for row in subscribed]
        )
        cursor.executemany("insert into subscriptions (id, user_id, source_id) values (%s, %s, %s)", subscribed)


def insert_raw(connection: Connection, rows: Rows) -> None:
    """Insert the rows, one statement a table, binary arrays."""
    for table, columns in _COLUMNS.items():
        names = ", ".join(columns)
        arrays = ", ".join(f"%({name})b::{kind}[]" for name, kind in columns.items())
        statement = f"insert into {table} ({names}) select {names} from unnest({arrays}) as given ({names})"  # noqa: S608  -- names from above
        connection.execute(statement, dict(rows[table]))


def _given(value: Any) -> Any:
    return Jsonb(value) if isinstance(value, dict) else value
