"""What an edition saw shortly before its window closed, in PostgreSQL.

A window is told by times, and a transaction that was not over when it closed has times within it: the next edition
looks back for these. By what the edition before wrote down here it tells them from what was seen and left out.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from psycopg.rows import scalar_row

from siftline.brief.edition_model import Briefing
from siftline.kit.db import Connection

GRACE = timedelta(minutes=10)
"""So long at most a transaction lasts in which something becomes READY or a user's."""
COMPARED_LATE = timedelta(days=1)
"""What was only compared with a briefing's interests after the window had closed belongs to the next one, so long."""

_LOOKED_AT = """
select c.id
from items i join contents c on c.id = i.content_id
  left join briefing_likeness l on l.briefing_id = %(briefing_id)s and l.content_id = c.id
where i.user_id = %(user_id)s and c.status = 'READY' and greatest(i.created_at, c.ready_at) <= %(end)s
  and (greatest(i.created_at, c.ready_at) > %(since)s
    or (l.made_at > %(since)s and greatest(i.created_at, c.ready_at) > %(compared_late)s))
  and (l.value is not null or not %(compared_only)s)
order by c.id
"""


def looked_at(connection: Connection, briefing: Briefing, end: datetime, *, compared_only: bool) -> Sequence[UUID]:
    """Return the contents that an edition whose window closes at ``end`` sees and the next one might see again.

    ``compared_only``: what has not been compared with the briefing's interests was not judged, and may come again.
    """
    values = {
        "briefing_id": briefing.id,
        "user_id": briefing.user_id,
        "end": end,
        "since": end - GRACE,
        "compared_late": end - GRACE - COMPARED_LATE,
        "compared_only": compared_only,
    }
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_LOOKED_AT, values).fetchall()
