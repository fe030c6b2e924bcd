"""Faults 1 to 7: the worker is killed with SIGKILL before and after each step of a page's walk."""

import random
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from siftline.contracts import Queue
from tests.api_client import World
from tests.faults.http_proxy import Asked, Reply
from tests.faults.machine import FaultMachine
from tests.faults.pages import first
from tests.faults.postgres_proxy import Commit
from tests.faults.table import Told
from tests.faults.traps import Trap
from tests.servers import Answer, Request, Script

Kill = Callable[[], None]
Arm = Callable[[FaultMachine, str, Kill], Trap[Any]]


def at_the_fetch(machine: FaultMachine, when: str, kill: Kill, url: str) -> Trap[Any]:
    """The page server kills the one who asks: as the request comes in, or when its whole answer has gone out."""
    trap: Trap[None] = Trap(lambda _: True)

    def act() -> None:
        assert trap.springs(None)
        kill()

    machine.site.script(url, first(act, when=when))
    return trap


def at_a_commit(*words: str) -> Arm:
    """The transaction that says these words commits."""

    def arm(machine: FaultMachine, when: str, kill: Kill) -> Trap[Any]:
        def matches(commit: Commit) -> bool:
            return commit.says(*words)

        return machine.postgres.on_commit(matches, "before" if when == "before" else "after", kill)

    return arm


def at_a_request(wire: str, matches: Callable[[Asked], bool]) -> Arm:
    """A request of SQS or Qdrant arrives (and goes no further), or was answered (and the answer goes no further)."""

    def arm(machine: FaultMachine, when: str, kill: Kill) -> Trap[Any]:
        def before(_: Asked) -> Reply:
            kill()
            return Reply(503)

        def after(_: Asked, reply: Reply) -> Reply:
            kill()
            return reply

        proxy = machine.sqs_wire if wire == "sqs" else machine.qdrant_wire
        return proxy.trap(matches, before=before) if when == "before" else proxy.trap(matches, after=after)

    return arm


def sends_analysis(asked: Asked) -> bool:
    return asked.action == "SendMessageBatch" and b"analyze_content" in asked.body


def upserts(asked: Asked) -> bool:
    return asked.method == "PUT" and asked.path.partition("?")[0].endswith("/points")


ARTICLE = at_a_commit("update contents set", "content_sha256")
READING = at_a_commit("from topic_means")
READY = at_a_commit("update contents", "status = 'READY'")
UPSERT = at_a_request("qdrant", upserts)
SEND = at_a_request("sqs", sends_analysis)
DELETE = at_a_request("sqs", lambda asked: asked.action == "DeleteMessageBatch")
STEPS = {
    "2 killed before the article's commit": (ARTICLE, "before"),
    "2 killed after the article's commit": (ARTICLE, "after"),
    "3 killed before the SQS send": (SEND, "before"),
    "3 killed after the SQS send": (SEND, "after"),
    "4 killed before the model call": (READING, "after"),
    "5 killed after the model call, before the upsert": (UPSERT, "before"),
    "5 killed after the upsert": (UPSERT, "after"),
    "6 killed before the READY commit": (READY, "before"),
    "6 killed after the READY commit": (READY, "after"),
    "7 killed before the message's deletion": (DELETE, "before"),
    "7 killed after the message's deletion": (DELETE, "after"),
}


def healed(machine: FaultMachine, trap: Trap[Any], urls: list[str]) -> float:
    """Wait for a trap to strike and until all is well again; returns the seconds that this took."""
    trap.await_sprung()
    return healed_since(machine, trap.at, urls)


def healed_since(machine: FaultMachine, at: float, urls: list[str]) -> float:
    """Wait until all is well again; every page is READY and was asked for at most once a claim of its job."""
    took = machine.heal(at)
    found = machine.ask("select status, url from contents where url = any(%s)", urls)
    assert sorted(found) == sorted(("READY", url) for url in urls)
    for url in urls:
        [claims] = machine.ask(
            "select count(*) from job_events join jobs on jobs.id = job_id join contents on contents.id = subject_id"
            " where url = %s and job_type = 'ingest_content' and event = 'claimed'",
            url,
        )
        assert machine.site.asked(url) <= claims
    return took


@pytest.mark.parametrize("step", STEPS)
def test_a_worker_killed_at_a_step_loses_nothing_and_does_nothing_twice(
    machine: FaultMachine, healing: Told, pages: list[str], step: str, fault_round: int
) -> None:
    """Faults 2, 3, 4, 5, 6 and 7. Q17: what is done again has keys of its own, so that nothing counts twice."""
    arm, when = STEPS[step]
    trap = arm(machine, when, machine.kill_worker)
    machine.save(pages)
    healing(step, healed(machine, trap, pages))


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_killed_at_the_fetch_of_a_page_reads_it_again(
    machine: FaultMachine, healing: Told, pages: list[str], when: str, fault_round: int
) -> None:
    """Fault 1: killed as the request comes in, or when the whole page has gone out."""
    trap = at_the_fetch(machine, when, machine.kill_worker, pages[0])
    machine.save(pages)
    healing(f"1 killed {when} the fetch of a page", healed(machine, trap, pages))


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_killed_at_the_fetch_of_a_feed_takes_each_entry_once(
    machine: FaultMachine, healing: Told, when: str, fault_round: int
) -> None:
    """Fault 1, of a feed: what one poll brings is taken once."""
    feed, urls = machine.site.add_feed(3)
    trap = at_the_fetch(machine, when, machine.kill_worker, feed)
    source_id = machine.follow(feed)
    healing(f"1 killed {when} the fetch of a feed", healed(machine, trap, urls))
    assert machine.ask("select count(*) from source_entries where source_id = %s", source_id) == [3]
    assert machine.ask("select fetch_status from sources where id = %s", source_id) == ["IDLE"]


