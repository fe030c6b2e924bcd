"""Concurrency slots: how many requests one owner's hosts get at once, in PostgreSQL, for all workers alike.

A row of ``fetch_hosts`` for an owner and a queue says who holds a slot (``in_work``) and since when: one row, so that
its lock makes counting and taking one thing. The slot of who was killed counts no longer after ``lease_s``. Nothing is
remembered of who did not answer but for how long slots were held (``held_s``), which says when it pays to come back,
never that somebody is left alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import class_row

from siftline.kit.db import Connection
from siftline.net.lines_store import RESERVATION_KEPT, ahead, lead, lock, standing

# Whoever stands in front comes back no sooner than after this, or after this part of how long slots are held.
_SOONEST_S = 2
_PART_RATIO = 0.125
# Delays are of whole seconds: a slot is kept free for who is due this close to now.
_ABOUT_S = 1


@dataclass(frozen=True, slots=True)
class Slot:
    """A concurrency slot at one owner's hosts, and who asks for it."""

    scope: str
    """The owner and the queue. A host has no space in it, so that this is none's."""
    owner: str
    at_once: int
    lease_s: float
    token: UUID
    """What holds it: a request, and what that becomes by redirects and repeats."""
    first: bool = False
    """Whether a person waits for it."""

    def values(self) -> dict[str, object]:
        """Return what the statements take."""
        return {
            "slot": self.scope,
            "token": str(self.token),
            "at_once": self.at_once,
            "lease_s": self.lease_s,
        }


@dataclass(frozen=True, slots=True)
class Wait:
    """When it pays to ask for a slot again."""

    wait_s: float
    interval_s: float
    reason: str | None


NO_SLOT: dict[str, object] = {"slot": None, "token": None, "at_once": 0, "lease_s": 0.0}
"""What the statements take where none is asked for."""

_NOW_S = "extract(epoch from now())::float8"
_LIVE = f"jsonb_each(h.in_work) as one (token, since) where since::float8 > {_NOW_S} - %(lease_s)s"
_OLDEST_S = f"coalesce((select {_NOW_S} - min(since::float8) from {_LIVE}), 0)"  # noqa: S608  -- constants of ours
_EXPECTED_S = f"greatest(coalesce(h.held_s, 0), {_OLDEST_S})"
_INTERVAL_S = f"({_EXPECTED_S} / %(at_once)s)"
_AHEAD = ahead("%(slot)s", f"greatest({_INTERVAL_S}, {_ABOUT_S})")

# A slot is taken where there is one that nobody ahead in the line is about to come for. What holds one keeps it.
TAKING = f"""
slot as (
  insert into fetch_hosts as h (scope, in_work, updated_at)
  select %(slot)s, jsonb_build_object(%(token)s::text, {_NOW_S}), now() where %(token)s::text is not null
  on conflict (scope) do update set updated_at = now(),
    in_work = jsonb_build_object(%(token)s::text, {_NOW_S})
      || coalesce((select jsonb_object_agg(token, since) from {_LIVE}), '{{}}')
  where exists (select from {_LIVE} and token = %(token)s::text)
    or (select count(*) from {_LIVE}) + ({_AHEAD}
      and t.turn_at < now() + greatest({_INTERVAL_S}, {_ABOUT_S}) * interval '1 second') < %(at_once)s
  returning scope),
arrived as (delete from fetch_turns where scope = %(slot)s and who = %(who)s and exists (select from slot))
"""  # noqa: S608  -- as above
HAS_SLOT = "(%(token)s::text is null or exists (select from slot))"

_LOCK = lock("%(slot)s")
_STAND = standing(
    "%(slot)s",
    f"""{_INTERVAL_S} as interval_s, ({_AHEAD}) as ahead,
  now() + greatest({_SOONEST_S}, {_EXPECTED_S} * {_PART_RATIO}, {_EXPECTED_S} - {_OLDEST_S}) * interval '1 second'
    as free_at""",
)

_GIVE_BACK = f"""
with mine as (
  select scope from fetch_hosts where scope = any(%(scopes)s) and in_work ? %(token)s order by scope for update)
update fetch_hosts h set in_work = h.in_work - %(token)s, updated_at = now(),
  held_s = case when %(asked)s then (coalesce(h.held_s, {_NOW_S} - (h.in_work ->> %(token)s)::float8)
    + {_NOW_S} - (h.in_work ->> %(token)s)::float8) / 2 else h.held_s end
from mine where h.scope = mine.scope and set_config('synchronous_commit', 'off', true) is not null
"""  # noqa: S608  -- as above


def stand_in_line(connection: Connection, slot: Slot, who: UUID) -> Wait:
    """Keep a turn behind those who wait for a slot already, in the caller's transaction, and say when it comes."""
    values = slot.values() | {"who": who, "turn_kept": RESERVATION_KEPT, "domains": [], "lead": lead(first=slot.first)}
    connection.execute(_LOCK, values)
    with connection.cursor(row_factory=class_row(Wait)) as cursor:
        [wait] = cursor.execute(_STAND, values).fetchall()
    return wait


def give_back(connection: Connection, scopes: Sequence[str], token: UUID, *, asked: bool) -> None:
    """Give slots back; where something was ``asked``, it is remembered for how long they were held."""
    connection.execute(_GIVE_BACK, {"scopes": list(scopes), "token": str(token), "asked": asked})
