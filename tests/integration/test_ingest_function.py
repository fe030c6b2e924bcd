"""The ``ingest`` function as Lambda calls it: environment in, SQS event in, partial failures out."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from functions.ingest import app
from siftline.contracts import JobType
from siftline.ingest.ingest_wiring import longest_s
from siftline.jobs.job_model import NewJob
from siftline.jobs.jobs_store import enqueue
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.settings.functions import IngestSettings
from tests.factories import lambda_context, make_content, sqs_event
from tests.functions import cold, parked_code
from tests.house.reading import function_resources
from tests.servers import Answer, LoopbackServer

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@pytest.fixture
def variables(queue_variables: dict[str, str], database_url: str) -> Iterator[dict[str, str]]:
    """The function's environment: queues of one's own, leave to fetch from loopback, an audio model."""
    own = {"HTTP_ALLOW_LOOPBACK": "1", "TRANSCRIPTION_MODEL": "whisper-test"}
    with cold(app.build, **queue_variables, DATABASE_URL=database_url, **own) as variables:
        yield variables


def handled(variables: dict[str, str], body: dict[str, Any]) -> Any:
    event = sqs_event("content-background", body)
    name = variables["CONTENT_BACKGROUND_QUEUE_URL"].rpartition("/")[2]
    event["Records"][0]["eventSourceARN"] = f"arn:aws:sqs:eu-central-1:000000000000:{name}"
    return app.handler(event, lambda_context(remaining_ms=150_000))


def test_an_episode_is_read_and_its_words_are_asked_of_the_audio_model(
    variables: dict[str, str], database: Database, site: LoopbackServer
) -> None:
    # The function is never told that it ends, so no connection may stay open in it.
    site.answers["/talk"] = Answer(status=404, headers={"Connection": "close"})
    media = json.dumps({"url": site.url("/talk.mp3"), "media_type": "audio/mpeg"})
    with database.transaction() as connection:
        content_id = make_content(
            connection, url=site.url("/talk"), kind="audio", title="Talk", entry_html="<p>Notes.</p>", media=media
        )
        [job_id] = enqueue(connection, [NewJob(JobType.INGEST_CONTENT, content_id, "host:a")])
    body = {"job_type": "ingest_content", "job_id": job_id, "shared_content_id": content_id}
    assert handled(variables, body) == {"batchItemFailures": []}

    with database.transaction() as connection:
        [(text, state)] = connection.execute("select text, media ->> 'transcript_state' from contents").fetchall()
        jobs = connection.execute("select job_type from jobs where state = 'pending' order by 1").fetchall()
    assert (text, state, jobs) == ("Notes.", "none", [("analyze_content",), ("transcribe_content",)])


def test_words_of_nothing_that_is_known_are_parked(variables: dict[str, str], sqs: "SQSClient") -> None:
    body: dict[str, UUID | str] = {"job_type": "transcribe_content", "shared_content_id": new_id()}
    assert handled(variables, body) == {"batchItemFailures": []}
    assert parked_code(sqs, variables["CONTENT_BACKGROUND_DLQ_URL"]) == "unknown_subject"


def test_the_longest_job_fits_the_function(variables: dict[str, str]) -> None:
    """Else a message would be put back for ever, for want of time."""
    timeout_s = function_resources()["ingest"][1]["Timeout"]
    for settings in (IngestSettings(), IngestSettings(transcription_model="whisper-test", page_archive_bucket="pages")):
        assert longest_s(settings) <= timeout_s - 30  # and leaves time for other messages of the batch
