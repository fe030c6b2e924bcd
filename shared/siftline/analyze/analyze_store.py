"""What analysis reads and writes: a content's text in, everything derived from it out, in one transaction.

Also what was read of the very same text elsewhere, for nothing is read twice; and what a source mostly writes about
(``sources.granular_topics``), learnt from what was read of its newest contents. Nothing personal is in that: which
topics its subscribers gave a source stays with their subscriptions.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from siftline.analyze.article_reader import SOURCE, Derivation, Reading
from siftline.analyze.topics.topic_scoring import Seen, Topic
from siftline.catalog.usable_rows import entries_of
from siftline.contracts import JobType
from siftline.kit.db import Connection

_LOAD = "select id, title, text, lang, version from contents where id = %(id)s"
_VERSION = "select version from contents where id = %(id)s"
_INGEST_FAILURE = """
select error_code, error_message
from (
  select state, error_code, error_message from jobs
  where subject_id = %(id)s and job_type = %(job_type)s
  order by created_at desc, id desc limit 1
) as newest
where state = 'failed' and error_code is not null and error_message is not null
"""
_SEEN = """
select topic, documents, vector_sum from topic_means where model_version = %(model_version)s and lang = %(lang)s
"""
# What ingest says of the page goes before what the analysis says of the text, and is no analysis's to clear.
_SAVE = """
update contents
set status = 'READY', topics = %(topics)s, summary = %(summary)s, tags = %(tags)s, lang = %(lang)s,
  notice_code = case when notice_code in ('insufficient_content', 'without_vector') then %(notice_code)s
    else coalesce(notice_code, %(notice_code)s) end,
  error_code = null, error_detail = null, updated_at = now()
where id = %(id)s and version = %(version)s
"""
_WAIT = "update contents set status = 'PENDING', updated_at = now() where id = %(id)s and status = 'PROCESSING'"
_DERIVE = """
insert into derivations (content_id, kind, model_id, model_version, input_sha256, details, made_at)
select %(id)s, kind, model_id, model_version, %(input_sha256)b, details::jsonb, now()
from unnest(%(kinds)b::text[], %(model_ids)b::text[], %(model_versions)b::text[], %(details)b::text[])
  as made (kind, model_id, model_version, details)
order by kind on conflict (content_id, kind) do update
set model_id = excluded.model_id, model_version = excluded.model_version, input_sha256 = excluded.input_sha256,
  details = excluded.details, made_at = excluded.made_at
"""
_FORGET = """
delete from derivations where content_id = %(id)s and kind in (
  select kind from derivations
  where content_id = %(id)s and kind = any(%(ours)b::text[]) and not kind = any(%(kinds)b::text[])
  order by kind for update)
"""
_EMBED = """
insert into embeddings as kept (content_id, model_version, dimensions, vector, text_version, indexed_at)
values (%(id)s, %(model_version)s, %(dimensions)s, %(vector)b, %(text_version)s, now())
on conflict (content_id, model_version) do update
set vector = excluded.vector, text_version = excluded.text_version, indexed_at = excluded.indexed_at
returning xmax = 0 as fresh
"""
_OPEN_MEAN = """
insert into topic_means (model_version, lang, topic, documents, vector_sum)
values (%(model_version)s, %(lang)s, %(topic)s, 0, %(nothing)b)
on conflict (model_version, lang, topic) do nothing
"""
_LOCK_MEAN = """
select vector_sum from topic_means
where model_version = %(model_version)s and lang = %(lang)s and topic = %(topic)s for update
"""
_LEARN = """
update topic_means set documents = documents + 1, vector_sum = %(vector_sum)b, updated_at = now()
where model_version = %(model_version)s and lang = %(lang)s and topic = %(topic)s
"""
# Counting stops at the number that matters, so a holder of a million contents costs no more than one of twenty.
_TO_CLUSTER = """
select held.user_id
from items as held
where held.content_id = %(id)s
  and not exists (
    select from jobs
    where jobs.job_type = %(job_type)s and jobs.subject_id = held.user_id and jobs.state in ('pending', 'processing')
  )
  and (
    select count(*) from (
      select from items
      join embeddings on embeddings.content_id = items.content_id and embeddings.model_version = %(model_version)s
      where items.user_id = held.user_id and items.content_id <> %(id)s
        and embeddings.made_at > coalesce(
          (select max(made_at) from cluster_runs where cluster_runs.user_id = held.user_id), '-infinity'
        )
      limit %(others)s
    ) as fresh
  ) >= %(others)s
  and not exists (
    select from embeddings where embeddings.content_id = %(id)s and embeddings.model_version = %(model_version)s
  )
