"""Dead letters on a real PostgreSQL and a real SQS endpoint: shown by cause, redriven once, by whatever way."""

import threading
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from siftline.contracts import JobType, Queue
from siftline.jobs import jobs_store, outbox_store, subjects_store
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.dead_letters import DeadLetters, Letter, Order, SqsDeadLetters
from siftline.jobs.job_model import Done, NewJob
from siftline.jobs.publish import Publisher
from siftline.jobs.queues import Envelope, QueueUnavailableError, SqsQueues, body
from siftline.kit.aws import sqs_client
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database, open_database
from siftline.kit.ids import new_id
from siftline.operate.redrive_command import main
from siftline.settings.functions import JobSettings
from tests.api_client import Answered, World
from tests.factories import FakeContext, make_content, make_job, sqs_event
from tests.fakes import FakeClock, FakeProcessor, NoDeadLetters

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

BUSY, LIMITED = "http_503", "http_429"


class Desk:
    """An operator's desk: the API, the analysis queue with its dead-letter queue, and a worker when it is called."""

    def __init__(self, database: Database, sqs: "SQSClient") -> None:
        self.database = database
        self.sqs = sqs
        stem = f"dead-{new_id()}"
        self.live = sqs.create_queue(QueueName=f"{stem}-queue")["QueueUrl"]
        self.dead = sqs.create_queue(QueueName=f"{stem}-dlq")["QueueUrl"]
        urls, dead_urls = {Queue.ANALYSIS: self.live}, {Queue.ANALYSIS: self.dead}
        self.queues = SqsQueues(sqs, urls, dead_urls)
        self.letters = SqsDeadLetters(sqs, self.queues, urls, dead_urls, FakeClock())  # however busy the machine
        self.publisher = Publisher(database, self.queues, JobSettings())
        world = World(database, sender=self.queues, dead_letter_queues=self.letters)
        world.depths.depths[Queue.ANALYSIS] = self.queues.depth(Queue.ANALYSIS)
        self.world = world
        self.operator = world.user("ops")
        self.processor = FakeProcessor(lambda _: Done())

    def bury(self, number: int, code: str, *, detail: str = "The site is busy.") -> list[UUID]:
        """Let analyses have used up their attempts and be parked, as ``fail`` and the publisher do it."""
        with self.database.transaction() as connection:
            contents = [make_content(connection) for _ in range(number)]
            jobs = [NewJob(JobType.ANALYZE_CONTENT, one, "user:a", queue=Queue.ANALYSIS) for one in contents]
            ids = jobs_store.enqueue(connection, jobs)
            connection.execute(
                "update jobs set state = 'failed', attempts = 4, park_id = gen_random_uuid(), error_code = %s,"
                " error_message = %s, finished_at = now() - interval '1 h' where id = any(%s)",
                (code, detail, ids),
            )
            subjects_store.failed(connection, JobType.ANALYZE_CONTENT, contents, code, detail)
            waiting = outbox_store.to_park(connection, quiet_s=0, limit=number)
        assert self.publisher.park(waiting) == number
        return ids

    def malformed(self, *bodies: str, code: str = "malformed_message") -> None:
        """Park messages as the batch loop does."""
        cause = {"error_code": code, "error_detail": "no\x07 JSON", "attempts": "0", "original_message_id": "m-1"}
        envelopes = [
            Envelope(key=str(place), body=text, group="g", attributes=cause) for place, text in enumerate(bodies)
        ]
        assert len(self.queues.park(Queue.ANALYSIS, envelopes)) == len(bodies)

    def redrive(self, **asked: Any) -> Any:
        """Ask the API for a redrive, at the time that SQS has, too; return its answer."""
        self.world.clock.time = SystemClock().now()
        answer: Answered = self.operator.post("/v1/ops/dead-letters/redrive", {"queue": "analysis", **asked})
        assert answer.status == 200, answer.text
        return answer.json

    def show(self, **query: Any) -> Any:
        """Return what the API shows, after telling it how deep the queues are."""
        self.world.depths.depths[Queue.ANALYSIS] = self.queues.depth(Queue.ANALYSIS)
        return self.operator.get("/v1/ops/dead-letters", **query).json

    def states(self, ids: Sequence[UUID] | None = None) -> Counter[str]:
        """Count jobs by state."""
        rows = self.world.sql("select state from jobs where %s::uuid[] is null or id = any(%s)", ids, ids)
        return Counter(state for (state,) in rows)

    def redriven(self) -> int:
        """Count the redrives that the timelines tell of."""
        return int(self.world.sql("select count(*) from job_events where event = 'redriven'")[0][0])

    def move_by_hand(self) -> int:
        """Do what "Start DLQ redrive" of the SQS console does; return how many messages it moved."""
        moved = 0
        while found := self._receive(self.dead):
            for message in found:
                attributes: Any = message.get("MessageAttributes", {})
                self.sqs.send_message(QueueUrl=self.live, MessageBody=message["Body"], MessageAttributes=attributes)
                self.sqs.delete_message(QueueUrl=self.dead, ReceiptHandle=message["ReceiptHandle"])
            moved += len(found)
        return moved

    def work(self) -> None:
        """Work off the queue until nothing is on it."""
        consumer = BatchConsumer(
            queues={"siftline-local-analysis-queue": Queue.ANALYSIS},
            database=self.database,
            publisher=self.publisher,
            sender=self.queues,
            processors=[self.processor],
            subjects={JobType.ANALYZE_CONTENT: lambda _, __: None},
            settings=JobSettings(),
            clock=SystemClock(),
        )
        while found := self._receive(self.live):
            ids = [message["MessageId"] for message in found]
            event = sqs_event("analysis", *[message["Body"] for message in found], message_ids=ids)
            assert consumer.handle(event, FakeContext()) == {"batchItemFailures": []}
            for message in found:
                self.sqs.delete_message(QueueUrl=self.live, ReceiptHandle=message["ReceiptHandle"])

    def worked(self) -> Counter[UUID]:
        """Count how often each job was worked."""
        return Counter(job.id for job in self.processor.worked)

    def _receive(self, url: str) -> list[Any]:
        return list(
            self.sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=300, MessageAttributeNames=["All"]
            ).get("Messages", [])
        )


