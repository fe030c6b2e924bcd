"""Ticks on a real PostgreSQL: what is due is enqueued once, a deep queue is left alone, old rows go."""

from typing import Any
from uuid import UUID

import pytest

from siftline.contracts import JobType, Queue, Tick
from siftline.jobs import lease_store
from siftline.kit.db import Connection, Database
from siftline.kit.ids import new_id
from tests.factories import make_content, make_item, make_job, make_source, make_user
from tests.ticks import make_schedule


def subscribe(connection: Connection, source_id: UUID) -> None:
    connection.execute(
        "insert into subscriptions (id, user_id, source_id) values (%s, %s, %s)",
        (new_id(), make_user(connection), source_id),
    )


def one(database: Database, query: str) -> Any:
    with database.transaction() as connection:
        [(value,)] = connection.execute(query).fetchall()
    return value


def test_a_due_subscribed_source_is_polled_once_until_its_job_ends(database: Database) -> None:
    with database.transaction() as connection:
        due = make_source(connection, url="https://feeds.example/a.xml")
        later = make_source(connection)
        inactive = make_source(connection, health="inactive")
        make_source(connection)  # it has no followers
        for source_id in (due, later, inactive):
            subscribe(connection, source_id)
        connection.execute("update sources set next_fetch_at = now() + interval '1 h' where id = %s", (later,))
    schedule, sender = make_schedule(database)
    assert schedule.run(Tick.DUE_SOURCES) == {"enqueued": 1}
    assert schedule.run(Tick.DUE_SOURCES) == {"enqueued": 0}
    (sent,) = sender.sent[Queue.FETCH]
    follower = one(database, f"select user_id from subscriptions where source_id = '{due}'")
    assert (str(due) in sent.body, sent.group) == (True, f"user:{follower}")
    assert one(database, f"select fetch_status from sources where id = '{due}'") == "QUEUED"


def test_a_deep_queue_gets_nothing_more_and_the_rows_stay_as_they_are(database: Database) -> None:
    with database.transaction() as connection:
        source_id = make_source(connection)
        subscribe(connection, source_id)
    schedule, sender = make_schedule(database, depth=1_000)
    assert schedule.run(Tick.DUE_SOURCES) == {"enqueued": 0}
    assert schedule.run(Tick.CLUSTERINGS) == {"enqueued": 0}
    assert sender.sent == {}
    assert one(database, "select fetch_status from sources") == "IDLE"


def test_users_with_vectors_that_no_clustering_saw_are_clustered(database: Database) -> None:
    with database.transaction() as connection:
        fresh, seen, empty = (make_user(connection) for _ in range(3))
        for user_id in (fresh, seen):
            content = make_content(connection)
            make_item(connection, user_id, content)
            connection.execute(
                "insert into embeddings (content_id, model_version, dimensions, vector) values (%s, 'm', 1, %s)",
                (content, b"\0\0\x80\x3f"),
            )
        connection.execute(
            "insert into cluster_runs (id, user_id, model_version, parameters, quality, contents, made_at)"
            " values (%s, %s, 'm', '{}', '{}', 1, now() + interval '1 s')",
            (new_id(), seen),
        )
    schedule, sender = make_schedule(database)
    assert schedule.run(Tick.CLUSTERINGS) == {"enqueued": 1}
    assert str(fresh) in sender.sent[Queue.CLUSTERING][0].body
    assert str(empty) not in sender.sent[Queue.CLUSTERING][0].body


def test_clean_up_takes_old_finished_jobs_and_keys_and_asks_for_ghosts(database: Database) -> None:
    old, young = make_job(database), make_job(database)
    with database.transaction() as connection:
        for job_id in (old, young):
            job = lease_store.claim(connection, job_id, JobType.ANALYZE_CONTENT, lease_s=60, grace_s=1)
            assert job is not None
            lease_store.completing(connection, job, {}, 1)()
        connection.execute("update jobs set finished_at = now() - interval '8 days' where id = %s", (old,))
        user_id = make_user(connection)
        for key, age in (("old", "2 days"), ("young", "1 h")):
            connection.execute(
                "insert into idempotency_keys (user_id, key, request_sha256, item_id, created_at)"
                f" values (%s, %s, '', %s, now() - interval '{age}')",
                (user_id, key, new_id()),
            )
        connection.execute(
            "insert into request_counts (token_id, minute, taken)"
            " select gen_random_uuid(), extract(epoch from now() - age) / 60, 1"
            " from unnest(array['2 days', '1 hour']::interval[]) as old (age)"
        )
        for host, age in (("old.example", "8 days"), ("young.example", "6 days")):
            connection.execute(
                "insert into fetch_hosts (scope, updated_at) values (%s, now() - %s::interval)", (host, age)
            )
    schedule, _ = make_schedule(database, ghosts=3)
    assert schedule.run(Tick.CLEAN_UP) == {
        "jobs": 1,
        "idempotency_keys": 1,
        "request_counts": 1,
        "hosts": 1,
        "entities": 0,
        "set_aside": 0,
        "ghost_vectors": 3,
    }
    assert one(database, "select id from jobs") == young
    assert one(database, "select key from idempotency_keys") == "young"
    assert one(database, "select count(*) from request_counts") == 1
    assert one(database, "select scope from fetch_hosts") == "young.example"


