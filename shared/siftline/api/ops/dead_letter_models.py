"""Dead letters as operators ask for them and see them."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StrictBool, StrictInt, StringConstraints

from siftline.api.http.shapes import Asked
from siftline.contracts import Queue

ErrorCode = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class DeadJobView(BaseModel):
    """A job that has used up its attempts."""

    job_id: UUID
    subject_id: UUID = Field(description="Id of its source, content or user")
    park_id: UUID = Field(description="Id of this parking; a message with it revives the job once")
    attempts: int
    detail: str | None = Field(
        description="Human-readable description of the last error", examples=["The site answered 503."]
    )
    failed_at: datetime
    parked_at: datetime | None = Field(description="When it was sent to the dead-letter queue; null: not yet")


class DeadCauseView(BaseModel):
    """Parked jobs that failed for the same reason."""

    queue: str = Field(examples=["analysis"])
    job_type: str = Field(examples=["analyze_content"])
    error_code: str = Field(examples=["http_503"])
    jobs: int
    redrivable: int = Field(description="Jobs whose work no other job for the same subject is doing or has done since")
    oldest_at: datetime
    newest_at: datetime
    samples: list[DeadJobView] = Field(description="The newest ones")


class DeadMessageView(BaseModel):
    """A message that belongs to no job."""

    message_id: str
    original_message_id: str | None = Field(description="Message id on its original queue")
    detail: str | None = Field(description="Human-readable description of the error")
    body: str = Field(description="Beginning of the body, with control characters replaced")
    sent_at: datetime


class DeadMessagesView(BaseModel):
    """Malformed messages with the same error code."""

    queue: Queue
    error_code: str = Field(
        description="`received_too_often`: SQS moved it after too many receives", examples=["malformed_message"]
    )
    messages: int
    oldest_at: datetime
    newest_at: datetime
    samples: list[DeadMessageView] = Field(description="The newest ones")


class DeadLettersView(BaseModel):
    """Parked jobs and malformed messages, by cause."""

    causes: list[DeadCauseView] = Field(description="Parked jobs from PostgreSQL, most frequent cause first")
    messages: list[DeadMessagesView] = Field(description="Malformed messages found in SQS")
    not_all_seen: list[Queue] = Field(
        description="Queues that may have more malformed messages than shown: too many to read, or SQS did not answer"
    )


class RedriveAsked(Asked):
    """Which dead letters to redrive."""

    queue: Queue
    error_code: ErrorCode | None = Field(default=None, description="Only jobs with this error code")
    limit: StrictInt | None = Field(default=None, ge=1, le=1_000_000, description="Maximum number, oldest first")
    dry_run: StrictBool = Field(default=False, description="Only count jobs in PostgreSQL")


class CauseCountView(BaseModel):
    """Number of jobs with the same cause."""

    job_type: str = Field(examples=["analyze_content"])
    error_code: str = Field(examples=["http_503"])
    jobs: int


class RedriveView(BaseModel):
    """The result of a redrive or a dry run."""

    queue: Queue
    dry_run: bool
    jobs: int = Field(description="Jobs that are (dry run: would be) pending again, with all their attempts")
    causes: list[CauseCountView]
    left: int = Field(description="Matching jobs that can still be redriven")
    messages: int = Field(description="Malformed messages moved back; not counted in a dry run")
    copies: int = Field(description="Copies deleted from the dead-letter queue because their job is no longer dead")
    moved_by: Literal["sqs", "siftline"] | None = Field(
        description="`sqs`: SQS moves all messages back after this response, uncounted; null: no message was moved"
    )