@pytest.fixture
def desk(database: Database, sqs: "SQSClient") -> Desk:
    return Desk(database, sqs)


def test_of_a_thousand_dead_letters_one_cause_is_redriven_once_and_the_other_stays(desk: Desk) -> None:
    busy, limited = desk.bury(600, BUSY), desk.bury(400, LIMITED)
    dry = desk.redrive(dry_run=True)
    assert (dry["jobs"], dry["left"], desk.states()) == (1000, 0, {"failed": 1000})
    assert {cause["error_code"]: cause["jobs"] for cause in dry["causes"]} == {BUSY: 600, LIMITED: 400}
    assert desk.redrive(dry_run=True, error_code=LIMITED)["jobs"] == 400

    done = desk.redrive(error_code=BUSY)
    assert (done["jobs"], done["left"], done["copies"], done["moved_by"]) == (600, 0, 600, "siftline")
    assert done["causes"] == [{"job_type": "analyze_content", "error_code": BUSY, "jobs": 600}]
    assert (desk.states(busy), desk.states(limited)) == ({"pending": 600}, {"failed": 400})
    assert desk.queues.depth(Queue.ANALYSIS).dead == 400
    fresh = "select distinct attempts, park_id, error_code from jobs where state = 'pending'"
    assert desk.world.sql(fresh) == [(0, None, None)]
    assert desk.world.sql("select status, count(*) from contents group by status order by status") == [
        ("FAILED", 400),
        ("PENDING", 600),
    ]

    again = desk.redrive(error_code=BUSY)
    assert (again["jobs"], again["copies"], desk.redriven()) == (0, 0, 600)