@pytest.mark.parametrize("tick", list(Tick))
def test_every_tick_runs_on_an_empty_house(database: Database, tick: Tick) -> None:
    schedule, _ = make_schedule(database)
    assert set(schedule.run(tick).values()) == {0}


def test_an_extra_run_hands_a_deep_queue_up_to_twice_its_cap_and_leaves_the_others(database: Database) -> None:
    for _ in range(6):
        make_job(database, queue=Queue.ANALYSIS_BACKGROUND)
    make_job(database, job_type=JobType.CLUSTER_USER)
    schedule, sender = make_schedule(database, job_outstanding_max=2, extra_run_pending=5)
    assert schedule.run(Tick.SWEEP)["handed_out"] == 3
    assert schedule.run(Tick.EXTRA_RUN) == {"handed_out": 2}
    assert schedule.run(Tick.EXTRA_RUN) == {"handed_out": 0}
    assert (len(sender.sent[Queue.ANALYSIS_BACKGROUND]), len(sender.sent[Queue.CLUSTERING])) == (4, 1)


def test_an_extra_run_leaves_a_queue_alone_whose_jobs_are_put_off(database: Database) -> None:
    for _ in range(6):
        make_job(database)
    with database.transaction() as connection:
        connection.execute("update jobs set due_at = now() + interval '5 min'")
    schedule, sender = make_schedule(database, extra_run_pending=5)
    assert schedule.run(Tick.EXTRA_RUN) == {"handed_out": 0}
    assert sender.sent == {}


def test_clean_up_forgets_whom_no_text_names_and_nobody_knows(database: Database) -> None:
    names = {"orphan": None, "young": None, "known": "lei:1", "named": None, "asked": None}
    ids = {name: new_id() for name in names}
    with database.transaction() as connection:
        for name, canonical_id in names.items():
            connection.execute(
                "insert into entities (id, kind, name, temporary_id, canonical_id, provider, created_at)"
                " values (%s, 'ORG', %s, %s, %s, %s, now() - %s::interval)",
                (ids[name], name, name, canonical_id, canonical_id and "csv", "1 h" if name == "young" else "2 days"),
            )
            connection.execute(
                "insert into entity_aliases (kind, temporary_id, entity_id, name, normalised)"
                " values ('ORG', %s, %s, %s, %s)",
                (name, ids[name], name, name),
            )
        content_id = make_content(connection)
        connection.execute("insert into content_entities values (%s, %s, 1)", (content_id, ids["named"]))
    make_job(database, job_type=JobType.RESOLVE_ENTITY, subject_id=ids["asked"])
    schedule, _ = make_schedule(database)

    assert schedule.run(Tick.CLEAN_UP)["entities"] == 1
    with database.transaction() as connection:
        left = connection.execute("select name from entities order by name").fetchall()
        aliases = connection.execute("select name from entity_aliases order by name").fetchall()
    assert [name for (name,) in left] == ["asked", "known", "named", "young"]
    assert aliases == left


def test_clean_up_leaves_whom_somebody_is_about_to_name(database: Database) -> None:
    entity_id = new_id()
    with database.transaction() as connection:
        connection.execute(
            "insert into entities (id, kind, name, temporary_id, created_at)"
            " values (%s, 'ORG', 'a', 'a', now() - interval '2 days')",
            (entity_id,),
        )
        connection.execute(
            "insert into entity_aliases (kind, temporary_id, entity_id, name, normalised)"
            " values ('ORG', 'a', %s, 'a', 'a')",
            (entity_id,),
        )
    schedule, _ = make_schedule(database)
    with database.transaction() as naming:
        naming.execute("select from entity_aliases for share")
        assert schedule.run(Tick.CLEAN_UP)["entities"] == 0
    assert schedule.run(Tick.CLEAN_UP)["entities"] == 1
