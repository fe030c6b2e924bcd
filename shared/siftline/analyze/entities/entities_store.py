"""Who a content is about, in PostgreSQL: found under their aliases, made where they are new."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import scalar_row

from siftline.analyze.entities.mentions import Kind, Named
from siftline.kit.db import Connection
from siftline.kit.errors import TransientError
from siftline.kit.ids import new_id

# Shared locks: a merge of two entities changes their aliases, and waits for whoever is about to use them.
_KNOWN = """
select alias.kind, alias.temporary_id, alias.entity_id
from entity_aliases as alias
join unnest(%(kinds)b::text[], %(temporary_ids)b::text[]) as asked (kind, temporary_id)
  on asked.kind = alias.kind and asked.temporary_id = alias.temporary_id
order by alias.kind, alias.temporary_id for share of alias
"""
_MAKE = """
insert into entities (id, kind, name, temporary_id)
select id, kind, name, temporary_id
from unnest(%(ids)b::uuid[], %(kinds)b::text[], %(names)b::text[], %(temporary_ids)b::text[])
  as new (id, kind, name, temporary_id)
order by kind, temporary_id
on conflict (kind, temporary_id) do nothing
"""
_NAME = """
insert into entity_aliases (kind, temporary_id, entity_id, name, normalised)
select new.kind, new.temporary_id, new.id, new.name, new.normalised
from unnest(%(ids)b::uuid[], %(kinds)b::text[], %(names)b::text[], %(temporary_ids)b::text[],
  %(normalised)b::text[]) as new (id, kind, name, temporary_id, normalised)
join entities on entities.id = new.id
order by new.kind, new.temporary_id
on conflict (kind, temporary_id) do nothing
returning entity_id
"""
# What somebody else named in this very moment is theirs.
_UNNAMED = """
with unnamed as (
  select id from entities where id = any(%(ids)b::uuid[])
    and not exists (select from entity_aliases where entity_aliases.entity_id = entities.id)
  order by id for update)
delete from entities using unnamed where entities.id = unnamed.id
"""
_FORGET = """
delete from content_entities where content_id = %(content_id)s and entity_id in (
  select entity_id from content_entities where content_id = %(content_id)s order by entity_id for update)
"""
_TELL = """
insert into content_entities (content_id, entity_id, mentions)
select %(content_id)s, entity_id, sum(mentions)
from unnest(%(entity_ids)b::uuid[], %(mentions)b::int4[]) as found (entity_id, mentions)
group by entity_id order by entity_id
on conflict (content_id, entity_id) do update set mentions = excluded.mentions
"""
_COPY = """
insert into content_entities (content_id, entity_id, mentions)
select %(content_id)s, entity_id, mentions from content_entities where content_id = %(twin_id)s
order by entity_id on conflict (content_id, entity_id) do update set mentions = excluded.mentions
"""
# Others may make the same entities, or merge them, meanwhile; then they are there at the next look.
_TRIES = 5


@dataclass(frozen=True, slots=True)
class FoundEntity:
    """One whom a text names, under the temporary id of the name."""

    named: Named
    temporary_id: str


def save(connection: Connection, content_id: UUID, found: Sequence[FoundEntity]) -> list[UUID]:
    """Replace whom a content is about; return the organisations that nobody had named before."""
    ids, fresh = _ids_of(connection, found)
    connection.execute(_FORGET, {"content_id": content_id})
    values = {
        "content_id": content_id,
        "entity_ids": [ids[one.named.kind.value, one.temporary_id] for one in found],
        "mentions": [one.named.mentions for one in found],
    }
    connection.execute(_TELL, values)
    organisations = {
        ids[one.named.kind.value, one.temporary_id] for one in found if one.named.kind is Kind.ORGANISATION
    }
    return [entity_id for entity_id in fresh if entity_id in organisations]


def copy(connection: Connection, content_id: UUID, twin_id: UUID) -> None:
    """Take over whom the very same text elsewhere is about."""
    connection.execute(_FORGET, {"content_id": content_id})
    connection.execute(_COPY, {"content_id": content_id, "twin_id": twin_id})


def _ids_of(connection: Connection, found: Sequence[FoundEntity]) -> tuple[dict[tuple[str, str], UUID], list[UUID]]:
    """Return the entities' ids by kind and temporary id, and those of them that were made here."""
    fresh: list[UUID] = []
    for _ in range(_TRIES):
        ids = _known(connection, found)
        missing = [one for one in found if (one.named.kind.value, one.temporary_id) not in ids]
        if not missing:
            return ids, fresh
        fresh += _made(connection, missing)
    raise TransientError("Other jobs kept writing the same entities. Retried automatically.", code="entities_contended")


def _known(connection: Connection, found: Sequence[FoundEntity]) -> dict[tuple[str, str], UUID]:
    values = {
        "kinds": [one.named.kind.value for one in found],
        "temporary_ids": [one.temporary_id for one in found],
    }
    rows = connection.execute(_KNOWN, values).fetchall()
    return {(kind, temporary_id): entity_id for kind, temporary_id, entity_id in rows}


def _made(connection: Connection, missing: Sequence[FoundEntity]) -> list[UUID]:
    values = {
        "ids": [new_id() for _ in missing],
        "kinds": [one.named.kind.value for one in missing],
        "names": [one.named.name for one in missing],
        "temporary_ids": [one.temporary_id for one in missing],
        "normalised": [one.named.normalised for one in missing],
    }
    connection.execute(_MAKE, values)
    with connection.cursor(row_factory=scalar_row) as cursor:
        made: list[UUID] = cursor.execute(_NAME, values).fetchall()
    connection.execute(_UNNAMED, {"ids": values["ids"]})
    return made