def test_dead_letters_are_shown_by_cause_with_samples(desk: Desk) -> None:
    desk.bury(5, BUSY, detail="The site\x1b[31m is\nbusy.")
    desk.bury(2, LIMITED)
    shown = desk.show(queue="analysis")
    assert [(cause["error_code"], cause["jobs"], cause["redrivable"]) for cause in shown["causes"]] == [
        (BUSY, 5, 5),
        (LIMITED, 2, 2),
    ]
    busy = shown["causes"][0]
    assert (busy["queue"], busy["job_type"], len(busy["samples"])) == ("analysis", "analyze_content", 3)
    assert busy["oldest_at"] <= busy["newest_at"]
    sample = busy["samples"][0]
    assert (sample["attempts"], sample["detail"]) == (4, "The site[31m is busy.")
    assert desk.world.sql(
        "select count(*) from jobs where id = %s and park_id = %s and subject_id = %s and parked_at is not null",
        sample["job_id"],
        sample["park_id"],
        sample["subject_id"],
    ) == [(1,)]
    assert (shown["messages"], shown["not_all_seen"]) == ([], [])
    assert desk.show(queue="fetch")["causes"] == []
    assert len(desk.show()["causes"]) == 2


def test_malformed_messages_are_shown_with_their_beginning_and_stay(desk: Desk) -> None:
    desk.bury(12, BUSY)
    desk.malformed("{not json" + "x" * 2_000, '{"job_type": "dance"}')
    desk.malformed("{}", code="unknown_subject")
    for _ in range(2):  # looking leaves them where they are
        shown = desk.show(queue="analysis")
        found = {group["error_code"]: group for group in shown["messages"]}
        assert {code: group["messages"] for code, group in found.items()} == {
            "malformed_message": 2,
            "unknown_subject": 1,
        }
        (sample,) = found["unknown_subject"]["samples"]
        assert (sample["body"], sample["detail"], sample["original_message_id"]) == ("{}", "no JSON", "m-1")
        assert max(len(sample["body"]) for sample in found["malformed_message"]["samples"]) == 500
        assert desk.queues.depth(Queue.ANALYSIS).dead == 15


def test_malformed_messages_go_back_to_their_queue_as_they_are(desk: Desk) -> None:
    desk.malformed("{not json", code="malformed_message")
    desk.malformed("[1]", "[2]", code="unknown_subject")
    assert desk.redrive(dry_run=True)["messages"] == 0
    done = desk.redrive(error_code="unknown_subject")
    assert (done["jobs"], done["messages"], done["copies"]) == (0, 2, 0)
    depth = desk.queues.depth(Queue.ANALYSIS)
    assert (depth.visible, depth.dead) == (2, 1)
    moved = desk._receive(desk.live)
    assert {message["Body"] for message in moved} == {"[1]", "[2]"}
    assert moved[0]["MessageAttributes"]["error_code"]["StringValue"] == "unknown_subject"
    assert desk.redrive()["messages"] == 1
    assert desk.queues.depth(Queue.ANALYSIS).dead == 0


def test_a_redrive_sends_each_message_back_once_though_a_worker_parks_it_again_meanwhile(desk: Desk) -> None:
    class Worked:
        """The dead-letter queues, where a worker has done with what is sent back before anybody looks again."""

        visit, delete, move_all = desk.letters.visit, desk.letters.delete, desk.letters.move_all

        def send_back(self, queue: Queue, letters: Sequence[Letter]) -> set[str]:
            sent = desk.letters.send_back(queue, letters)
            desk.work()
            return sent

    desk.malformed(*(f"[{number}]" for number in range(23)))
    redrives = DeadLetters(desk.database, Worked(), lambda _: None, SystemClock())
    for _ in range(2):
        assert redrives.redrive(Order(Queue.ANALYSIS)).messages == 23
        assert desk.queues.depth(Queue.ANALYSIS).dead == 23


def test_a_message_that_sqs_itself_moved_goes_back_too(desk: Desk) -> None:
    job_id = make_job(desk.database)
    text = body({"job_type": "analyze_content", "job_id": job_id, "shared_content_id": new_id()})
    desk.sqs.send_message(QueueUrl=desk.dead, MessageBody=text)
    assert [group["error_code"] for group in desk.show()["messages"]] == ["received_too_often"]
    assert desk.redrive(error_code="received_too_often")["messages"] == 1
    desk.work()
    assert desk.states() == {"completed": 1}


