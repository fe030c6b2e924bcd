"""Servers that accept connections and never answer, or drip: they hold a few threads, and the others are for others.

Each is met with real workers: what another user follows and saves meanwhile is read while the threads are held.
"""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from uuid import UUID

import pytest

from siftline.contracts import JobType
from siftline.jobs import jobs_store
from siftline.jobs.job_model import NewJob, follower
from tests.factories import make_content, make_item, make_user
from tests.faults.machine import FaultMachine
from tests.faults.pages import article
from tests.servers import Answer, Script, drip

_HTML = {"Content-Type": "text/html; charset=utf-8"}
_PATIENT = {"HTTP_READ_S": "29", "HOST_PACE_LOOPBACK": "true", "HOST_BURST": "1000"}
"""Whatever holds a thread holds it for half a minute, and then again; that it does is known after ``SLOW_S``."""
_ENTRIES, _PITS = 6, 4


@pytest.fixture(scope="module", autouse=True)
def _much_patience(_machine: FaultMachine) -> None:
    _machine.restart_worker(**_PATIENT)


class Held:
    """A host by the name ``localhost``, whose pages answer nothing until they are let go."""

    def __init__(self, machine: FaultMachine, name: str) -> None:
        self._machine = machine
        self._name = name
        self._let_go = threading.Event()

    def pages(self, count: int, kind: str = "silent") -> list[str]:
        """Return the addresses of new pages that hold whoever asks."""
        paths = [f"/{self._name}-{kind}-{number}" for number in range(count)]
        return [self.page(path, self._script(path, kind)) for path in paths]

    def page(self, path: str, answer: Script) -> str:
        """Return the address of a page of this host."""
        return self._machine.site.put(path, answer).replace("127.0.0.1", "localhost")

    def let_go(self) -> None:
        """Answer as a page does, from now on and whoever waits."""
        self._let_go.set()

    def _script(self, path: str, kind: str) -> Script:
        def answer(_: Any) -> Answer:
            body = article(path, "first")
            if kind == "drips" and not self._let_go.is_set():
                return Answer(self._dripping(body), headers=_HTML, content_length=len(body))
            self._let_go.wait(30)
            return Answer(body, headers=_HTML)

        return answer

    def _dripping(self, body: bytes) -> Iterator[bytes]:
        for number, chunk in enumerate(drip(body, 0)):
            if number and not self._let_go.is_set():
                self._let_go.wait(0.2)
            yield chunk


@pytest.fixture
def held(machine: FaultMachine, request: pytest.FixtureRequest) -> Iterator[Held]:
    held = Held(machine, request.node.name.partition("[")[0])
    yield held
    held.let_go()


@pytest.fixture
def feed(machine: FaultMachine) -> Callable[[list[str]], UUID]:
    """What a poll of one follower's feed leaves: its pages, and their jobs in that follower's turn.

    As if the hosts were strangers' on the internet: a feed itself leads to one origin of this machine at most.
    """

    def bring(urls: list[str]) -> UUID:
        with machine.database.transaction() as connection:
            user_id = make_user(connection)
            contents = [make_content(connection, url=url, title=url, status="PENDING") for url in urls]
            for content_id in contents:
                make_item(connection, user_id, content_id)
            jobs = [NewJob(JobType.INGEST_CONTENT, content_id, follower(user_id)) for content_id in contents]
            ids = jobs_store.enqueue(connection, jobs, max_attempts=machine.job_settings.job_max_attempts)
        machine.publisher.publish(ids)
        return user_id

    return bring


def places(machine: FaultMachine, queue: str = "content-background") -> set[str]:
    """Return who holds the places of ``localhost`` and of the pits."""
    return set(
        machine.ask(
            "select jsonb_object_keys(in_work) from fetch_hosts where scope like %s and scope not like '127.0.0.1 %%'",
            f"% {queue}",
        )
    )


def tries(machine: FaultMachine, urls: list[str]) -> list[tuple[int, int, int]]:
    """Return of each job its attempts, and how often it was claimed and put off."""
    return machine.ask(
        "select attempts, (select count(*) from job_events where job_id = jobs.id and event = 'claimed'),"
        " (select count(*) from job_events where job_id = jobs.id and event = 'deferred')"
        " from jobs join contents on contents.id = subject_id where url = any(%s) and job_type = 'ingest_content'",
        urls,
    )


def ready(machine: FaultMachine, urls: list[str]) -> int:
    """Return how many of these pages were read."""
    [count] = machine.ask("select count(*) from contents where url = any(%s) and status = 'READY'", urls)
    return int(count)


