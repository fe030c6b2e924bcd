"""What is paid by the day: reserved before a call is made, settled by what it cost, in PostgreSQL for all workers.

What is reserved and never settled stays counted: its worker died on the way, and the call may have been billed.
"""

from datetime import date
from uuid import UUID

from psycopg.rows import scalar_row

from siftline.kit.db import Connection

_ONE_AT_A_TIME = "select pg_advisory_xact_lock(hashtextextended('spendings:' || %(kind)s, 0))"
_RESERVE = """
insert into spendings (id, kind, day, subject_id, micro_usd)
select %(id)s, %(kind)s, %(day)s, %(subject_id)s, %(micro_usd)s
where %(micro_usd)s + (
  select coalesce(sum(micro_usd), 0) from spendings
  where kind = %(kind)s and day = %(day)s and state <> 'released') <= %(day_max_micro_usd)s
returning id
"""
_END = """
update spendings set state = %(state)s, micro_usd = %(micro_usd)s, ended_at = now()
where id = %(id)s and state = 'reserved'
"""
_OPEN = "select count(*) from spendings where subject_id = %(subject_id)s and kind = %(kind)s and state = 'reserved'"


def reserve(
    connection: Connection,
    id_: UUID,
    *,
    kind: str,
    day: date,
    subject_id: UUID,
    micro_usd: int,
    day_max_micro_usd: int,
) -> bool:
    """Set money aside unless the day's would then exceed its cap; returns whether it is. In millionths of a dollar."""
    values = {
        "id": id_,
        "kind": kind,
        "day": day,
        "subject_id": subject_id,
        "micro_usd": micro_usd,
        "day_max_micro_usd": day_max_micro_usd,
    }
    connection.execute(_ONE_AT_A_TIME, values)
    return connection.execute(_RESERVE, values).fetchone() is not None


def settle(connection: Connection, id_: UUID, micro_usd: int) -> None:
    """Put what a call cost in place of what was set aside for it."""
    connection.execute(_END, {"id": id_, "state": "settled", "micro_usd": micro_usd})


def release(connection: Connection, id_: UUID) -> None:
    """Give back what was set aside for a call that was not answered with anything that costs."""
    connection.execute(_END, {"id": id_, "state": "released", "micro_usd": 0})


def unsettled(connection: Connection, *, kind: str, subject_id: UUID) -> int:
    """Return how often a call was paid for or may have been, and its answer was lost."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return int(cursor.execute(_OPEN, {"kind": kind, "subject_id": subject_id}).fetchone() or 0)
