"""Every job type, every queue and every queue message, in flow order. The wire forms of docs/jobs.md."""

from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter


class JobType(StrEnum):
    """What a job asks for; a command."""

    FETCH_SOURCE = "fetch_source"
    INGEST_CONTENT = "ingest_content"
    TRANSCRIBE_CONTENT = "transcribe_content"
    ANALYZE_CONTENT = "analyze_content"
    RESOLVE_ENTITY = "resolve_entity"
    CLUSTER_USER = "cluster_user"
    SCORE_USER = "score_user"
    JOIN_STORIES = "join_stories"
    LABEL_USER = "label_user"
    NAME_CLUSTERS = "name_clusters"
    RUN_BRIEFING = "run_briefing"
    DELIVER_BRIEFING = "deliver_briefing"
    CONFIRM_ADDRESS = "confirm_address"
    RECORD_MAIL_EVENT = "record_mail_event"


class Queue(StrEnum):
    """Logical queue names; the actual names include the stage: ``siftline-<stage>-<name>-queue``."""

    FETCH = "fetch"
    CONTENT_PROCESSING = "content-processing"
    CONTENT_BACKGROUND = "content-background"
    ANALYSIS = "analysis"
    ANALYSIS_BACKGROUND = "analysis-background"
    RESOLUTION = "resolution"
    CLUSTERING = "clustering"
    BRIEFING = "briefing"


class Priority:
    """The order in which the publisher hands out work under its cap, and from ``SAVED`` on the foreground queue."""

    SAVED = 20
    SAVED_MANY = 15
    """What one person saved beyond what they can be waiting for: an import, if by hand."""
    UNDER_24_HOURS = 10
    UNDER_72_HOURS = 5
    OLDER = 0
    AGAIN = -1


# Where a job type goes whose work somebody waits for.
QUEUE_OF = {
    JobType.FETCH_SOURCE: Queue.FETCH,
    JobType.INGEST_CONTENT: Queue.CONTENT_PROCESSING,
    JobType.TRANSCRIBE_CONTENT: Queue.CONTENT_PROCESSING,
    JobType.ANALYZE_CONTENT: Queue.ANALYSIS,
    JobType.RESOLVE_ENTITY: Queue.RESOLUTION,
    JobType.CLUSTER_USER: Queue.CLUSTERING,
    JobType.SCORE_USER: Queue.ANALYSIS,
    JobType.JOIN_STORIES: Queue.CLUSTERING,
    JobType.LABEL_USER: Queue.ANALYSIS,
    JobType.NAME_CLUSTERS: Queue.ANALYSIS,
    JobType.RUN_BRIEFING: Queue.BRIEFING,
    JobType.DELIVER_BRIEFING: Queue.BRIEFING,
    JobType.CONFIRM_ADDRESS: Queue.BRIEFING,
    JobType.RECORD_MAIL_EVENT: Queue.BRIEFING,
}
# The foreground queue, of work that a person waits for, and the queue of the same kind of work that nobody waits for.
BACKGROUND_OF = {
    Queue.CONTENT_PROCESSING: Queue.CONTENT_BACKGROUND,
    Queue.ANALYSIS: Queue.ANALYSIS_BACKGROUND,
}


def queue_of(job_type: JobType, priority: int) -> Queue:
    """Return the queue of a job: what a person waits for has a queue of its own, which no import can fill."""
    queue = QUEUE_OF[job_type]
    return queue if priority >= Priority.SAVED else BACKGROUND_OF.get(queue, queue)


class _Message(BaseModel):
    """What every message carries. Unknown fields are ignored, so that a newer sender does no harm."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    job_id: UUID | None = None
    park_id: UUID | None = None


class Knock(_Message):
    """What is understood of any message, whatever its job type: which job it knocks for."""


class FetchSource(_Message):
    """Poll one source."""

    job_type: Literal[JobType.FETCH_SOURCE] = JobType.FETCH_SOURCE
    source_id: UUID

    @property
    def subject_id(self) -> UUID:
        """The source."""
        return self.source_id


class IngestContent(_Message):
    """Fetch one page and store its text. ``url`` lets a message alone make the content row."""

    job_type: Literal[JobType.INGEST_CONTENT] = JobType.INGEST_CONTENT
    shared_content_id: UUID
    url: str | None = Field(default=None, max_length=8192, pattern=r"^[^\x00]*$")

    @property
    def subject_id(self) -> UUID:
        """The content."""
        return self.shared_content_id


class TranscribeContent(_Message):
    """Get the words of a stored video or audio: where they were refused before, or by the audio model."""

    job_type: Literal[JobType.TRANSCRIBE_CONTENT] = JobType.TRANSCRIBE_CONTENT
    shared_content_id: UUID

    @property
    def subject_id(self) -> UUID:
        """The content."""
        return self.shared_content_id


class AnalyzeContent(_Message):
    """Read one stored text: vector, topics, summary, tags."""

    job_type: Literal[JobType.ANALYZE_CONTENT] = JobType.ANALYZE_CONTENT
    shared_content_id: UUID

    @property
    def subject_id(self) -> UUID:
        """The content."""
        return self.shared_content_id


class ResolveEntity(_Message):
    """Ask who an organisation is that texts name."""

    job_type: Literal[JobType.RESOLVE_ENTITY] = JobType.RESOLVE_ENTITY
    entity_id: UUID

    @property
    def subject_id(self) -> UUID:
        """The entity."""
        return self.entity_id


class ClusterUser(_Message):
    """Group one user's contents."""

    job_type: Literal[JobType.CLUSTER_USER] = JobType.CLUSTER_USER
    user_id: UUID

    @property
    def subject_id(self) -> UUID:
        """The user."""
        return self.user_id


