"""How near what a user got lately lies to what their briefings are about, for whoever makes their editions."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import numpy as np

from siftline.kit.db import Database
from siftline.rank import briefing_likeness_store as store
from siftline.rank.judge import interest_likeness
from siftline.rank.profile import Directions, centred, interests_of

LOOK_BACK = timedelta(days=35)
"""How far back contents are compared: beyond any edition's window but that after a long outage."""
_BLOCK = 2_000


@dataclass(frozen=True, slots=True)
class Likeness:
    """How near a content lies to the interest that is nearest to it."""

    content_id: UUID
    value: float
    about: str


def compare(database: Database, directions: Directions, user_id: UUID, *, interests_max: int) -> int:
    """Compare what the user's briefings with interests have not been compared with; returns how much that was.

    Nothing where texts' vectors are another model's than interests are read by: such briefings tell of everything.
    Raises what the model raises.
    """
    with database.transaction() as connection:
        briefings = store.briefings(connection, user_id)
    compared = 0
    for briefing in briefings:
        interests = interests_of(briefing.interests, interests_max)
        rows = np.array([directions.phrase(interest)[0] for interest in interests], dtype=np.float32)
        if rows.any():
            text = "\0".join([directions.model_version, *interests])
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            compared += _compared(database, directions, briefing.id, (interests, rows, digest))
    return compared


def _compared(
    database: Database, directions: Directions, briefing_id: UUID, about: tuple[Sequence[str], np.ndarray, str]
) -> int:
    interests, rows, digest = about
    count = 0
    while True:
        with database.transaction() as connection:
            found = store.uncompared(
                connection, briefing_id, directions.model_version, digest, window=LOOK_BACK, limit=_BLOCK
            )
        if found:
            near = centred([(one.lang, one.vector) for one in found], directions) @ rows.T
            likenesses = []
            for one, cosines in zip(found, near, strict=True):
                best = int(cosines.argmax())
                likenesses.append(Likeness(one.content_id, interest_likeness(float(cosines[best])), interests[best]))
            with database.transaction() as connection:
                store.put(connection, briefing_id, digest, likenesses)
        count += len(found)
        if len(found) < _BLOCK:
            return count
