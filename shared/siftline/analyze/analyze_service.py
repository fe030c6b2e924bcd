"""The work of ``analyze_content``: a stored text in; a READY content, its derived values and its vector out."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from siftline.analyze import analyze_store
from siftline.analyze.article_reader import Article, ArticleLanguage, Derivation, Reader, Reading
from siftline.analyze.entities.entity_step import EntityStep
from siftline.analyze.llm.llm_reader import LlmReader
from siftline.contracts import AnalyzeContent as AnalyzeMessage
from siftline.contracts import JobType, Message, Priority
from siftline.jobs import credits_store
from siftline.jobs.job_model import ClaimedJob, Done, NewJob, user
from siftline.kit.db import Connection, Database
from siftline.kit.errors import PermanentError, SiftlineError, TransientError
from siftline.kit.log import logger
from siftline.models import embedding_store, spending_store
from siftline.models.embedding_api import EmbeddingRefusedError, EmbeddingUnavailableError, Payment, PricedEmbedder
from siftline.models.embedding_store import Version
from siftline.models.missing_vectors import asked_for_vector
from siftline.models.vectors import Point, VectorIndex

WITHOUT_VECTOR = "without_vector"
"""The notice of what was read, but has no vector that it is found by."""

SCORED_AT_ONCE = 200
"""Holders whose scores are asked for in the moment a content is READY; of more, the next sweep asks."""
CLUSTER_EVERY = 20
"""New contents of a user until clusters are made anew: what they read today shows today."""
_log = logger("analyze")
_GONE = "The item was deleted before it was analysed."


@dataclass(frozen=True, slots=True)
class ReadingSetup:
    """A reader, the version of the vectors that are kept, and where they go.

    ``keeper`` makes the vectors that are kept, where the reader's own model is not the one that does: topics, summary
    and tags are read with the reader's model all the same.
    """

    version: Version
    reader: Reader
    index: VectorIndex
    keeper: PricedEmbedder | None = None

    @classmethod
    def of(cls, reader: Reader, index: VectorIndex) -> Self:
        """Return a setup whose reader's own vectors are kept."""
        return cls(Version(reader.model_version, "", 1, reader.dimensions), reader, index)

    def kept(self, article: Article, reading: Reading, payment: Payment) -> tuple[Reading, NDArray[np.float32] | None]:
        """Return the vector that the keeper makes, and the reading with what made it."""
        if self.keeper is None:
            return reading, reading.vector
        embedder = self.keeper.paid_by(payment)
        vector = embedder.embed_passage(article.whole)
        made = Derivation("embedding", embedder.model_id, embedder.model_version)
        others = tuple(one for one in reading.derivations if one.kind != "embedding")
        return replace(reading, derivations=(*others, made)), vector


def without_vector(reading: Reading) -> Reading:
    """Return a reading of which the vector that is kept could not be made: it says so, and names nothing as its maker.

    A text that says too little says that first.
    """
    others = tuple(one for one in reading.derivations if one.kind != "embedding")
    return replace(reading, derivations=others, notice_code=reading.notice_code or WITHOUT_VECTOR)


class ContentGoneError(PermanentError):
    """The content was deleted."""

    code = "content_gone"


class NotIngestedYetError(TransientError):
    """The content has no text yet; it comes when its page has been read."""

    code = "not_ingested_yet"


class IngestFailedError(PermanentError):
    """The content's page could not be read, so there will be no text; carries the code and the sentence of that."""


class TextChangedError(TransientError):
    """The text changed in the moment its analysis was to be written; the next try reads the new one."""

    code = "text_changed"


@dataclass(frozen=True, slots=True)
class _Work:
    setup: ReadingSetup
    content_id: UUID
    version: int
    reading: Reading
    input_sha256: bytes
    language: ArticleLanguage | None
    """``None`` where nothing was read here."""
    vector: NDArray[np.float32] | None
    """The one that is kept."""
    taken_from: UUID | None = None
    """Whose reading it is, where the very same text was read before."""
    refused: str | None = None
    """Why the model whose vectors are kept made none, as a code."""


