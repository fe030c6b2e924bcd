"""What the followers of a source settle together: in whose turn its work is done, and how often it is polled."""

from collections.abc import Sequence
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
REFRESH_MINUTES = 60
"""How often a source is polled of which nobody wished anything else."""

# Nobody is made to wait by another's wish: the most frequent one counts, and a lower limit only where all have one.
# What the server asked for stands above all wishes.
_PLANNED_AT = """
case when consecutive_failures > 0 then next_fetch_at
  else greatest(fresh_until, least(next_fetch_at, coalesce(last_fetch_at, now())
    + coalesce(wanted.minutes, greatest(wanted.most, wanted.least)) * interval '1 minute')) end
"""
# What a plan that stays says of an earlier wish.
_WANTED = """
case when wanted.minutes is null then 'polling at its own rhythm from then on'
  when wanted.minutes >= 120 and wanted.minutes %% 60 = 0
    then format('polling requested every %%s hours from then on', wanted.minutes / 60)
  else format('polling requested every %%s minutes from then on', wanted.minutes) end
"""
_SETTLE_REFRESH = f"""
update sources set wished_minutes = wanted.minutes, refresh_min_minutes = wanted.least,
  refresh_max_minutes = wanted.most, updated_at = now(),
  refresh_minutes = coalesce(wanted.minutes, case when wished_minutes is null then refresh_minutes end, %(default)s),
  next_fetch_at = {_PLANNED_AT},
  next_fetch_reason = case when next_fetch_at is distinct from {_PLANNED_AT} then %(reason)s
    else regexp_replace(next_fetch_reason, 'polling (requested every|at its own rhythm) [^);]+', {_WANTED}) end
from (select source_id, min(refresh_minutes) as minutes, min(refresh_max_minutes) as most,
        case when count(*) = count(refresh_min_minutes) then min(refresh_min_minutes) end as least
      from subscriptions where source_id = any(%(source_ids)b::uuid[]) group by source_id) wanted
where id = wanted.source_id and (wished_minutes, sources.refresh_min_minutes, sources.refresh_max_minutes)
  is distinct from (wanted.minutes, wanted.least, wanted.most)
"""  # noqa: S608  -- constants of ours
_WISHES_CHANGED = "requested polling interval changed: as soon as it and the server allow"


def followers(connection: Connection, source_id: UUID, *, first: str, limit: int) -> list[str]:
    """Return the tenants of what a source brought, in turn: at most ``limit`` followers, from the one of ``first`` on.

    Never empty: what nobody follows any more is the source's own.
    """
    with connection.cursor(row_factory=scalar_row) as cursor:
        found = cursor.execute(_FOLLOWERS, {"source_id": source_id, "first": first, "limit": limit}).fetchall()
    return [follower(one) for one in found] or [f"source:{source_id}"]


def settle_refresh(connection: Connection, source_ids: Sequence[UUID]) -> None:
    """Set how often sources are polled to the most frequent wish of their followers, or else within their limits.

    Where the last wish is gone it begins with ``REFRESH_MINUTES``.
    """
    values = {"source_ids": list(source_ids), "default": REFRESH_MINUTES, "reason": _WISHES_CHANGED}
    connection.execute(_SETTLE_REFRESH, values)
