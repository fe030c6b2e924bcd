"""The work of ``label_user``: compares what a user holds with their own topics, in slices that stand by themselves.

What is to be compared is marked in ``readings`` (due): by triggers where an item or a vector comes, and here, for all
that the user holds, when a set has changed. So a run that is killed, or out of time, is taken up where it was, and a
set that changes meanwhile marks everything anew. No text is embedded and no language model asked; nobody is charged.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import numpy as np

from siftline.analyze import analyze_store
from siftline.analyze.topics import own_topics_store
from siftline.analyze.topics.anchors import ANY
from siftline.analyze.topics.own_topics import OwnTopics, Part, TopicSet, Vector
from siftline.analyze.topics.own_topics_store import Due, FoundTopics, as_vector
from siftline.analyze.topics.topic_list import Label
from siftline.analyze.topics.topic_scoring import Seen
from siftline.catalog.users_store import user_exists
from siftline.contracts import JobType, Message, Priority
from siftline.contracts import LabelUser as LabelMessage
from siftline.jobs.job_model import ClaimedJob, Done, NewJob
from siftline.jobs.set_aside import checked, sifted, tell
from siftline.jobs.set_aside_store import SetAside
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import SiftlineError
from siftline.models.unit_vector import UnusableVectorError, stored_vector

_SLICE = 500


@dataclass(frozen=True, slots=True)
class _Sets:
    """A user's sets, and the vectors of each one's topics."""

    sets: Sequence[TopicSet]
    vectors: Mapping[UUID, Mapping[str, Mapping[str, Vector]]]

    def of(self, source_set_id: UUID | None) -> tuple[Mapping[str, Mapping[str, Vector]], frozenset[str] | None]:
        """Return the topics' vectors for what a source brought, its own before the user's, and which alone count."""
        own: dict[str, Mapping[str, Vector]] = {}
        only = None
        for one in self.sets:
            if one.source_id is None or one.id == source_set_id:
                own |= self.vectors[one.id]
                only = one.only
        return own, only


WORK_S = 10.0
"""How long one run compares: as long as reading one text may take."""


class LabelUser:
    """Compares a user's contents with their own topics, for ``work_s`` seconds; then the next run follows."""

    job_type = JobType.LABEL_USER
    providers = frozenset({"embedding", "model", "topics"})

    def __init__(
        self, database: Database, open_own: Callable[[], OwnTopics], clock: Clock, *, work_s: float = WORK_S
    ) -> None:
        self._database = database
        self._open_own = open_own
        self._clock = clock
        self._work_s = work_s

    def process(self, job: ClaimedJob) -> Done:
        """Compare what is due. Raises what the model raises."""
        user_id, ends = job.subject_id, self._clock.monotonic() + self._work_s
        own = self._open_own()
        with self._database.transaction() as connection:
            sets, broken = own_topics_store.sets_of(connection, user_id)
            tell(connection, self.job_type, broken, [one.id for one in sets])
            if any(one.version != one.spread_version for one in sets):
                own_topics_store.spread(connection, user_id, sets)
        if not sets:
            return Done()
        vectors = self._vectors(user_id, own, sets, ends)
        if vectors is None:
            return self._later(user_id, 0)
        compared = 0
        while True:
            with self._database.transaction() as connection:
                rows = own_topics_store.due(connection, user_id, own.model_version, limit=_SLICE)
            if not rows:
                return Done(result={"compared": compared})
            found, aside = self._compared(own, _Sets(sets, vectors), rows)
            with self._database.transaction() as connection:
                if not own_topics_store.write(connection, user_id, own.model_version, sets, found):
                    return self._later(user_id, compared)
                tell(connection, self.job_type, aside, [one.content_id for one in found])
            compared += len(found)
            if self._clock.monotonic() >= ends:
                return self._later(user_id, compared)

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Do nothing: what was found before stands."""

    def _later(self, user_id: UUID, compared: int) -> Done:
        follow = NewJob(JobType.LABEL_USER, user_id, f"user:{user_id}", priority=Priority.OLDER)
        return Done(follow=[follow], result={"compared": compared, "goes_on": True})

    def _vectors(
        self, user_id: UUID, own: OwnTopics, sets: Sequence[TopicSet], ends: float
    ) -> dict[UUID, dict[str, dict[str, Vector]]] | None:
        """Return all topics' vectors, those that are missing made and kept; ``None`` where time is up before."""
        with self._database.transaction() as connection:
            rows = own_topics_store.vectors_of(connection, user_id, own.model_version)
        kept = {(row.set_id, row.topic, row.lang, row.digest): row.vector for row in rows}
        wanted = {one.id: [part for label in one.labels for part in own.parts(label)] for one in sets}
        found: dict[UUID, dict[str, dict[str, Vector]]] = {one.id: {} for one in sets}
        for set_id, label, part in _parts(own, sets):
            raw = kept.get((set_id, part.topic, part.lang, part.digest))
            if raw is None and self._clock.monotonic() >= ends:
                return None
            kept_vector = None if raw is None else _kept(raw, own.dimensions)
            vector = self._made(set_id, own, label, part) if kept_vector is None else kept_vector
            found[set_id].setdefault(part.topic, {})[part.lang] = vector
        if len(rows) != sum(map(len, wanted.values())) or kept.keys() != _keys(wanted):
            with self._database.transaction() as connection:
                own_topics_store.forget_vectors(connection, own.model_version, wanted)
        return found

    def _made(self, set_id: UUID, own: OwnTopics, label: Label, part: Part) -> Vector:
        vector = own.embed(label, part)
        with self._database.transaction() as connection:
            own_topics_store.keep_vector(connection, set_id, own.model_version, part, vector)
        return vector

    def _compared(self, own: OwnTopics, sets: _Sets, rows: Sequence[Due]) -> tuple[list[FoundTopics], list[SetAside]]:
        """Compare contents, those of one language and one source's set at once.

        What cannot be compared is as what has no vector: nothing is said of it until it has another.
        """
        with_vector = [row for row in rows if row.vector is not None]
        good, aside = checked(
            with_vector,
            lambda row: stored_vector(row.vector or b"", own.dimensions),
            row_id=_content_id,
            kind="content",
        )
        groups: dict[tuple[str | None, UUID | None], list[Due]] = defaultdict(list)
        for row in good:
            groups[row.lang, row.source_set_id].append(row)
        found: list[FoundTopics] = []
        for (lang, source_set_id), group in groups.items():
            with self._database.transaction() as connection:
                seen = analyze_store.seen(connection, own.model_version, lang or ANY)
            topics, only = sets.of(source_set_id)
            if only is not None and only.isdisjoint({*topics, *own.default_topics}):
                only = None  # what the source was kept to is no more: rather all of it than nothing
            work = partial(_read, own=own, lang=lang, seen=seen, topics=topics, only=only)
            read = sifted(group, work, row_id=_content_id, kind="content")
            found += read.result
            aside += read.aside
        said = {one.content_id for one in found}
        found += [
            FoundTopics(row.content_id, row.asked_at, None, replaces=False)
            for row in rows
            if row.content_id not in said
        ]
        return found, aside


