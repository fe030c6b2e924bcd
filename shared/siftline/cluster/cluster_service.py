"""Groups one user's contents: reads vectors from PostgreSQL, groups and names them, and writes them as one run."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np

from siftline.catalog.users_store import user_exists
from siftline.cluster import cluster_store
from siftline.cluster.cluster_labels import LABELS_VERSION, Document, name_stories
from siftline.cluster.grouping import Earlier, Grouper, Grouping, Matrix, Story
from siftline.cluster.layout import colours
from siftline.cluster.space import Recipe
from siftline.contracts import ClusterUser as ClusterUserMessage
from siftline.contracts import JobType, Message
from siftline.jobs.job_model import ClaimedJob, Done, NewJob
from siftline.jobs.set_aside import checked, counted, sifted, tell
from siftline.kit.db import Connection, Database
from siftline.kit.errors import SiftlineError
from siftline.kit.ids import new_id
from siftline.models import embedding_store
from siftline.models.unit_vector import stored_vector, usual_dimensions

MAX_CONTENTS = 20_000
"""A user's newest contents are grouped, at most this many: memory and time grow faster than their number."""
REGROUP_AFTER = timedelta(days=7)
"""After this, everything is grouped anew: what was put to its nearest group meanwhile may belong elsewhere."""
LONGEST_S = 100.0
"""The longest that grouping one user may take."""
_EXCERPT_CHARS = 2_000
_KEEP_RUNS = 30


@dataclass(frozen=True, slots=True)
class _Input:
    """What a run works on; ``at`` is when it was read."""

    at: datetime
    model_version: str
    rows: Sequence[cluster_store.HeldVector]
    last_run: cluster_store.Run | None
    earlier: Sequence[cluster_store.EarlierCluster]


