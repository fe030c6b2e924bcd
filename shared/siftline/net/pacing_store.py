"""The pace of hosts and the slots at them in PostgreSQL, for all workers alike; the database's clock decides.

An even pace with a burst is the Generic Cell Rate Algorithm (ITU-T I.371): ``next_at`` is its theoretical arrival time.
Who must wait stands in line: ``fetch_turns`` keeps the order, so that each comes back at a time of its own.

A row of ``fetch_hosts`` for an owner and a queue says who holds a slot (``in_work``) and since when: one row, so that
its lock makes counting and taking one thing. The slot of who was killed counts no longer after ``lease_s``. Nothing is
remembered of who did not answer but for how long slots were held (``held_s``), which says when it pays to come back,
never that somebody is left alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from siftline.kit.db import Connection, nearest

# Who did not come back so long after their turn has gone away; until then they are let through before those behind.
_RESERVATION_KEPT = timedelta(hours=1)
# Who stands first has come so much earlier than all others, in the line's own time.
_FIRST = timedelta(days=36_500)
# Those who came no later than this stand in the same part of the line.
_ALIKE = "now() - %(lead)s + interval '1 day'"

# Whoever stands in front comes back no sooner than after this, or after this part of how long slots are held.
_SOONEST_S = 2
_PART_RATIO = 0.125
# Delays are of whole seconds: a slot is kept free for who is due this close to now.
_ABOUT_S = 1

# A pace that was refused is not tried again for a day, and what lies a little above it is kept to.
_REFUSED_KEPT = timedelta(days=1)
_ABOVE_REFUSED_RATIO = 1.1
_NARROWER_RATIO = 0.98
_WIDER_RATIO = 2.0
# A pace that is felt for, as a refusal names no wait, is widened in smaller steps; by the least where one was learned.
_FELT_RATIO, _NUDGE_RATIO = 1.5, 1.15
_REFUSING_RATIO = 0.3
_KEPT_RATIO = 0.8
_ANSWERS_KEPT = timedelta(hours=1)
_REFUSED_MAX = 5
# Refusals of requests that were under way together teach one lesson.
_TOGETHER = timedelta(seconds=5)


def _lead(*, first: bool) -> timedelta:
    """Return the parameter ``lead`` of who stands first, or in order."""
    return _FIRST if first else timedelta()


def _ahead(scope: str, interval_s: str) -> str:
    """Return the query that counts who stands before ``%(who)s`` in the line of a scope.

    Whoever missed a turn by more than one interval is not waited for: what they wait for would stand idle meanwhile.
    Both arguments are SQL of ours. ``%(lead)s`` is ``FIRST`` for who stands before all others, and else nothing.
    """
    return f"""
  select count(*) from fetch_turns t
  where t.scope = {scope} and t.who <> %(who)s and t.turn_at > now() - {interval_s} * interval '1 second'
    and t.since < least((select m.since from fetch_turns m where m.scope = {scope} and m.who = %(who)s), {_ALIKE})
"""  # noqa: S608  -- constants of ours


def _standing(scope: str, times: str) -> str:
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


def _lock(scope: str) -> str:
    """Return the statement that locks a row, before its line is read: nobody else can be writing to it then."""
    return f"""
insert into fetch_hosts (scope, updated_at) values ({scope}, now())
on conflict (scope) do update set updated_at = excluded.updated_at
"""  # noqa: S608  -- as above


@dataclass(frozen=True, slots=True)
class Bucket:
    """What is paced together, and how as long as nothing else was learned."""

    scope: str
    interval_s: float
    burst: int
    domains: Sequence[str]
    """The host and the domains above it: where one of them is blocked, this is too."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """When somebody may ask, and why not now."""

    wait_s: float
    interval_s: float
    """Seconds between two requests to what is paced together."""
    reason: str | None
    """Why the host is left alone; ``None`` when only its pace is in the way."""


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


_NO_SLOT: dict[str, object] = {"slot": None, "token": None, "at_once": 0, "lease_s": 0.0}
"""What the statements take where none is asked for."""

_NOW_S = "extract(epoch from now())::float8"
_LIVE = f"jsonb_each(h.in_work) as one (token, since) where since::float8 > {_NOW_S} - %(lease_s)s"
_OLDEST_S = f"coalesce((select {_NOW_S} - min(since::float8) from {_LIVE}), 0)"  # noqa: S608  -- constants of ours
_EXPECTED_S = f"greatest(coalesce(h.held_s, 0), {_OLDEST_S})"
_SLOT_INTERVAL_S = f"({_EXPECTED_S} / %(at_once)s)"
_AHEAD_FOR_SLOT = _ahead("%(slot)s", f"greatest({_SLOT_INTERVAL_S}, {_ABOUT_S})")

# A slot is taken where there is one that nobody ahead in the line is about to come for. What holds one keeps it.
_TAKING = f"""
slot as (
  insert into fetch_hosts as h (scope, in_work, updated_at)
  select %(slot)s, jsonb_build_object(%(token)s::text, {_NOW_S}), now() where %(token)s::text is not null
  on conflict (scope) do update set updated_at = now(),
    in_work = jsonb_build_object(%(token)s::text, {_NOW_S})
      || coalesce((select jsonb_object_agg(token, since) from {_LIVE}), '{{}}')
  where exists (select from {_LIVE} and token = %(token)s::text)
    or (select count(*) from {_LIVE}) + ({_AHEAD_FOR_SLOT}
      and t.turn_at < now() + greatest({_SLOT_INTERVAL_S}, {_ABOUT_S}) * interval '1 second') < %(at_once)s
  returning scope),
