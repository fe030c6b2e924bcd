"""Topics of one's own: for all one holds, and for what one source brings. Nobody else sees them or what they found."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from siftline.api.http.auth import CurrentCaller
from siftline.api.http.problems import Fault, faulty, not_found
from siftline.api.http.routing import BODY_PROBLEMS, route
from siftline.api.http.shapes import Asked, Cause
from siftline.api.parts import Routes
from siftline.api.sources import sources_store
from siftline.api.topics import topics_store
from siftline.catalog import reading_profile_store
from siftline.contracts import JobType, Priority
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Connection
from siftline.kit.stored import all_readable
from siftline.models import embedding_store

TOPICS_MAX = 30
"""Topics of one set."""
LANGUAGES_MAX = 8
EXAMPLES_MAX = 8
"""Of one topic, in all languages together."""
_LANGUAGE = re.compile(r"[a-z]{2,3}")

TopicId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Description = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
Example = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]
_IN_WORDS = "Description by language (ISO 639): the name, then a comma-separated list of things it covers"


class OwnTopic(Asked):
    """One of your own topics."""

    id: TopicId = Field(
        description="Your own id; the id of a default topic overrides that topic", examples=["seafaring"]
    )
    descriptions: dict[str, Description] = Field(
        description=_IN_WORDS, min_length=1, max_length=LANGUAGES_MAX, examples=[{"en": "Seafaring: ports, ferries"}]
    )
    examples: dict[str, list[Example]] = Field(
        default={},
        description=f"Example texts by language; at most {EXAMPLES_MAX} in total",
        max_length=LANGUAGES_MAX,
        examples=[{"en": ["Two ferries collided in fog off the harbour wall."]}],
    )


Topics = Annotated[list[OwnTopic], Field(max_length=TOPICS_MAX)]


class ChangeTopics(Asked):
    """All your own topics; replaces existing ones."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"topics": [{"id": "seafaring", "descriptions": {"en": "Seafaring: ports"}}]}]}
    )

    topics: Topics = Field(description="An empty list deletes your own topics and their results")


