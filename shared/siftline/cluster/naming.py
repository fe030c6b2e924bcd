"""The work of ``name_clusters``: asks a language model for the labels of a user's new clusters, a few at a time.

They have labels of key phrases already, and whatever goes wrong leaves these standing: no clustering waits for a model
or fails for it. What was paid for is stored in the transaction that settles it.
"""

import secrets
from collections.abc import Sequence
from itertools import groupby
from uuid import UUID

from siftline.catalog.users_store import user_exists
from siftline.cluster import cluster_store
from siftline.cluster.cluster_labels import Document
from siftline.cluster.cluster_store import Outcome, WantedTitle
from siftline.cluster.label_question import SCHEMA, Group, UnusableLabelsError, labels_of, messages_of, prompt_version
from siftline.contracts import JobType, Message
from siftline.contracts import NameClusters as NameMessage
from siftline.jobs.job_model import ClaimedJob, Done, NewJob
from siftline.jobs.set_aside import counted, sifted, tell
from siftline.kit.db import Connection, Database
from siftline.kit.errors import SiftlineError
from siftline.kit.log import logger
from siftline.models.llm import PROVIDER, TEXT_REFUSED, Marks, NoReplyError, PricedModel, open_priced_model
from siftline.settings.functions import AnalyzeSettings

_CLUSTERS = 10
"""Clusters that one call asks about at most."""
_CONTENTS = 30
_EXCERPT_CHARS = 1_000
_FOR_GOOD = frozenset({TEXT_REFUSED, "answers_lost"})
"""Reasons for which these clusters are not asked about again; money and the model come back, and then they are."""
_log = logger("cluster")


class NameClusters:
    """Names a user's largest clusters that are to be named; then, while there are more, the next run follows."""

    job_type = JobType.NAME_CLUSTERS
    providers = frozenset({PROVIDER})

    def __init__(self, database: Database, model: PricedModel | None) -> None:
        """``model`` is ``None`` where no language model is set up: then nothing is done."""
        self._database = database
        self._model = model

    def process(self, job: ClaimedJob) -> Done:
        """Ask about some clusters.

        Raises ``LlmMisconfiguredError``, and a ``TransientError`` where the job is to be tried again later.
        """
        user_id = job.subject_id
        if self._model is None:
            return Done(result={"named": 0, "reason": "no_model"})
        with self._database.transaction() as connection:
            rows = cluster_store.wanted(
                connection, user_id, clusters=_CLUSTERS, contents=_CONTENTS, excerpt_chars=_EXCERPT_CHARS
            )
        asked, groups = _groups(rows)
        if not groups:
            return Done(result={"named": 0})
        found = sifted(
            list(zip(asked, groups, strict=True)), _asked_for, row_id=lambda pair: pair[0][0], kind="cluster"
        )
        unfit = {one.row_id for one in found.aside}
        kept = [Outcome(cluster_id, label, None) for cluster_id, label in asked if cluster_id in unfit]
        named_by = f"{self._model.model_id}/prompt-{prompt_version()}"

        def write(connection: Connection) -> None:
            cluster_store.settle_labels(connection, user_id, kept, named_by)
            tell(connection, self.job_type, found.aside, [cluster_id for cluster_id, _ in asked])

        asked, groups = [pair[0] for pair in found.used], [pair[1] for pair in found.used]
        if not groups:
            return Done(write, result={"named": 0, **counted(found.aside)})
        outcomes, reason = self._ask(self._model, job, asked, groups)
        named = sum(1 for outcome in outcomes if outcome.label is not None)
        _log.info("clusters_named", asked=len(asked), named=named, model=self._model.model_id, reason=reason or "used")
        with self._database.transaction() as connection:
            goes_on = bool(outcomes) and cluster_store.more(connection, user_id)
        follow = [NewJob(JobType.NAME_CLUSTERS, user_id, job.group_key)] if goes_on else []
        result = {"named": named, "asked": len(asked), "reason": reason, **counted(found.aside)}
        return Done(write, follow=follow, result=result)

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Do nothing: the key phrases stand."""

    def _ask(
        self, model: PricedModel, job: ClaimedJob, asked: Sequence[tuple[UUID, str]], groups: Sequence[Group]
    ) -> tuple[Sequence[Outcome], str | None]:
        """Return what was settled, nothing where it may be asked again; and the reason why no label came of it."""
        user_id = job.subject_id
        marks = Marks(fence=f"GROUPS-{secrets.token_hex(8)}")
        kept = [Outcome(cluster_id, label, None) for cluster_id, label in asked]
        named_by = f"{model.model_id}/prompt-{prompt_version()}"

        def payer(connection: Connection) -> UUID | None:
            return cluster_store.payer(connection, user_id)

        try:
            paid = model.ask(job, user_id, payer, messages_of(groups, marks), SCHEMA)
        except NoReplyError as ended:
            if ended.reason not in _FOR_GOOD:
                return [], ended.reason
            with self._database.transaction() as connection:
                cluster_store.settle_labels(connection, user_id, kept, named_by)
            return kept, ended.reason
        reason = None
        try:
            labels = labels_of(paid.answer, groups, marks)
            kept = [Outcome(one.cluster_id, one.asked, label) for one, label in zip(kept, labels, strict=True)]
        except UnusableLabelsError as fault:
            reason = fault.reason
        model.settle(paid, lambda connection: cluster_store.settle_labels(connection, user_id, kept, named_by))
        return kept, reason


def open_naming(settings: AnalyzeSettings, database: Database) -> NameClusters:
    """Return the work of ``name_clusters``. Raises ``LlmPriceUnknownError``."""
    return NameClusters(database, open_priced_model(settings, database))


def _asked_for(pairs: Sequence[tuple[tuple[UUID, str], Group]]) -> object:
    """Write what a model would be asked; raises where a cluster cannot be asked about."""
    return messages_of([group for _, group in pairs], Marks(fence="GROUPS")) if pairs else None


def subject_of(connection: Connection, message: Message) -> UUID | None:
    """Return the user whom a message without a job names, or ``None`` if there is no such user."""
    if isinstance(message, NameMessage) and user_exists(connection, message.user_id):
        return message.user_id
    return None


def _groups(rows: Sequence[WantedTitle]) -> tuple[list[tuple[UUID, str]], list[Group]]:
    """Return each cluster's id and label so far, and the cluster as it is asked about."""
    asked, groups = [], []
    for (cluster_id, label), contents in groupby(rows, key=lambda row: (row.cluster_id, row.label)):
        asked.append((cluster_id, label))
        groups.append(Group([Document(row.title, row.excerpt, row.lang) for row in contents]))
    return asked, groups
