"""Folders in PostgreSQL. Every statement takes their owner.

Who writes folders, or what is in them, holds the owner's row, so that changes happen one after another. Sources that
are changed too go before it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from pydantic import BaseModel, Field

from siftline.api.http.shapes import EXAMPLE_ID
from siftline.kit.db import Connection
from siftline.kit.ids import new_id


class FolderName(BaseModel):
    """A folder, by name."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    name: str = Field(examples=["News"])


class Folder(FolderName):
    """A folder of sources."""

    sources: int = Field(description="Number of sources in it", examples=[12])
    created_at: datetime


_COLUMNS = """
select f.id, f.name, (select count(*)::int from folder_sources s where s.folder_id = f.id) as sources, f.created_at
from folders f where f.user_id = %(user_id)s
"""
_LIST = _COLUMNS + " order by folder_key(f.name)"
_ONE = _COLUMNS + " and f.id = %(id)s"

_LOCK_USER = "select id from users where id = %(user_id)s for no key update"
_COUNT = "select count(*) from folders where user_id = %(user_id)s"
# Of names that are one, whatever their case, the first.
_ADD = """
insert into folders (id, user_id, name)
select id, %(user_id)s, name from (
  select distinct on (folder_key(name)) id, name
  from unnest(%(ids)b::uuid[], %(names)s::text[]) with ordinality as new (id, name, place)
  order by folder_key(name), place) as named
order by folder_key(name) on conflict (user_id, folder_key(name)) do nothing returning id
"""
_RENAME = """
update folders set name = %(name)s where id = %(id)s and user_id = %(user_id)s and not exists (
  select from folders other
  where other.user_id = %(user_id)s and folder_key(other.name) = folder_key(%(name)s) and other.id <> %(id)s)
returning id
"""
_DELETE = "delete from folders where id = %(id)s and user_id = %(user_id)s returning id"

_OWN = "select id from folders where user_id = %(user_id)s and id = any(%(ids)b::uuid[])"
_TAKE_OUT = """
with gone as (
  select folder_id, source_id from folder_sources
  where user_id = %(user_id)s and source_id = %(source_id)s and folder_id <> all(%(ids)b::uuid[])
  order by folder_id for update)
delete from folder_sources using gone
where folder_sources.folder_id = gone.folder_id and folder_sources.source_id = gone.source_id
"""
# What is followed no longer by the time that it is put in is left out.
_PUT_IN = """
insert into folder_sources (folder_id, user_id, source_id)
select f.id, f.user_id, b.source_id
from folders f join subscriptions b on b.user_id = f.user_id and b.source_id = %(source_id)s
where f.user_id = %(user_id)s and f.id = any(%(ids)b::uuid[])
order by f.id for key share of b on conflict (folder_id, source_id) do nothing
"""
_PUT_IN_BY_NAME = """
insert into folder_sources (folder_id, user_id, source_id)
select f.id, f.user_id, new.source_id
from unnest(%(source_ids)b::uuid[], %(names)s::text[]) as new (source_id, name)
  join folders f on f.user_id = %(user_id)s and folder_key(f.name) = folder_key(new.name)
  join subscriptions b on b.user_id = f.user_id and b.source_id = new.source_id
order by f.id, new.source_id for key share of b on conflict (folder_id, source_id) do nothing
"""


def list_folders(connection: Connection, user_id: UUID) -> list[Folder]:
    """Return a user's folders by name."""
    with connection.cursor(row_factory=class_row(Folder)) as cursor:
        return cursor.execute(_LIST, {"user_id": user_id}).fetchall()


def find_folder(connection: Connection, user_id: UUID, folder_id: UUID) -> Folder | None:
    """Return one of the user's folders."""
    with connection.cursor(row_factory=class_row(Folder)) as cursor:
        return cursor.execute(_ONE, {"user_id": user_id, "id": folder_id}).fetchone()


def hold(connection: Connection, user_id: UUID) -> int:
    """Return how many folders a user has; until the transaction ends nobody else changes any of them."""
    connection.execute(_LOCK_USER, {"user_id": user_id})
    [(count,)] = connection.execute(_COUNT, {"user_id": user_id}).fetchall()
    return int(count)


def add_folders(connection: Connection, user_id: UUID, names: Sequence[str]) -> list[UUID]:
    """Make those of these folders that the user lacks, held before; returns their ids."""
    values = {"user_id": user_id, "ids": [new_id() for _ in names], "names": list(names)}
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_ADD, values).fetchall()


def rename_folder(connection: Connection, user_id: UUID, folder_id: UUID, name: str) -> bool:
    """Give a folder another name; ``False`` where another folder of the user's, held before, has it."""
    values = {"user_id": user_id, "id": folder_id, "name": name}
    return connection.execute(_RENAME, values).fetchone() is not None


def delete_folder(connection: Connection, user_id: UUID, folder_id: UUID) -> bool:
    """Delete a folder, whose sources stay followed; says whether it was there."""
    return connection.execute(_DELETE, {"user_id": user_id, "id": folder_id}).fetchone() is not None


def put_source(
    connection: Connection, user_id: UUID, source_id: UUID, folder_ids: Sequence[UUID], *, alone: bool = True
) -> set[UUID]:
    """Put a source that the user follows into these folders, and out of all others unless ``alone`` is false.

    Returns those of the folders that are the user's.
    """
    hold(connection, user_id)
    values = {"user_id": user_id, "source_id": source_id, "ids": list(folder_ids)}
    if alone:
        connection.execute(_TAKE_OUT, values)
    connection.execute(_PUT_IN, values)
    with connection.cursor(row_factory=scalar_row) as cursor:
        return set(cursor.execute(_OWN, values))


def put_by_name(
    connection: Connection, user_id: UUID, named: Mapping[UUID, Sequence[str]], *, empty: Sequence[str], at_most: int
) -> bool:
    """Put sources that the user follows into the folders of these names too, made where the user lacks them.

    So are those of ``empty``, into which nothing is put.

    Returns ``False``, with some of it done, where the user would have more than ``at_most`` folders.
    """
    names = list(dict.fromkeys([*(name for names in named.values() for name in names), *empty]))
    if not names:
        return True
    count = hold(connection, user_id)
    made = len(add_folders(connection, user_id, names))
    if made and count + made > at_most:
        return False
    pairs = [(source_id, name) for source_id, names in named.items() for name in names]
    source_ids, wanted = [source_id for source_id, _ in pairs], [name for _, name in pairs]
    connection.execute(_PUT_IN_BY_NAME, {"user_id": user_id, "source_ids": source_ids, "names": wanted})
    return True