def read_meanwhile(machine: FaultMachine) -> None:
    """Let another user follow a feed and save a page, and see both read."""
    address, articles = machine.site.add_feed(3)
    machine.follow(address)
    [saved] = machine.save(machine.site.add_pages(1))
    machine.see(lambda: machine.statuses([saved]) == ["READY"])
    machine.see(lambda: ready(machine, articles) == 3)


@pytest.mark.parametrize("kind", ["silent", "drips"])
def test_one_host_holds_two_threads_and_anothers_feed_is_read(
    machine: FaultMachine, held: Held, feed: Callable[[list[str]], UUID], kind: str, fault_round: int
) -> None:
    pages = held.pages(_ENTRIES, kind)
    feed(pages)
    machine.see(lambda: len(places(machine)) == 2)
    read_meanwhile(machine)
    assert not ready(machine, pages)
    machine.see(lambda: len(places(machine)) == 2)
    machine.see(lambda: sum(put_off for _, _, put_off in tries(machine, pages)) > _ENTRIES)
    assert all(attempts == claimed - put_off for attempts, claimed, put_off in tries(machine, pages))
    waits = machine.ask(
        "select distinct error_message from jobs join contents on contents.id = subject_id"
        " where url = any(%s) and waits_for in ('host_busy', 'tenant_busy')",
        pages,
    )
    assert waits
    assert all("already in progress" in why or "already waiting for slow servers" in why for why in waits)
    held.let_go()
    machine.see(lambda: ready(machine, pages) == _ENTRIES)
    machine.heal(0)


def test_a_feed_of_many_hosts_that_never_answer_holds_two_threads(
    machine: FaultMachine, feed: Callable[[list[str]], UUID], fault_round: int
) -> None:
    with ExitStack() as stack:
        pits = [stack.enter_context(socket.create_server((f"127.0.0.{n + 2}", 0))) for n in range(_PITS)]
        urls = [f"http://{pit.getsockname()[0]}:{pit.getsockname()[1]}/{n}" for pit in pits for n in range(2)]
        feed(urls)
        machine.see(lambda: "tenant_busy" in machine.ask("select distinct waits_for from jobs"))
        assert len(places(machine)) == 2
        read_meanwhile(machine)
        machine.see(lambda: len(places(machine)) == 2)
        assert all(attempts == claimed - put_off for attempts, claimed, put_off in tries(machine, urls))
    machine.heal(0)
    assert machine.ask("select distinct status from contents where url = any(%s)", urls) == ["FAILED"]


def test_saves_by_hand_and_what_feeds_bring_take_no_place_of_one_another(
    machine: FaultMachine, held: Held, feed: Callable[[list[str]], UUID], fault_round: int
) -> None:
    feed(brought_slowly := held.pages(4))
    machine.see(lambda: len(places(machine)) == 2)
    by_hand = held.page(f"/by-hand-{fault_round}", Answer(article("/by-hand", "first"), headers=_HTML))
    [saved] = machine.save([by_hand])
    machine.see(lambda: machine.statuses([saved]) == ["READY"])
    assert not ready(machine, brought_slowly)
    machine.see(lambda: len(places(machine)) == 2)
    held.let_go()
    machine.heal(0)
    again = Held(machine, "by-hand")
    machine.save(saved_slowly := again.pages(4))
    machine.see(lambda: len(places(machine, "content-processing")) == 2)
    brought = held.page(f"/brought-{fault_round}", Answer(article("/brought", "first"), headers=_HTML))
    feed([brought])
    machine.see(lambda: machine.ask("select status from contents where url = %s", brought) == ["READY"])
    assert not ready(machine, saved_slowly)
    machine.see(lambda: len(places(machine, "content-processing")) == 2)
    again.let_go()
    machine.heal(0)


def test_a_killed_workers_places_come_back(
    machine: FaultMachine, held: Held, feed: Callable[[list[str]], UUID], fault_round: int
) -> None:
    machine.restart_worker(**_PATIENT, HOST_LEASE_S="8")
    pages = held.pages(6)
    feed(pages)
    machine.see(lambda: len(places(machine)) == 2)
    killed = places(machine)
    machine.restart_worker(**_PATIENT, HOST_LEASE_S="8")  # by SIGKILL
    machine.see(lambda: len(places(machine)) == 2 and not places(machine) & killed)
    held.let_go()
    machine.heal(0)
    machine.restart_worker(**_PATIENT)
