"""Stored instants that no calendar has: whatever counts the seconds up to them goes on, in numbers that JSON has."""

import json
from datetime import timedelta
from typing import Any

import pytest

from infra.local.worker_faults import OpenBreakers
from siftline.catalog import mail_address_store
from siftline.contracts import Queue
from siftline.jobs import breakers_store, outbox_store
from siftline.jobs.publish import Publisher
from siftline.jobs.statistics import Statistics
from siftline.jobs.sweep import Sweep
from siftline.kit.db import Database
from siftline.kit.errors import PermanentError
from siftline.kit.ids import new_id
from siftline.models import spending_store
from siftline.net import pacing_store
from siftline.net.pacing_store import Bucket
from siftline.rank import scores_store
from siftline.settings.functions import JobSettings
from tests.api_client import World
from tests.bench import Bench
from tests.factories import embed, make_content, make_item, make_job, make_source, make_user
from tests.fakes import FakeClock, FakeSender
from tests.scoring import MODEL, vector

LONG_S = 10**10
"""More than three hundred years."""
INSTANTS = ["-infinity", "infinity", "4713-01-01 BC", "294276-12-31"]
LATE = ["infinity", "294276-12-31"]
HOST = Bucket("feeds.example", 1.0, 1, ["feeds.example"])


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def sweep(database: Database) -> Sweep:
    return Sweep(database, Publisher(database, FakeSender(), JobSettings()), JobSettings())


def number(answer: str) -> Any:
    """Return the value of JSON as others read it, who have no infinite numbers."""
    return json.loads(answer, parse_constant=pytest.fail)


@pytest.mark.parametrize("instant", ["-infinity", "4713-01-01 BC"])
def test_a_page_and_a_source_that_are_stuck_since_ever_are_recovered_with_the_others(
    world: World, instant: str
) -> None:
    with world.database.transaction() as connection:
        for _ in range(2):
            make_content(connection, status="PROCESSING")
            make_source(connection, fetch_status="FETCHING")
    world.sql("update contents set updated_at = now() - interval '1 h'")
    world.sql("update sources set updated_at = now() - interval '1 h'")
    world.sql("update contents set updated_at = %s where id = (select min(id::text)::uuid from contents)", instant)
    world.sql("update sources set updated_at = %s where id = (select min(id::text)::uuid from sources)", instant)
    assert sweep(world.database).run().stuck == 4
    details = [detail for (detail,) in world.sql("select detail from job_events where event = 'recovered'")]
    assert len(details) == 2
    assert any("for 60 minutes" in detail for detail in details)


@pytest.mark.parametrize("instant", INSTANTS)
def test_queues_and_statistics_show_their_ages(world: World, instant: str, capsys: pytest.CaptureFixture[str]) -> None:
    make_job(world.database)
    world.sql("update jobs set due_at = %s, published_at = %s", instant, instant)
    running = make_job(world.database)
    statement = (
        "update jobs set state = 'processing', lease_token = %s, claimed_at = %s, lease_until = %s where id = %s"
    )
    world.sql(statement, new_id(), instant, instant, running)
    answer = world.user("ops").get("/v1/ops/queues")
    assert answer.status == 200, answer.text
    [analysis] = [queue for queue in number(answer.text)["queues"] if queue["name"] == "analysis"]
    long_ago = instant in {"-infinity", "4713-01-01 BC"}
    for name in ("oldest_age_s", "oldest_running_s"):
        assert analysis[name] > LONG_S if long_ago else analysis[name] == 0
    Statistics(world.database, {}, FakeClock()).report()
    assert "Infinity" not in capsys.readouterr().out


@pytest.mark.parametrize("column", ["open_until", "probe_until"])
@pytest.mark.parametrize("instant", INSTANTS)
def test_a_breaker_is_shown_and_holds_jobs_up(world: World, column: str, instant: str) -> None:
    world.sql(
        "insert into breakers (provider, error_code, error_detail, open_until)"
        " values ('model', 'model_missing', 'There is no model.', now() + interval '100 s')"
    )
    world.sql(f"update breakers set {column} = %s", instant)
    answer = world.user("ops").get("/v1/ops/queues")
    assert answer.status == 200, answer.text
    [breaker] = number(answer.text)["breakers"]
    assert (breaker["next_try_s"] > LONG_S) == (instant in LATE)
    told = list(OpenBreakers(world.database).news())
    assert len(told) == (breaker["next_try_s"] > 0)
    assert not [line for line in told if " inf s" in line]
    with world.database.transaction() as connection:
        until_s, _ = breakers_store.opened(connection, "model", PermanentError("Gone."), hold_s=300)
        assert 1 <= until_s < 10**12
    bench = Bench(world.database, lambda _: pytest.fail("it was tried"), providers=frozenset({"model"}))
    if instant in LATE:
        job = make_job(world.database)
        bench.knock(bench.message(job))
        assert (bench.column("state", job), bench.column("waits_for", job)) == ("pending", "breaker_open")