order by held.user_id
"""
_HOLDERS = "select user_id, saved from items where content_id = %(id)s order by saved desc, user_id"
_KINDS = ("language", "embedding", "topics", "summary", "tags", "entities")

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

NEWEST = 50
"""Contents of a source that count, its newest."""
READ_MIN = 5
"""With fewer of them read, a source is said to write about nothing yet."""
SHARE_MIN = 0.2

_HABITS = f"""
select habit ->> 'topic' as topic, avg((habit -> 'score')::float8)::float8 as score
from (select distinct source_id from source_entries where content_id = %(id)s) as listing
join sources on sources.id = listing.source_id
cross join lateral {entries_of("sources.granular_topics")} as habit
where jsonb_typeof(habit -> 'topic') = 'string' and case when jsonb_typeof(habit -> 'score') = 'number'
  then (habit -> 'score')::numeric between 0 and 1 end
group by 1 order by score desc, topic
"""  # noqa: S608  -- constants of ours

# A source that somebody else is writing just now is left for its next content, rather than waited for.
_LEARN_HABITS = f"""
with listing as (
  select id from sources
  where id in (select source_id from source_entries where content_id = %(id)s) order by id
  for no key update skip locked
), learnt as (
  select listing.id, coalesce(habit.topics, '[]') as topics
  from listing cross join lateral (
    select jsonb_agg(jsonb_build_object('topic', topic, 'score', share) order by share desc, topic) as topics
    from (
      select told ->> 'topic' as topic, round(count(*)::numeric / max(newest.read), 2) as share
      from (
        select contents.topics, count(*) over () as read
        from (
          select content_id from source_entries where source_id = listing.id and content_id is not null
          order by first_seen_at desc limit %(newest)s
        ) as entry
        join contents on contents.id = entry.content_id
        where contents.status = 'READY' and contents.topics is not null and exists (
          select from derivations
          where derivations.content_id = contents.id and kind = 'topics' and model_id <> %(source)s
        )
      ) as newest
      cross join lateral {entries_of("newest.topics")} as told
      where newest.read >= %(read_min)s and jsonb_typeof(told -> 'topic') = 'string'
      group by 1 having count(*) >= %(share_min)s * max(newest.read)
    ) as shares
  ) as habit
)
update sources set granular_topics = learnt.topics
from learnt where sources.id = learnt.id and sources.granular_topics <> learnt.topics
"""  # noqa: S608  -- constants of ours


@dataclass(frozen=True, slots=True)
class StoredText:
    """A content's text as ingest left it; ``text`` is ``None`` before that. ``version`` goes up with every change."""

    id: UUID
    title: str | None
    text: str | None
    lang: str | None
    version: int


@dataclass(frozen=True, slots=True)
class IngestFailure:
    """Why a content has no text, in the words of its ``ingest_content`` job."""

    error_code: str
    error_message: str


def load(connection: Connection, content_id: UUID) -> StoredText | None:
    """Return a content's text, or ``None`` where there is no such content."""
    with connection.cursor(row_factory=class_row(StoredText)) as cursor:
        return cursor.execute(_LOAD, {"id": content_id}).fetchone()


def ingest_failure(connection: Connection, content_id: UUID) -> IngestFailure | None:
    """Return why the last reading of a content's page failed, or ``None`` where it did not, or is still to be done."""
    values = {"id": content_id, "job_type": JobType.INGEST_CONTENT.value}
    with connection.cursor(row_factory=class_row(IngestFailure)) as cursor:
        return cursor.execute(_INGEST_FAILURE, values).fetchone()


def version_of(connection: Connection, content_id: UUID) -> int | None:
    """Return the content's present version, or ``None`` where it is gone."""
    row = connection.execute(_VERSION, {"id": content_id}).fetchone()
    return None if row is None else int(row[0])


