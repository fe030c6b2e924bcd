"""Faults of messages: delivered often, early, late, half, huge or poisoned; sent, deleted and held badly."""

import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from infra.local.processes import wait_until
from siftline.contracts import JobType, Queue
from siftline.jobs import jobs_store
from siftline.jobs.job_model import NewJob
from siftline.operate.user_command import delete_user
from tests.accounts import traces
from tests.faults.http_proxy import Asked, HangUpError, Reply, held_until
from tests.faults.machine import FaultMachine
from tests.faults.pages import first
from tests.faults.table import Told
from tests.faults.traps import Trap
from tests.servers import Answer, Request

INTERNAL = Reply(500, b'{"__type": "com.amazonaws.sqs#InternalFailure", "message": "try again"}')


def ready(machine: FaultMachine, urls: list[str]) -> bool:
    """Whether all of these pages are READY."""
    return machine.ask("select status from contents where url = any(%s)", urls) == ["READY"] * len(urls)


def knock(machine: FaultMachine, content_id: UUID) -> str:
    """Return the message of a content's ingest job."""
    (job_id,) = machine.ask("select id from jobs where subject_id = %s and job_type = 'ingest_content'", content_id)
    return json.dumps({"job_type": "ingest_content", "job_id": str(job_id), "shared_content_id": str(content_id)})


def fails_one(asked: Asked, reply: Reply) -> Reply:
    """Tell that the first entry of a batch failed, through no fault of the sender."""
    answer = reply.json
    failed = {"Id": answer["Successful"].pop(0)["Id"], "Code": "InternalError", "SenderFault": False}
    return reply.with_json({**answer, "Failed": [*answer.get("Failed", []), failed]})


def without_first(asked: Asked) -> Asked:
    return asked.with_json({**asked.json, "Entries": asked.json["Entries"][1:]})