def _content_id(row: Due) -> UUID:
    return row.content_id


def _kept(raw: bytes, dimensions: int) -> Vector | None:
    """Return a topic's vector as it was kept; ``None`` where it is none that can be used, and another is made."""
    try:
        return stored_vector(raw, dimensions)
    except UnusableVectorError:
        return None


def _read(
    rows: Sequence[Due],
    *,
    own: OwnTopics,
    lang: str | None,
    seen: Mapping[str, Seen],
    topics: Mapping[str, Mapping[str, Vector]],
    only: frozenset[str] | None,
) -> list[FoundTopics]:
    if not rows:
        return []
    matrix = np.stack([as_vector(row.vector or b"") for row in rows])
    told = own.read(matrix, lang, seen, topics, only)
    return [
        FoundTopics(row.content_id, row.asked_at, () if row.thin else about, replaces=only is not None)
        for row, about in zip(rows, told, strict=True)
    ]


def _parts(own: OwnTopics, sets: Sequence[TopicSet]) -> Iterator[tuple[UUID, Label, Part]]:
    for one in sets:
        for label in one.labels:
            for part in own.parts(label):
                yield one.id, label, part


def _keys(wanted: Mapping[UUID, Sequence[Part]]) -> set[tuple[UUID, str, str, str]]:
    return {(set_id, part.topic, part.lang, part.digest) for set_id, parts in wanted.items() for part in parts}


def subject_of(connection: Connection, message: Message) -> UUID | None:
    """Return the user whom a message without a job names, or ``None`` if there is no such user."""
    if isinstance(message, LabelMessage) and user_exists(connection, message.user_id):
        return message.user_id
    return None
