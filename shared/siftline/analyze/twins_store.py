"""What was read of the very same text elsewhere, out of PostgreSQL: nothing is read twice."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from psycopg.rows import class_row

from siftline.analyze.article_reader import SOURCE, Derivation, Reading
from siftline.analyze.topics.topic_scoring import Topic
from siftline.kit.db import Connection

_TWIN = """
select twin.id, twin.topics, twin.summary, twin.tags, twin.lang,
  case when twin.notice_code = 'insufficient_content' then twin.notice_code end as notice_code, embeddings.vector,
  made.derivations, made.input_sha256
from analysed_twins join contents as twin on twin.id = analysed_twins.twin_id
left join embeddings on embeddings.content_id = twin.id and embeddings.model_version = %(model_version)s
cross join lateral (
  select jsonb_agg(jsonb_build_object('kind', kind, 'model_id', model_id, 'model_version', model_version,
      'details', details) order by kind) as derivations, (array_agg(input_sha256))[1] as input_sha256,
    bool_and(kind <> 'embedding' or model_version = %(model_version)s) as of_this_model
  from derivations where content_id = twin.id) as made
where analysed_twins.content_id = %(id)s
  and not exists (select from embedding_refusals where embedding_refusals.content_id = twin.id) and made.of_this_model
  and (embeddings.vector is not null) = (made.derivations @> '[{"kind": "embedding"}]')
order by twin.first_seen_at, twin.id limit 1
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """What was read of the very same text elsewhere."""

    twin_id: UUID
    reading: Reading
    input_sha256: bytes


@dataclass(frozen=True, slots=True)
class _TwinRow:
    id: UUID
    topics: list[dict[str, Any]]
    summary: str | None
    tags: list[str]
    lang: str | None
    notice_code: str | None
    vector: bytes | None
    derivations: list[dict[str, Any]]
    input_sha256: bytes


def taken(connection: Connection, content_id: UUID, model_version: str) -> Taken | None:
    """Return what this model read of the same text elsewhere, if this content was never read; else ``None``."""
    with connection.cursor(row_factory=class_row(_TwinRow)) as cursor:
        row = cursor.execute(_TWIN, {"id": content_id, "model_version": model_version}).fetchone()
    if row is None:
        return None
    kept = [made for made in row.derivations if made["model_id"] != SOURCE]  # another source has other habits
    told = row.topics if len(kept) == len(row.derivations) else []
    reading = Reading(
        language=row.lang,
        vector=None if row.vector is None else np.frombuffer(row.vector, "<f4"),
        topics=tuple(Topic(topic["topic"], topic["score"]) for topic in told),
        summary=row.summary,
        tags=tuple(row.tags),
        notice_code=row.notice_code,
        derivations=tuple(
            Derivation(
                made["kind"], made["model_id"], made["model_version"], made["details"] | {"taken_from": str(row.id)}
            )
            for made in kept
        ),
    )
    return Taken(row.id, reading, row.input_sha256)
