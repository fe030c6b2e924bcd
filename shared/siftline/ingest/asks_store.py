"""Pages that could not be read though a feed lists them, in PostgreSQL: asked for again, ever more rarely, for days.

An article is announced before its server has it, a site refuses for an hour: neither says that the page is none. Who
lists a page is in the feed's ledger; what nobody lists is nobody's to ask for again.
"""

from uuid import UUID

from siftline.kit.db import Connection
from siftline.kit.errors import SiftlineError

AGAIN_S = (60, 300, 1_800, 7_200, 21_600, 86_400, 86_400)
"""Waits before the second ask, the third and so on: four days in all."""

# Of several feeds the one that listed it last.
_MISSED = """
insert into page_asks (content_id, source_id, asks, error_code, error_detail, again_at)
select %(content_id)s, source_id, 1, %(code)s, %(detail)s, now() + (%(waits)s::int[])[1] * interval '1 second'
from source_entries where content_id = %(content_id)s
  and (%(job_id)s::uuid is null or exists (select from jobs where id = %(job_id)s and state = 'failed'))
order by last_seen_at desc limit 1
on conflict (content_id) do update set asks = page_asks.asks + 1, source_id = excluded.source_id,
  error_code = excluded.error_code, error_detail = excluded.error_detail,
  again_at = now() + (%(waits)s::int[])[page_asks.asks + 1] * interval '1 second'
returning again_at is not null
"""
_SAY_SO = """
update contents set error_detail = error_detail || ' It is asked for again, as long as its feed lists it.'
where id = %(content_id)s and status = 'FAILED'
"""


def missed(connection: Connection, content_id: UUID, error: SiftlineError, *, failed_job: UUID | None = None) -> None:
    """Note that a page could not be read, and when it is asked for again; of a page that no feed lists nothing.

    ``failed_job`` is the job whose failure this is, where it failed for good: its content says then what comes next.
    """
    values = {
        "content_id": content_id,
        "code": error.error_code,
        "detail": error.detail,
        "waits": list(AGAIN_S),
        "job_id": failed_job,
    }
    row = connection.execute(_MISSED, values).fetchone()
    if failed_job is not None and row is not None and row[0]:
        connection.execute(_SAY_SO, values)


def read(connection: Connection, content_id: UUID) -> None:
    """Note that a page was read."""
    connection.execute("delete from page_asks where content_id = %(id)s", {"id": content_id})
