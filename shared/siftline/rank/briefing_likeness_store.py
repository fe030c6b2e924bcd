"""What a user's briefings are about, and what is to be compared with that, in PostgreSQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol
from uuid import UUID

from psycopg.rows import class_row

from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class About:
    """A briefing with interests of its own."""

    id: UUID
    interests: str


@dataclass(frozen=True, slots=True, eq=False)
class Uncompared:
    """A content with its vector (float32, little-endian)."""

    content_id: UUID
    lang: str | None
    vector: bytes


class Compared(Protocol):
    """How near a content lies (``siftline.rank.briefing_likeness.Likeness``)."""

    @property
    def content_id(self) -> UUID:
        """The content."""
        ...

    @property
    def value(self) -> float:
        """How near, in [0, 1]."""
        ...

    @property
    def about(self) -> str:
        """To which interest."""
        ...


_BRIEFINGS = (
    "select id, interests from briefings where user_id = %(user_id)s and enabled and interests <> '' order by id"
)

# Only what its user holds and got lately; what was compared by other interests or another model is compared anew.
_UNCOMPARED = """
select c.id as content_id, c.lang, e.vector
from briefings b join items i on i.user_id = b.user_id join contents c on c.id = i.content_id
  join embeddings e on e.content_id = c.id and e.model_version = %(model_version)s
  left join briefing_likeness l on l.briefing_id = b.id and l.content_id = c.id
where b.id = %(briefing_id)s and c.status = 'READY'
  and greatest(i.created_at, c.ready_at) > now() - %(window)s and l.digest is distinct from %(digest)s
order by c.id limit %(limit)s
"""

_PUT = """
insert into briefing_likeness (briefing_id, content_id, digest, value, about)
select %(briefing_id)s, new.content_id, %(digest)s, new.value, new.about
from unnest(%(content_ids)b::uuid[], %(values)b::float8[], %(abouts)b::text[]) as new (content_id, value, about)
where exists (select from briefings where briefings.id = %(briefing_id)s)
  and exists (select from contents where contents.id = new.content_id)
order by new.content_id
on conflict (briefing_id, content_id) do update set digest = excluded.digest, value = excluded.value,
  about = excluded.about
"""


def briefings(connection: Connection, user_id: UUID) -> Sequence[About]:
    """Return the user's briefings that have interests of their own."""
    with connection.cursor(row_factory=class_row(About)) as cursor:
        return cursor.execute(_BRIEFINGS, {"user_id": user_id}).fetchall()


def uncompared(
    connection: Connection, briefing_id: UUID, model_version: str, digest: str, *, window: timedelta, limit: int
) -> Sequence[Uncompared]:
    """Return contents of the last ``window`` that have not been compared by what ``digest`` stands for."""
    values = {
        "briefing_id": briefing_id,
        "model_version": model_version,
        "digest": digest,
        "window": window,
        "limit": limit,
    }
    with connection.cursor(row_factory=class_row(Uncompared), binary=True) as cursor:
        return cursor.execute(_UNCOMPARED, values).fetchall()


def put(connection: Connection, briefing_id: UUID, digest: str, found: Sequence[Compared]) -> None:
    """Write how near contents lie; what went meanwhile is left out."""
    connection.execute(
        _PUT,
        {
            "briefing_id": briefing_id,
            "digest": digest,
            "content_ids": [one.content_id for one in found],
            "values": [one.value for one in found],
            "abouts": [one.about for one in found],
        },
    )
