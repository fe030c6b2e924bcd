"""The invariants I1 to I5 of the job's life, asked of PostgreSQL: each rule lists what breaks it, in words.

A broken rule names the row, so that a failing fault test says what was lost and not only that something was.
``restless`` lists what is still on its way; the audit may be asked at any time, for work under way breaks no rule.
"""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from siftline.contracts import Queue
from siftline.kit.db import Connection
from siftline.models.vectors import VectorIndex, open_collections
from tests.credits import credit_violations

Vector = NDArray[np.float32]
# A repeat is never further away than this: quiet times double six times.
_HORIZON = timedelta(days=2)

# ``away`` is how long a thing may be overdue until nobody is taken to see to it (one sweep, generously); ``deep`` are
# the queues that still hold messages: there a job may wait longer, for the message itself is its knock.
_RULES = {
    "I1 can never be claimed: its attempts are used up": """
select id::text from jobs where state = 'pending' and attempts >= max_attempts
""",
    "I1 its lease ran out and no sweep takes it back": """
select id::text from jobs where state = 'processing' and lease_until < now() - %(away)s
""",
    "I1 its lease never ends": """
select id::text from jobs where state = 'processing' and lease_until > now() + %(horizon)s
""",
    "I1 is due at no time that comes": """
select id::text from jobs where state = 'pending' and due_at > now() + %(horizon)s
""",
    "I1 is due and nobody hands it out": """
select id::text from jobs
where state = 'pending' and published_at is null and due_at < now() - %(away)s and queue <> all(%(deep)s)
""",
    "I1 its message is gone and the sweep does not repeat it": """
select id::text from jobs
where state = 'pending' and queue <> all(%(deep)s)
  and (published_at > now() + %(away)s
    or greatest(published_at, due_at) + %(quiet)s * power(2, least(publish_count - 1, 6)) < now() - %(away)s)
""",
    "I1 failed for good and is not on the dead-letter queue": """
select id::text from jobs where park_id is not null and parked_at is null and finished_at < now() - %(away)s
""",
    "I2 an accepted content that nobody works on": """
select id::text from contents
where (status in ('PENDING', 'PROCESSING') and not exists (
    select from jobs where subject_id = contents.id and state in ('pending', 'processing')))
  or (status = 'NEW' and notice_code is distinct from 'no_credit')
""",
    "I2 failed and does not say why": """
select id::text from contents
where status = 'FAILED' and (coalesce(error_code, '') = '' or coalesce(error_detail, '') = '')
""",
    "I2 READY after an analysis that left nothing": """
select id::text from contents
where status = 'READY' and not exists (select from derivations where content_id = contents.id)
  and exists (select from jobs where subject_id = contents.id and job_type = 'analyze_content' and state = 'completed')
""",
    "I3 one page under two contents": "select url_key from contents group by url_key having count(*) > 1",
    "I3 one page held twice by one user": """
select user_id || ' ' || content_id from items group by user_id, content_id having count(*) > 1
""",
    "I3 completed more than once": """
select job_id::text from job_events where event = 'completed' group by job_id having count(*) > 1
""",
    "I3 two live jobs of one kind about one subject": """
select job_type || ' ' || subject_id from jobs where state in ('pending', 'processing')
group by job_type, subject_id having count(*) > 1
""",
    "I4 went on after its end": """
select job_id || ' ' || event || ', then ' || next from (
  select job_id, event, lead(event) over (partition by job_id order by id) as next from job_events) as steps
where event in ('completed', 'failed', 'cancelled') and next <> 'redriven'
""",
    "I4 its state is not what its timeline ends with": """
select jobs.id || ' ' || state || ', last ' || last.event from jobs
join lateral (select event from job_events where job_id = jobs.id order by id desc limit 1) as last on true
where (state in ('completed', 'failed', 'cancelled')) <> (last.event in ('completed', 'failed', 'cancelled'))
  or (state in ('completed', 'failed', 'cancelled') and state <> last.event)
""",
    "I5 the content says it is being worked on, or done, and its jobs say otherwise": """
select contents.id || ' ' || status from contents
left join lateral (
  select count(*) filter (where state = 'processing') as held, count(*) as live from jobs
  where subject_id = contents.id and state in ('pending', 'processing')) as own on true
where (status = 'PROCESSING' and own.held = 0) or (status in ('READY', 'FAILED') and own.live > 0)
""",
    "I5 the content failed and its last job did not, or for another reason": """
select contents.id || ' ' || contents.error_code || ', job ' || coalesce(last.error_code, last.state) from contents
join lateral (
  select state, error_code from jobs where subject_id = contents.id and finished_at is not null
  order by finished_at desc, id desc limit 1) as last on true
where status = 'FAILED' and (last.state <> 'failed' or last.error_code <> contents.error_code)
""",
    "I5 the source's fetch status is not its job's": """
select sources.id || ' ' || fetch_status || ', job ' || coalesce(own.state, 'none') from sources
left join lateral (
  select state from jobs where subject_id = sources.id and state in ('pending', 'processing')) as own on true
where fetch_status in ('FETCHING', 'QUEUED') and own.state is null
  or fetch_status = 'FETCHING' and own.state <> 'processing'
  or fetch_status in ('IDLE', 'ERROR') and own.state is not null
""",
}

