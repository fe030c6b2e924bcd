"""In whose turn a feed's work is done: its followers', one after the other.

So the 200 feeds of one person are one tenant's, and a feed of many followers burdens them evenly.
"""

from uuid import UUID

from psycopg.rows import scalar_row

from siftline.jobs.job_model import follower
from siftline.kit.db import Connection

# Beside a row of ``sources``: the tenant of its next poll, the one after whose turn the last poll was.
NEXT_POLL = """coalesce((
  select 'user:' || followers.user_id from subscriptions followers
  left join lateral (
    select jobs.group_key from jobs where jobs.subject_id = sources.id and jobs.job_type = 'fetch_source'
    order by jobs.created_at desc limit 1) as last on true
  where followers.source_id = sources.id
  order by 'user:' || followers.user_id > last.group_key collate "C" desc, followers.user_id limit 1),
  'source:' || sources.id)"""

_FOLLOWERS = """
select user_id from subscriptions where source_id = %(source_id)s
order by 'user:' || user_id >= %(first)s collate "C" desc, user_id limit %(limit)s
"""


def followers(connection: Connection, source_id: UUID, *, first: str, limit: int) -> list[str]:
    """Return the tenants of what a source brought, in turn: at most ``limit`` followers, from the one of ``first`` on.

    Never empty: what nobody follows any more is the source's own.
    """
    with connection.cursor(row_factory=scalar_row) as cursor:
        found = cursor.execute(_FOLLOWERS, {"source_id": source_id, "first": first, "limit": limit}).fetchall()
    return [follower(one) for one in found] or [f"source:{source_id}"]
