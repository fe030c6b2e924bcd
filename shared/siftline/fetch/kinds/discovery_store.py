"""What discovery found at a site's address, in PostgreSQL: the feed to poll from now on, or those to choose from."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from siftline.fetch.kinds import same_feed_store
from siftline.fetch.kinds.feed_locations import Candidate
from siftline.kit.db import Connection

# Another feed in the place of one that is gone counts as a failure until it is read: two that name each other must
# not pass for health.
_FOUND = """
update sources set
  feed_url = %(feed_url)s, candidates = '[]', etag = null, last_modified = null, body_sha256 = null,
  last_full_at = null, resolved_url = null, resolved_since = null, resolved_polls = 0, adopted_url = null,
  fetch_status = 'IDLE', last_fetch_at = now(),
  consecutive_failures = consecutive_failures + (feed_url is not null)::int,
  health = case when health = 'active' and feed_url is not null and consecutive_failures + 1 >= %(degraded_at)s
    then 'degraded' else health end,
  next_fetch_at = now() + refresh_minutes * interval '1 minute', next_fetch_reason = 'its feed was found',
  updated_at = now()
where id = %(source_id)s
"""

_ASKED_OTHERWISE = """
update sources set options = %(options)s, fetch_status = 'IDLE', updated_at = now() where id = %(source_id)s
"""

_LEFT_ALONE = """
update sources set candidates = %(candidates)s, next_fetch_at = greatest(next_fetch_at, now() + %(wait)s),
  next_fetch_reason = %(reason)s, updated_at = now()
where id = %(source_id)s
"""


def found(connection: Connection, source_id: UUID, feed_url: str, *, degraded_at: int) -> None:
    """Let a source be polled at ``feed_url``, of which nothing is known yet.

    Who follows that feed already follows it once from now on (``siftline.fetch.kinds.same_feed_store``).
    """
    same = same_feed_store.hold(connection, source_id, feed_url)
    connection.execute(_FOUND, {"source_id": source_id, "feed_url": feed_url, "degraded_at": degraded_at})
    same_feed_store.merge(connection, source_id, same)


def asked_otherwise(connection: Connection, source_id: UUID, options: Mapping[str, Any]) -> None:
    """Keep a source's options, by which its next poll asks in another way."""
    connection.execute(_ASKED_OTHERWISE, {"source_id": source_id, "options": Jsonb(dict(options))})


def left_alone(
    connection: Connection, source_id: UUID, *, reason: str, candidates: Sequence[Candidate], wait_s: float
) -> None:
    """Leave a page alone for a long while, which only a person can help; keep the feeds to choose from, if any."""
    connection.execute(
        _LEFT_ALONE,
        {
            "source_id": source_id,
            "candidates": Jsonb([asdict(candidate) for candidate in candidates]),
            "wait": timedelta(seconds=wait_s),
            "reason": reason,
        },
    )
