"""The work of ``join_stories``: contents that came for a user go to the stories they tell of, or begin their own."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from siftline.catalog.users_store import user_exists
from siftline.cluster import story_store as store
from siftline.cluster.joining import Joined, Rule, Telling, join
from siftline.cluster.language_means import Matrix, centred
from siftline.contracts import JobType, JoinStories, Message
from siftline.jobs.job_model import ClaimedJob, Done, NewJob
from siftline.jobs.set_aside import checked, counted, sifted, tell
from siftline.jobs.set_aside_store import SetAside
from siftline.kit.db import Connection, Database
from siftline.kit.errors import NotTriedError, SiftlineError
from siftline.kit.ids import new_id
from siftline.models import embedding_store
from siftline.models.unit_vector import stored_vector, usual_dimensions


class StoriesChangedError(NotTriedError):
    """Another run wrote the user's stories while this one worked on them; it begins anew at once."""

    code = "stories_changed"


@dataclass(frozen=True, slots=True)
class _Input:
    version: str
    rows: Sequence[store.TellingRow]
    learnt: Sequence[store.LearntMean]
    changed_at: datetime | None
    aside: Sequence[SetAside]
    full: bool
    """Whether more may be waiting than was read."""


class JoinUserStories:
    """Puts what a user's stories lack into them; the newest first, at most ``batch`` contents a job."""

    job_type = JobType.JOIN_STORIES
    providers: frozenset[str] = frozenset()

    def __init__(self, database: Database, rule: Rule, *, batch: int = 500) -> None:
        self._database = database
        self._rule = rule
        self._batch = batch

    def process(self, job: ClaimedJob) -> Done:
        """Join the contents of the job's user; hands back the write, and another job where more are waiting."""
        read = self._read(job.subject_id)
        if read is None:
            return Done(result={"joined": 0, "stories": 0})
        found = sifted(read.rows, lambda rows: self._joined(rows, read), row_id=_content_id, kind="content", mark=_mark)
        stories, joined = found.result
        aside = [*read.aside, *found.aside]
        left = {row.story_id for row in read.rows if row.loose and row.story_id is not None}
        emptied = left.union(*(story.absorbed for story in joined)) - {story.id for story in stories}
        used = [row.content_id for row in found.used if row.loose]
        # One that left its story and could not be joined stays where it is.
        left &= {row.story_id for row in found.used if row.loose}

        def write(connection: Connection) -> None:
            store.hold(connection, job.subject_id)
            if not user_exists(connection, job.subject_id):
                return
            if store.last_change(connection, job.subject_id) != read.changed_at:
                raise StoriesChangedError(
                    "The stories changed in the meantime; joining starts again.", retry_after_s=1.0
                )
            store.write(connection, job.subject_id, read.version, stories, sorted(emptied))
            tell(connection, self.job_type, aside, used)

        more = [NewJob(JobType.JOIN_STORIES, job.subject_id, job.group_key)] if read.full else []
        return Done(write, more, {"joined": len(used), "stories": len(stories), **counted(aside)})

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Leave the stories as they are."""

    def _read(self, user_id: UUID) -> _Input | None:
        """Return what is to be joined, and what to; ``None`` where there is nothing."""
        with self._database.transaction() as connection:
            changed_at = store.last_change(connection, user_id)
            version = embedding_store.of_user(connection, user_id)
            loose = store.loose(connection, user_id, version, limit=self._batch) if version else []
            if version is None or not loose:
                return None
            around = store.around(connection, user_id, version, loose, self._rule.gap)
            rows = [*loose, *around]
            dimensions = usual_dimensions(row.vector for row in rows)
            good, aside = checked(
                rows,
                lambda row: stored_vector(row.vector, dimensions),
                row_id=_content_id,
                kind="content",
                mark=_mark,
            )
            learnt = store.learnt_means(connection, version)
            return _Input(version, good, learnt, changed_at, aside, full=len(loose) == self._batch)

    def _joined(
        self, rows: Sequence[store.TellingRow], read: _Input
    ) -> tuple[list[store.StoryToWrite], Sequence[Joined]]:
        if not rows:
            return [], []
        joined = join(_tellings(rows, read), self._rule)
        vectors = dict(zip((row.content_id for row in rows), _matrix(rows), strict=True))
        by_id = {row.content_id: row for row in rows}
        return [self._story(story, [by_id[member] for member in story.members], vectors) for story in joined], joined

    def _story(
        self, joined: Joined, rows: Sequence[store.TellingRow], vectors: dict[UUID, NDArray[np.float32]]
    ) -> store.StoryToWrite:
        held = np.stack([vectors[row.content_id] for row in rows]).astype(np.float64)
        mean = held.mean(axis=0)
        length = float(np.linalg.norm(mean))
        centroid = mean / length if length > 0 else held[0]
        distances = np.clip(1.0 - held @ centroid, 0.0, 2.0)
        return store.StoryToWrite(
            id=joined.id or new_id(),
            centroid=centroid.astype("<f4").tobytes(),
            lead_id=_lead(joined, rows, distances.tolist()),
            members=joined.members,
            distances=distances.tolist(),
        )


def _lead(joined: Joined, rows: Sequence[store.TellingRow], distances: Sequence[float]) -> UUID:
    """Return who led so far; else the most central member that is no duplicate, of equals the one with the least id."""
    led = {row.lead_id for row in rows if row.story_id == joined.id and row.lead_id is not None}
    staying = [row.content_id for row in rows if row.content_id in led]
    if staying:
        return staying[0]
    return min(
        zip(rows, distances, strict=True),
        key=lambda one: (one[0].original_id != one[0].content_id, round(one[1], 6), one[0].content_id),
    )[0].content_id


def subject_of(connection: Connection, message: Message) -> UUID | None:
    """Return the user whom a message without a job names, or ``None`` if there is no such user."""
    if isinstance(message, JoinStories) and user_exists(connection, message.user_id):
        return message.user_id
    return None


def _matrix(rows: Sequence[store.TellingRow]) -> Matrix:
    return np.stack([np.frombuffer(row.vector, dtype="<f4") for row in rows]).astype(np.float32)


def _tellings(rows: Sequence[store.TellingRow], read: _Input) -> list[Telling]:
    vectors = centred(_matrix(rows), [row.lang for row in rows], read.version, _learnt(read.learnt))
    return [
        Telling(row.content_id, row.original_id, row.sort_at, vector, row.story_id, row.loose)
        for row, vector in zip(rows, vectors, strict=True)
    ]


def _content_id(row: store.TellingRow) -> UUID:
    return row.content_id


def _mark(row: store.TellingRow) -> str:
    """Return what the store knows a row by that was set aside: its vector, as ``md5`` writes it in PostgreSQL."""
    return hashlib.md5(row.vector, usedforsecurity=False).hexdigest()


def _learnt(rows: Sequence[store.LearntMean]) -> dict[str, tuple[int, Matrix]]:
    """Return each language's number of texts and their mean, each topic weighing the same."""
    by_language: dict[str, list[store.LearntMean]] = {}
    for row in rows:
        sums = np.frombuffer(row.vector_sum, "<f8") if len(row.vector_sum) % 8 == 0 else np.zeros(0)
        if row.documents > 0 and sums.size and np.isfinite(sums).all():
            by_language.setdefault(row.lang, []).append(row)
    return {
        language: (
            sum(row.documents for row in topics),
            np.mean([np.frombuffer(row.vector_sum, "<f8") / row.documents for row in topics], axis=0).astype(
                np.float32
            ),
        )
        for language, topics in by_language.items()
    }
