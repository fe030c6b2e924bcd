"""Breakers by provider: opened by a fault of the set-up, tried again by one job at a time, closed by its success.

Source of the pattern: M. Nygard, "Release It!", Circuit Breaker. The database's clock decides, for all workers alike.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from psycopg.rows import class_row, scalar_row

from siftline.jobs.states import known, ordered
from siftline.kit.db import Connection, nearest
from siftline.kit.errors import SiftlineError

# A breaker that opens again and again stays open for twice as long each time, up to 2 ** 4 times.
_DOUBLINGS_MAX = 4


@dataclass(frozen=True, slots=True)
class Standing:
    """One provider's breaker that is not closed, as a job that needs the provider finds it."""

    provider: str
    error_code: str
    error_detail: str
    probing: bool
    """Whether this job is the one that may try the provider now."""
    wait_s: float
    """Seconds until it may be tried again, or until the probe under way must have answered."""


_WAIT_S = f"extract(epoch from {nearest('greatest(open_until, probe_until)')} - now())"

# A breaker that somebody has in hand at this moment is theirs to probe.
_STANDINGS = f"""
with ripe as (
  select provider from breakers
  where provider = any(%(providers)s) and open_until <= now() and (probe_until is null or probe_until <= now())
  order by provider for no key update skip locked),
probed as (
  update breakers set probe_until = now() + %(probe)s
  from ripe where breakers.provider = ripe.provider
  returning breakers.provider)
select provider, error_code, error_detail, provider in (select provider from probed) as probing,
  greatest({_WAIT_S}, 1)::float8 as wait_s
from breakers where provider = any(%(providers)s)
"""  # noqa: S608  -- a constant of ours

_OPEN = """
insert into breakers as b (provider, error_code, error_detail, open_until)
values (%(provider)s, %(code)s, %(detail)s, now() + %(hold)s)
on conflict (provider) do update set error_code = excluded.error_code, error_detail = excluded.error_detail,
  openings = b.openings + 1, open_until = now() + %(hold)s * power(2, least(b.openings, %(doublings)s)),
  probe_until = null
where b.open_until <= now()
returning extract(epoch from open_until - now())::float8
"""


# Those that wait for another provider's breaker are put off again, at no cost. One that somebody has in hand at this
# moment is tried when it is due: whoever closes a breaker holds other rows, for which that somebody may be waiting.
def _go_on(those: str) -> str:
    return f"""
with deferred as (
  select id from jobs
  where state = 'pending' and {those} and due_at > now() and {known("jobs")}
  order by {ordered()} for no key update skip locked)
update jobs set due_at = now(), published_at = null, publish_count = 0, updated_at = now()
from deferred where jobs.id = deferred.id
"""  # noqa: S608  -- constants of ours


_GO_ON = _go_on("waits_for = 'breaker_open'")
_GO_ON_ALL = _go_on("(waits_for = 'breaker_open' or waits_for in (select error_code from breakers))")
_CLOSE = """
with proven as (select provider from breakers where provider = any(%(providers)s) order by provider for update)
delete from breakers using proven where breakers.provider = proven.provider
"""
_TRY_ALL = """
with found as (select provider from breakers order by provider for update)
update breakers set openings = 1, open_until = now(), probe_until = null
from found where breakers.provider = found.provider
"""
_NOT_PROVEN = """
with probed as (
  select provider from breakers where provider = any(%(providers)s) order by provider for no key update)
update breakers set probe_until = null from probed where breakers.provider = probed.provider
"""

_LEFT = f"""
select greatest(extract(epoch from {nearest("open_until")} - now()), 1)::float8 from breakers
where provider = %(provider)s
"""  # noqa: S608  -- as above

_EVERY = f"""
select provider, error_code, error_detail, coalesce(probe_until > now(), false) as probing,
  greatest({_WAIT_S}, 0)::float8 as wait_s
from breakers order by provider
"""  # noqa: S608  -- as above


def standings(connection: Connection, providers: Collection[str], *, probe_s: float) -> list[Standing]:
    """Return the breakers among ``providers`` that are not closed; an open one whose time is up is probed by you.

    The right to probe lasts ``probe_s`` seconds, so that a probe whose worker died does not keep the breaker open.
    """
    values = {"providers": list(providers), "probe": timedelta(seconds=probe_s)}
    with connection.cursor(row_factory=class_row(Standing)) as cursor:
        return cursor.execute(_STANDINGS, values).fetchall()


def opened(connection: Connection, provider: str, error: SiftlineError, *, hold_s: float) -> tuple[float, bool]:
    """Open a provider's breaker for this error, or leave it as open as it is.

    Returns the seconds until it may be tried, and whether it was this call that opened it.
    """
    values = {
        "provider": provider,
        "code": error.error_code,
        "detail": error.detail,
        "hold": timedelta(seconds=hold_s),
        "doublings": _DOUBLINGS_MAX,
    }
    with connection.cursor(row_factory=scalar_row) as cursor:
        until_s: float | None = cursor.execute(_OPEN, values).fetchone()
        if until_s is not None:
            return until_s, True
        left_s: float = cursor.execute(_LEFT, values).fetchone() or hold_s
    return left_s, False


def closed(connection: Connection, providers: Collection[str]) -> None:
    """Close the breakers of providers that have just served a job, and let what waited for a breaker go on at once."""
    connection.execute(_CLOSE, {"providers": list(providers)})
    connection.execute(_GO_ON)


def try_all(connection: Connection) -> None:
    """Have every provider tried at once, by the next job that needs it: the settings may be others now."""
    connection.execute(_TRY_ALL)
    connection.execute(_GO_ON_ALL)


def not_proven(connection: Connection, providers: Collection[str]) -> None:
    """Give the right to probe back: the job ended before it could tell whether the provider serves again."""
    connection.execute(_NOT_PROVEN, {"providers": list(providers)})


def open_breakers(connection: Connection) -> list[Standing]:
    """Return every breaker that is not closed, for operators."""
    with connection.cursor(row_factory=class_row(Standing)) as cursor:
        return cursor.execute(_EVERY).fetchall()
