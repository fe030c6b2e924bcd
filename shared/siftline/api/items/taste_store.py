"""What of a user's doing is evidence of what they care for; their profile counts it until it is made anew."""

from uuid import UUID

from siftline.kit.db import Connection

STAR, READING = 1.0, 0.2
"""What a star, given or taken back, and a reading count."""
_ADD = """
update score_profiles set evidence = evidence + %(evidence)s where user_id = %(user_id)s returning evidence
"""


def add_evidence(connection: Connection, user_id: UUID, evidence: float) -> float | None:
    """Count something that a user did; returns what has come together, ``None`` where they have no profile yet."""
    row = connection.execute(_ADD, {"user_id": user_id, "evidence": evidence}).fetchone()
    return None if row is None else float(row[0])