@pytest.mark.parametrize("times", [2, 10])
def test_the_same_message_many_times_at_once_is_worked_once(
    machine: FaultMachine, healing: Told, pages: list[str], times: int, fault_round: int
) -> None:
    """Fault 8: the same message twice, ten times, at once; and once more when all is done."""
    contents = machine.save(pages, publish=False)
    bodies = [knock(machine, content) for content in contents]
    started = time.monotonic()
    senders = [
        threading.Thread(target=machine.queues.send, args=[Queue.CONTENT_PROCESSING, *bodies]) for _ in range(times)
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    healing(f"8 the same message {times} times at once", machine.heal(started))
    machine.queues.send(Queue.CONTENT_PROCESSING, *bodies)
    machine.drained()
    assert ready(machine, pages)
    assert [machine.site.asked(url) for url in pages] == [1] * len(pages)
    machine.audit()


def test_an_analysis_that_arrives_before_its_page_was_read_waits_for_it(
    machine: FaultMachine, healing: Told, fault_round: int
) -> None:
    """Fault 9: analysis arrives before ingest."""
    (url,) = machine.site.add_pages(1)
    read_on = threading.Event()
    machine.site.script(url, first(lambda: read_on.wait(30), when="before"))
    (content,) = machine.save([url])
    message = {"job_type": "analyze_content", "shared_content_id": str(content)}
    machine.queues.send(Queue.ANALYSIS, json.dumps(message))
    waits = "select 1 from jobs where subject_id = %s and waits_for = 'not_ingested_yet'"
    machine.see(lambda: machine.ask(waits, content))
    read_on.set()
    healing("9 an analysis arrives before its page is read", machine.heal(time.monotonic()))
    assert ready(machine, [url])


def test_a_stale_analysis_that_ends_last_does_not_win(machine: FaultMachine, healing: Told, fault_round: int) -> None:
    """Fault 9: a stale version arrives last. The page is edited and read again while its first text is analysed."""
    (url,) = machine.site.add_pages(1)
    go_on = threading.Event()
    trap = machine.qdrant_wire.trap(upserts, before=held_until(go_on))
    (content,) = machine.save([url])
    trap.await_sprung()
    machine.site.edit(url, "second")
    machine.read_again(content)
    machine.see(lambda: machine.ask("select 1 from contents where id = %s and version = 2", content))
    go_on.set()
    healing("9 a stale analysis ends last", machine.heal(time.monotonic()))
    found = machine.ask(
        "select status, text like '%%second%%', summary like '%%second%%' from contents where id = %s", content
    )
    assert found == [("READY", True, True)]


def upserts(asked: Asked) -> bool:
    return asked.method == "PUT" and asked.path.partition("?")[0].endswith("/points")


def test_messages_that_sqs_does_not_take_are_sent_by_the_sweep(
    machine: FaultMachine, healing: Told, pages: list[str], fault_round: int
) -> None:
    """Fault 15: the SQS send fails after the commit."""
    trap = machine.sqs_wire.trap(
        lambda asked: asked.action == "SendMessageBatch", before=lambda _: INTERNAL, times=6 * len(pages)
    )
    machine.save(pages)
    trap.await_sprung()
    healing("15 the SQS send fails after the commit", machine.heal(trap.at))
    assert ready(machine, pages)


def refused(asked: Asked, reply: Reply) -> Reply:
    """Tell of the entry that did not reach SQS."""
    failed = {"Id": asked.json["Entries"][0]["Id"], "Code": "InternalError", "SenderFault": False}
    return reply.with_json({**reply.json, "Failed": [failed]})


def hang_up(*_: object) -> Reply:
    raise HangUpError


SENDS_TEN: dict[str, tuple[Callable[[Asked], Any] | None, Callable[[Asked, Reply], Reply]]] = {
    "15 one of ten messages is not taken": (without_first, refused),
    "15 ten messages are taken, the answer is lost": (None, hang_up),
}


@pytest.mark.parametrize("fault", SENDS_TEN)
def test_each_of_ten_messages_is_sent_until_it_is_taken(
    machine: FaultMachine, healing: Told, fault: str, fault_round: int
) -> None:
    """Fault 15, Q18: partial failures of SendMessageBatch are sent again, and only those."""
    before, after = SENDS_TEN[fault]
    trap = machine.sqs_wire.trap(
        lambda asked: asked.action == "SendMessageBatch" and len(asked.json["Entries"]) == 10,
        before=before,
        after=after,
    )
    urls: list[str] = []
    while not trap.count and len(urls) < 60:  # now and then a sweep is faster and hands some of the ten out itself
        feed, entries = machine.site.add_feed(10)
        urls += entries
        machine.follow(feed)
        machine.see(partial(machine.site.asked, feed))
        machine.rest()
    trap.await_sprung()
    healing(fault, machine.heal(trap.at))
    assert ready(machine, urls)
    assert [machine.site.asked(url) for url in urls] == [1] * len(urls)


def test_messages_that_sqs_fails_to_delete_are_deleted_again_and_nothing_runs_again(
    machine: FaultMachine, healing: Told, pages: list[str], fault_round: int
) -> None:
    """Q19: failures of DeleteMessageBatch and of visibility changes are seen to."""

    def deletes(asked: Asked) -> bool:
        return asked.action == "DeleteMessageBatch"

    partly = machine.sqs_wire.trap(deletes, before=lambda _: None, after=fails_one, times=2)
    machine.sqs_wire.trap(deletes, before=lambda _: INTERNAL, times=2)
    machine.save(pages)
    partly.await_sprung()
    healing("- a message is not deleted (Q19)", machine.heal(partly.at))
    machine.drained()
    assert [machine.site.asked(url) for url in pages] == [1] * len(pages)
    machine.audit()


def test_large_messages_are_worked_and_a_large_poisoned_one_is_parked(
    machine: FaultMachine, healing: Told, fault_round: int
) -> None:
    """Fault 29: messages of 256 KiB, of 1 MiB; SQS takes no larger one, and what we park stays below its limit."""
    sizes = [256 * 1024, 1024 * 1024]
    urls = machine.site.add_pages(2)
    contents = machine.save(urls, publish=False)
    started = time.monotonic()
    for size, content in zip(sizes, contents, strict=True):
        body = knock(machine, content)[:-1] + ', "more": "'
        machine.queues.send(Queue.CONTENT_PROCESSING, f'{body}{"x" * (size - len(body) - 2)}"}}')
    machine.queues.send(Queue.CONTENT_PROCESSING, "é" * (512 * 1024))
    with pytest.raises(machine.sqs.exceptions.ClientError):
        machine.queues.send(Queue.CONTENT_PROCESSING, "x" * (1024 * 1024 + 1))
    machine.drained()
    healing("29 messages of 256 KiB and 1 MiB", machine.heal(started))
    assert ready(machine, urls)
    (parked,) = machine.queues.dead(Queue.CONTENT_PROCESSING)
    assert parked["MessageAttributes"]["error_code"]["StringValue"] == "malformed_message"
    assert parked["Body"].startswith("é")


ABSENT = "0199d2a4-0000-7000-8000-000000000001"
POISON = {
    "{not json": "malformed_message",
    "null": "malformed_message",
    f'{{"job_type": "dance", "shared_content_id": "{ABSENT}"}}': "malformed_message",
    f'{{"job_type": "ingest_content/2", "shared_content_id": "{ABSENT}"}}': "malformed_message",
    '{"job_type": "ingest_content", "shared_content_id": 7}': "malformed_message",
    f'{{"job_type": "ingest_content", "shared_content_id": "{ABSENT}"}}': "unknown_subject",
    f'{{"job_type": "cluster_user", "user_id": "{ABSENT}"}}': "unexpected_job_type",
}


def test_poison_is_parked_with_its_cause_and_its_neighbours_are_worked(
    machine: FaultMachine, healing: Told, pages: list[str], fault_round: int
) -> None:
    """Fault 30: bad JSON, unknown type, unknown version, each on the dead-letter queue once."""
    started = time.monotonic()
    machine.queues.send(Queue.CONTENT_PROCESSING, *POISON)
    machine.save(pages)
    machine.drained()
    healing("30 poisoned messages", machine.heal(started))
    assert ready(machine, pages)
    parked = machine.queues.dead(Queue.CONTENT_PROCESSING)
    found = {message["Body"]: message["MessageAttributes"]["error_code"]["StringValue"] for message in parked}
    assert (len(parked), found) == (len(POISON), POISON)


def test_a_function_killed_at_the_sixth_of_ten_repeats_that_one_alone(
    machine: FaultMachine, healing: Told, fault_round: int
) -> None:
    """Fault 33: the function's time is up at item 6 of 10; and Q17: the work resumes when its lease has run out."""
    one_at_a_time = {"WORKER_THREADS": '{"ingest": 1}'}
    machine.restart_worker(**one_at_a_time)
    urls = machine.site.add_pages(10)
    trap: Trap[None] = Trap(lambda _: True)
    lock, asked = threading.Lock(), []

    def count(url: str) -> Callable[[Answer], Any]:
        def change(answer: Answer) -> Callable[[Request], Answer]:
            def script(_: Request) -> Answer:
                with lock:
                    asked.append(url)
                    sixth = len(asked) == 6
                if sixth and trap.springs(None):
                    machine.kill_worker(**one_at_a_time)
                return answer

            return script

        return change

    for url in urls:
        machine.site.script(url, count(url))
    machine.save(urls)
    trap.await_sprung()
    healing("33 killed at item 6 of 10", machine.heal(trap.at))
    assert ready(machine, urls)
    assert sorted(url for url in set(asked) if asked.count(url) > 1) == [asked[5]]
    assert len(asked) == 11
    machine.restart_worker()


@pytest.mark.parametrize("lost", ["visibility", "lease"])
def test_work_that_outlasts_its_visibility_or_its_lease_ends_once(
    machine: FaultMachine, healing: Told, lost: str, fault_round: int
) -> None:
    """Fault 34: the visibility, or the lease too, runs out in mid-work, as its renewal fails."""
    (url,) = machine.site.add_pages(1)
    go_on = threading.Event()
    machine.site.script(url, first(lambda: go_on.wait(24), when="before"))
    machine.sqs_wire.trap(lambda asked: asked.action.startswith("ChangeMessage"), before=lambda _: INTERNAL, times=99)
    if lost == "lease":
        renewal = machine.postgres.on_commit(
            lambda commit: commit.says("set lease_until = now() + "), "before", lambda: None, times=99
        )
    (content,) = machine.save([url])
    again = "select count(*) from job_events join jobs on jobs.id = job_id where subject_id = %s and event = %s"
    if lost == "lease":
        renewal.await_sprung()
        machine.let_leases_lapse()
        machine.see(lambda: machine.ask(again, content, "claimed") >= [2])
    else:
        machine.see(lambda: "claim_refused" in machine.log_since_mended())
    go_on.set()
    machine.mend()
    healing(f"34 the {lost} runs out in mid-work", machine.heal(time.monotonic()))
    assert ready(machine, [url])
    assert machine.ask(again, content, "completed") == [2]  # its ingest and its analysis
    assert machine.site.asked(url) == (1 if lost == "visibility" else 2)


def test_a_redrive_twice_or_without_its_dead_letter_works_once(
    machine: FaultMachine, healing: Told, fault_round: int
) -> None:
    """Fault 35: redrive twice; a dead letter whose time on its queue has run out. Q23: the last failure is parked."""
    urls = machine.site.add_pages(2)
    answers = {url: machine.site.script(url, lambda _: Answer(b"busy", status=500)) for url in urls}
    contents = machine.save(urls)
    machine.rest()
    letters = machine.queues.dead(Queue.CONTENT_PROCESSING)
    assert len(letters) == 2
    for url, answer in answers.items():
        machine.site.put_back(url, answer)
    by_content = {json.loads(letter["Body"])["shared_content_id"]: letter["Body"] for letter in letters}
    moved, expired = by_content[str(contents[0])], json.loads(by_content[str(contents[1])])
    started = time.monotonic()
    machine.queues.send(Queue.CONTENT_PROCESSING, moved, moved)
    with machine.database.transaction() as connection:
        ids = UUID(expired["job_id"]), UUID(expired["park_id"])
        assert [jobs_store.redrive(connection, *ids) for _ in range(2)] == [True, False]
    healing("35 redriven twice, and without its dead letter", machine.heal(started))
    machine.queues.send(Queue.CONTENT_PROCESSING, moved)
    machine.drained()
    assert ready(machine, urls)
    assert [machine.site.asked(url) for url in urls] == [5, 5]
    machine.audit()


def test_a_user_deleted_in_mid_pipeline_leaves_no_job_behind(
    machine: FaultMachine, healing: Told, pages: list[str], fault_round: int
) -> None:
    """Fault 38: the user is deleted while their pages are analysed and their stories are about to be grouped."""
    user_id = machine.user(credit=100)
    go_on = threading.Event()
    trap = machine.qdrant_wire.trap(upserts, before=held_until(go_on), times=len(pages))
    machine.save(pages, user_id)
    trap.await_sprung()
    grouping = NewJob(JobType.CLUSTER_USER, user_id, f"user:{user_id}", due_at=datetime.now(UTC) + timedelta(seconds=1))
    with machine.database.transaction() as connection:
        (job_id,) = jobs_store.enqueue(connection, [grouping])
        connection.execute("delete from users where id = %s", (user_id,))
    go_on.set()
    healing("38 the user is deleted in mid-pipeline", machine.heal(time.monotonic()))
    assert ready(machine, pages)
    assert machine.ask("select count(*) from items where user_id = %s", user_id) == [0]
    assert machine.ask("select finished_at is not null, attempts from jobs where id = %s", job_id) == [(True, 1)]
    assert machine.ask("select count(*) from cluster_runs where user_id = %s", user_id) == [0]


def test_an_account_deleted_in_mid_pipeline_goes_whole_and_what_is_shared_is_read_on(
    machine: FaultMachine, healing: Told, pages: list[str], fault_round: int
) -> None:
    """Fault 38: the account is deleted as the product does it, while workers have its pages, one of them shared."""
    user_id, other = machine.user(credit=100), machine.user(credit=100)
    go_on = threading.Event()
    trap = machine.qdrant_wire.trap(upserts, before=held_until(go_on), times=len(pages))
    contents = machine.save(pages, user_id)
    machine.save(pages[:1], other)
    trap.await_sprung()
    delete_user(machine.database, user_id)
    started = time.monotonic()
    go_on.set()
    machine.rest()
    machine.remove_ghosts()
    healing("38 the account is deleted in mid-pipeline", machine.heal(started))
    assert wait_until(lambda: machine.ask("select count(*) from users where id = %s", user_id) == [0], 300)
    assert machine.ask("select id from contents where id = any(%s)", contents) == [contents[0]]
    assert machine.ask("select status from contents where id = %s", contents[0]) == ["READY"]
    with machine.database.transaction() as connection:
        assert traces(connection, [str(user_id)]) == []


def test_nothing_was_parked_that_no_test_has_looked_at(machine: FaultMachine) -> None:
    machine.rest()
    machine.drained()
    assert {queue: len(machine.queues.dead(queue)) for queue in Queue} == dict.fromkeys(Queue, 0)
    machine.audit()
