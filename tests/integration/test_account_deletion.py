"""Who wants to be gone is gone: what only they held goes, and nothing that others share tells of them."""

import pytest

from siftline.api.http.authorize import Authorizer
from siftline.jobs import deletions
from siftline.jobs.job_model import ClaimedJob, Done
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.operate.user_command import delete_user, make_user
from tests.accounts import MARKS, Household, filled, household, own_ids, tables, traces
from tests.api_client import World
from tests.bench import Bench
from tests.credits import credit_violations
from tests.factories import make_content, make_item, make_job
from tests.ticks import make_schedule

# What holds nothing of a person's: of organisations, hosts, models, runs and counts.
OTHERS = {
    "breakers", "content_entities", "content_revisions", "content_signatures", "embedding_refusals", "entities",
    "entity_aliases", "fetch_hosts", "fetch_turns", "job_tallies", "llm_replies", "provider_pauses",
    "provider_requests", "reading_profile", "reprocess_contents", "reprocess_runs", "topic_means", "topic_set_vectors",
    "transcripts", "unindexed", "user_deletions",
}  # fmt: skip


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


@pytest.fixture
def home(world: World) -> Household:
    return household(world)


def test_nothing_of_a_deleted_user_is_left_in_any_column_of_any_table(world: World, home: Household) -> None:
    with world.database.transaction() as connection:
        # A new table is filled here, or is said to hold nothing of a person's.
        assert set(tables(connection)) - filled(connection) - OTHERS == set()
        ids = own_ids(connection, home.ada.user_id)
        assert {mark for mark in MARKS if not traces(connection, [mark])} == set()
    assert delete_user(world.database, home.ada.user_id)
    with world.database.transaction() as connection:
        assert traces(connection, [*MARKS, *ids]) == []
        assert credit_violations(connection) == []


def test_what_others_share_stays_theirs(world: World, home: Household) -> None:
    before = world.sql("select id, url, text from contents where id = %s", home.shared_page)
    assert delete_user(world.database, home.ada.user_id)
    assert world.sql("select id, url, text from contents where id = %s", home.shared_page) == before
    [item] = home.neighbour.get("/v1/items").json["items"]
    assert item["content_id"] == str(home.shared_page)
    [source] = home.neighbour.get("/v1/sources").json["items"]
    assert source["id"] == str(home.shared_feed)
    # Her wish, every five minutes, counts no longer.
    assert source["refresh_minutes"] == 60
    assert world.sql("select count(*) from jobs where subject_id = %s and state = 'pending'", home.shared_page) == [
        (1,)
    ]
    assert {key for (key,) in world.sql("select group_key from jobs")} <= {
        f"user:{home.neighbour.user_id}",
        *(f"subject:{id_}" for (id_,) in world.sql("select id from contents")),
        *(f"source:{id_}" for (id_,) in world.sql("select id from sources")),
    }


def test_what_only_they_held_goes_with_its_vector_and_is_polled_no_more(world: World, home: Household) -> None:
    assert delete_user(world.database, home.ada.user_id)
    assert world.sql("select 1 from contents where id = %s", home.own_page) == []
    assert world.sql("select 1 from embeddings where content_id = %s", home.own_page) == []
    assert world.sql("select content_id from unindexed") == [(home.own_page,)]
    assert [id_ for (id_,) in world.sql("select id from sources")] == [home.shared_feed]


def test_the_books_keep_their_sums(world: World, home: Household) -> None:
    sums = "select sum(amount) from credit_entries where state <> 'released'"
    before = world.sql(sums), world.sql("select sum(micro_usd) from spendings")
    assert delete_user(world.database, home.ada.user_id)
    assert (world.sql(sums), world.sql("select sum(micro_usd) from spendings")) == before
    assert world.sql("select user_id, micro_usd from spending_days") == [(None, 700)]


def test_a_user_deletes_themselves_by_their_name_and_the_background_does_the_rest(
    world: World, home: Household
) -> None:
    ada = home.ada
    for body in ({}, {"name": "adalovelace"}, {"name": "Neighbour"}):
        assert ada.send("DELETE", "/v1/me", body=body).status == 422
    assert world.client(ada.user_id, "write").send("DELETE", "/v1/me", body={"name": "Adalovelace"}).status == 403
    assert world.client(ada.user_id, "read").send("DELETE", "/v1/me", body={"name": "Adalovelace"}).status == 403
    assert world.sql("select 1 from user_deletions") == []
    answered = ada.send("DELETE", "/v1/me", body={"name": "Adalovelace"})
    assert (answered.status, answered.json) == (202, {"status": "DELETING"})
    # At once: no token, no name, no live job of theirs.
    assert world.sql("select 1 from access_tokens where user_id = %s", ada.user_id) == []
    assert world.sql("select 1 from feed_tokens where user_id = %s", ada.user_id) == []
    assert world.user(name="Adalovelace")
    assert world.sql("select 1 from users where id = %s", ada.user_id) == [(1,)]
    schedule, _ = make_schedule(world.database)
    assert schedule.background()["deleted_users"] > 0
    assert world.sql("select 1 from users where id = %s", ada.user_id) == []
    assert world.sql("select 1 from user_deletions") == []


