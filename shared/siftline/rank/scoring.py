"""The work of ``score_user``: judges all of a user's items that are due, and all of them where the profile changed."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from uuid import UUID

import numpy as np

from siftline.contracts import JobType, Message
from siftline.contracts import ScoreUser as ScoreUserMessage
from siftline.jobs.job_model import ClaimedJob, Done, NewJob
from siftline.jobs.set_aside import checked, sifted, tell
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database, settled
from siftline.kit.errors import SiftlineError
from siftline.kit.ids import new_id
from siftline.rank import scores_store as store
from siftline.rank.briefing_likeness import compare
from siftline.rank.interest_profile import Directions, from_kept, interests_of, make_profile, to_details, to_vectors
from siftline.rank.judge import HeldItem, Judge, Judgement, Weights

_RECIPE = 2  # goes up when profiles or scores are made in another way
LONGEST_S = 20.0
"""How long one scoring of a user goes on; the rest is the next one's."""
BLOCK = 2_000
"""Items that are read, judged and written at a time."""
_LIKED_MAX = 500
_HELD_MAX = 1_000


@dataclass(frozen=True, slots=True)
class ScoringRule:
    """How profiles are made and when they are made anew."""

    weights: Weights = field(default_factory=Weights)
    interests_max: int = 20
    """Interests of a user that count, the first."""
    history_days: int = 180
    history_half_life_days: float = 30.0
    """A star or a reading counts half as much after this, again and again: people move on."""
    evidence_min: float = 1.0
    """As in ``api.items.scores``: 1 is a star, a reading 0.2."""
    work_s: float = LONGEST_S

    def recipe(self) -> str:
        """Return what tells apart profiles that were made by other rules."""
        made_by = {**asdict(self), "recipe": _RECIPE, "evidence_min": None, "work_s": None}
        return hashlib.sha256(json.dumps(made_by, sort_keys=True).encode()).hexdigest()[:16]


class ScoreUser:
    """Judges a user's items, a block at a time, each in a transaction of its own.

    A run that is cut short leaves the rest due: the next one goes on where it ended. Two at once come to the same, for
    one profile counts, and whoever writes by another one stops.
    """

    job_type = JobType.SCORE_USER
    providers = frozenset({"model", "topics"})

    def __init__(
        self,
        database: Database,
        open_directions: Callable[[], Directions],
        clock: Clock,
        rule: ScoringRule = ScoringRule(),
        *,
        block: int = BLOCK,
    ) -> None:
        self._database = database
        self._open_directions = open_directions
        self._clock = clock
        self._rule = rule
        self._block = block

    def process(self, job: ClaimedJob) -> Done:
        """Judge what is due. Raises what the model raises."""
        ends_at = self._clock.monotonic() + self._rule.work_s
        directions = self._open_directions()
        profile = self._profile(job.subject_id, directions)
        if profile is None:
            return Done(result={"scored": 0})
        scored, done = self._apply(job.subject_id, profile, directions, ends_at)
        compare(self._database, directions, job.subject_id, interests_max=self._rule.interests_max)
        again = [] if done else [NewJob(JobType.SCORE_USER, job.subject_id, job.group_key, priority=job.priority)]
        return Done(follow=again, result={"scored": scored, "all": not profile.applied, "done": done})

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Leave the scores as they are; what is due stays due."""

    def _profile(self, user_id: UUID, directions: Directions) -> store.Kept | None:
        """Return the user's profile, made anew where it is out of date; ``None`` where the user is gone."""
        with self._database.transaction() as connection:
            interests = store.interests(connection, user_id)
            kept = store.kept(connection, user_id)
        if interests is None:
            return None
        if kept is not None and self._holds(kept, interests, directions.model_version) and _reads(kept):
            return kept
        made = self._made(user_id, interests, directions)
        with self._database.transaction() as connection:
            if store.put(connection, user_id, made, instead_of=kept):
                return made
            return store.kept(connection, user_id)

    def _holds(self, kept: store.Kept, interests: str, model_version: str) -> bool:
        if (kept.model_version, kept.recipe, kept.interests) != (model_version, self._rule.recipe(), interests):
            return False
        return kept.evidence < self._rule.evidence_min and not (kept.evidence > 0 and kept.old)

    def _made(self, user_id: UUID, interests: str, directions: Directions) -> store.Kept:
        with self._database.transaction() as connection:
            found = store.evidence(
                connection,
                user_id,
                directions.model_version,
                window=timedelta(days=self._rule.history_days),
                liked_max=_LIKED_MAX,
                held_max=_HELD_MAX,
            )
        profile = make_profile(
            interests_of(interests, self._rule.interests_max),
            directions,
            found.liked,
            found.held,
            found.topics,
            found.sources,
            half_life_s=self._rule.history_half_life_days * 86_400,
        )
        return store.Kept(
            id=new_id(),
            model_version=directions.model_version,
            recipe=self._rule.recipe(),
            interests=interests,
            vectors=to_vectors(profile),
            details=to_details(profile),
            evidence=0.0,
            applied=False,
            old=False,
        )

    def _apply(self, user_id: UUID, profile: store.Kept, directions: Directions, ends_at: float) -> tuple[int, bool]:
        """Judge what is due by a profile; returns how many items that were, and whether none is left."""
        with self._database.transaction() as connection:
            sources = store.source_topics(connection, user_id)
        own = from_kept(profile.vectors, profile.details)
        judge = Judge(own, directions, self._rule.weights, sources)
        scored, after = 0, None
        while True:
            with self._database.transaction() as connection:
                items = store.due(connection, user_id, profile, after=after, limit=self._block)
            if items and not self._write(user_id, profile.id, items, judge):
                return scored, False
            scored += len(items)
            if len(items) < self._block:
                break
            after = items[-1].content_id
            if self._clock.monotonic() >= ends_at:
                return scored, False
        if not profile.applied:
            with self._database.transaction() as connection:
                store.applied(connection, user_id, profile.id)
        return scored, True

    def _write(self, user_id: UUID, profile_id: UUID, items: Sequence[HeldItem], judge: Judge) -> bool:
        """Judge and write. What cannot be judged has no score, and is due again once something of it changes."""
        _, lacking = checked(items, judge.check, row_id=_content_id, kind="content")
        found = sifted(items, judge.judge, row_id=_content_id, kind="content")
        failing = {one.row_id for one in found.aside}
        rows = [*found.used, *(item for item in items if item.content_id in failing)]
        judged = [*found.result, *(Judgement(None, []) for _ in failing)]
        aside = [*lacking, *found.aside]

        def write(connection: Connection) -> bool:
            written = store.write(connection, user_id, profile_id, rows, judged)
            if written:
                tell(connection, self.job_type, aside, [item.content_id for item in items])
            return written

        return settled(self._database, write)


def _content_id(item: HeldItem) -> UUID:
    return item.content_id


def _reads(kept: store.Kept) -> bool:
    """Say whether a kept profile is one; another is made in the place of what is not."""
    try:
        profile = from_kept(kept.vectors, kept.details)
    except (ValueError, TypeError, KeyError, AttributeError):
        return False
    return bool(np.isfinite(profile.centre).all() and np.isfinite(profile.directions).all())


def subject_of(connection: Connection, message: Message) -> UUID | None:
    """Return the user whom a message without a job names, or ``None`` if there is no such user."""
    if isinstance(message, ScoreUserMessage) and store.interests(connection, message.user_id) is not None:
        return message.user_id
    return None