arrived as (delete from fetch_turns where scope = %(slot)s and who = %(who)s and exists (select from slot))
"""  # noqa: S608  -- as above
_HAS_SLOT = "(%(token)s::text is null or exists (select from slot))"

_LOCK_SLOT = _lock("%(slot)s")
_WAIT_FOR_SLOT = _standing(
    "%(slot)s",
    f"""{_SLOT_INTERVAL_S} as interval_s, ({_AHEAD_FOR_SLOT}) as ahead,
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


def wait_for_slot(connection: Connection, slot: Slot, who: UUID) -> Reservation:
    """Keep a turn behind those who wait for a slot already, in the caller's transaction, and say when it comes."""
    values = slot.values() | {
        "who": who,
        "turn_kept": _RESERVATION_KEPT,
        "domains": [],
        "lead": _lead(first=slot.first),
    }
    connection.execute(_LOCK_SLOT, values)
    with connection.cursor(row_factory=class_row(Reservation)) as cursor:
        [reservation] = cursor.execute(_WAIT_FOR_SLOT, values).fetchall()
    return reservation


def give_back(connection: Connection, scopes: Sequence[str], token: UUID, *, asked: bool) -> None:
    """Give slots back; where something was ``asked``, it is remembered for how long they were held."""
    connection.execute(_GIVE_BACK, {"scopes": list(scopes), "token": str(token), "asked": asked})


@dataclass(frozen=True, slots=True)
class Taken:
    """What came of asking: the seconds until the turn, ``None`` for none; and whether there was a slot."""

    left_s: float | None
    has_slot: bool


_INTERVAL = "greatest(coalesce(h.learned_s, 0), %(interval_s)s)"
# A pace that was learned lets no burst through.
_BURST_S = "case when h.learned_s is null then %(burst_s)s else 0 end"
# Who comes a little late for a turn, as delays are of whole seconds, does not push all behind them back.
_LATE = f"least({_INTERVAL} * 0.05, 1) * interval '1 second'"
_BLOCKED = "select max(b.blocked_until) from fetch_hosts b where b.scope = any(%(domains)s) and b.blocked_until > now()"
_FREE_AT = f"h.next_at - {_BURST_S} * interval '1 second'"
_AHEAD = _ahead("%(scope)s", _INTERVAL)
# Of those ahead only who is due before the next request after this one would lose by it.
_DUE = f"{_AHEAD} and t.turn_at < greatest(now(), {_FREE_AT}) + {_INTERVAL} * interval '1 second'"

_TURN_AT = f"{_FREE_AT} + ({_DUE}) * {_INTERVAL} * interval '1 second'"

# Who may ask now or within the wait takes the turn, and a slot where one is wanted, by this one statement. A slot that
# was taken in vain, as there was no turn, is given back by who took it.
_TAKE = f"""
with {_TAKING},
taken as (
  insert into fetch_hosts as h (scope, next_at, asked_at, updated_at)
  select %(scope)s, now() + %(interval_s)s * interval '1 second', now(), now()
  where set_config('synchronous_commit', 'off', true) is not null and {_HAS_SLOT}
    and not exists (select from ({_BLOCKED}) as blocked (until) where until > now() + %(wait)s)
  on conflict (scope) do update set
    asked_at = greatest(now(), {_TURN_AT}),
    next_at = case when h.next_at > now() - {_LATE} then h.next_at else now() end + {_INTERVAL} * interval '1 second',
    learned_s = (select narrowed from (select greatest(h.learned_s * %(narrower)s,
        case when h.refused_at > now() - %(refused_kept)s then h.refused_s * %(above)s end)) as lesson (narrowed)
      where h.learned_s is not null and narrowed > %(interval_s)s),
    updated_at = now()
  where {_TURN_AT} <= now() + %(wait)s
  returning asked_at),
gone as (delete from fetch_turns where scope = %(scope)s and who = %(who)s and exists (select from taken))
select (select extract(epoch from asked_at - now())::float8 from taken) as left_s, {_HAS_SLOT} as has_slot
"""  # noqa: S608  -- constants of ours

