"""What is paid by the day: reserved before a call is made, settled by what it cost, in PostgreSQL for all workers.

What is reserved and never settled stays counted: its worker died on the way, and the call may have been billed. Money
is counted in millionths of a dollar. A day's sum is one row for all and one a user, locked in this order by whoever
changes it, so that work at once cannot pass a cap by a millionth.

Beside it stands until when a provider that answered 429 is to be left alone, by all workers.
"""

from dataclasses import asdict, dataclass
from datetime import date, timedelta
from enum import StrEnum
from uuid import UUID

from psycopg.rows import scalar_row

from siftline.kit.db import Connection, nearest

_PAYER = """
select case when exists (select from jobs where id = %(job_id)s and payload ? 'reprocess') then null else coalesce(
  (select user_id from credit_entries where job_id = %(job_id)s and state <> 'released'),
  (select user_id from content_payers where content_id = %(content_id)s
   order by saved desc, since nulls last, item_id limit 1)) end
"""
_OPEN_DAY = """
insert into spending_days (kind, day, user_id, micro_usd)
select %(kind)s, %(day)s, user_id, 0 from unnest(array[null, %(user_id)s::uuid]) as payers (user_id)
group by user_id order by user_id nulls first
on conflict (kind, day, user_id) do nothing
"""
_LOCK_DAY = """
select user_id, micro_usd from spending_days
where kind = %(kind)s and day = %(day)s and (user_id is null or user_id = %(user_id)s)
order by user_id nulls first for update
"""
_RESERVE = """
with counted as (
  update spending_days set micro_usd = micro_usd + %(micro_usd)s
  where kind = %(kind)s and day = %(day)s and (user_id is null or user_id = %(user_id)s))
insert into spendings (id, kind, day, subject_id, micro_usd, user_id, job_id, model)
values (%(id)s, %(kind)s, %(day)s, %(subject_id)s, %(micro_usd)s, %(user_id)s, %(job_id)s, %(model)s)
"""
_LOCK = """
select days.micro_usd from spending_days days join spendings on spendings.id = %(id)s and spendings.state = 'reserved'
where days.kind = spendings.kind and days.day = spendings.day
  and (days.user_id is null or days.user_id = spendings.user_id)
order by days.user_id nulls first for update of days
"""
_END = """
with before as (select micro_usd from spendings where id = %(id)s),
ended as (
  update spendings set state = %(state)s, micro_usd = %(micro_usd)s, tokens_in = %(tokens_in)s,
    tokens_out = %(tokens_out)s, ended_at = now()
  where id = %(id)s and state = 'reserved'
  returning kind, day, user_id)
update spending_days days set micro_usd = days.micro_usd + %(micro_usd)s - before.micro_usd
from ended, before
where days.kind = ended.kind and days.day = ended.day and (days.user_id is null or days.user_id = ended.user_id)
"""
_UNSETTLED = """
select count(*) from spendings
where subject_id = %(subject_id)s and kind = %(kind)s and state = 'reserved'
  and (%(job_id)s::uuid is null or job_id = %(job_id)s)
"""
_PAUSED = f"""
select extract(epoch from {nearest("until")} - now())::float8 from provider_pauses
where provider = %(provider)s and until > now()
"""  # noqa: S608  -- made of constants only
_PAUSE = """
insert into provider_pauses as known (provider, until) values (%(provider)s, now() + %(pause)s)
on conflict (provider) do update set until = greatest(known.until, excluded.until)
"""


class Cap(StrEnum):
    """What a call would have passed: the day's cap of all together, or the day's of one user."""

    ALL = "all"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Spending:
    """A call about to be made: what for, whose money, and the most that it can cost."""

    id: UUID
    kind: str
    day: date
    subject_id: UUID
    micro_usd: int
    model: str
    user_id: UUID | None = None
    job_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Caps:
    """What a day may cost at most: all together, and for one user (``None``: no cap of their own)."""

    day_micro_usd: int
    user_day_micro_usd: int | None = None

    @classmethod
    def of_usd(cls, day: float, user_day: float) -> "Caps":
        """Return caps given in dollars."""
        return cls(round(day * 1_000_000), round(user_day * 1_000_000))


def payer(connection: Connection, *, content_id: UUID, job_id: UUID) -> UUID | None:
    """Return who pays for a content's analysis: whose credit the job took, else whose turn it is; ``None``: nobody."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        found: UUID | None = cursor.execute(_PAYER, {"job_id": job_id, "content_id": content_id}).fetchone()
    return found


def reserve(connection: Connection, spending: Spending, caps: Caps) -> Cap | None:
    """Set the money of a call aside; returns the cap that it would pass, where it would, and then nothing is set aside.

    The day's rows stay locked until the caller's transaction ends: it should do little else.
    """
    values = asdict(spending)
    connection.execute(_OPEN_DAY, values)
    for user_id, micro_usd in connection.execute(_LOCK_DAY, values).fetchall():
        cap = caps.day_micro_usd if user_id is None else caps.user_day_micro_usd
        if cap is not None and micro_usd + spending.micro_usd > cap:
            return Cap.ALL if user_id is None else Cap.USER
    connection.execute(_RESERVE, values)
    return None


def settle(
    connection: Connection, id_: UUID, micro_usd: int, *, tokens_in: int | None = None, tokens_out: int | None = None
) -> None:
    """Put what a call cost in place of what was set aside for it, with the tokens that were counted."""
    _end(connection, id_, "settled", micro_usd, tokens_in, tokens_out)


def release(connection: Connection, id_: UUID) -> None:
    """Give back what was set aside for a call that was not answered with anything that costs."""
    _end(connection, id_, "released", 0, None, None)


def unsettled(connection: Connection, *, kind: str, subject_id: UUID, job_id: UUID | None = None) -> int:
    """Return how often a call was paid for or may have been, and its answer was lost; of one job, where it is given."""
    values = {"kind": kind, "subject_id": subject_id, "job_id": job_id}
    with connection.cursor(row_factory=scalar_row) as cursor:
        return int(cursor.execute(_UNSETTLED, values).fetchone() or 0)


def paused_s(connection: Connection, provider: str) -> float | None:
    """Return for how many seconds a provider is still to be left alone, or ``None``."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        left: float | None = cursor.execute(_PAUSED, {"provider": provider}).fetchone()
    return left


def pause(connection: Connection, provider: str, pause_s: float) -> None:
    """Have every worker leave a provider alone for so long, if it is not for longer already."""
    connection.execute(_PAUSE, {"provider": provider, "pause": timedelta(seconds=pause_s)})


def _end(
    connection: Connection, id_: UUID, state: str, micro_usd: int, tokens_in: int | None, tokens_out: int | None
) -> None:
    values = {"id": id_, "state": state, "micro_usd": micro_usd, "tokens_in": tokens_in, "tokens_out": tokens_out}
    connection.execute(_LOCK, values)
    connection.execute(_END, values)