class ClusterUser:
    """The work of ``cluster_user``."""

    job_type = JobType.CLUSTER_USER
    providers: frozenset[str] = frozenset()

    def __init__(
        self,
        database: Database,
        recipe: Recipe,
        *,
        max_contents: int = MAX_CONTENTS,
        regroup_after: timedelta = REGROUP_AFTER,
        naming: bool = False,
    ) -> None:
        """Group at most the newest ``max_contents``; everything anew once ``regroup_after`` has passed.

        ``naming``: a language model is asked for better labels of new clusters, by a job of its own.
        """
        self._database = database
        self._recipe = recipe
        self._max_contents = max_contents
        self._regroup_after = regroup_after
        self._naming = naming

    def process(self, job: ClaimedJob) -> Done:
        """Group the contents of the job's user; hands back the write of the run."""
        read = self._read(job.subject_id)
        anew = self._anew(read)
        dimensions = usual_dimensions(row.vector for row in read.rows)
        good, aside = checked(
            read.rows, lambda row: stored_vector(row.vector, dimensions), row_id=_content_id, kind="content"
        )
        found = sifted(good, lambda rows: self._grouped(rows, read, anew=anew), row_id=_content_id, kind="content")
        grouping, clusters = found.result
        aside += found.aside
        used = [row.content_id for row in found.used]
        run = cluster_store.Run(new_id(), read.model_version, self._parameters(read, anew), read.at)
        quality = {**asdict(grouping.quality), "noise_ratio": round(grouping.quality.noise_ratio, 4)}

        def write(connection: Connection) -> None:
            cluster_store.write(
                connection,
                job.subject_id,
                run,
                clusters,
                quality=quality,
                contents=len(used),
                keep_runs=_KEEP_RUNS,
                naming=self._naming,
            )
            tell(connection, self.job_type, aside, used)

        # What came without an analysis of its own, as from a source that others followed before, has no story yet.
        follow = [NewJob(JobType.JOIN_STORIES, job.subject_id, job.group_key)]
        waiting = any(cluster.fresh for cluster in clusters) or any(cluster.label_wanted for cluster in read.earlier)
        if self._naming and waiting:
            follow.append(NewJob(JobType.NAME_CLUSTERS, job.subject_id, job.group_key))
        return Done(write, follow, {"run_id": str(run.id), "anew": anew, **counted(aside), **quality})

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Leave the clusters of the run before as they are."""

    def _grouped(
        self, rows: Sequence[cluster_store.HeldVector], read: _Input, *, anew: bool
    ) -> tuple[Grouping, list[cluster_store.NewCluster]]:
        grouping = Grouper(self._recipe, new_id, read.model_version).group(
            [row.content_id for row in rows],
            _matrix(rows),
            [row.lang for row in rows],
            [Earlier(cluster.id, frozenset(cluster.members), cluster.centre) for cluster in read.earlier],
            anew=anew,
        )
        return grouping, _named(grouping, rows, read)

    def _read(self, user_id: UUID) -> _Input:
        with self._database.transaction() as connection:
            at = cluster_store.now(connection)
            version = embedding_store.of_user(connection, user_id)
            rows: Sequence[cluster_store.HeldVector] = []
            if version is not None:
                rows = cluster_store.vectors(
                    connection, user_id, version, limit=self._max_contents, excerpt_chars=_EXCERPT_CHARS
                )
            return _Input(
                at,
                version or "",
                rows,
                cluster_store.last_run(connection, user_id),
                cluster_store.earlier(connection, user_id),
            )

    def _anew(self, read: _Input) -> bool:
        """Say whether everything is to be grouped anew: at first, for another model or recipe, after great change."""
        last = read.last_run
        if (
            last is None
            or last.model_version != read.model_version
            or last.parameters["recipe"] != asdict(self._recipe)
        ):
            return True
        grouped = int(last.parameters["grouped_contents"])
        changed = abs(len(read.rows) - grouped) > self._recipe.regroup_ratio * grouped
        return changed or read.at - datetime.fromisoformat(last.parameters["grouped_at"]) >= self._regroup_after

    def _parameters(self, read: _Input, anew: bool) -> Mapping[str, Any]:  # noqa: FBT001 - private
        """Return what is kept with the run: the recipes, and when all was last grouped anew, of how many."""
        if anew or read.last_run is None:
            return {
                "labels": LABELS_VERSION,
                "recipe": asdict(self._recipe),
                "grouped_at": read.at.isoformat(),
                "grouped_contents": len(read.rows),
            }
        return {**read.last_run.parameters, "labels": LABELS_VERSION}


def subject_of(connection: Connection, message: Message) -> UUID | None:
    """Return the user whom a message without a job names, or ``None`` if there is no such user."""
    if isinstance(message, ClusterUserMessage) and user_exists(connection, message.user_id):
        return message.user_id
    return None


def _matrix(rows: Sequence[cluster_store.HeldVector]) -> Matrix:
    """Return the vectors as n x d float32."""
    if not rows:
        return np.zeros((0, 1), dtype=np.float32)
    return np.stack([np.frombuffer(row.vector, dtype="<f4") for row in rows]).astype(np.float32)


def _content_id(row: cluster_store.HeldVector) -> UUID:
    return row.content_id


def _named(
    grouping: Grouping, rows: Sequence[cluster_store.HeldVector], read: _Input
) -> list[cluster_store.NewCluster]:
    """Name the stories. One that lives on keeps its label while half of its contents are those that had it before.

    After a run that named stories in another way all are named anew, but those that a language model named.
    """
    documents = {row.content_id: Document(row.title, row.excerpt, row.lang, row.topic) for row in rows}
    names = name_stories(
        [[documents[member] for member in story.members] for story in grouping.stories],
        [documents[content] for content in grouping.unclustered],
    )
    before = {cluster.id: cluster for cluster in read.earlier}
    named_so = read.last_run is not None and read.last_run.parameters.get("labels") == LABELS_VERSION
    labels = [_kept_label(story, before.get(story.id), named_so=named_so) for story in grouping.stories]
    shades = colours([before[story.id].colour if story.id in before else None for story in grouping.stories])
    return [
        cluster_store.NewCluster(
            id=story.id,
            label=name.label if kept is None else kept,
            keywords=name.keywords,
            centroid=story.centroid.astype("<f4").tobytes(),
            first_seen_at=before[story.id].first_seen_at if story.id in before else read.at,
            members=story.members,
            distances=story.distances,
            colour=colour,
            places=story.places,
            fresh=kept is None,
            titled_by=None if name.titled_by is None else story.members[name.titled_by],
        )
        for story, name, kept, colour in zip(grouping.stories, names, labels, shades, strict=True)
    ]


def _kept_label(story: Story, before: cluster_store.EarlierCluster | None, *, named_so: bool) -> str | None:
    if before is None or not (named_so or before.named_by):
        return None
    if before.titled_by is not None and before.titled_by not in story.members:
        return None  # its own title goes with a content
    shared = len(set(before.members).intersection(story.members))
    return before.label if 2 * shared >= len(story.members) else None
