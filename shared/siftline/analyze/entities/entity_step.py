"""The step of analysis that finds whom a text is about, and what it leaves: rows, and jobs to tell who they are."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from siftline.analyze.article_reader import INSUFFICIENT, Article, Derivation, Reading
from siftline.analyze.entities import entities_store
from siftline.analyze.entities.entities_store import FoundEntity
from siftline.analyze.entities.mentions import Named, Recognizer, named_in
from siftline.contracts import JobType
from siftline.jobs import jobs_store as jobs
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Connection
from siftline.text.names import temporary_id

KIND = "entities"
NAMES_MAX = 40
"""Names of a content at most: a text that names more is a list."""
_TEXT_MAX_CHARS = 60_000


class EntityStep:
    """Finds whom a text is about with one recogniser.

    ``salt`` goes into the temporary ids. With ``resolves`` each organisation that nobody named before gets a
    ``resolve_entity`` job, which waits for the hourly hand-out; without it ids stay temporary. No name is logged.
    """

    def __init__(
        self, recognizer: Recognizer, *, salt: str = "", resolves: bool = False, max_attempts: int = 4
    ) -> None:
        self._recognizer = recognizer
        self._salt = salt
        self._resolves = resolves
        self._max_attempts = max_attempts

    @property
    def version(self) -> str:
        """Names what finds the names by itself, and how."""
        return _version(self._recognizer.model_id, self._recognizer.model_version)

    def added(self, article: Article, reading: Reading, told: Recognizer | None = None) -> Reading:
        """Return the reading with whom the text is about; as it was where there is too little text.

        ``told`` finds the names that a language model was asked for, in place of the step's own recogniser.
        """
        if reading.notice_code == INSUFFICIENT:
            return reading
        text = f"{article.title}\n\n{article.text[:_TEXT_MAX_CHARS]}"
        recognizer = told or self._recognizer
        named = named_in(text, recognizer, reading.language, limit=NAMES_MAX)
        version = _version(recognizer.model_id, recognizer.model_version)
        made = Derivation(KIND, recognizer.model_id, version, {"entities": len(named)})
        return replace(reading, entities=named, derivations=(*reading.derivations, made))

    def write(
        self, connection: Connection, content_id: UUID, named: Sequence[Named], *, taken_from: UUID | None
    ) -> None:
        """Write whom a content is about, in the transaction that completes its analysis."""
        if taken_from is not None:
            entities_store.copy(connection, content_id, taken_from)
            return
        found = [FoundEntity(one, temporary_id(one.normalised, self._salt)) for one in named]
        fresh = entities_store.save(connection, content_id, found)
        if self._resolves:
            wanted = [NewJob(JobType.RESOLVE_ENTITY, entity_id, f"entity:{entity_id}") for entity_id in fresh]
            jobs.enqueue(connection, wanted, max_attempts=self._max_attempts)


def told_version(model: str, prompt: str) -> str:
    """Return the version of names that a language model told, asked in these words."""
    return _version(model, f"prompt-{prompt}")


def _version(model_id: str, model_version: str) -> str:
    return f"{model_id}-{model_version}/{KIND}-1"