class AnalyzeContent:
    """Reads a content and makes it READY.

    The vector is indexed before the transaction that makes the content READY, under the content's id: a repeat after a
    crash in between writes the same point again, and the point of an older text replaces no newer one's. An analysis of
    a text that has changed meanwhile is thrown away, and another is asked for. What was read of the very same text
    elsewhere is taken over, at nobody's cost. With what is read, and whose vectors are kept, is asked before each text
    (``open_setup``): where that has changed when its analysis is to be written, the text is read again. A text of which
    a model over an API makes no vector, at the last try too, is READY without one and asked about again later.
    """

    job_type = JobType.ANALYZE_CONTENT
    providers = frozenset({"embedding", "entity_model", "llm", "model", "topic_model", "topics", "vectors"})

    def __init__(
        self,
        database: Database,
        open_setup: Callable[[], ReadingSetup],
        *,
        llm: LlmReader | None = None,
        cluster_every: int = CLUSTER_EVERY,
        entities: EntityStep | None = None,
    ) -> None:
        self._database = database
        self._open_setup = open_setup
        self._llm = llm
        self._cluster_every = cluster_every
        self._entities = entities

    def process(self, job: ClaimedJob) -> Done:
        """Read the job's content.

        Raises ``ContentGoneError``, ``NotIngestedYetError``, ``IngestFailedError``, and what the model and the vector
        store raise.
        """
        work = self._read(job)
        reading = work.reading
        if work.vector is not None:
            payload = {"lang": reading.language, "topics": [topic.topic for topic in reading.topics]}
            work.setup.index.upsert([Point(work.content_id, work.vector, payload, work.version)])
        with self._database.transaction() as connection:
            version = analyze_store.version_of(connection, work.content_id)
            users = self._users_to_cluster(connection, work) if version == work.version else []
            holders = analyze_store.holders(connection, work.content_id)
        if version is None:
            raise ContentGoneError(_GONE)
        if version != work.version:
            again = NewJob(JobType.ANALYZE_CONTENT, job.subject_id, job.group_key, priority=job.priority)
            return Done(lambda connection: analyze_store.wait(connection, work.content_id), [again], {"stale": True})
        # Who saved it waits for what comes of it as for the page itself; nobody else's queue is filled by that.
        urgency = {True: job.priority, False: min(job.priority, Priority.UNDER_24_HOURS)}
        joins = holders if work.vector is not None else []
        follow = [NewJob(JobType.CLUSTER_USER, one, user(one)) for one in users]
        follow += [NewJob(JobType.JOIN_STORIES, one, user(one), urgency[saved]) for one, saved in joins]
        follow += [
            NewJob(JobType.SCORE_USER, one, user(one), urgency[saved]) for one, saved in holders[:SCORED_AT_ONCE]
        ]
        return Done(lambda connection: self._write(connection, job, work), follow, _result(work))

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Do nothing: the job's state is the content's."""

    def _read(self, job: ClaimedJob) -> _Work:
        content_id = job.subject_id
        with self._database.transaction() as connection:
            stored = analyze_store.load(connection, content_id)
            failure = analyze_store.ingest_failure(connection, content_id) if stored and stored.text is None else None
        if stored is None:
            raise ContentGoneError(_GONE)
        if failure is not None:
            raise IngestFailedError(failure.error_message, code=failure.error_code)
        if stored.text is None:
            raise NotIngestedYetError("The page has not been read yet: there is nothing to analyse.")
        setup = self._open_setup()
        with self._database.transaction() as connection:
            taken = analyze_store.taken(connection, content_id, setup.version.model_version)
        if taken is not None:
            reading, digest = taken.reading, taken.input_sha256
            return _Work(setup, content_id, stored.version, reading, digest, None, reading.vector, taken.twin_id)
        article = Article(stored.title or "", stored.text, stored.lang)
        language = setup.reader.language_of(article)
        with self._database.transaction() as connection:
            seen = analyze_store.seen(connection, setup.reader.model_version, language.group)
            habits = analyze_store.habits(connection, content_id)
        reading = setup.reader.read(article, language, seen, habits)
        reading, vector, refused = self._kept(setup, job, article, reading)
        told = None
        if self._llm is not None:
            improved = self._llm.improve(job, content_id, article, language, reading)
            reading, told = improved.reading, improved.names
        if self._entities is not None:
            reading = self._entities.added(article, reading, told)
        if refused is not None:
            reading = without_vector(reading)
        digest = hashlib.sha256(f"{article.title}\0{article.text}".encode("utf-8", "surrogatepass")).digest()
        return _Work(setup, content_id, stored.version, reading, digest, language, vector, refused=refused)

    def _kept(
        self, setup: ReadingSetup, job: ClaimedJob, article: Article, reading: Reading
    ) -> tuple[Reading, NDArray[np.float32] | None, str | None]:
        """Return the reading with what made the vector that is kept, that vector, and why there is none."""
        if setup.keeper is None or reading.vector is None:
            return reading, reading.vector, None
        with self._database.transaction() as connection:
            payer = spending_store.payer(connection, content_id=job.subject_id, job_id=job.id)
        try:
            return *setup.kept(article, reading, Payment(job.subject_id, payer, job.id)), None
        except EmbeddingRefusedError as error:
            refused = error.error_code
        except EmbeddingUnavailableError as error:
            if job.attempts < job.max_attempts and not asked_for_vector(job):
                raise
            refused = error.error_code
        _log.warning("read_without_vector", content_id=str(job.subject_id), job_id=str(job.id), error_code=refused)
        return reading, None, refused

    def _users_to_cluster(self, connection: Connection, work: _Work) -> Sequence[UUID]:
        if work.vector is None:
            return []
        version = work.setup.version.model_version
        return analyze_store.users_to_cluster(connection, work.content_id, version, self._cluster_every)

    def _write(self, connection: Connection, job: ClaimedJob, work: _Work) -> None:
        """Write everything, in the transaction that completes the job."""
        reading, setup = work.reading, work.setup
        embedding_store.hold(connection, setup.version)
        if not analyze_store.save(connection, work.content_id, work.version, reading):
            raise TextChangedError("The text changed during analysis; it will be analysed again.")
        analyze_store.derive(connection, work.content_id, reading, work.input_sha256)
        analyze_store.learn_habits(connection, work.content_id)
        if self._entities is not None:
            self._entities.write(connection, work.content_id, reading.entities, taken_from=work.taken_from)
        if work.taken_from is not None:
            credits_store.waive(connection, job.id)
        if work.refused is not None:
            version = setup.version.model_version
            embedding_store.refuse(connection, work.content_id, version, work.version, work.refused)
        if work.vector is None or reading.vector is None:
            return
        embedding_store.made(connection, work.content_id)
        fresh = analyze_store.embed(connection, work.content_id, setup.version.model_version, work.vector, work.version)
        if fresh and reading.best_topic is not None and work.language is not None:
            analyze_store.learn(
                connection, setup.reader.model_version, work.language.group, reading.best_topic, reading.vector
            )


def subject_of(connection: Connection, message: Message) -> UUID | None:
    """Return the content that a message without a job means, if it is there."""
    if not isinstance(message, AnalyzeMessage):
        return None
    stored = analyze_store.load(connection, message.shared_content_id)
    return None if stored is None else stored.id


def _result(work: _Work) -> dict[str, object]:
    reading = work.reading
    result: dict[str, object] = {"topics": [topic.topic for topic in reading.topics], "lang": reading.language}
    if work.taken_from is not None:
        result["taken_from"] = str(work.taken_from)
    return result if reading.notice_code is None else {**result, "notice_code": reading.notice_code}