def test_the_token_that_asked_is_dead_at_once(database: Database) -> None:
    made = make_user(database, "Ada")
    with database.transaction() as connection:
        deletions.begin(connection, made.id)
    assert Authorizer(database).identify(f"Bearer {made.token}") is None


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/items", {"url": "https://pages.example/late"}),
        ("POST", "/v1/folders", {"name": "Late"}),
        ("POST", "/v1/sources", {"url": "https://feeds.example/late.xml"}),
        ("PATCH", "/v1/me", {"name": "Adalovelace"}),
        ("DELETE", "/v1/me", {"name": "Adalovelace"}),
        ("POST", "/v1/tokens", {"name": "late", "scopes": ["read"]}),
    ],
)
def test_who_is_being_deleted_changes_nothing_though_the_gateway_lets_them_in(
    world: World, home: Household, method: str, path: str, body: dict[str, object]
) -> None:
    """The gateway keeps an authorizer's answer for a minute: who asks meanwhile is still taken for the user."""
    assert home.ada.send("DELETE", "/v1/me", body={"name": "Adalovelace"}).status == 202
    answer = home.ada.send(method, path, body=body)
    assert (answer.status, answer.code) == (403, "unknown_user")
    assert world.sql("select 1 from users where id = %s and name like 'deleted %%'", home.ada.user_id)
    assert home.neighbour.post("/v1/folders", {"name": "Mine"}).status == 201


def test_what_comes_in_while_a_user_is_deleted_goes_too(world: World, home: Household) -> None:
    """What was let in just before the account was given up is written after it."""
    home.ada._api._limit = None
    with world.database.transaction() as connection:
        deletions.begin(connection, home.ada.user_id)
    while deletions.work_on(world.database, home.ada.user_id):
        left = world.sql("select 1 from items where user_id = %s", home.ada.user_id)
        if not left:
            break
    assert home.ada.post("/v1/items", {"url": "https://pages.example/late"}).status == 202
    assert home.ada.post("/v1/sources", {"url": "https://feeds.example/late.xml"}).status in {201, 202}
    assert delete_user(world.database, home.ada.user_id)
    assert world.sql("select 1 from contents where url like '%%late%%'") == []
    assert world.sql("select 1 from sources where url like '%%late%%'") == []
    assert world.sql("select 1 from jobs where group_key like %s", f"%{home.ada.user_id}") == []


def test_a_page_in_work_is_waited_for_and_leaves_no_trace(world: World, home: Household, database: Database) -> None:
    """Whose page somebody else holds too is read on in the user's turn: until then the user's id is needed."""
    [(job_id,)] = world.sql("select id from jobs where subject_id = %s and state = 'pending'", home.shared_page)
    world.sql("update jobs set group_key = %s where id = %s", f"user:{home.ada.user_id}", job_id)
    world.sql(
        "update jobs set state = 'processing', lease_token = gen_random_uuid(), lease_until = now() + interval '1 h',"
        " claimed_at = now() where id = %s",
        job_id,
    )
    assert not delete_user(database, home.ada.user_id)
    assert world.sql("select 1 from users where id = %s and name like 'deleted %%'", home.ada.user_id)
    world.sql(
        "update jobs set state = 'completed', lease_token = null, lease_until = null, finished_at = now()"
        " where id = %s",
        job_id,
    )
    while deletions.work(database):
        pass
    assert world.sql("select 1 from users where id = %s", home.ada.user_id) == []
    assert world.sql("select group_key from jobs where id = %s", job_id) == [(f"subject:{home.shared_page}",)]