class ScoreUser(_Message):
    """Judge how relevant one user's items are to that user."""

    job_type: Literal[JobType.SCORE_USER] = JobType.SCORE_USER
    user_id: UUID

    @property
    def subject_id(self) -> UUID:
        """The user."""
        return self.user_id


class JoinStories(_Message):
    """Put one user's new contents into the stories they tell of."""

    job_type: Literal[JobType.JOIN_STORIES] = JobType.JOIN_STORIES
    user_id: UUID

    @property
    def subject_id(self) -> UUID:
        """The user."""
        return self.user_id


class LabelUser(_Message):
    """Compare one user's contents with their own topics."""

    job_type: Literal[JobType.LABEL_USER] = JobType.LABEL_USER
    user_id: UUID

    @property
    def subject_id(self) -> UUID:
        """The user."""
        return self.user_id


class NameClusters(_Message):
    """Ask a language model for the labels of one user's new clusters."""

    job_type: Literal[JobType.NAME_CLUSTERS] = JobType.NAME_CLUSTERS
    user_id: UUID

    @property
    def subject_id(self) -> UUID:
        """The user."""
        return self.user_id


class RunBriefing(_Message):
    """Make the edition of one briefing that is due."""

    job_type: Literal[JobType.RUN_BRIEFING] = JobType.RUN_BRIEFING
    briefing_id: UUID

    @property
    def subject_id(self) -> UUID:
        """The briefing."""
        return self.briefing_id


class DeliverBriefing(_Message):
    """Send one edition by one channel."""

    job_type: Literal[JobType.DELIVER_BRIEFING] = JobType.DELIVER_BRIEFING
    delivery_id: UUID

    @property
    def subject_id(self) -> UUID:
        """The delivery."""
        return self.delivery_id


class ConfirmAddress(_Message):
    """Ask the owner of a mail address whether a user's editions may be sent there."""

    job_type: Literal[JobType.CONFIRM_ADDRESS] = JobType.CONFIRM_ADDRESS
    mail_address_id: UUID

    @property
    def subject_id(self) -> UUID:
        """The address, as one user gave it."""
        return self.mail_address_id


class RecordMailEvent(_Message):
    """Take note of what became of a mail. ``event`` is SES's own, as EventBridge has it; without it, a kept one."""

    job_type: Literal[JobType.RECORD_MAIL_EVENT] = JobType.RECORD_MAIL_EVENT
    mail_event_id: UUID | None = None
    event: dict[str, Any] | None = None


_Known = (
    FetchSource
    | IngestContent
    | TranscribeContent
    | AnalyzeContent
    | ResolveEntity
    | ClusterUser
    | ScoreUser
    | JoinStories
    | LabelUser
    | NameClusters
    | RunBriefing
    | DeliverBriefing
    | ConfirmAddress
    | RecordMailEvent
)
Message = Annotated[_Known, Field(discriminator="job_type")]
MESSAGE: TypeAdapter[_Known] = TypeAdapter(Message)

# The name under which a message of each job type carries its subject.
SUBJECT_FIELD = {
    JobType.FETCH_SOURCE: "source_id",
    JobType.INGEST_CONTENT: "shared_content_id",
    JobType.TRANSCRIBE_CONTENT: "shared_content_id",
    JobType.ANALYZE_CONTENT: "shared_content_id",
    JobType.RESOLVE_ENTITY: "entity_id",
    JobType.CLUSTER_USER: "user_id",
    JobType.SCORE_USER: "user_id",
    JobType.JOIN_STORIES: "user_id",
    JobType.LABEL_USER: "user_id",
    JobType.NAME_CLUSTERS: "user_id",
    JobType.RUN_BRIEFING: "briefing_id",
    JobType.DELIVER_BRIEFING: "delivery_id",
    JobType.CONFIRM_ADDRESS: "mail_address_id",
    JobType.RECORD_MAIL_EVENT: "mail_event_id",
}


class Tick(StrEnum):
    """What a schedule asks of the ``schedule`` function."""

    DUE_SOURCES = "due_sources"
    SWEEP = "sweep"
    RESOLUTIONS = "resolutions"
    CLUSTERINGS = "clusterings"
    DUE_BRIEFINGS = "due_briefings"
    CLEAN_UP = "clean_up"
    EXTRA_RUN = "extra_run"
    BACKGROUND = "background"


class ScheduleEvent(BaseModel):
    """The constant input of an EventBridge schedule: ``{"tick": "sweep"}``."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    tick: Tick
