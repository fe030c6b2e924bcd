"""The work of ``resolve_entity``: an organisation with a temporary id in; whose it is, or why nobody knows, out."""

from collections.abc import Sequence
from uuid import UUID

from siftline.contracts import JobType, Message
from siftline.contracts import ResolveEntity as ResolveMessage
from siftline.jobs.job_model import ClaimedJob, Done
from siftline.kit.db import Connection, Database
from siftline.kit.errors import SiftlineError
from siftline.resolve import resolve_store
from siftline.resolve.matching import AMBIGUOUS, UNKNOWN, Resolution, Temporary, judge
from siftline.resolve.providers import Provider

LONGEST_S = 45.0
"""The longest that asking all providers about one organisation may take."""


class ResolveEntity:
    """Asks one provider after the other who an organisation is, until one knows.

    What is known already is looked up first: a name that was resolved before is an alias and never asked about. A
    provider that does not let us in opens its breaker, and jobs wait; names are never logged.
    """

    job_type = JobType.RESOLVE_ENTITY

    def __init__(self, database: Database, providers: Sequence[Provider], *, salt: str = "") -> None:
        self._database = database
        self._providers = providers
        self._salt = salt
        self.providers = frozenset(provider.name for provider in providers)

    def process(self, job: ClaimedJob) -> Done:
        """Ask who the job's entity is. Raises what the providers raise."""
        with self._database.transaction() as connection:
            wanted = resolve_store.load(connection, job.subject_id)
        if wanted is None or wanted.canonical_id is not None:
            return Done(result={"outcome": "gone" if wanted is None else "known"})
        reason = UNKNOWN
        for provider in self._providers:
            verdict = judge(wanted, provider.search(wanted))
            if verdict.candidate is not None:
                return self._resolved(wanted, verdict, provider.name)
            reason = AMBIGUOUS if AMBIGUOUS in (reason, verdict.reason) else UNKNOWN
        return Done(lambda connection: resolve_store.note(connection, wanted.id, reason), result={"outcome": reason})

    def _resolved(self, wanted: Temporary, verdict: Resolution, provider: str) -> Done:
        candidate = verdict.candidate

        def write(connection: Connection) -> None:
            if candidate is not None:
                resolve_store.settle(connection, wanted.id, candidate, provider=provider, salt=self._salt)

        return Done(write, result={"outcome": "resolved", "provider": provider})

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Say on the entity why its id is temporary still."""
        resolve_store.note(connection, job.subject_id, error.error_code)


def subject_of(connection: Connection, message: Message) -> UUID | None:
    """Return the entity that a message without a job means, if it is there."""
    if not isinstance(message, ResolveMessage):
        return None
    found = resolve_store.load(connection, message.entity_id)
    return None if found is None else found.id