def seen(connection: Connection, model_version: str, lang: str) -> dict[str, Seen]:
    """Return what the running mean of a language has learnt, by topic."""
    rows = connection.execute(_SEEN, {"model_version": model_version, "lang": lang}).fetchall()
    return {topic: Seen(documents, np.frombuffer(vector_sum, "<f8")) for topic, documents, vector_sum in rows}


def save(connection: Connection, content_id: UUID, version: int, reading: Reading) -> bool:
    """Make the content READY with all that was read; return whether its text is still the one that was read."""
    saved = connection.execute(
        _SAVE,
        {
            "id": content_id,
            "version": version,
            "topics": Jsonb([{"topic": topic.topic, "score": topic.score} for topic in reading.topics]),
            "summary": reading.summary,
            "tags": list(reading.tags),
            "lang": reading.language,
            "notice_code": reading.notice_code,
        },
    )
    return saved.rowcount == 1


def wait(connection: Connection, content_id: UUID) -> None:
    """Let a content wait for another analysis."""
    connection.execute(_WAIT, {"id": content_id})


def derive(connection: Connection, content_id: UUID, reading: Reading, input_sha256: bytes) -> None:
    """Note what made each derived value, and forget what an earlier reading made and this one did not."""
    made = reading.derivations
    kinds = [derivation.kind for derivation in made]
    connection.execute(_FORGET, {"id": content_id, "ours": list(_KINDS), "kinds": kinds})
    connection.execute(
        _DERIVE,
        {
            "id": content_id,
            "input_sha256": input_sha256,
            "kinds": kinds,
            "model_ids": [derivation.model_id for derivation in made],
            "model_versions": [derivation.model_version for derivation in made],
            "details": [json.dumps(dict(derivation.details)) for derivation in made],
        },
    )


def embed(
    connection: Connection, content_id: UUID, model_version: str, vector: NDArray[np.float32], text_version: int
) -> bool:
    """Keep a content's vector, made of this version of its text; return whether it is its first by this model."""
    values = {
        "id": content_id,
        "model_version": model_version,
        "dimensions": vector.size,
        "vector": vector.astype("<f4").tobytes(),
        "text_version": text_version,
    }
    row = connection.execute(_EMBED, values).fetchone()
    return row is not None and bool(row[0])


def learn(connection: Connection, model_version: str, lang: str, topic: str, vector: NDArray[np.float32]) -> None:
    """Add a vector to a topic's running mean in a language. The row stays locked until the transaction ends."""
    key = {"model_version": model_version, "lang": lang, "topic": topic}
    connection.execute(_OPEN_MEAN, {**key, "nothing": np.zeros(vector.size, "<f8").tobytes()})
    row = connection.execute(_LOCK_MEAN, key).fetchone()
    if row is not None:
        total = np.frombuffer(row[0], "<f8") + vector
        connection.execute(_LEARN, {**key, "vector_sum": total.astype("<f8").tobytes()})


def users_to_cluster(connection: Connection, content_id: UUID, model_version: str, every: int) -> Sequence[UUID]:
    """Return the users for whom this content, read now for the first time, is at least the ``every``-th new one.

    New are contents whose first vector was made after the user's latest run. Who has a run waiting or going is left
    out.
    """
    values = {
        "id": content_id,
        "model_version": model_version,
        "others": every - 1,
        "job_type": JobType.CLUSTER_USER,
    }
    return [row[0] for row in connection.execute(_TO_CLUSTER, values).fetchall()]


def holders(connection: Connection, content_id: UUID) -> Sequence[tuple[UUID, bool]]:
    """Return the users who hold a content and whether they saved it, those first who did."""
    return connection.execute(_HOLDERS, {"id": content_id}).fetchall()


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


def habits(connection: Connection, content_id: UUID) -> list[Topic]:
    """Return what the sources that list a content mostly write about, scored by its share of their contents."""
    rows = connection.execute(_HABITS, {"id": content_id}).fetchall()
    return [Topic(topic, round(score, 4)) for topic, score in rows]


def learn_habits(connection: Connection, content_id: UUID) -> None:
    """Note anew what the sources that list a content write about, now that it has been read."""
    values = {"id": content_id, "newest": NEWEST, "read_min": READ_MIN, "share_min": SHARE_MIN, "source": SOURCE}
    connection.execute(_LEARN_HABITS, values)
