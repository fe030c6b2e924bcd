"""How near what a user got lately lies to what their briefings are about, for whoever makes their editions."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import numpy as np

from siftline.contracts import JobType
from siftline.jobs.set_aside import checked, tell
from siftline.kit.db import Database
from siftline.rank import scores_store as store
from siftline.rank.interest_profile import Directions, Ordinary, centred, interests_of, nearest, ordinary

LOOK_BACK = timedelta(days=35)
"""How far back contents are compared: beyond any edition's window but that after a long outage."""
_BLOCK = 2_000
_HELD_MAX = 1_000
_RECIPE = 2  # goes up when values are made in another way


@dataclass(frozen=True, slots=True, eq=False)
class _About:
    """A briefing's interests, their directions (one a row), what is ordinary for each, and what stands for them."""

    interests: Sequence[str]
    rows: np.ndarray
    usual: Sequence[Ordinary]
    digest: str


def compare(database: Database, directions: Directions, user_id: UUID, *, interests_max: int) -> int:
    """Compare what the user's briefings with interests have not been compared with; returns how much that was.

    Nothing where texts' vectors are another model's than interests are read by: such briefings tell of everything.
    Raises what the model raises.
    """
    with database.transaction() as connection:
        briefings = store.briefings(connection, user_id)
        held = store.held(connection, user_id, directions.model_version, limit=_HELD_MAX) if briefings else []
    own = centred(held, directions)
    compared = 0

    def one(briefing: store.About) -> None:
        nonlocal compared
        interests = interests_of(briefing.interests, interests_max)
        rows = np.array([directions.phrase(interest)[0] for interest in interests], dtype=np.float32)
        if rows.any():
            text = "\0".join([str(_RECIPE), directions.model_version, *interests])
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            compared += _compared(
                database, directions, briefing.id, _About(interests, rows, ordinary(own @ rows.T), digest)
            )

    good, aside = checked(briefings, one, row_id=lambda briefing: briefing.id, kind="briefing")
    if briefings:
        with database.transaction() as connection:
            tell(connection, JobType.SCORE_USER, aside, [briefing.id for briefing in good])
    return compared


def _compared(database: Database, directions: Directions, briefing_id: UUID, about: _About) -> int:
    count = 0
    while True:
        with database.transaction() as connection:
            found = store.uncompared(
                connection, briefing_id, directions.model_version, about.digest, window=LOOK_BACK, limit=_BLOCK
            )
        if found:
            near = centred([(one.lang, one.vector) for one in found], directions) @ about.rows.T
            likenesses = []
            for one, cosines in zip(found, near, strict=True):
                best, value = nearest(cosines, about.usual)
                likenesses.append(store.Likeness(one.content_id, value, about.interests[best]))
            with database.transaction() as connection:
                store.put_likeness(connection, briefing_id, about.digest, likenesses)
        count += len(found)
        if len(found) < _BLOCK:
            return count
