"""A job store of a million rows, as a year's use leaves it: most finished, some waiting, due, handed out, in work."""

from siftline.kit.db import Connection

JOBS = 1_000_000
SOURCES = 50_000
FOLLOWED = 2_000
"""Sources that the one user follows, each with ten items; every twentieth source is degraded."""
OLD = 10_000
"""Finished jobs that are past their age."""

# Bulk loading: the count of jobs is told once, at the end, and references are known to hold.
_FILL = (
    "set session_replication_role = replica",
    """
    insert into jobs (id, job_type, queue, subject_id, group_key, state, priority, attempts, due_at, published_at,
      publish_count, lease_until, lease_token, created_at, updated_at, finished_at)
    select gen_random_uuid(), kind.job_type, kind.queue, gen_random_uuid(), 'user:' || n %% 500, state,
      case n %% 10 when 0 then 20 when 1 then 10 else 0 end, (state <> 'pending')::int,
      now() + case when state = 'pending' and n %% 8 = 0 then interval '2 h' else -interval '1 h' end,
      case when state <> 'pending' or n %% 8 = 1 then now() - interval '10 s' end, 1,
      case when state = 'processing' then now() + interval '9 min' end,
      case when state = 'processing' then gen_random_uuid() end,
      now() - interval '3 days', now() - interval '3 days',
      case when state in ('completed', 'failed', 'cancelled')
        then now() - case when n <= %(old)s then interval '8 days' else n * interval '0.4 s' end end
    from generate_series(1, %(jobs)s) as n
    cross join lateral (select case when n %% 100 < 88 then 'completed' when n %% 100 < 97 then 'pending'
      when n %% 1000 = 999 then 'processing' when n %% 100 < 99 then 'failed' else 'cancelled' end as state) as s
    cross join lateral (select (array['fetch_source', 'ingest_content', 'analyze_content', 'cluster_user'])[n %% 4 + 1]
      as job_type, (array['fetch', 'content-background', 'analysis', 'clustering'])[n %% 4 + 1] as queue) as kind
    """,
    "insert into job_events (job_id, event, attempt) select id, 'enqueued', 0 from jobs",
    """
    insert into sources (id, kind, url, url_key, health, consecutive_failures, next_fetch_at)
    select gen_random_uuid(), 'rss', 'https://feeds.example/' || n, 'https://feeds.example/' || n,
      case when n %% 20 = 0 then 'degraded' else 'active' end, case when n %% 20 = 0 then 5 else 0 end,
      now() + (n %% 100 - 5) * interval '1 min'
    from generate_series(1, %(sources)s) as n
    """,
    "insert into users (id, name) values (%(user)s, 'reader')",
    """
    insert into subscriptions (id, user_id, source_id)
    select gen_random_uuid(), %(user)s, id from sources order by id limit %(followed)s
    """,
    """
    insert into subscriptions (id, user_id, source_id)
    select gen_random_uuid(), gen_random_uuid(), id from sources
    """,
    """
    insert into items (id, user_id, content_id, source_id)
    select gen_random_uuid(), %(user)s, gen_random_uuid(), source_id
    from subscriptions cross join generate_series(1, 10) where user_id = %(user)s
    """,
    "set session_replication_role = origin",
    """
    insert into job_tallies (job_type, queue, state, jobs)
    select job_type, queue, state, count(*) from jobs group by job_type, queue, state
    on conflict (job_type, queue, state) do update set jobs = excluded.jobs
    """,
    "delete from job_tally_changes",
)


def fill(connection: Connection, user_id: object) -> None:
    """Fill an empty database, on a connection that commits by itself, and tell the planner."""
    values = {"jobs": JOBS, "sources": SOURCES, "followed": FOLLOWED, "old": OLD, "user": user_id}
    for statement in _FILL:
        connection.execute(statement, values)
    connection.execute("vacuum analyze")
