"""How long due work has been waiting."""

from siftline.kit.db import Connection

_OLDEST_DUE = """
select queue, extract(epoch from now() - min(due_at))::float8 as age_s
from jobs where state = 'pending' and due_at <= now() group by queue
"""


def oldest_due_s(connection: Connection) -> dict[str, float]:
    """Return, for each queue with due jobs that nobody has taken yet, for how many seconds the oldest has been due."""
    return dict(connection.execute(_OLDEST_DUE).fetchall())
