"""Dead letters as operators ask for them and see them."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StrictBool, StrictInt, StringConstraints

from siftline.api.http.shapes import Asked
from siftline.contracts import Queue

ErrorCode = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class DeadJobView(BaseModel):
    """One job that used up its attempts."""

    job_id: UUID
    subject_id: UUID = Field(description="What it is about: a source, a content or a user")
    park_id: UUID = Field(description="Names this parking; a message that carries it brings the job back, once")
    attempts: int
    detail: str | None = Field(description="The last error, for a person", examples=["The site answered 503."])
    failed_at: datetime
    parked_at: datetime | None = Field(description="When it was sent to the dead-letter queue; null: not yet")


class DeadCauseView(BaseModel):
    """Parked jobs that failed for the same reason."""

    queue: str = Field(examples=["analysis"])
    job_type: str = Field(examples=["analyze_content"])
    error_code: str = Field(examples=["http_503"])
    jobs: int
    redrivable: int = Field(description="Those of them whose work no other job of the same subject does, or did since")
    oldest_at: datetime
    newest_at: datetime
    samples: list[DeadJobView] = Field(description="The newest")


class DeadMessageView(BaseModel):
    """One message that stands for no job."""

    message_id: str
    original_message_id: str | None = Field(description="The id it had on its queue")
    detail: str | None = Field(description="What is wrong with it")
    body: str = Field(description="Its beginning, control characters replaced")
    sent_at: datetime


class DeadMessagesView(BaseModel):
    """Malformed messages of one code."""

    queue: Queue
    error_code: str = Field(
        description="`received_too_often`: SQS moved it after too many receives", examples=["malformed_message"]
    )
    messages: int
    oldest_at: datetime
    newest_at: datetime
    samples: list[DeadMessageView] = Field(description="The newest")


class DeadLettersView(BaseModel):
    """What was parked and why."""

    causes: list[DeadCauseView] = Field(description="Parked jobs, from PostgreSQL, the most frequent cause first")
    messages: list[DeadMessagesView] = Field(description="Malformed messages, looked for in SQS")
    not_all_seen: list[Queue] = Field(
        description="Queues whose malformed messages may be more than shown: too many to look at, or SQS did not answer"
    )


class RedriveAsked(Asked):
    """Which dead letters go back to work."""

    queue: Queue
    error_code: ErrorCode | None = Field(default=None, description="Only this cause")
    limit: StrictInt | None = Field(default=None, ge=1, le=1_000_000, description="At most so many, the oldest first")
    dry_run: StrictBool = Field(default=False, description="Only count, from PostgreSQL")


class CauseCountView(BaseModel):
    """How many jobs of one cause."""

    job_type: str = Field(examples=["analyze_content"])
    error_code: str = Field(examples=["http_503"])
    jobs: int


class RedriveView(BaseModel):
    """What a redrive did, or would do."""

    queue: Queue
    dry_run: bool
    jobs: int = Field(description="Jobs that are pending again, with fresh attempts; in a dry run: would be")
    causes: list[CauseCountView]
    left: int = Field(description="Jobs of what was asked for that could still be redriven")
    messages: int = Field(description="Malformed messages that were moved back; a dry run does not count them")
    copies: int = Field(description="Copies deleted from the dead-letter queue, because their job is not dead any more")
    moved_by: Literal["sqs", "siftline"] | None = Field(
        description="`sqs` moves everything back by itself after this answer, uncounted; null: no message was touched"
    )
