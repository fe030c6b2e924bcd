"""Until when a provider that answered 429 is to be left alone, by all workers, in PostgreSQL."""

from datetime import timedelta

from psycopg.rows import scalar_row

from siftline.kit.db import Connection, nearest

_PAUSED = f"""
select extract(epoch from {nearest("until")} - now())::float8 from provider_pauses
where provider = %(provider)s and until > now()
"""  # noqa: S608  -- made of constants only
_PAUSE = """
insert into provider_pauses as known (provider, until) values (%(provider)s, now() + %(pause)s)
on conflict (provider) do update set until = greatest(known.until, excluded.until)
"""


def paused_s(connection: Connection, provider: str) -> float | None:
    """Return for how many seconds a provider is still to be left alone, or ``None``."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        left: float | None = cursor.execute(_PAUSED, {"provider": provider}).fetchone()
    return left


def pause(connection: Connection, provider: str, pause_s: float) -> None:
    """Have every worker leave a provider alone for so long, if it is not for longer already."""
    connection.execute(_PAUSE, {"provider": provider, "pause": timedelta(seconds=pause_s)})
