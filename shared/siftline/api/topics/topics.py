"""Topics of one's own: for all one holds, and for what one source brings. Nobody else sees them or what they found."""

from uuid import UUID

from siftline.api.http.auth import CurrentCaller
from siftline.api.http.hand_out import HandOut
from siftline.api.http.problems import Fault, faulty, not_found
from siftline.api.http.routing import BODY_PROBLEMS, Resource, route
from siftline.api.http.shapes import Cause
from siftline.api.sources import sources_store
from siftline.api.topics import topics_store
from siftline.api.topics.topic_models import (
    ChangeSourceTopics,
    ChangeTopics,
    DefaultTopic,
    OwnTopic,
    SourceTopicsView,
    TopicsView,
    faults_of,
)
from siftline.catalog import reading_profile_store
from siftline.contracts import JobType, Priority
from siftline.jobs import jobs_store as jobs
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Connection, Database
from siftline.kit.stored import all_readable
from siftline.models import embedding_store


class TopicRoutes(Resource):
    """``/v1/topics`` and ``/v1/sources/{source_id}/topics``."""

    def __init__(self, database: Database, hand_out: HandOut, *, max_attempts: int) -> None:
        self._database = database
        self._hand_out = hand_out
        self._max_attempts = max_attempts

    @route(
        "GET /v1/topics",
        (200, TopicsView, "The topics"),
        summary="Get the default topics and your own",
        operation_id="getTopics",
        tag="topics",
    )
    def show(self, caller: CurrentCaller) -> TopicsView:
        """Show the caller's topics."""
        with self._database.transaction() as connection:
            return self._view(connection, caller.user_id)

    @route(
        "PUT /v1/topics",
        (200, TopicsView, "The topics"),
        summary="Replace your own topics",
        operation_id="replaceTopics",
        tag="topics",
        problems=BODY_PROBLEMS,
    )
    def replace(self, body: ChangeTopics, caller: CurrentCaller) -> TopicsView:
        """Replace the caller's own topics."""
        faults = list(faults_of(body.topics))
        with self._database.transaction() as connection:
            faults += self._missed(connection, caller.user_id, body)
            if faults:
                raise faulty(faults)
            job_ids = self._put(connection, caller.user_id, None, body.topics, None)
            view = self._view(connection, caller.user_id)
        self._hand_out(job_ids)
        return view

    @route(
        "GET /v1/sources/<source_id>/topics",
        (200, SourceTopicsView, "The topics that apply to this source"),
        summary="Get the topics of a source",
        operation_id="getSourceTopics",
        tag="topics",
        problems=(404,),
    )
    def show_source(self, source_id: UUID, caller: CurrentCaller) -> SourceTopicsView:
        """Show what counts for a source that the caller follows."""
        with self._database.transaction() as connection:
            self._follows(connection, caller.user_id, source_id)
            return _source_view(connection, caller.user_id, source_id)

    @route(
        "PUT /v1/sources/<source_id>/topics",
        (200, SourceTopicsView, "The topics that apply to this source"),
        summary="Replace the topics of a source",
        operation_id="replaceSourceTopics",
        tag="topics",
        problems=(*BODY_PROBLEMS, 404),
    )
    def replace_source(self, source_id: UUID, body: ChangeSourceTopics, caller: CurrentCaller) -> SourceTopicsView:
        """Replace what counts for a source that the caller follows."""
        faults = list(faults_of(body.topics))
        with self._database.transaction() as connection:
            self._follows(connection, caller.user_id, source_id)
            faults += self._unknown(connection, caller.user_id, body)
            if faults:
                raise faulty(faults)
            only = None if body.only is None else list(dict.fromkeys(body.only))
            job_ids = self._put(connection, caller.user_id, source_id, body.topics, only)
            view = _source_view(connection, caller.user_id, source_id)
        self._hand_out(job_ids)
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
        return jobs.enqueue(connection, [job], max_attempts=self._max_attempts)

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
