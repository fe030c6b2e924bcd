"""Organisations in PostgreSQL: temporary ids and what becomes of them, and how often providers were asked."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from siftline.kit.db import Connection
from siftline.resolve.matching import OrganisationCandidate, Temporary
from siftline.text.names import normalise, temporary_id

_LOAD = """
select entities.id, entities.name, entities.canonical_id, coalesce((
  select array_agg(lang order by texts desc, lang) from (
    select contents.lang, count(*) as texts from content_entities
    join contents on contents.id = content_entities.content_id
    where content_entities.entity_id = entities.id and contents.lang is not null
    group by contents.lang) as spoken), '{}') as languages
from entities where entities.id = %(id)s
"""
_ONE_AT_A_TIME = "select pg_advisory_xact_lock(hashtextextended('entity:' || %(canonical_id)s, 0))"
_HOLDER = "select id from entities where canonical_id = %(canonical_id)s and id <> %(id)s"
_SETTLE = """
update entities set canonical_id = %(canonical_id)s, provider = %(provider)s, name = %(name)s, reason = null,
  checked_at = now()
where id = %(id)s
"""
# The aliases first: whoever is about to use one holds it, and is waited for.
_MERGE_ALIASES = """
with theirs as (
  select kind, temporary_id from entity_aliases where entity_id = %(id)s order by kind, temporary_id for no key update)
update entity_aliases a set entity_id = %(winner)s
from theirs where a.kind = theirs.kind and a.temporary_id = theirs.temporary_id
"""
_MERGE_CONTENTS = """
insert into content_entities as kept (content_id, entity_id, mentions)
select content_id, %(winner)s, mentions from content_entities where entity_id = %(id)s order by content_id
on conflict (content_id, entity_id) do update set mentions = kept.mentions + excluded.mentions
"""
_MERGED = "delete from entities where id = %(id)s"
_ALIASES = """
insert into entity_aliases (kind, temporary_id, entity_id, name, normalised)
select 'ORG', temporary_id, %(entity_id)s, name, normalised
from unnest(%(temporary_ids)b::text[], %(names)b::text[], %(normalised)b::text[])
  as new (temporary_id, name, normalised)
order by temporary_id
on conflict (kind, temporary_id) do nothing
"""
_NOTE = """
update entities set reason = %(reason)s, checked_at = now() where id = %(id)s and canonical_id is null
"""
_TAKE = """
insert into provider_requests as kept (provider, span, starts_at, requests)
values (%(provider)s, %(span)s, %(starts_at)s, 1)
on conflict (provider, span, starts_at) do update set requests = kept.requests + 1
where kept.requests < %(most)s
returning requests
"""
_FORGET_REQUESTS = """
with old as (
  select provider, span, starts_at from provider_requests where starts_at < %(before)s for update skip locked)
delete from provider_requests r using old
where r.provider = old.provider and r.span = old.span and r.starts_at = old.starts_at
"""
_WAITING = """
select entities.id from entities
where kind = 'ORG' and canonical_id is null
  and not exists (select from jobs where jobs.job_type = 'resolve_entity' and jobs.subject_id = entities.id
    and jobs.state in ('pending', 'processing'))
order by entities.id
"""
_COUNTS = """
select count(*) filter (where canonical_id is null) as temporary, count(canonical_id) as resolved,
  (select count(*) from jobs where job_type = 'resolve_entity' and state in ('pending', 'processing')) as queued
from entities where kind = 'ORG'
"""
_REQUESTS = """
select provider, requests from provider_requests where span = 'day' and starts_at = %(starts_at)s order by provider
"""
_KEPT = timedelta(days=30)


def load(connection: Connection, entity_id: UUID) -> Temporary | None:
    """Return an entity with the languages of the texts that name it, the commonest first; ``None`` where it is gone."""
    with connection.cursor(row_factory=class_row(Temporary)) as cursor:
        found = cursor.execute(_LOAD, {"id": entity_id}).fetchone()
    return found and Temporary(found.id, found.name, found.canonical_id, tuple(found.languages))


def settle(
    connection: Connection, entity_id: UUID, candidate: OrganisationCandidate, *, provider: str, salt: str
) -> UUID:
    """Put a canonical id in place of a temporary one, everywhere; return the entity that has it now.

    Where another entity has it already, both become that one: its aliases and contents are joined without doubles.
    """
    values = {"id": entity_id, "canonical_id": candidate.id, "provider": provider, "name": candidate.name}
    connection.execute(_ONE_AT_A_TIME, values)
    with connection.cursor(row_factory=scalar_row) as cursor:
        holder: UUID | None = cursor.execute(_HOLDER, values).fetchone()
    if holder is None:
        connection.execute(_SETTLE, values)
    else:
        for statement in (_MERGE_ALIASES, _MERGE_CONTENTS, _MERGED):
            connection.execute(statement, {"id": entity_id, "winner": holder})
    names = list(dict.fromkeys((candidate.name, *candidate.kept)))
    connection.execute(
        _ALIASES,
        {
            "entity_id": holder or entity_id,
            "temporary_ids": [temporary_id(name, salt) for name in names],
            "names": names,
            "normalised": [normalise(name) for name in names],
        },
    )
    return holder or entity_id


def note(connection: Connection, entity_id: UUID, reason: str) -> None:
    """Say why an entity's id is temporary still."""
    connection.execute(_NOTE, {"id": entity_id, "reason": reason})


def take(connection: Connection, provider: str, span: str, starts_at: datetime, *, most: int) -> int | None:
    """Count one request to a provider in a span of time; return which it is, ``None`` where it is one too many."""
    values = {"provider": provider, "span": span, "starts_at": starts_at, "most": most}
    row = connection.execute(_TAKE, values).fetchone()
    return None if row is None else int(row[0])


def forget_requests(connection: Connection, now: datetime) -> None:
    """Delete counts of a month ago."""
    connection.execute(_FORGET_REQUESTS, {"before": now - _KEPT})


def waiting(connection: Connection) -> Sequence[UUID]:
    """Return the organisations with a temporary id that nobody is going to ask about."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_WAITING).fetchall()


def counts(connection: Connection) -> tuple[int, int, int]:
    """Return how many organisations are temporary, how many are resolved, and how many jobs are on their way."""
    row = connection.execute(_COUNTS).fetchone()
    return (0, 0, 0) if row is None else (int(row[0]), int(row[1]), int(row[2]))


def requests_of(connection: Connection, day: datetime) -> dict[str, int]:
    """Return how often each provider was asked on a day."""
    return dict(connection.execute(_REQUESTS, {"starts_at": day}).fetchall())
