"""What a re-embedding reads and writes: the texts that have no vector of the new version yet, and these vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from psycopg.rows import class_row, scalar_row

from siftline.analyze import analyze_store
from siftline.kit.db import Connection
from siftline.text.stored_scores import topic_scores

_WANTING = """
from embeddings old join contents c on c.id = old.content_id
left join embeddings new on new.content_id = old.content_id and new.model_version = %(new)s
left join embedding_refusals refused on refused.content_id = old.content_id and refused.model_version = %(new)s
where old.model_version = %(old)s
  and (new.content_id is null or new.text_version is distinct from old.text_version)
  and (refused.content_id is null or refused.text_version is distinct from old.text_version)
"""
_COUNT = f"select count(*) {_WANTING}"
_ALL = "select count(*) from embeddings where model_version = %(old)s"
# A topic that was told by the text, and not by its source's habit or by too little, teaches the mean.
_PAGE = f"""
select c.id, coalesce(c.title, '') as title, coalesce(c.text, '') as text, coalesce(c.lang, 'und') as lang,
  coalesce(c.topics, '[]') as topics, c.version, old.text_version,
  c.notice_code is distinct from 'insufficient_content' and exists (
    select from derivations d where d.content_id = c.id and d.kind = 'topics' and d.model_id <> %(source)s) as told
{_WANTING} and old.content_id > %(after)s order by old.content_id limit %(limit)s
"""  # noqa: S608 - made of constants only
_KEEP = """
insert into embeddings as kept (content_id, model_version, dimensions, vector, text_version, indexed_at, made_at)
select old.content_id, %(new)s, %(dimensions)s, made.vector, made.text_version, now(), old.made_at
from unnest(%(ids)b::uuid[], %(vectors)b::bytea[], %(text_versions)b::int4[]) as made (id, vector, text_version)
join embeddings old on old.content_id = made.id and old.model_version = %(old)s
order by old.content_id
on conflict (content_id, model_version) do update
set vector = excluded.vector, text_version = excluded.text_version, indexed_at = excluded.indexed_at
where coalesce(kept.text_version, 0) <= coalesce(excluded.text_version, 0)
returning content_id, xmax = 0 as fresh
"""
_REFUSE = """
insert into embedding_refusals (content_id, model_version, text_version, error_code)
select old.content_id, %(new)s, made.text_version, %(error_code)s
from unnest(%(ids)b::uuid[], %(text_versions)b::int4[]) as made (id, text_version)
join embeddings old on old.content_id = made.id and old.model_version = %(old)s
order by old.content_id on conflict (content_id, model_version) do update
set text_version = excluded.text_version, error_code = excluded.error_code, made_at = now()
"""
_REFUSALS = """
select refused.error_code, count(*)::int as contents,
  (array_agg(refused.content_id::text order by refused.content_id))[:3] as examples
from embedding_refusals refused
join embeddings old on old.content_id = refused.content_id and old.model_version = %(old)s
  and old.text_version is not distinct from refused.text_version
where refused.model_version = %(new)s
group by refused.error_code order by contents desc, refused.error_code
"""
# It is held for hours by a transaction that does nothing else.
_TRY_LOCK = """
select pg_try_advisory_xact_lock(hashtextextended('siftline reindex', 0)) from
  (select set_config('idle_in_transaction_session_timeout', '0', true)) as rests
"""


@dataclass(frozen=True, slots=True)
class Wanting:
    """A content with a vector of the old version and none, or one of an older text, of the new one."""

    id: UUID
    title: str
    text: str
    lang: str
    topics: Any
    version: int
    text_version: int | None
    told: bool

    @property
    def about(self) -> list[dict[str, Any]]:
        """Its topics, as far as what is stored are any."""
        return topic_scores(self.topics)

    @property
    def payload(self) -> Mapping[str, Any]:
        """What stands beside its point."""
        return {"lang": None if self.lang == "und" else self.lang, "topics": [one["topic"] for one in self.about]}


@dataclass(frozen=True, slots=True)
class Refusals:
    """Contents that the new model makes no vector of, for one reason; ``examples``: ids of a few."""

    error_code: str
    contents: int
    examples: list[str]


def try_lock(connection: Connection) -> bool:
    """Take the lock of re-embedding, which ends with this transaction; returns whether it was free."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return bool(cursor.execute(_TRY_LOCK).fetchone())


def counts(connection: Connection, old: str, new: str) -> tuple[int, int]:
    """Return how many contents have a vector of the old version, and how many of them need one of the new."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        every = cursor.execute(_ALL, {"old": old}).fetchone()
        wanting = cursor.execute(_COUNT, {"old": old, "new": new}).fetchone()
    return int(every or 0), int(wanting or 0)


def page(connection: Connection, old: str, new: str, *, source: str, after: UUID, limit: int) -> list[Wanting]:
    """Return the next contents, by id, that need a vector; ``source`` is the model id of topics out of habit."""
    values = {"old": old, "new": new, "source": source, "after": after, "limit": limit}
    with connection.cursor(row_factory=class_row(Wanting)) as cursor:
        return cursor.execute(_PAGE, values).fetchall()


def keep(
    connection: Connection, old: str, new: str, made: Sequence[tuple[Wanting, NDArray[np.float32]]], *, means: bool
) -> None:
    """Keep vectors of the new version; with ``means`` its running means learn from those that are its first."""
    if not made:
        return
    values = {
        "old": old,
        "new": new,
        "dimensions": made[0][1].size,
        "ids": [content.id for content, _ in made],
        "vectors": [vector.astype("<f4").tobytes() for _, vector in made],
        "text_versions": [content.text_version for content, _ in made],
    }
    fresh = {row[0] for row in connection.execute(_KEEP, values).fetchall() if row[1]}
    taught = [(content, vector) for content, vector in made if content.id in fresh and content.told and content.about]
    if means:
        _learn(connection, new, taught)


def refuse(connection: Connection, old: str, new: str, contents: Sequence[Wanting], error_code: str) -> None:
    """Note contents of which the new model makes no vector."""
    values = {
        "old": old,
        "new": new,
        "ids": [content.id for content in contents],
        "text_versions": [content.text_version for content in contents],
        "error_code": error_code,
    }
    connection.execute(_REFUSE, values)


def refusals(connection: Connection, old: str, new: str) -> list[Refusals]:
    """Return what the new model made no vector of, as the texts are now, by reason."""
    with connection.cursor(row_factory=class_row(Refusals)) as cursor:
        return cursor.execute(_REFUSALS, {"old": old, "new": new}).fetchall()


def _learn(connection: Connection, new: str, taught: Sequence[tuple[Wanting, NDArray[np.float32]]]) -> None:
    """Teach the means, rows in one order for all who do."""
    in_order = sorted(taught, key=lambda one: (one[0].lang, one[0].about[0]["topic"]))
    for content, vector in in_order:
        analyze_store.learn(connection, new, content.lang, content.about[0]["topic"], vector)
