"""The order of who waits, in ``fetch_turns``: the SQL that all lines have in common, each with times of its own."""

from datetime import timedelta

from siftline.kit.db import nearest

# Who did not come back so long after their turn has gone away; until then they are let through before those behind.
RESERVATION_KEPT = timedelta(hours=1)
# Who stands first has come so much earlier than all others, in the line's own time.
FIRST = timedelta(days=36_500)
# Those who came no later than this stand in the same part of the line.
_ALIKE = "now() - %(lead)s + interval '1 day'"


def lead(*, first: bool) -> timedelta:
    """Return the parameter ``lead`` of who stands first, or in order."""
    return FIRST if first else timedelta()


def ahead(scope: str, interval_s: str) -> str:
    """Return the query that counts who stands before ``%(who)s`` in the line of a scope.

    Whoever missed a turn by more than one interval is not waited for: what they wait for would stand idle meanwhile.
    Both arguments are SQL of ours. ``%(lead)s`` is ``FIRST`` for who stands before all others, and else nothing.
    """
    return f"""
  select count(*) from fetch_turns t
  where t.scope = {scope} and t.who <> %(who)s and t.turn_at > now() - {interval_s} * interval '1 second'
    and t.since < least((select m.since from fetch_turns m where m.scope = {scope} and m.who = %(who)s), {_ALIKE})
"""  # noqa: S608  -- constants of ours


def standing(scope: str, times: str) -> str:
    """Return the statement that keeps a turn for ``%(who)s``, and says when it comes.

    ``times`` selects ``interval_s``, ``free_at`` and ``ahead`` from ``fetch_hosts h``; the caller holds the row's lock.
    """
    return f"""
with left_behind as (
  delete from fetch_turns where scope = {scope} and who in (
    select who from fetch_turns where scope = {scope} and who <> %(who)s and turn_at <= now() - %(turn_kept)s
    for update skip locked)),
host as (select {times} from fetch_hosts h where h.scope = {scope}),
mine as (
  insert into fetch_turns (scope, who, since, turn_at)
  select {scope}, %(who)s,
    greatest(now() - %(lead)s,
      (select max(since) from fetch_turns where scope = {scope} and since < {_ALIKE}) + interval '1 microsecond'),
    greatest(host.free_at + host.ahead * host.interval_s * interval '1 second', now())
  from host
  on conflict (scope, who) do update set turn_at = excluded.turn_at,
    since = least(fetch_turns.since, excluded.since)
  returning turn_at)
select extract(epoch from {nearest("mine.turn_at")} - now())::float8 as wait_s, host.interval_s,
  (select b.blocked_reason from fetch_hosts b where b.scope = any(%(domains)s) and b.blocked_until > now()
   order by b.blocked_until desc limit 1) as reason
from mine, host
"""  # noqa: S608  -- as above


def lock(scope: str) -> str:
    """Return the statement that locks a row, before its line is read: nobody else can be writing to it then."""
    return f"""
insert into fetch_hosts (scope, updated_at) values ({scope}, now())
on conflict (scope) do update set updated_at = excluded.updated_at
"""  # noqa: S608  -- as above
