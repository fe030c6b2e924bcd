"""Jobs of a kind that this code does not know, as a newer release leaves them when it is rolled back.

They are left as they are and rung for; whatever else there is to do is done.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from siftline.contracts import JobType, Priority, Queue, Tick
from siftline.jobs import counts_store, jobs_store, lease_store, outbox_store
from siftline.jobs.dead_letters import DeadLetters, Order
from siftline.jobs.job_model import Done, NewJob
from siftline.jobs.publish import Publisher
from siftline.jobs.statistics import Statistics
from siftline.jobs.sweep import Sweep
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.settings.functions import JobSettings
from tests.api_client import World
from tests.bench import Bench
from tests.factories import make_content, make_item, make_job
from tests.fakes import FakeSender, NoDeadLetters
from tests.ticks import make_schedule

KINDS = {
    "type": ("future_kind", "analysis"),
    "queue": ("analyze_content", "future-queue"),
    "both": ("future_kind", "future-queue"),
}
# What a row of each state looks like an hour after it was left. What was to be parked is so under the job's own id.
LEFT: dict[str, dict[str, Any]] = {
    "pending": {"state": "pending"},
    "handed_out": {"state": "pending", "published_at": "1 h", "publish_count": 1},
    "held_up": {"state": "pending", "waits_for": "breaker_open", "due_at": "-1 h"},
    "lost": {"state": "processing", "attempts": 1, "lease_token": new_id(), "lease_until": "1 h"},
    "lost_for_good": {"state": "processing", "attempts": 4, "lease_token": new_id(), "lease_until": "1 h"},
    "in_work": {"state": "processing", "attempts": 1, "lease_token": new_id(), "lease_until": "-1 h"},
    "to_park": {"state": "failed", "attempts": 4, "finished_at": "1 h", "park_id": None, "error_code": "gone"},
    "parked": {
        "state": "failed", "attempts": 4, "finished_at": "30 d", "park_id": None, "parked_at": "29 d",
        "error_code": "http_503",
    },
    "failed": {"state": "failed", "finished_at": "30 d", "error_code": "gone"},
    "cancelled": {"state": "cancelled", "finished_at": "30 d"},
    "completed": {"state": "completed", "finished_at": "30 d"},
}  # fmt: skip
# Those of them that somebody has to see to.
RUNG_FOR = 7


def leave(database: Database, job_type: str, queue: str, name: str, *, priority: int = 20) -> UUID:
    """Insert a row as a newer release left it."""
    with database.transaction() as connection:
        subject, job_id = make_content(connection), new_id()
        columns: dict[str, Any] = {
            "id": job_id, "job_type": job_type, "queue": queue, "subject_id": subject, "group_key": "user:a",
            "priority": priority, "due_at": "1 h", **LEFT[name],
        }  # fmt: skip
        if "park_id" in columns:
            columns["park_id"] = job_id
        places = [
            f"now() - %({column})s::interval" if column.endswith(("_at", "_until")) else f"%({column})s"
            for column in columns
        ]
        connection.execute(f"insert into jobs ({', '.join(columns)}) values ({', '.join(places)})", columns)
    return job_id


def leave_all(database: Database, kind: str) -> dict[str, UUID]:
    job_type, queue = KINDS[kind]
    return {name: leave(database, job_type, queue, name) for name in LEFT}


def rows(database: Database, ids: Sequence[UUID]) -> list[tuple[Any, ...]]:
    with database.transaction() as connection:
        return connection.execute("select * from jobs where id = any(%s) order by id", [list(ids)]).fetchall()


def rung(caplog: pytest.LogCaptureFixture) -> list[Any]:
    return [record for record in caplog.records if record.getMessage() == "unknown_jobs"]


def figures(capsys: pytest.CaptureFixture[str]) -> list[float]:
    """Return the values of the metric that the alarm watches."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"UnknownJobs":[' in line]
    return [value for line in lines for value in line["UnknownJobs"]]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_sweep_leaves_them_as_they_are_and_does_all_the_rest(
    database: Database, kind: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    left = leave_all(database, kind)
    before = rows(database, list(left.values()))
    ours = {name: leave(database, "analyze_content", "analysis", name, priority=0) for name in LEFT}
    sender, settings = FakeSender(), JobSettings()
    statistics = Statistics(database, {}, SystemClock())
    publisher = Publisher(database, sender, settings)
    swept = Sweep(database, publisher, settings, statistics=statistics).run()
    assert rows(database, list(left.values())) == before
    assert (swept.recovered, swept.failed, swept.parked) == (1, 1, 1)
    sent = {UUID(one.key) for one in sender.sent[Queue.ANALYSIS]}
    assert sent == {ours["pending"], ours["handed_out"], ours["lost"]}
    assert [UUID(one.key) for one in sender.dead[Queue.ANALYSIS]] == [ours["to_park"]]
    assert [(one.levelname, one.job_type, one.queue, one.jobs) for one in rung(caplog)] == [
        ("ERROR", *KINDS[kind], RUNG_FOR)
    ]
    assert figures(capsys) == [RUNG_FOR]


def test_a_sweep_that_finds_none_rings_for_none(
    database: Database, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    make_job(database)
    Statistics(database, {}, SystemClock()).report()
    assert figures(capsys) == [0]
    assert not rung(caplog)


def test_they_fill_no_cap_and_no_share(database: Database) -> None:
    """A thousand messages that a newer release handed out keep nobody's job from being handed out."""
    for _ in range(5):
        leave(database, *KINDS["type"], "handed_out")
    ours = [make_job(database) for _ in range(5)]
    sender = FakeSender()
    publisher = Publisher(database, sender, JobSettings(job_outstanding_max=5, job_tenant_share=5))
    assert publisher.hand_out(Queue.ANALYSIS) == 5
    assert {UUID(one.key) for one in sender.sent[Queue.ANALYSIS]} == set(ours)


def test_they_fill_no_batch(database: Database) -> None:
    """Of each kind of work more stand before ours than one batch takes."""
    for name in ("handed_out", "lost", "to_park", "completed"):
        for _ in range(3):
            leave(database, *KINDS["both"], name)
    ours = {
        name: leave(database, "analyze_content", "analysis", name)
        for name in ("handed_out", "lost", "to_park", "completed")
    }
    with database.transaction() as connection:
        connection.execute("update jobs set finished_at = finished_at - interval '1 d' where job_type = 'future_kind'")
        assert [one.id for one in outbox_store.take_unanswered(connection, quiet_s=1, limit=1)] == [ours["handed_out"]]
        assert [one.id for one in outbox_store.to_park(connection, quiet_s=1, limit=1)] == [ours["to_park"]]
        assert outbox_store.sweep_lost(connection, limit=1).retried == 1
        assert outbox_store.clean_up(connection, age_s=timedelta(days=7).total_seconds(), limit=1) == 1


def test_publishing_claiming_and_ending_leases_leaves_them(database: Database, kind: str) -> None:
    left = leave_all(database, kind)
    before = rows(database, list(left.values()))
    sender = FakeSender()
    publisher = Publisher(database, sender, JobSettings(job_outstanding_max=1))
    assert publisher.publish([left["pending"]]) == 0
    assert publisher.publish(list(left.values())) == 0
    with database.transaction() as connection:
        for job_id in left.values():
            assert lease_store.claim(connection, job_id, JobType.ANALYZE_CONTENT, lease_s=60, grace_s=1) is None
        assert outbox_store.end_leases(connection, datetime.now(UTC)) == 0
        assert outbox_store.lost(connection, datetime.now(UTC)) == 0
    assert rows(database, list(left.values())) == before
    assert not sender.sent


def test_ticks_leave_them_and_go_on(database: Database, kind: str) -> None:
    left = leave_all(database, kind)
    job_type, queue = KINDS[kind]
    more = [leave(database, job_type, queue, "pending") for _ in range(4)]
    before = rows(database, [*left.values(), *more])
    ours = [make_job(database) for _ in range(4)]
    old = leave(database, "analyze_content", "analysis", "completed")
    schedule, sender = make_schedule(database, extra_run_pending=3)
    assert schedule.run(Tick.EXTRA_RUN) == {"handed_out": 4}
    assert {UUID(one.key) for one in sender.sent[Queue.ANALYSIS]} == set(ours)
    assert schedule.run(Tick.CLEAN_UP)["jobs"] == 1
    assert rows(database, [old]) == []
    assert rows(database, [*left.values(), *more]) == before


def test_operators_see_them_and_redrive_the_rest(database: Database, kind: str) -> None:
    left = leave_all(database, kind)
    before = rows(database, list(left.values()))
    ours = leave(database, "analyze_content", "analysis", "parked")
    world = World(database)
    operator = world.user("ops")
    view = operator.get("/v1/ops/queues")
    assert view.status == 200, view.text
    job_type, queue = KINDS[kind]
    assert view.json["unknown_jobs"] == [{"job_type": job_type, "queue": queue, "jobs": RUNG_FOR}]
    letters = operator.get("/v1/ops/dead-letters")
    assert letters.status == 200, letters.text
    causes = {(one["queue"], one["job_type"], one["error_code"]): one for one in letters.json["causes"]}
    assert causes[queue, job_type, "gone"]["redrivable"] == 0
    dead_letters = DeadLetters(database, NoDeadLetters(), lambda _: 0, SystemClock())
    order = Order(Queue.ANALYSIS, limit=1)
    assert (dead_letters.dry_run(order).jobs, dead_letters.dry_run(order).left) == (1, 0)
    assert dead_letters.redrive(order).jobs == 1
    assert [row[0] for row in world.sql("select state from jobs where id = %s", ours)] == ["pending"]
    with database.transaction() as connection:
        assert jobs_store.redrive(connection, left["parked"], left["parked"]) is False
    assert rows(database, list(left.values())) == before


def test_a_timeline_tells_their_steps(database: Database) -> None:
    world = World(database)
    user = world.user()
    job_id = leave(database, *KINDS["both"], "in_work")
    with database.transaction() as connection:
        [(content_id,)] = connection.execute("select subject_id from jobs").fetchall()
        item_id = make_item(connection, user.user_id, content_id)
        connection.execute(
            "insert into job_events (job_id, event, attempt) values (%s, 'enqueued', 0), (%s, 'future_event', 1)",
            (job_id, job_id),
        )
    timeline = user.get(f"/v1/items/{item_id}/timeline")
    assert timeline.status == 200, timeline.text
    assert [(one["job_type"], one["event"]) for one in timeline.json["steps"]] == [
        ("future_kind", "enqueued"), ("future_kind", "future_event"),
    ]  # fmt: skip
    assert user.get(f"/v1/items/{item_id}").status == 200


def test_what_is_asked_for_again_leaves_a_queue_that_nobody_here_works_off(database: Database) -> None:
    """A page that a person saves must not wait until a newer release comes back."""
    job_id = leave(database, "analyze_content", "future-queue", "handed_out", priority=20)
    with database.transaction() as connection:
        [(subject_id,)] = connection.execute("select subject_id from jobs").fetchall()
        ids = jobs_store.enqueue(
            connection, [NewJob(JobType.ANALYZE_CONTENT, subject_id, "user:b", priority=Priority.SAVED)]
        )
    sender = FakeSender()
    assert ids == [job_id]
    assert Publisher(database, sender, JobSettings()).publish(ids) == 1
    assert [UUID(one.key) for one in sender.sent[Queue.ANALYSIS]] == [job_id]


@pytest.mark.parametrize("name", ["handed_out", "in_work", "completed"])
def test_a_message_whose_job_has_its_row_is_acknowledged_and_its_row_left(database: Database, name: str) -> None:
    """The newer release sends it again: it is a knock, and the row is what counts."""
    bench = Bench(database, lambda _: Done())
    job_id = leave(database, *KINDS["type"], name)
    before = rows(database, [job_id])
    assert bench.knock({"job_type": "future_kind", "job_id": job_id, "future_id": new_id()}) == []
    assert rows(database, [job_id]) == before
    assert not bench.sender.dead


@pytest.mark.parametrize(
    "message",
    [
        {"job_type": "future_kind", "future_id": str(new_id())},
        {"job_type": "future_kind", "job_id": str(new_id()), "future_id": str(new_id())},
        {"job_type": "future_kind", "job_id": "7"},
    ],
    ids=["no_job", "no_row", "no_id"],
)
def test_a_message_that_no_row_stands_for_is_parked_whole(database: Database, message: dict[str, str]) -> None:
    bench = Bench(database, lambda _: Done())
    assert bench.knock(message) == []
    (dead,) = bench.sender.dead[Queue.ANALYSIS]
    assert json.loads(dead.body) == message
    (attributes,) = bench.sender.parked_attributes(Queue.ANALYSIS)
    assert "future_kind" in attributes["error_detail"]


def test_a_message_that_asks_for_a_parked_job_is_parked_again(database: Database) -> None:
    """Acknowledged, the wish would be lost: nothing repeats it."""
    bench = Bench(database, lambda _: Done())
    job_id = leave(database, *KINDS["type"], "parked")
    message = {"job_type": "future_kind", "job_id": str(job_id), "park_id": str(job_id)}
    assert bench.knock(message) == []
    assert [json.loads(one.body) for one in bench.sender.dead[Queue.ANALYSIS]] == [message]


def test_the_counts_of_operators_hold_them_apart_from_what_is_known(database: Database) -> None:
    leave(database, *KINDS["type"], "pending")
    leave(database, *KINDS["queue"], "lost")
    leave(database, *KINDS["both"], "to_park")
    make_job(database)
    with database.transaction() as connection:
        counts_store.fold(connection)
        assert [(one.job_type, one.queue, one.jobs) for one in counts_store.unknown(connection)] == [
            ("analyze_content", "future-queue", 1),
            ("future_kind", "analysis", 1),
            ("future_kind", "future-queue", 1),
        ]