def test_a_limit_takes_the_oldest_and_keeps_the_rest(desk: Desk) -> None:
    young, old = desk.bury(3, BUSY), desk.bury(3, BUSY)
    desk.malformed("[1]", "[2]")
    desk.world.sql("update jobs set finished_at = now() - interval '1 day' where id = any(%s)", old)
    assert desk.redrive(limit=4, dry_run=True)["left"] == 2
    done = desk.redrive(limit=4)
    assert (done["jobs"], done["left"], done["messages"], done["copies"]) == (4, 2, 0, 4)
    assert (desk.states(old), desk.states(young)["failed"]) == ({"pending": 3}, 2)
    done = desk.redrive(limit=3)
    assert (done["jobs"], done["left"], done["messages"]) == (2, 0, 1)
    assert desk.queues.depth(Queue.ANALYSIS).dead == 1


@pytest.mark.parametrize("way", ["console", "api, then console", "console, then api", "api, work, then console"])
def test_a_redrive_by_hand_in_the_console_works_too_and_with_the_other_nothing_is_done_twice(
    desk: Desk, way: str
) -> None:
    ids = desk.bury(12, BUSY)
    if way.startswith("api"):
        leaves_copies = World(desk.database, sender=desk.queues).user("ops")
        assert leaves_copies.post("/v1/ops/dead-letters/redrive", {"queue": "analysis"}).json["jobs"] == 12
    if "work" in way:
        desk.work()
    assert desk.move_by_hand() == 12
    if way.endswith("api"):
        assert desk.redrive()["jobs"] == 12
    desk.work()
    assert desk.worked() == dict.fromkeys(ids, 1)
    assert (desk.states(), desk.redriven()) == ({"completed": 12}, 12)
    assert desk.redrive()["jobs"] == 0


def test_a_purged_dead_letter_queue_takes_nothing_away(desk: Desk) -> None:
    ids = desk.bury(15, BUSY)
    desk.sqs.purge_queue(QueueUrl=desk.dead)
    assert desk.show()["causes"][0]["jobs"] == 15
    assert desk.redrive()["jobs"] == 15
    desk.work()
    assert desk.worked() == dict.fromkeys(ids, 1)


def test_a_late_duplicate_of_a_failed_jobs_message_revives_nothing(desk: Desk) -> None:
    (job_id,) = desk.bury(1, BUSY)
    plain = {"job_type": "analyze_content", "job_id": job_id, "shared_content_id": new_id()}
    for fields in (plain, {**plain, "park_id": new_id()}):
        desk.sqs.send_message(QueueUrl=desk.live, MessageBody=body(fields))
    desk.work()
    assert (desk.states(), desk.worked()) == ({"failed": 1}, {})


def test_a_copy_of_an_earlier_parking_revives_nothing_and_is_tidied_away(desk: Desk) -> None:
    (job_id,) = desk.bury(1, BUSY)
    desk.world.sql("update jobs set park_id = %s where id = %s", new_id(), job_id)
    desk.bury(1, LIMITED)
    assert desk.redrive(error_code="nothing_of_the_kind")["copies"] == 1
    assert desk.states() == {"failed": 2}
    assert desk.queues.depth(Queue.ANALYSIS).dead == 1


@pytest.mark.parametrize("other", ["pending", "completed"])
def test_a_job_whose_subject_another_one_took_up_is_counted_but_not_redriven(desk: Desk, other: str) -> None:
    dead, free = desk.bury(2, BUSY)
    subject = desk.world.sql("select subject_id from jobs where id = %s", dead)[0][0]
    live = make_job(desk.database, subject_id=subject)
    if other == "completed":
        desk.world.sql("update jobs set state = 'completed', finished_at = now() where id = %s", live)
    (cause,) = desk.show()["causes"]
    assert (cause["jobs"], cause["redrivable"]) == (2, 1)
    assert desk.redrive(dry_run=True)["jobs"] == 1
    done = desk.redrive()
    assert (done["jobs"], done["left"]) == (1, 0)
    assert (desk.states([dead]), desk.states([free])) == ({"failed": 1}, {"pending": 1})