class ChangeSourceTopics(Asked):
    """The topics that apply to one source; replaces existing settings."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"only": ["sport", "politics"]}]})

    only: Annotated[list[TopicId], Field(min_length=1, max_length=100)] | None = Field(
        default=None,
        description="Only these topics apply there, default ones or your own, and replace the shared ones; "
        "null: all topics",
    )
    topics: Topics = Field(default=[], description="Your own topics for this source only")


class DefaultTopic(BaseModel):
    """A topic used for all users."""

    id: str = Field(examples=["politics"])
    descriptions: dict[str, str] = Field(description="Description by language")


class TopicsView(BaseModel):
    """The topics your items are classified by."""

    default: list[DefaultTopic] = Field(description="Default topics; empty until the first text has been analysed")
    own: list[OwnTopic] = Field(description="Your own topics")
    updated_at: datetime | None = Field(description="When your own topics were last changed")
    pending: int = Field(description="Number of your items not yet compared with your own topics")
    notice: Cause | None = Field(description="Why your own topics are not compared; null: they are")


class SourceTopicsView(BaseModel):
    """The topics that apply to one of your sources."""

    only: list[str] | None = Field(description="Only these topics apply; null: all topics")
    topics: list[OwnTopic] = Field(description="Your own topics for this source")
    unknown: list[str] = Field(
        description="Topics in `only` that no longer exist, neither as a default topic nor as your own: they are "
        "ignored, and if no other is left, all topics apply"
    )
    notice: Cause | None = Field(description="Why these settings do not apply, or only in part; null: they apply")
    updated_at: datetime | None


def faults_of(topics: Sequence[OwnTopic]) -> Iterator[Fault]:
    """Yield what no single field can say is wrong: ids twice, what is no language or no words, too many examples."""
    ids = [topic.id for topic in topics]
    for place, topic in enumerate(topics):
        there = f"#/topics/{place}"
        if topic.id in ids[:place]:
            yield Fault(code="duplicate_topic", detail="Another topic has this id", pointer=f"{there}/id")
        for language, text in topic.descriptions.items():
            if not any(map(str.isalpha, text)):
                pointer = f"{there}/descriptions/{_step(language)}"
                yield Fault(code="no_letter", detail="A description must contain a letter", pointer=pointer)
        for name, languages in (("descriptions", topic.descriptions), ("examples", topic.examples)):
            for language in languages:
                if not _LANGUAGE.fullmatch(language):
                    detail = "Must be an ISO 639 language code: two or three lower-case letters"
                    yield Fault(code="invalid_language", detail=detail, pointer=f"{there}/{name}/{_step(language)}")
        if sum(map(len, topic.examples.values())) > EXAMPLES_MAX:
            detail = f"At most {EXAMPLES_MAX} examples per topic, across all languages"
            yield Fault(code="too_many_examples", detail=detail, pointer=f"{there}/examples")


def _step(name: str) -> str:
    return name[:64].replace("~", "~0").replace("/", "~1")


class TopicRoutes(Routes):
    """``/v1/topics`` and ``/v1/sources/{source_id}/topics``."""

    tag = "topics"

    @route("GET /v1/topics", (200, TopicsView, "The topics"), operation_id="getTopics")
    def show(self, caller: CurrentCaller) -> TopicsView:
        """Get the default topics and your own."""
        with self._database.transaction() as connection:
            return self._view(connection, caller.user_id)

    @route(
        "PUT /v1/topics",
        (200, TopicsView, "The topics"),
        operation_id="replaceTopics",
        problems=BODY_PROBLEMS,
    )
    def replace(self, body: ChangeTopics, caller: CurrentCaller) -> TopicsView:
        """Replace your own topics."""
        faults = list(faults_of(body.topics))
        with self._database.transaction() as connection:
            faults += self._missed(connection, caller.user_id, body)
            if faults:
                raise faulty(faults)
            job_ids = self._put(connection, caller.user_id, None, body.topics, None)
            view = self._view(connection, caller.user_id)
        self._outbox.publish(job_ids)
        return view

    @route(
        "GET /v1/sources/<source_id>/topics",
        (200, SourceTopicsView, "The topics that apply to this source"),
        operation_id="getSourceTopics",
        problems=(404,),
    )
    def show_source(self, source_id: UUID, caller: CurrentCaller) -> SourceTopicsView:
        """Get the topics of a source."""
        with self._database.transaction() as connection:
            self._follows(connection, caller.user_id, source_id)
            return _source_view(connection, caller.user_id, source_id)

    @route(
        "PUT /v1/sources/<source_id>/topics",
        (200, SourceTopicsView, "The topics that apply to this source"),
        operation_id="replaceSourceTopics",
        problems=(*BODY_PROBLEMS, 404),
    )
    def replace_source(self, source_id: UUID, body: ChangeSourceTopics, caller: CurrentCaller) -> SourceTopicsView:
        """Replace the topics of a source."""
        faults = list(faults_of(body.topics))
        with self._database.transaction() as connection:
            self._follows(connection, caller.user_id, source_id)
            faults += self._unknown(connection, caller.user_id, body)
            if faults:
                raise faulty(faults)
            only = None if body.only is None else list(dict.fromkeys(body.only))
            job_ids = self._put(connection, caller.user_id, source_id, body.topics, only)
            view = _source_view(connection, caller.user_id, source_id)
        self._outbox.publish(job_ids)
        return view

    def _put(
        self,
        connection: Connection,
        user_id: UUID,
        source_id: UUID | None,
        topics: list[OwnTopic],
        only: list[str] | None,
    ) -> list[UUID]:
        """Replace a set; return the job that compares what the user holds with it, where it changed."""
        if not topics_store.put_set(connection, user_id, source_id, [one.model_dump() for one in topics], only):
            return []
        job = NewJob(JobType.LABEL_USER, user_id, f"user:{user_id}", priority=Priority.SAVED)
        return self._outbox.enqueue(connection, job)

    @staticmethod
    def _follows(connection: Connection, user_id: UUID, source_id: UUID) -> None:
        if not sources_store.list_sources(connection, user_id, limit=1, source_id=source_id):
            raise not_found("source")

    @staticmethod
    def _missed(connection: Connection, user_id: UUID, body: ChangeTopics) -> list[Fault]:
        """Return which topics are to go that a source is kept to: nothing it brings would be about anything."""
        profile = reading_profile_store.told(connection)
        going = topics_store.own_ids(connection, user_id) - {topic.id for topic in body.topics}
        going -= frozenset() if profile is None else profile.topic_ids
        return [
            Fault(
                code="topic_in_use",
                detail=f"The source {source_id} is limited to the topic {topic}; change its topics first",
                pointer="#/topics",
            )
            for source_id, topic in topics_store.kept_to(connection, user_id)
            if topic in going
        ]

    @staticmethod
    def _unknown(connection: Connection, user_id: UUID, body: ChangeSourceTopics) -> list[Fault]:
        """Return what is wrong with the topics that alone are to count."""
        profile = reading_profile_store.told(connection)
        known = topics_store.own_ids(connection, user_id) | {topic.id for topic in body.topics}
        known |= frozenset() if profile is None else profile.topic_ids
        detail = "No such topic among the default topics and your own"
        return [
            Fault(code="unknown_topic", detail=detail, pointer=f"#/only/{place}")
            for place, topic in enumerate(body.only or [])
            if topic not in known
        ]

    @staticmethod
    def _view(connection: Connection, user_id: UUID) -> TopicsView:
        profile = reading_profile_store.told(connection)
        found = topics_store.find_set(connection, user_id)
        return TopicsView(
            default=[] if profile is None else [DefaultTopic.model_validate(topic) for topic in profile.topics],
            own=[] if found is None else all_readable(OwnTopic, found.topics),
            updated_at=found and found.updated_at,
            pending=topics_store.pending(connection, user_id),
            notice=_not_compared(connection) if found is not None else None,
        )


def _source_view(connection: Connection, user_id: UUID, source_id: UUID) -> SourceTopicsView:
    found = topics_store.find_set(connection, user_id, source_id)
    if found is None:
        return SourceTopicsView(only=None, topics=[], unknown=[], notice=None, updated_at=None)
    topics = all_readable(OwnTopic, found.topics)
    profile = reading_profile_store.told(connection)
    unknown: list[str] = []
    if profile is not None:
        known = topics_store.own_ids(connection, user_id) | {topic.id for topic in topics} | profile.topic_ids
        unknown = [topic for topic in found.only_topics or [] if topic not in known]
    notice = _not_compared(connection)
    if notice is None and unknown:
        all_of_them = len(unknown) == len(found.only_topics or [])
        means = "so all topics apply" if all_of_them else "so only the others apply"
        detail = f"The source is limited to topics that no longer exist ({', '.join(unknown)}), {means}."
        notice = Cause(code="unknown_topic", detail=detail)
    return SourceTopicsView(
        only=found.only_topics, topics=topics, unknown=unknown, notice=notice, updated_at=found.updated_at
    )


def _not_compared(connection: Connection) -> Cause | None:
    """Return why nobody's own topics find anything, in words."""
    version = embedding_store.active(connection)
    if version is None or not version.over_api:
        return None
    detail = "Your own topics cannot be compared: the vectors come from an embedding model behind an API."
    return Cause(code="own_topics_not_compared", detail=detail)