@pytest.mark.parametrize("instant", INSTANTS)
def test_jobs_are_handed_out_repeated_and_parked(world: World, instant: str) -> None:
    sender = FakeSender()
    publisher = Publisher(world.database, sender, JobSettings())
    jobs = [make_job(world.database) for _ in range(2)]
    world.sql("update jobs set due_at = %s where id = %s", instant, jobs[0])
    handed_out = publisher.hand_out(Queue.ANALYSIS)
    assert handed_out == (1 if instant in LATE else 2)
    assert {envelope.delay_s for envelope in sender.sent[Queue.ANALYSIS]} == {0}
    world.sql(
        "update jobs set state = 'failed', finished_at = now(), park_id = %s, due_at = %s where id = %s",
        new_id(), instant, jobs[0],
    )  # fmt: skip
    with world.database.transaction() as connection:
        parked = outbox_store.to_park_one(connection, jobs[0])
    assert [abs(job.wait_s) < 10**12 for job in parked] == [True]
    assert publisher.park(parked) == 1


@pytest.mark.parametrize("instant", LATE)
def test_a_provider_may_be_paused_for_ever(database: Database, instant: str) -> None:
    with database.transaction() as connection:
        connection.execute("insert into provider_pauses values ('embedding', %s)", [instant])
        paused_s = spending_store.paused_s(connection, "embedding")
    assert timedelta(seconds=paused_s or 0) > timedelta(days=365 * 300)


@pytest.mark.parametrize("column", ["next_at", "blocked_until"])
@pytest.mark.parametrize("instant", INSTANTS)
def test_who_asks_a_host_is_told_a_wait(database: Database, column: str, instant: str) -> None:
    with database.transaction() as connection:
        connection.execute(
            f"insert into fetch_hosts (scope, updated_at, {column}) values ('feeds.example', now(), %s)", [instant]
        )
        taken = pacing_store.take(connection, HOST, new_id(), wait_s=0)
        turn = pacing_store.stand_in_line(connection, HOST, new_id())
        owed_s = pacing_store.owe(connection, HOST, new_id(), wait_s=0, known=True)
    assert (taken.left_s is None) == (instant in LATE)
    assert (timedelta(seconds=turn.wait_s) > timedelta(days=365 * 300)) == (instant in LATE)
    assert owed_s is None or timedelta(seconds=owed_s)


@pytest.mark.parametrize("instant", LATE)
def test_who_asked_for_mails_in_a_time_to_come_is_told_a_wait(database: Database, instant: str) -> None:
    with database.transaction() as connection:
        user_id, address_id = make_user(connection), new_id()
        connection.execute(
            "insert into mail_addresses (id, user_id, address, token) values (%s, %s, 'ada@news.example', 'x')",
            [address_id, user_id],
        )
        connection.execute("insert into mail_asks values (%s, 'b@news.example', %s, %s)", [new_id(), user_id, instant])
        wait_s = mail_address_store.claim(connection, address_id, asks_per_day=1)
    assert isinstance(wait_s, float)
    assert timedelta(seconds=wait_s) > timedelta(days=365 * 300)


@pytest.mark.parametrize("instant", LATE)
def test_what_was_starred_in_a_time_to_come_has_an_age(database: Database, instant: str) -> None:
    with database.transaction() as connection:
        user_id, content_id = make_user(connection), make_content(connection, status="READY")
        embed(connection, content_id, vector("solar"), MODEL)
        make_item(connection, user_id, content_id)
        connection.execute("update items set starred_at = %s", [instant])
        found = scores_store.evidence(connection, user_id, MODEL, window=timedelta(days=30), liked_max=10, held_max=10)
    assert [one.age_s < -LONG_S and one.age_s > -(10**12) for one in found.liked] == [True]
