"""Made-up directions and holdings for tests of scores: axes stand for what texts are about, one more for a language."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from psycopg.types.json import Jsonb

from siftline.contracts import JobType
from siftline.jobs.job_model import ClaimedJob
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.rank.scoring import ScoreUser, ScoringRule
from tests.factories import claimed, embed, make_content, make_item, make_source

MODEL = "axes-1"
DIMENSIONS = 24
LANGUAGES = {"en": 20, "fr": 21, "ja": 22}
TOPICS = {"solar": "energy", "chess": "sport", "opera": "culture"}
ABOUT = {"solar": 0, "chess": 1, "opera": 2, "banks": 3, "rain": 4}
_SAME = {"photovoltaïque": "solar", "échecs": "chess"}


class AxisDirections:
    """Every text of a language has that language's axis in common; a word's axis says what it is about."""

    def __init__(self, model_version: str = MODEL) -> None:
        self.model_version = model_version
        self.phrases: list[str] = []

    def mean(self, language: str | None) -> NDArray[np.float32]:
        """Return the axis of a language."""
        mean = np.zeros(DIMENSIONS, dtype=np.float32)
        mean[LANGUAGES.get(language or "", DIMENSIONS - 1)] = 0.9
        return mean

    def phrase(self, text: str) -> tuple[NDArray[np.float32], Mapping[str, float]]:
        """Return the axis of the word, in whichever language, and its topic."""
        self.phrases.append(text)
        word = _SAME.get(text, text)
        direction = np.zeros(DIMENSIONS, dtype=np.float32)
        direction[ABOUT.get(word, 10)] = 1.0
        return direction, {topic: 0.6 if TOPICS.get(word) == topic else 0.0 for topic in TOPICS.values()}


def vector(about: str, lang: str = "en", *, seed: int = 0) -> NDArray[np.float32]:
    """Return the unit vector of a text."""
    rng = np.random.default_rng((seed, ABOUT[about]))
    raw = AxisDirections().mean(lang) + rng.normal(scale=0.02, size=DIMENSIONS)
    raw[ABOUT[about]] += 0.4
    return (raw / np.linalg.norm(raw)).astype(np.float32)


class Reader:
    """One user, what they hold, and the scoring of it."""

    def __init__(self, database: Database, user_id: UUID, **options: Any) -> None:
        self.database = database
        self.user_id = user_id
        self.directions = AxisDirections()
        self.work = ScoreUser(database, lambda: self.directions, SystemClock(), **options)

    def hold(self, about: str | None, lang: str = "en", *, source_id: UUID | None = None, **columns: Any) -> UUID:
        """Hold a READY text about something, brought by a source; about ``None``: one that was never read."""
        with self.database.transaction() as connection:
            topics = None if about is None else Jsonb([{"topic": TOPICS.get(about, "other"), "score": 0.7}])
            values = {"status": "READY", "lang": lang, "title": about, "topics": topics, **columns}
            content_id = make_content(connection, **values)
            item_id = make_item(connection, self.user_id, content_id)
            connection.execute("update items set saved = false, source_id = %s where id = %s", (source_id, item_id))
            if about is not None:
                embed(connection, content_id, vector(about, lang, seed=content_id.int % 1_000), MODEL)
        return item_id

    def source(self, learnt: Mapping[str, float] | None = None, given: list[str] | None = None) -> UUID:
        """Follow a source that is said to write about these topics."""
        with self.database.transaction() as connection:
            topics = Jsonb([{"topic": topic, "score": share} for topic, share in (learnt or {}).items()])
            source_id = make_source(connection, granular_topics=topics)
            connection.execute(
                "insert into subscriptions (id, user_id, source_id, topics) values (%s, %s, %s, %s)",
                (new_id(), self.user_id, source_id, Jsonb(given or [])),
            )
        return source_id

    def score(self, job: ClaimedJob | None = None) -> dict[str, Any]:
        """Run the scoring and return its result."""
        return dict(self.work.process(job or claimed(self.user_id, JobType.SCORE_USER)).result)

    def run(self, statement: str, *values: Any) -> list[Any]:
        """Run a statement and return its rows, if it has any."""
        with self.database.transaction() as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def star(self, item_id: UUID) -> None:
        """Star an item as the API does."""
        self.run("update items set starred_at = now() where id = %s", item_id)
        self.run("update score_profiles set evidence = evidence + 1 where user_id = %s", self.user_id)

    def interested_in(self, text: str) -> None:
        """Name interests."""
        self.run("update users set interests = %s where id = %s", text, self.user_id)

    def scores(self) -> dict[UUID, float | None]:
        """Return the relevance of each item."""
        return dict(self.run("select id, score from items where user_id = %s", self.user_id))

    def reason(self, item_id: UUID, code: str) -> dict[str, Any]:
        """Return one of an item's reasons."""
        ((reasons,),) = self.run("select score_reasons from items where id = %s", item_id)
        [found] = [reason for reason in reasons if reason["code"] == code]
        return dict(found)


NEVER_ENOUGH = ScoringRule(work_s=0.0)