@pytest.mark.parametrize("column", ["group_key", "again_for"])
@pytest.mark.parametrize(("job_type", "queue"), [("future_kind", "analysis"), ("analyze_content", "future-queue")])
def test_a_job_of_an_unknown_kind_holds_nobody_once_its_lease_has_run_out(
    world: World, home: Household, database: Database, column: str, job_type: str, queue: str
) -> None:
    """As a newer release leaves it when it is rolled back: nobody here ends its lease."""
    job_id, subject = new_id(), new_id()
    named = {"group_key": f"subject:{subject}", "again_for": None, column: f"user:{home.ada.user_id}"}
    world.sql(
        "insert into jobs (id, job_type, queue, subject_id, group_key, again_for, state, attempts, lease_token,"
        " lease_until) values (%s, %s, %s, %s, %s, %s, 'processing', 1, gen_random_uuid(), now() + interval '1 h')",
        *(job_id, job_type, queue, subject, named["group_key"], named["again_for"]),
    )
    assert not delete_user(database, home.ada.user_id)
    world.sql("update jobs set lease_until = now() - interval '1 s' where id = %s", job_id)
    while deletions.work(database):
        pass
    assert world.sql("select 1 from users where id = %s", home.ada.user_id) == []
    left = (
        "select job_type, queue, state, attempts, group_key, again_for from jobs where id = %s and lease_until < now()"
    )
    assert world.sql(left, job_id) == [(job_type, queue, "processing", 1, f"subject:{subject}", None)]


def test_a_lease_that_ran_out_is_waited_for_where_somebody_ends_it(world: World, home: Household) -> None:
    """A worker that lives may still spend in the user's name."""
    world.sql(
        "update jobs set group_key = %s, state = 'processing', attempts = 1, lease_token = gen_random_uuid(),"
        " lease_until = now() - interval '1 s' where subject_id = %s and state = 'pending'",
        *(f"user:{home.ada.user_id}", home.shared_page),
    )
    assert not delete_user(world.database, home.ada.user_id)
    world.sql("update jobs set state = 'pending', lease_token = null, lease_until = null where state = 'processing'")
    while deletions.work(world.database):
        pass
    assert world.sql("select 1 from users where id = %s", home.ada.user_id) == []


def test_no_name_that_somebody_else_took_stands_in_the_way(world: World) -> None:
    victim = world.user()
    other = world.user(name=f"deleted {victim.user_id}")
    [(name,)] = world.sql("select name from users where id = %s", victim.user_id)
    answered = victim.send("DELETE", "/v1/me", body={"name": name})
    assert answered.status == 202, answered.text
    assert delete_user(world.database, victim.user_id)
    assert world.sql("select id, name from users") == [(other.user_id, f"deleted {victim.user_id}")]


def test_the_job_of_a_page_that_goes_is_cancelled_under_its_worker(database: Database) -> None:
    world = World(database)
    user = world.user()

    def work(_: ClaimedJob) -> Done:
        delete_user(database, user.user_id)
        return Done()

    with database.transaction() as connection:
        content_id = make_content(connection, status="PENDING")
        make_item(connection, user.user_id, content_id)
    bench = Bench(database, work)
    job_id = make_job(database, subject_id=content_id, group_key=f"user:{user.user_id}")
    assert bench.knock(bench.message(job_id)) == []
    assert world.sql("select id from jobs union select id from users union select id from contents") == []


def test_a_large_account_goes_in_many_short_transactions(database: Database) -> None:
    world = World(database)
    user, other = world.user(), world.user()
    world.sql(
        "insert into contents (id, url, url_key, status) select gen_random_uuid(), 'https://x.example/' || n,"
        " 'https://x.example/' || n, 'READY' from generate_series(1, 1000) as n"
    )
    world.sql(
        "insert into items (id, user_id, content_id) select gen_random_uuid(), %s, id from contents", user.user_id
    )
    world.sql(
        "insert into items (id, user_id, content_id) select gen_random_uuid(), %s, id from contents limit 300",
        other.user_id,
    )
    with database.transaction() as connection:
        deletions.begin(connection, user.user_id)
    batches = []
    while taken := deletions.work(database):
        batches.append(taken)
    assert max(batches) <= 200
    assert sum(batches) >= 1000
    assert world.sql("select count(*) from contents") == world.sql("select count(*) from items") == [(300,)]


def test_nothing_is_begun_for_who_is_being_deleted(world: World, home: Household) -> None:
    with world.database.transaction() as connection:
        deletions.begin(connection, home.ada.user_id)
    world.sql("update contents set status = 'READY'")
    schedule, _ = make_schedule(world.database)
    schedule.clusterings()
    schedule.due_briefings()
    schedule.sweep()
    subjects = {str(one) for (one,) in world.sql("select subject_id from jobs where state = 'pending'")}
    assert str(home.ada.user_id) not in subjects


def test_who_is_not_there_is_not_deleted(database: Database) -> None:
    with database.transaction() as connection:
        assert not deletions.begin(connection, new_id())
    assert deletions.work(database) == 0
