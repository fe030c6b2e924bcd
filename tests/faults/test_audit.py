"""The audit can fail: each rule finds the violation that is planted for it, and nothing in a sound database."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from siftline.contracts import JobType, Queue
from siftline.jobs import lease_store
from siftline.jobs.job_model import ClaimedJob
from siftline.kit.db import Connection, Database
from siftline.kit.errors import PermanentError
from siftline.kit.ids import new_id
from tests.factories import make_content, make_item, make_job, make_source, make_user
from tests.faults.audit import restless, violations

QUIET_S, AWAY_S = 2.0, 5.0


def found(connection: Connection, depths: dict[Queue, int] | None = None, **more: Any) -> list[str]:
    return violations(connection, depths or {}, quiet_s=QUIET_S, away_s=AWAY_S, **more)


class Sound:
    """One job and its content in each sound state, and what a test breaks of it."""

    def __init__(self, database: Database) -> None:
        self.pending = make_job(database)
        self.held = self._claim(database)
        self.done = self._claim(database)
        self.failed = self._claim(database)
        with database.transaction() as connection:
            self.user = make_user(connection)
            self.source = make_source(connection)
            self.content = make_content(connection, status="READY")
            make_item(connection, self.user, self.content)
            lease_store.completing(connection, self.done, {}, 1)()
            connection.execute("update contents set status = 'READY' where id = %s", (self.done.subject_id,))
            connection.execute(
                "insert into derivations (content_id, kind, model_id, model_version, input_sha256)"
                " values (%s, 'language', 'm', '1', '')",
                (self.done.subject_id,),
            )
            gone = PermanentError("The page is gone.", code="gone")
            lease_store.fail(connection, self.failed, gone, duration_ms=1, park_id=None)

    def _claim(self, database: Database) -> ClaimedJob:
        job_id = make_job(database)
        with database.transaction() as connection:
            job = lease_store.claim(connection, job_id, JobType.ANALYZE_CONTENT, lease_s=60, grace_s=1)
        assert job is not None
        return job


@pytest.fixture
def sound(database: Database) -> Sound:
    return Sound(database)


@pytest.fixture
def connection(database: Database, sound: Sound) -> Iterator[Connection]:
    with database.transaction() as connection:
        yield connection


def test_a_sound_database_breaks_no_rule(connection: Connection) -> None:
    assert found(connection) == []
    assert sorted(restless(connection)) == ["analyze_content pending", "analyze_content processing"]


PENDING = "update jobs set {} where id = %(pending)s"
PLANTED = {
    "I1 can never": [PENDING.format("attempts = max_attempts")],
    "I1 its lease ran out": ["update jobs set lease_until = now() - interval '6 s' where id = %(held)s"],
    "I1 its lease never": ["update jobs set lease_until = 'infinity' where id = %(held)s"],
    "I1 is due at no": [PENDING.format("due_at = 'infinity'")],
    "I1 is due and nobody": [PENDING.format("due_at = now() - interval '6 s'")],
    "I1 its message is gone": [
        PENDING.format("published_at = now() - interval '8 s', publish_count = 1, due_at = now() - interval '1 h'")
    ],
    "I1 failed for good": [
        "update jobs set park_id = gen_random_uuid(), finished_at = now() - interval '6 s' where id = %(failed)s"
    ],
    "I2 an accepted": ["update contents set status = 'PENDING' where id = %(content)s"],
    "I2 failed and": ["update contents set error_detail = null where id = %(failed_content)s"],
    "I2 READY after": ["delete from derivations where content_id = %(done_content)s"],
    "I3 one page under": [
        "alter table contents drop constraint contents_url_key_key",
        """insert into contents (id, url_key, url, status)
           select gen_random_uuid(), url_key, url, 'READY' from contents where id = %(content)s""",
    ],
    "I3 one page held": [
        "alter table items drop constraint items_user_id_content_id_key cascade",
        "insert into items (id, user_id, content_id) values (gen_random_uuid(), %(user)s, %(content)s)",
    ],
    "I3 completed more": ["insert into job_events (job_id, event, attempt) values (%(done)s, 'completed', 1)"],
    "I3 two live": [
        "drop index jobs_one_live",
        """insert into jobs (id, job_type, queue, subject_id, group_key)
           select gen_random_uuid(), job_type, queue, subject_id, group_key from jobs where id = %(pending)s""",
    ],
    "I3 a balance": ["update users set credits = 1 where id = %(user)s"],
    "I3 a credit is reserved": ["update credit_entries set state = 'reserved', settled_at = null"],
    "I3 a finished analysis": ["update credit_entries set state = 'released' where job_id = %(done)s"],
    "I4 went on": ["insert into job_events (job_id, event, attempt) values (%(done)s, 'claimed', 2)"],
    "I4 its state": ["update jobs set state = 'pending', finished_at = null where id = %(done)s"],
    "I5 the content says": ["update contents set status = 'READY' where id = %(pending_content)s"],
    "I5 the content failed": ["update jobs set error_code = 'another' where id = %(failed)s"],
    "I5 the source's": ["update sources set fetch_status = 'FETCHING'"],
}


@pytest.mark.parametrize("rule", PLANTED)
def test_a_planted_violation_is_found(connection: Connection, sound: Sound, rule: str) -> None:
    [(subject,)] = connection.execute("select subject_id from jobs where id = %s", (sound.pending,)).fetchall()
    values = {
        "pending": sound.pending,
        "pending_content": subject,
        "held": sound.held.id,
        "done": sound.done.id,
        "done_content": sound.done.subject_id,
        "failed": sound.failed.id,
        "failed_content": sound.failed.subject_id,
        "user": sound.user,
        "content": sound.content,
    }
    with connection.transaction(force_rollback=True):
        for statement in PLANTED[rule]:
            connection.execute(statement, values)
        assert rule in " | ".join(found(connection))


def test_a_late_job_of_a_queue_that_still_holds_messages_is_on_its_way(connection: Connection, sound: Sound) -> None:
    connection.execute("update jobs set due_at = now() - interval '1 h' where id = %s", (sound.pending,))
    assert found(connection, {Queue.ANALYSIS: 1}) == []
    assert found(connection, {Queue.ANALYSIS: 0}) != []


def test_a_redrive_may_follow_an_end(connection: Connection, sound: Sound) -> None:
    connection.execute(
        "insert into job_events (job_id, event, attempt) values (%s, 'redriven', 0), (%s, 'failed', 1)",
        (sound.failed.id, sound.failed.id),
    )
    assert found(connection) == []


def test_vectors_are_those_of_the_analysed_contents(connection: Connection, sound: Sound) -> None:
    one, other = (np.array(values, "<f4") for values in ((1, 0), (0, 1)))
    connection.execute(
        """insert into embeddings (content_id, model_version, dimensions, vector, indexed_at)
           values (%s, 'm', 2, %b, now())""",
        (sound.content, one.tobytes()),
    )
    ghost = new_id()
    assert found(connection, vectors={"m": {sound.content: one}}) == []
    assert found(connection, vectors={"m": {ghost: one}}) == [
        f"I3 no vector is found for the content: {sound.content}",
        f"I3 a vector of no analysed content: {ghost}",
    ]
    assert found(connection, vectors={"m": {sound.content: other}}) == [
        f"I3 the vector found is that of another text: {sound.content}"
    ]