def test_a_worker_killed_again_and_again_in_mid_work_reads_every_page(
    machine: FaultMachine, healing: Told, pytestconfig: pytest.Config, fault_round: int
) -> None:
    """GIVEN slow pages WHEN the worker is killed as it reads some, three times THEN each is read to its end, once."""
    chance, asked, reading = random.Random(fault_round), [], []
    urls = machine.site.add_pages(max(20, pytestconfig.getoption("--fault-items")))

    def slowly(answer: Answer) -> Script:
        def script(request: Request) -> Answer:
            asked.append(request.path)
            reading.append(request.path)
            time.sleep(chance.uniform(0.2, 0.5))
            reading.remove(request.path)
            return answer

        return script

    def reached(point: int) -> bool:
        return len(asked) >= point and bool(reading)

    for url in urls:
        machine.site.script(url, slowly)
    machine.save(urls)
    for _ in range(3):
        point = len(asked) + chance.randint(1, 4)
        machine.see(partial(reached, point))
        machine.kill_worker()
        at = time.monotonic()
    healing("1 killed three times in mid-work", healed_since(machine, at, urls))


def test_a_worker_paused_for_longer_than_its_lease_wakes_up_and_changes_nothing(
    machine: FaultMachine, healing: Told, fault_round: int
) -> None:
    """Faults 34 and 9: paused before its upsert, while the page is edited and another worker reads and analyses it."""
    (url,) = machine.site.add_pages(1)
    go_on, paused = threading.Event(), []

    def pause(_: Asked) -> None:
        paused.append(machine.pause_worker())
        go_on.wait(60)

    trap = machine.qdrant_wire.trap(upserts, before=pause)
    (content,) = machine.save([url])
    trap.await_sprung()
    machine.site.edit(url, "second")
    machine.read_again(content)
    machine.see(
        lambda: machine.ask("select 1 from contents where id = %s and version = 2 and status = 'READY'", content)
    )
    healing("34 a worker is paused for longer than its lease", machine.heal(trap.at))
    # Of this content alone: its new reading is scored about now, which is another job's affair.
    told = "select count(*), max(e.id) from job_events e join jobs on jobs.id = e.job_id where jobs.subject_id = %s"
    before = machine.ask(told, content)
    go_on.set()
    paused[0]()
    machine.see(lambda: "lease_lost" in machine.log_since_mended())
    machine.end_worker("paused")
    assert machine.ask(told, content) == before
    machine.audit()


def test_operators_see_what_waits_while_no_worker_runs(
    machine: FaultMachine, healing: Told, pages: list[str], fault_round: int
) -> None:
    """I6 of docs/jobs.md: depth, number and age of what waits, while nobody works and when somebody does again."""
    machine.end_worker()
    machine.save(pages)
    world = World(machine.database)
    operator = world.user("ops")
    time.sleep(1.0)

    def seen() -> dict[str, Any]:
        world.depths.depths |= {queue: machine.queues.sender.depth(queue) for queue in Queue}
        queues = operator.get("/v1/ops/queues").json["queues"]
        return next(queue for queue in queues if queue["name"] == Queue.CONTENT_PROCESSING)

    waiting = seen()
    assert waiting["pending"] == len(pages)
    assert waiting["depth"] + waiting["in_flight"] >= len(pages)  # a dead worker's last poll still takes some
    assert waiting["oldest_age_s"] >= 1
    machine.start_worker()
    healing("- no worker runs for a while", machine.heal(time.monotonic()))
    machine.drained()
    left = seen()
    assert (left["pending"], left["depth"], left["oldest_age_s"]) == (0, 0, 0)


def test_a_page_that_kills_each_of_its_workers_stops_at_its_maximum(
    machine: FaultMachine, healing: Told, fault_round: int
) -> None:
    """Q07 and Q21: attempts are counted at the claim, and who finds them used up tells the item and parks the job."""
    (url,) = machine.site.add_pages(1)
    kills = []

    def kill(_: Request) -> Answer:
        kills.append(time.monotonic())
        machine.kill_worker()
        return Answer()

    machine.site.script(url, lambda _: kill)
    (content,) = machine.save([url])
    machine.see(lambda: len(kills) == 4)
    healing("- a page kills each of its workers (Q07)", machine.heal(kills[-1]))
    assert len(kills) == 4
    found = machine.ask("select status, error_code, error_detail from contents where id = %s", content)
    assert found == [("FAILED", "worker_lost", "The worker was lost while processing this.")]
    (letter,) = machine.queues.dead(Queue.CONTENT_PROCESSING)
    assert letter["MessageAttributes"]["error_code"]["StringValue"] == "worker_lost"
    assert letter["MessageAttributes"]["attempts"]["StringValue"] == "4"


def test_messages_that_come_again_after_all_this_change_nothing(machine: FaultMachine) -> None:
    machine.rest()
    before = machine.ask("select count(*), max(id) from job_events")
    machine.drained()
    assert machine.ask("select count(*), max(id) from job_events") == before
    assert [len(machine.queues.dead(queue)) for queue in Queue] == [0] * len(Queue)
    machine.audit()
