"""What a source mostly writes about (``sources.granular_topics``): learnt from what was read of its newest contents.

Nothing personal is in it: which topics its subscribers gave a source stays with their subscriptions.
"""

from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import class_row

from siftline.analyze.article_reader import SOURCE
from siftline.analyze.topics.topic_scoring import Topic
from siftline.kit.db import Connection

NEWEST = 50
"""Contents of a source that count, its newest."""
READ_MIN = 5
"""With fewer of them read, a source is said to write about nothing yet."""
SHARE_MIN = 0.2
_HABITS = """
select topic, avg(score)::float8 as score
from (select distinct source_id from source_entries where content_id = %(id)s) as listing
join sources on sources.id = listing.source_id
cross join lateral jsonb_to_recordset(sources.granular_topics) as habit (topic text, score float8)
group by topic order by score desc, topic
"""
# A source that somebody else is writing just now is left for its next content, rather than waited for.
_LEARN = """
with listing as (
  select id from sources
  where id in (select source_id from source_entries where content_id = %(id)s) order by id
  for no key update skip locked
), learnt as (
  select listing.id, coalesce(habit.topics, '[]') as topics
  from listing cross join lateral (
    select jsonb_agg(jsonb_build_object('topic', topic, 'score', share) order by share desc, topic) as topics
    from (
      select told.topic, round(count(*)::numeric / max(newest.read), 2) as share
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
      cross join lateral jsonb_to_recordset(newest.topics) as told (topic text)
      where newest.read >= %(read_min)s
      group by told.topic having count(*) >= %(share_min)s * max(newest.read)
    ) as shares
  ) as habit
)
update sources set granular_topics = learnt.topics
from learnt where sources.id = learnt.id and sources.granular_topics <> learnt.topics
"""


@dataclass(frozen=True, slots=True)
class _HabitRow:
    topic: str
    score: float


def habits(connection: Connection, content_id: UUID) -> list[Topic]:
    """Return what the sources that list a content mostly write about, scored by its share of their contents."""
    with connection.cursor(row_factory=class_row(_HabitRow)) as cursor:
        rows = cursor.execute(_HABITS, {"id": content_id}).fetchall()
    return [Topic(row.topic, round(row.score, 4)) for row in rows]


def learn(connection: Connection, content_id: UUID) -> None:
    """Note anew what the sources that list a content write about, now that it has been read."""
    values = {"id": content_id, "newest": NEWEST, "read_min": READ_MIN, "share_min": SHARE_MIN, "source": SOURCE}
    connection.execute(_LEARN, values)