def test_of_two_dead_letters_of_one_subject_the_later_is_redriven(desk: Desk) -> None:
    (first,) = desk.bury(1, BUSY)
    subject = desk.world.sql("select subject_id from jobs where id = %s", first)[0][0]
    later = make_job(desk.database, subject_id=subject)
    desk.world.sql(
        "update jobs set state = 'failed', finished_at = now(), park_id = %s, error_code = 'http_503' where id = %s",
        new_id(),
        later,
    )
    assert desk.redrive()["jobs"] == 1
    assert (desk.states([first]), desk.states([later])) == ({"failed": 1}, {"pending": 1})


def test_redrives_at_once_do_each_job_once(desk: Desk) -> None:
    ids = desk.bury(60, BUSY)
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(desk.redrive(error_code=BUSY)["jobs"])) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sum(found), desk.redriven(), desk.states(ids)) == (60, 60, {"pending": 60})


def test_a_live_job_that_is_committed_in_the_very_moment_is_no_error(desk: Desk) -> None:
    (dead,) = desk.bury(1, BUSY)
    subject, park_id = desk.world.sql("select subject_id, park_id from jobs where id = %s", dead)[0]
    found: list[bool] = []

    def redrive() -> None:
        with desk.database.transaction() as connection:
            connection.execute("set local application_name = 'redriving'")
            found.append(jobs_store.redrive(connection, dead, park_id))

    thread = threading.Thread(target=redrive)
    with desk.database.transaction() as connection:
        job = NewJob(JobType.ANALYZE_CONTENT, subject, "g", queue=Queue.ANALYSIS)
        jobs_store.enqueue(connection, [job])
        thread.start()
        waiting = "select 1 from pg_stat_activity where application_name = 'redriving' and wait_event_type = 'Lock'"
        while not desk.world.sql(waiting):
            assert thread.is_alive()
    thread.join()
    assert (found, desk.states([dead]), desk.states()) == ([False], {"failed": 1}, {"failed": 1, "pending": 1})


def test_with_sqs_away_jobs_are_redriven_all_the_same(desk: Desk) -> None:
    ids = desk.bury(3, BUSY)
    desk.sqs.delete_queue(QueueUrl=desk.dead)
    desk.world.depths.error = QueueUnavailableError("away")
    shown = desk.operator.get("/v1/ops/dead-letters", queue="analysis").json
    assert (shown["causes"][0]["jobs"], shown["not_all_seen"]) == (3, ["analysis"])
    done = desk.redrive()
    assert (done["jobs"], done["moved_by"], desk.states(ids)) == (3, None, {"pending": 3})


def test_a_cause_with_control_characters_is_parked_in_plain_text(desk: Desk) -> None:
    desk.malformed("[]")
    (message,) = desk._receive(desk.dead)
    assert message["MessageAttributes"]["error_detail"]["StringValue"] == "no JSON"


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("POST", "/redrive")])
def test_another_tenants_token_sees_and_redrives_nothing(desk: Desk, method: str, path: str) -> None:
    ids = desk.bury(1, BUSY)
    tenant = desk.world.user("read", "write", name="tenant")
    asked = {"body": {"queue": "analysis"}} if method == "POST" else {}
    answer = tenant.send(method, f"/v1/ops/dead-letters{path}", **asked)
    assert (answer.status, answer.code, desk.states(ids)) == (403, "insufficient_scope", {"failed": 1})


@pytest.mark.parametrize("asked", [{}, {"queue": "dreams"}, {"queue": "analysis", "limit": 0}, {"que": "analysis"}])
def test_a_redrive_that_is_not_well_asked_for_does_nothing(desk: Desk, asked: dict[str, Any]) -> None:
    ids = desk.bury(1, BUSY)
    assert desk.operator.post("/v1/ops/dead-letters/redrive", asked).status == 422
    assert desk.states(ids) == {"failed": 1}