_LIVE = """
select job_type || ' ' || state || coalesce(' (' || waits_for || ')', '') from jobs
where state in ('pending', 'processing') or (park_id is not null and parked_at is null)
"""
_INDEXED = """
select content_id, vector from embeddings where model_version = %(model_version)s and indexed_at is not null
"""


def violations(
    connection: Connection,
    queue_depths: Mapping[Queue, int],
    *,
    vectors: Mapping[str, Mapping[UUID, Vector]] | None = None,
    quiet_s: float = 120,
    away_s: float = 180,
) -> list[str]:
    """Return what breaks an invariant, one sentence each; empty when all hold.

    ``queue_depths`` are the messages in each queue (visible, in flight and delayed); ``vectors`` what the vector store
    holds by content, by model version; ``quiet_s`` is JOB_QUIET_S; ``away_s`` how late a sweep may be.
    """
    values = {
        "horizon": _HORIZON,
        "away": timedelta(seconds=away_s),
        "quiet": timedelta(seconds=quiet_s),
        "deep": [queue.value for queue, depth in queue_depths.items() if depth],
    }
    found: list[str] = []
    for rule, statement in _RULES.items():
        found += [f"{rule}: {row[0]}" for row in connection.execute(statement, values).fetchall()]
    found += [f"I3 {broken}" for broken in credit_violations(connection)]
    for model_version, points in (vectors or {}).items():
        found += _differences(connection, model_version, points)
    return found


def restless(connection: Connection) -> list[str]:
    """Return the kinds and states of the jobs that are not at rest, for a person who waits for them."""
    return [row[0] for row in connection.execute(_LIVE).fetchall()]


def stored_vectors(url: str, api_key: str | None = None) -> dict[str, dict[UUID, Vector]]:
    """Return what the vector store at ``url`` holds, by content, by model version: ``vectors`` of ``violations``."""
    indexes = open_collections(url, api_key=api_key)
    return {index.collection.removeprefix("contents_"): _all_points(index) for index in indexes}


def _all_points(index: VectorIndex) -> dict[UUID, Vector]:
    points: dict[UUID, Vector] = {}
    after = None
    while True:
        page, after = index.scroll(100, after)  # a thousand take longer to send than a busy machine has time for
        points |= index.retrieve(page)
        if after is None:
            return points


def _differences(connection: Connection, model_version: str, points: Mapping[UUID, Vector]) -> list[str]:
    rows = connection.execute(_INDEXED, {"model_version": model_version}).fetchall()
    indexed = {content_id: np.frombuffer(vector, "<f4") for content_id, vector in rows}
    both = indexed.keys() & points.keys()
    other = {content_id for content_id in both if not np.allclose(indexed[content_id], points[content_id], atol=1e-4)}
    return [
        *(f"I3 no vector is found for the content: {missing}" for missing in sorted(indexed.keys() - points.keys())),
        *(f"I3 a vector of no analysed content: {ghost}" for ghost in sorted(points.keys() - indexed.keys())),
        *(f"I3 the vector found is that of another text: {content_id}" for content_id in sorted(other)),
    ]