_LOCK = _lock("%(scope)s")
_STAND_IN_LINE = _standing(
    "%(scope)s",
    f"{_INTERVAL} as interval_s, greatest({_FREE_AT}, ({_BLOCKED})) as free_at, ({_AHEAD}) as ahead",
)

# Who may not be sent away goes at once, and all behind them one interval later.
_OWE = f"""
with mine as (
  delete from fetch_turns where scope = %(scope)s and who = %(who)s and turn_at <= now() + %(wait)s
    and ({_BLOCKED}) is null
  returning who)
update fetch_hosts as h set
  next_at = greatest(h.next_at, now()) + {_INTERVAL} * interval '1 second', asked_at = now(), updated_at = now()
where h.scope = %(scope)s and (%(known)s or exists (select from mine)) and ({_BLOCKED}) is null
returning extract(epoch from {nearest(_FREE_AT)} - now())::float8 - {_INTERVAL}
"""  # noqa: S608  -- as above

_LEARN = f"""
insert into fetch_hosts as h (scope, learned_s, refused_s, refused_at, updated_at)
values (%(scope)s, %(interval_s)s * %(wider)s, %(interval_s)s, now(), now())
on conflict (scope) do update set learned_s = least({_INTERVAL} * %(wider)s, greatest(%(interval_max_s)s, {_INTERVAL})),
  refused_s = {_INTERVAL}, refused_at = now(), updated_at = now()
where h.refused_at is null or h.refused_at < now() - %(together)s
"""  # noqa: S608  -- as above

_NUDGE = f"""
update fetch_hosts as h set learned_s = least({_INTERVAL} * %(wider)s, greatest(%(interval_max_s)s, {_INTERVAL})),
  refused_s = {_INTERVAL}, refused_at = now(), updated_at = now()
where h.scope = %(scope)s and h.learned_s is not null
  and (h.refused_at is null or h.refused_at < now() - %(together)s)
"""  # noqa: S608  -- as above

# Once a minute is enough to tell that it answers the same one.
_ANSWERED = """
insert into fetch_hosts as h (scope, answered_at, answered_by, updated_at)
values (%(scope)s, now(), %(who)s::uuid, now())
on conflict (scope) do update set answered_at = now(), answered_by = excluded.answered_by,
  refusal_ratio = h.refusal_ratio * %(kept)s, refused = h.refused - %(who)s::text, updated_at = now()
where h.answered_at is null or h.answered_at < now() - interval '1 minute' or h.refusal_ratio > 0.01
  or h.answered_by <> %(who)s::uuid or h.refused ? %(who)s::text
"""

# Whoever is refused again, or was the last one to be answered, is no sign of a pace.
_REFUSED = """
update fetch_hosts as h set updated_at = now(),
  refused = h.refused || jsonb_build_object(%(who)s::text, coalesce((h.refused ->> %(who)s::text)::int, 0) + 1),
  refusal_ratio = case when h.refused ? %(who)s::text then h.refusal_ratio
    else h.refusal_ratio * %(kept)s + 1 - %(kept)s end
where h.scope = %(scope)s and h.answered_at > now() - %(answers_kept)s and h.answered_by <> %(who)s::uuid
returning (h.refused ->> %(who)s::text)::int as times, h.refusal_ratio >= %(refusing)s as refusing
"""

_BLOCK = """
insert into fetch_hosts as h (scope, blocked_until, blocked_reason, updated_at)
values (%(scope)s, now() + %(wait)s, %(reason)s, now())
on conflict (scope) do update set blocked_until = excluded.blocked_until, blocked_reason = excluded.blocked_reason,
  updated_at = now()
where h.blocked_until is null or h.blocked_until < excluded.blocked_until
"""

_FORGET = """
with old as (
  select scope from fetch_hosts
  where updated_at < now() - %(age)s and (blocked_until is null or blocked_until < now())
  order by updated_at limit %(limit)s for update skip locked),
turns as (delete from fetch_turns using old where fetch_turns.scope = old.scope)
delete from fetch_hosts using old where fetch_hosts.scope = old.scope
"""