def test_a_parked_job_is_cleaned_up_after_its_time_only_once_its_content_says_why(desk: Desk) -> None:
    untold = desk.bury(2, BUSY)[1]
    desk.world.sql("update jobs set finished_at = now() - interval '8 days'")
    undone = "update contents set status = 'PENDING', error_code = null from jobs where jobs.subject_id = contents.id"
    desk.world.sql(f"{undone} and jobs.id = %s", untold)
    with desk.database.transaction() as connection:
        assert outbox_store.clean_up(connection, age_s=7 * 86_400, limit=10) == 1
    assert desk.world.sql("select id from jobs") == [(untold,)]
    assert desk.world.sql("select error_code from contents where status = 'FAILED'") == [(BUSY,)]
    assert desk.redrive(error_code="other")["copies"] == 1, "the copy of a job that is gone goes too"


def test_a_redrive_that_runs_out_of_time_says_what_is_left_and_a_repeat_goes_on(desk: Desk) -> None:
    desk.bury(2, BUSY)
    order = Order(Queue.ANALYSIS)
    hurried = DeadLetters(desk.database, NoDeadLetters(), desk.publisher.publish, SystemClock(), budget_s=0)
    assert (hurried.redrive(order).jobs, hurried.redrive(order).left) == (0, 2)
    assert desk.redrive()["jobs"] == 2


def test_sqs_moves_everything_where_it_can_and_neither_filter_nor_limit_is_asked(desk: Desk) -> None:
    class Moving(NoDeadLetters):
        def move_all(self, queue: Queue) -> bool:
            return True

    ids = desk.bury(3, BUSY)
    letters = DeadLetters(desk.database, Moving(), desk.publisher.publish, SystemClock())
    assert letters.redrive(Order(Queue.ANALYSIS, limit=1)).moved_by == "siftline"
    assert letters.redrive(Order(Queue.ANALYSIS, BUSY, limit=1)).moved_by == "siftline"
    done = letters.redrive(Order(Queue.ANALYSIS))
    assert (done.jobs, done.moved_by, desk.states(ids)) == (1, "sqs", {"pending": 3})


def test_looking_through_ends_at_its_bound_and_hides_nothing(desk: Desk) -> None:
    desk.malformed(*(f"[{number}]" for number in range(12)))
    seen: list[Letter] = []

    def look(letters: Sequence[Letter]) -> Sequence[Letter]:
        seen.extend(letters)
        return letters

    assert desk.letters.visit(Queue.ANALYSIS, look, budget_s=5, messages_max=10) is False
    assert desk.letters.visit(Queue.ANALYSIS, look, budget_s=0, messages_max=10) is False
    assert len(seen) == 10
    assert desk.queues.depth(Queue.ANALYSIS).dead == 12


def test_make_redrive_counts_and_redrives(
    desk: Desk,
    database_url: str,
    aws_environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ids = desk.bury(3, BUSY) + desk.bury(2, LIMITED)
    urls = {f"{queue.name}_QUEUE_URL": desk.live for queue in Queue}
    dead_urls = {f"{queue.name}_DLQ_URL": desk.dead for queue in Queue}
    for name, value in {**urls, **dead_urls, **aws_environment, "DATABASE_URL": database_url}.items():
        monkeypatch.setenv(name, value)
    for cached in (sqs_client, open_database):
        cached.cache_clear()
    assert main(["--queue", "analysis", "--error-code", BUSY, "--dry-run"]) == 0
    assert capsys.readouterr().out.split("\n")[:2] == [
        "       3  analyze_content    http_503",
        "       3  jobs would be pending again, 0 left",
    ]
    assert desk.states(ids) == {"failed": 5}
    open_database.cache_clear()
    assert main(["--queue", "analysis", "--limit", "4"]) == 0
    assert (
        "4  jobs are pending again, 1 left\n       0  malformed messages moved back, 4 copies"
        in capsys.readouterr().out
    )
    assert desk.states(ids) == {"pending": 4, "failed": 1}
    for cached in (sqs_client, open_database):
        cached.cache_clear()


def test_make_redrive_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("ANALYSIS_DLQ_URL", raising=False)
    assert main(["--queue", "analysis"]) == 1
    assert "ANALYSIS_DLQ_URL" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--queue", "analysis", "--limit", "0"])
