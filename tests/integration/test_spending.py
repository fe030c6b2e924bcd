"""Money of a day, in PostgreSQL: what is set aside, what it cost in the end, and that no crowd passes a cap."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from typing import Any
from uuid import UUID

import pytest

from siftline.kit.db import Database, Pool
from siftline.kit.ids import new_id
from siftline.models import spending_store
from siftline.models.spending_store import Cap, Caps, Spending
from tests.factories import make_content, make_item, make_job, make_user

DAY = date(2026, 3, 2)
DOLLAR = 1_000_000
THREADS = 16


def spending(micro_usd: int = 300, **more: Any) -> Spending:
    made = Spending(new_id(), "llm", DAY, new_id(), micro_usd, "small-model")
    return replace(made, **more)


def reserve(database: Database, one: Spending, caps: Caps) -> Cap | None:
    with database.transaction() as connection:
        return spending_store.reserve(connection, one, caps)


def settle(database: Database, id_: UUID, micro_usd: int) -> None:
    with database.transaction() as connection:
        spending_store.settle(connection, id_, micro_usd)


def days(database: Database) -> dict[UUID | None, int]:
    with database.transaction() as connection:
        return dict(connection.execute("select user_id, micro_usd from spending_days").fetchall())


def spent(database: Database, user_id: UUID | None = None) -> int:
    with database.transaction() as connection:
        [(found,)] = connection.execute(
            "select coalesce(sum(micro_usd), 0)::int8 from spendings"
            " where state <> 'released' and (%(user_id)s::uuid is null or user_id = %(user_id)s)",
            {"user_id": user_id},
        ).fetchall()
    return int(found)


@pytest.fixture
def crowd(database_url: str) -> Iterator[Database]:
    """As many connections as there are threads."""
    pool = Pool(database_url, size=10)
    yield pool
    pool.close()


def test_a_thousand_at_once_spend_no_cent_more_than_the_cap(crowd: Database) -> None:
    """1,000 calls that set aside 3,000 and cost 1,300 to 3,000 each, 16 at a time, under a cap of one dollar."""

    def call(place: int) -> int | None:
        one = spending(3_000)
        if reserve(crowd, one, Caps(DOLLAR)) is not None:
            return None
        cost = random.Random(place).randint(1_300, 3_000)
        settle(crowd, one.id, cost)
        return cost

    with ThreadPoolExecutor(THREADS) as threads:
        costs = [cost for cost in threads.map(call, range(1_000)) if cost is not None]

    assert sum(costs) == spent(crowd) == days(crowd)[None]
    assert DOLLAR - 3_000 - THREADS * 3_000 <= sum(costs) <= DOLLAR
    assert len(costs) < 1_000


def test_a_users_cap_stops_that_user_alone(crowd: Database) -> None:
    with crowd.transaction() as connection:
        users = [make_user(connection) for _ in range(2)]

    def call(place: int) -> Cap | None:
        return reserve(crowd, spending(1_000, user_id=users[place % 3 > 0]), Caps(DOLLAR, 50_000))

    with ThreadPoolExecutor(THREADS) as threads:
        refused = list(threads.map(call, range(120)))

    assert refused.count(Cap.USER) == 30
    assert {user: spent(crowd, user) for user in users} == {users[0]: 40_000, users[1]: 50_000}
    assert days(crowd) == {None: 90_000, users[0]: 40_000, users[1]: 50_000}


def test_what_is_left_of_the_days_cap_can_still_be_had(database: Database) -> None:
    caps = Caps(1_000)
    first = spending(700)
    assert reserve(database, first, caps) is None
    assert reserve(database, spending(301), caps) is Cap.ALL
    assert reserve(database, spending(300), caps) is None
    settle(database, first.id, 200)
    assert reserve(database, spending(500), caps) is None
    assert reserve(database, spending(1), caps) is Cap.ALL
    assert reserve(database, spending(1, day=date(2026, 3, 3)), caps) is None
    assert reserve(database, spending(1, kind="transcription"), caps) is None


def test_what_is_given_back_or_settled_twice_counts_once(database: Database) -> None:
    kept, given = spending(600), spending(400)
    for one in (kept, given):
        assert reserve(database, one, Caps(1_000)) is None
    with database.transaction() as connection:
        for _ in range(2):
            spending_store.release(connection, given.id)
            spending_store.settle(connection, kept.id, 650, tokens_in=10, tokens_out=2)
            spending_store.settle(connection, given.id, 400)
    assert (spent(database), days(database)[None]) == (650, 650)


def test_an_answer_that_was_lost_is_counted_for_its_content_and_its_job(database: Database) -> None:
    lost = spending(job_id=new_id())
    reserve(database, lost, Caps(DOLLAR))
    with database.transaction() as connection:

        def unsettled(job_id: UUID | None) -> int:
            return spending_store.unsettled(connection, kind="llm", subject_id=lost.subject_id, job_id=job_id)

        assert [unsettled(None), unsettled(lost.job_id), unsettled(new_id())] == [1, 1, 0]
        spending_store.settle(connection, lost.id, 1)
        assert unsettled(None) == 0


def test_who_pays_is_whose_credit_the_job_took_and_else_who_saved_it(database: Database) -> None:
    with database.transaction() as connection:
        saver, asker = make_user(connection), make_user(connection)
        content_id = make_content(connection)
        make_item(connection, saver, content_id)
        make_item(connection, asker, content_id)
        orphan = make_content(connection)
    job_id = make_job(database, subject_id=content_id, group_key=f"user:{asker}")
    with database.transaction() as connection:
        assert spending_store.payer(connection, content_id=content_id, job_id=job_id) == asker
        assert spending_store.payer(connection, content_id=content_id, job_id=new_id()) == saver
        assert spending_store.payer(connection, content_id=orphan, job_id=new_id()) is None


def test_a_user_who_is_deleted_takes_their_days_along_and_leaves_the_sum(database: Database) -> None:
    with database.transaction() as connection:
        user_id = make_user(connection)
    one = spending(user_id=user_id)
    reserve(database, one, Caps(DOLLAR, DOLLAR))
    with database.transaction() as connection:
        connection.execute("delete from users where id = %s", (user_id,))
    settle(database, one.id, 100)
    assert days(database) == {None: 100}