def take(
    connection: Connection, bucket: Bucket, who: UUID, *, wait_s: float, slot: Slot | None = None, first: bool = False
) -> Taken:
    """Take the next turn if it comes within ``wait_s``, and with it the ``slot``, if one is asked for.

    Who is ``first`` waits for nobody but others who are.
    """
    values = _values(bucket, who, first=first) | {
        "wait": timedelta(seconds=wait_s),
        "narrower": _NARROWER_RATIO,
        "above": _ABOVE_REFUSED_RATIO,
        "refused_kept": _REFUSED_KEPT,
        **(_NO_SLOT if slot is None else slot.values()),
    }
    with connection.cursor(row_factory=class_row(Taken)) as cursor:
        [taken] = cursor.execute(_TAKE, values).fetchall()
    return taken


def owe(connection: Connection, bucket: Bucket, who: UUID, *, wait_s: float, known: bool) -> float | None:
    """Let ``who`` through whose turn in line has come, or who was let through just now (``known``), before all others.

    Returns the seconds until the host is free, which may be many; ``None`` for anybody else, and if it is blocked.
    """
    values = _values(bucket, who) | {"wait": timedelta(seconds=wait_s), "known": known}
    with connection.cursor(row_factory=scalar_row) as cursor:
        left_s: float | None = cursor.execute(_OWE, values).fetchone()
    return left_s


def stand_in_line(connection: Connection, bucket: Bucket, who: UUID, *, first: bool = False) -> Reservation:
    """Keep a turn behind those who wait already, in the caller's transaction, and say when it comes.

    Who is ``first`` stands before all others.
    """
    values = _values(bucket, who, first=first)
    connection.execute(_LOCK, values)
    with connection.cursor(row_factory=class_row(Reservation)) as cursor:
        [reservation] = cursor.execute(_STAND_IN_LINE, values).fetchall()
    return reservation


def learn(connection: Connection, bucket: Bucket, *, interval_max_s: float) -> None:
    """Widen the pace of what refused: twice the seconds between requests, at most ``interval_max_s``."""
    connection.execute(_LEARN, _lesson(bucket, interval_max_s, _WIDER_RATIO))


def answered(connection: Connection, scope: str, who: UUID) -> None:
    """Note that what is paced together answered ``who`` well."""
    connection.execute(_ANSWERED, {"scope": scope, "who": str(who), "kept": _KEPT_RATIO})


def refused(connection: Connection, bucket: Bucket, scope: str, who: UUID, *, interval_max_s: float) -> bool | None:
    """Note that what answers others refused ``who``, and widen its pace where it refuses many.

    ``scope`` is what the answers are kept under. Returns whether it refuses many; ``None`` where that is no sign of a
    pace: it answered nobody lately, or ``who`` was refused again and again.
    """
    values = {
        "scope": scope,
        "who": str(who),
        "kept": _KEPT_RATIO,
        "answers_kept": _ANSWERS_KEPT,
        "refusing": _REFUSING_RATIO,
    }
    row = connection.execute(_REFUSED, values).fetchone()
    if row is None or row[0] > _REFUSED_MAX:
        return None
    if row[0] > 1:
        return False
    lesson = _lesson(bucket, interval_max_s, _FELT_RATIO if row[1] else _NUDGE_RATIO)
    connection.execute(_LEARN if row[1] else _NUDGE, lesson)
    return bool(row[1])


def block(connection: Connection, scope: str, *, wait_s: float, reason: str) -> None:
    """Leave a domain and all below it alone for so long; a longer wait that was asked for before stays."""
    connection.execute(_BLOCK, {"scope": scope, "wait": timedelta(seconds=wait_s), "reason": reason})


def forget(connection: Connection, *, age_s: float, limit: int) -> int:
    """Delete hosts that nothing was asked of for ``age_s``; returns how many."""
    return connection.execute(_FORGET, {"age": timedelta(seconds=age_s), "limit": limit}).rowcount


def _lesson(bucket: Bucket, interval_max_s: float, wider: float) -> dict[str, Any]:
    return {
        "scope": bucket.scope,
        "interval_s": bucket.interval_s,
        "interval_max_s": interval_max_s,
        "wider": wider,
        "together": _TOGETHER,
    }


def _values(bucket: Bucket, who: UUID, *, first: bool = False) -> dict[str, Any]:
    return {
        "scope": bucket.scope,
        "domains": [*bucket.domains, bucket.scope],
        "who": who,
        "interval_s": bucket.interval_s,
        "burst_s": (bucket.burst - 1) * bucket.interval_s,
        "turn_kept": _RESERVATION_KEPT,
        "lead": _lead(first=first),
    }
