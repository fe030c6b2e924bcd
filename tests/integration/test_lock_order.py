"""A job before its subject: whoever changes both never holds the subject while a worker waits for it with the job.

And of several rows of a table, one before the other: whoever writes them does so in one order.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from uuid import UUID

import psycopg
import pytest

from siftline.contracts import JobType
from siftline.fetch.kinds.readers import FeedReader
from siftline.jobs import jobs_store
from siftline.jobs.job_model import ClaimedJob, Done, NewJob
from siftline.kit.db import ConflictError, Connection, Database
from siftline.kit.errors import ConfigurationError
from tests.api_client import Answered, ApiClient, World
from tests.bench import Bench
from tests.factories import make_content, make_job, make_source
from tests.polling import Poller, rss
from tests.polling import item as entry
from tests.servers import Answer, LoopbackServer
from tests.writes import disordered_locks, read, statements, writes

FEED = "https://feeds.example/a.xml"
PAGE = "https://news.example/page"
WAITING = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
OVERTAKE = "update jobs set lease_token = gen_random_uuid()"
Ask = Callable[[ApiClient, UUID], Answered]


@pytest.fixture
def world(database: Database) -> World:
    return World(database, http_allow_loopback=True)


def briefing(world: World, user: ApiClient) -> UUID:
    return UUID(user.post("/v1/briefings", {"name": "Morning", "frequency": "DAILY", "at": "07:00"}).json["id"])


def source(world: World, user: ApiClient) -> UUID:
    with world.database.transaction() as connection:
        source_id = make_source(connection, url=FEED, url_key=FEED)
    world.sql(
        "insert into subscriptions (id, user_id, source_id) values (gen_random_uuid(), %s, %s)", user.user_id, source_id
    )
    return source_id


def item(world: World, user: ApiClient) -> UUID:
    with world.database.transaction() as connection:
        content_id = make_content(connection, url=PAGE, status="PENDING")
    world.sql("insert into items (id, user_id, content_id) values (%s, %s, %s)", content_id, user.user_id, content_id)
    return content_id


RUN, FETCH, INGEST, SCORE = JobType.RUN_BRIEFING, JobType.FETCH_SOURCE, JobType.INGEST_CONTENT, JobType.SCORE_USER
CASES: dict[str, tuple[JobType, str, Callable[[World, ApiClient], UUID], Ask]] = {
    "run": (RUN, "briefings", briefing, lambda user, key: user.post(f"/v1/briefings/{key}/run")),
    "briefing_deleted": (RUN, "briefings", briefing, lambda user, key: user.delete(f"/v1/briefings/{key}")),
    "interests": (
        SCORE,
        "briefings",
        briefing,
        lambda user, key: user.patch(f"/v1/briefings/{key}", {"interests": "tides"}),
    ),
    "refresh": (FETCH, "sources", source, lambda user, key: user.post(f"/v1/sources/{key}/refresh")),
    "reset": (FETCH, "sources", source, lambda user, key: user.post(f"/v1/sources/{key}/reset-health")),
    "deactivate": (FETCH, "sources", source, lambda user, key: user.post(f"/v1/sources/{key}/deactivate")),
    "unsubscribe": (FETCH, "sources", source, lambda user, key: user.delete(f"/v1/sources/{key}")),
    "item_deleted": (INGEST, "contents", item, lambda user, key: user.delete(f"/v1/items/{key}")),
    "saved": (INGEST, "contents", item, lambda user, key: user.post("/v1/items", {"url": PAGE})),
    "reprocess": (INGEST, "contents", item, lambda user, key: user.post(f"/v1/items/{key}/reprocess")),
}


@pytest.mark.parametrize("case", list(CASES))
def test_a_request_waits_for_the_worker_that_has_the_job_and_holds_nothing_that_it_needs(
    world: World, database_url: str, case: str
) -> None:
    job_type, table, make, ask = CASES[case]
    user = world.user()
    key = make(world, user)
    make_job(world.database, job_type=job_type, subject_id=user.user_id if job_type is SCORE else key)
    with ThreadPoolExecutor(1) as askers, psycopg.connect(database_url) as worker:
        worker.execute("set local lock_timeout = '500ms'")
        worker.execute("update jobs set updated_at = now()")
        asked = askers.submit(ask, user, key)
        until_one_waits(world)
        worker.execute(f"update {table} set updated_at = now() where id = %s", [key])
        worker.commit()
        answer = asked.result(60)
    assert answer.status in {200, 202, 204}, answer.text


def test_an_analysis_waits_for_who_stars_an_item_of_it_and_holds_nothing_that_they_need(
    world: World, database_url: str
) -> None:
    """GIVEN a scoring that is being asked for, and not committed yet WHEN a reading ends that makes the item due."""
    user = world.user()
    key = item(world, user)
    scoring = NewJob(SCORE, user.user_id, f"user:{user.user_id}")

    def read_to_its_end(connection: Connection) -> None:
        connection.execute("update contents set status = 'READY', topics = '[]' where id = %s", [key])

    bench = Bench(world.database, lambda _: Done(read_to_its_end, [scoring]))
    message = bench.message(make_job(world.database, job_type=JobType.ANALYZE_CONTENT, subject_id=key))
    with ThreadPoolExecutor(1) as workers, psycopg.connect(database_url) as starring:
        starring.execute("set local lock_timeout = '500ms'")
        jobs_store.enqueue(starring, [scoring])
        knocked = workers.submit(bench.knock, message)
        until_one_waits(world)
        starring.execute("update items set starred_at = now() where id = %s", [key])
        starring.commit()
        assert knocked.result(60) == []
    assert world.sql("select state from jobs where job_type = 'analyze_content'") == [("completed",)]
    assert world.sql("select score_wanted from items where id = %s", key) == [(2,)]


def test_who_deletes_a_page_waits_for_its_reading_and_holds_no_job_that_comes_of_it(
    world: World, database_url: str
) -> None:
    """A worker has its own job in hand when it makes those that follow from it."""
    user = world.user()
    key = item(world, user)
    make_job(world.database, job_type=INGEST, subject_id=key)
    make_job(world.database, job_type=JobType.ANALYZE_CONTENT, subject_id=key)
    with ThreadPoolExecutor(1) as askers, psycopg.connect(database_url) as worker:
        worker.execute("set local lock_timeout = '500ms'")
        worker.execute("update jobs set updated_at = now() where job_type = 'ingest_content'")
        asked = askers.submit(user.delete, f"/v1/items/{key}")
        until_one_waits(world)
        worker.execute("update jobs set updated_at = now() where job_type = 'analyze_content'")
        worker.commit()
        assert asked.result(60).status == 204


def test_an_analysis_waits_for_who_cancels_all_that_a_person_has_and_holds_none_of_it(
    world: World, database_url: str
) -> None:
    user = world.user()
    key = item(world, user)
    of_user = [JobType.CLUSTER_USER, JobType.JOIN_STORIES, SCORE]
    follow = [NewJob(one, user.user_id, f"user:{user.user_id}") for one in of_user]
    with world.database.transaction() as connection:
        jobs_store.enqueue(connection, follow)
    bench = Bench(world.database, lambda _: Done(follow=[*reversed(follow)]))
    message = bench.message(make_job(world.database, job_type=JobType.ANALYZE_CONTENT, subject_id=key))
    with ThreadPoolExecutor(1) as workers, psycopg.connect(database_url) as deletion:
        deletion.execute("set local lock_timeout = '500ms'")
        deletion.execute("update jobs set updated_at = now() where job_type = 'cluster_user'")
        knocked = workers.submit(bench.knock, message)
        until_one_waits(world)
        assert jobs_store.cancel(deletion, [user.user_id]) == 3
        deletion.commit()
        assert knocked.result(60) == []
    assert world.sql("select count(*) from jobs where subject_id = %s and state = 'pending'", user.user_id) == [(3,)]


def test_a_failed_try_waits_for_its_job_before_it_holds_a_breaker(world: World, database_url: str) -> None:
    """Who completes a job has it in hand before the breaker, too."""

    def refused(_: ClaimedJob) -> Done:
        held.execute("select from jobs for no key update")
        raise ConfigurationError("Something is missing.")

    bench = Bench(world.database, refused, frozenset({"setup"}))
    message = bench.message(make_job(world.database))
    with ThreadPoolExecutor(1) as workers, psycopg.connect(database_url) as held:
        held.execute("set local lock_timeout = '500ms'")
        knocked = workers.submit(bench.knock, message)
        until_one_waits(world)
        held.execute(
            "insert into breakers (provider, error_code, error_detail, open_until) values ('setup', 'a', 'b', now())"
            " on conflict (provider) do nothing"
        )
        held.commit()
        assert knocked.result(60) == []


@dataclass(frozen=True)
class Feed:
    """A feed that was polled once, of one entry, and lists two pages now."""

    source_id: UUID
    poller: Poller
    follower: UUID
    old: UUID
    """The page that it listed before; what it says of that has changed."""
    other: UUID
    """The page that it lists now, and that somebody else had already."""


@pytest.fixture
def feed(world: World, feed_reader: FeedReader, site: LoopbackServer) -> Feed:
    site.answers["/feed"] = Answer(rss(entry(0, link=site.url("/0"))))
    follower = world.user()
    source_id = UUID(follower.post("/v1/sources", {"url": site.url("/feed")}).json["id"])
    poller = Poller(world.database, feed_reader)
    poller.poll(source_id)
    world.sql("update jobs set state = 'completed', finished_at = now()")
    [(old,)] = world.sql("update contents set status = 'READY', text = 'Read.', topics = '[]' returning id")
    with world.database.transaction() as connection:
        other = make_content(connection, url=site.url("/1"), status="FAILED", error_code="gone")
    edited = entry(0, link=site.url("/0"), description="Quite another text of entry 0.")
    site.answers["/feed"] = Answer(rss(edited, entry(1, link=site.url("/1"))))
    return Feed(source_id, poller, follower.user_id, old, other)


def test_a_poll_waits_for_the_job_of_a_page_before_it_gives_items(world: World, database_url: str, feed: Feed) -> None:
    """Who saves pages has their jobs in hand, then the pages, then their items."""
    make_job(world.database, job_type=INGEST, subject_id=feed.old)
    with ThreadPoolExecutor(1) as pollers, psycopg.connect(database_url) as saving:
        saving.execute("set local lock_timeout = '500ms'")
        saving.execute("update jobs set updated_at = now() where subject_id = %s", [feed.old])
        polled = pollers.submit(feed.poller.poll, feed.source_id)
        until_one_waits(world)
        for page in (feed.old, feed.other):
            saving.execute("update contents set updated_at = now() where id = %s", [page])
            saving.execute(
                "insert into items (id, user_id, content_id) values (gen_random_uuid(), %s, %s)"
                " on conflict (user_id, content_id) do nothing",
                [feed.follower, page],
            )
        saving.commit()
        assert polled.result(60)["edited"] == 1
    assert live_readings(world) == {feed.old: 1, feed.other: 1}


def test_a_poll_waits_for_the_pages_that_it_lists_before_it_asks_for_their_readings(
    world: World, database_url: str, feed: Feed
) -> None:
    """Who saves a page that failed holds it, and asks for its reading then."""
    world.sql("update contents set entry_html = 'Told.' where id = %s", feed.other)
    with ThreadPoolExecutor(1) as pollers, psycopg.connect(database_url) as saving:
        saving.execute("set local lock_timeout = '500ms'")
        saving.execute("select from contents where id = %s for no key update", [feed.other])
        polled = pollers.submit(feed.poller.poll, feed.source_id)
        until_one_waits(world)
        jobs_store.enqueue(saving, [NewJob(INGEST, feed.other, f"user:{feed.follower}")])
        saving.commit()
        polled.result(60)
    assert live_readings(world) == {feed.old: 1, feed.other: 1}


def live_readings(world: World) -> dict[UUID, int]:
    query = (
        "select subject_id, count(*)::int from jobs where job_type = 'ingest_content' and state = 'pending' group by 1"
    )
    return dict(world.sql(query))


def test_who_follows_what_is_polled_waits_for_its_poll(world: World, database_url: str) -> None:
    key = source(world, world.user())
    make_job(world.database, job_type=FETCH, subject_id=key)
    other = world.user(name="other")
    with ThreadPoolExecutor(1) as askers, psycopg.connect(database_url) as worker:
        worker.execute("set local lock_timeout = '500ms'")
        worker.execute("update jobs set updated_at = now()")
        asked = askers.submit(other.post, "/v1/sources", {"url": FEED})
        until_one_waits(world)
        worker.execute("update sources set updated_at = now() where id = %s", [key])
        worker.commit()
        assert asked.result(60).status == 202


def until_one_waits(world: World) -> None:
    ends_at = time.monotonic() + 60
    while not world.sql(WAITING):
        assert time.monotonic() < ends_at, "nobody waits"
        time.sleep(0.01)


class Conflicting:
    """A database that breaks off the next transactions, as PostgreSQL does with who loses a deadlock."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.left = 0

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        with self._broken_off(self._database.transaction()) as connection:
            yield connection

    @contextmanager
    def statement(self) -> Iterator[Connection]:
        with self._broken_off(self._database.statement()) as connection:
            yield connection

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _broken_off(self, opened: AbstractContextManager[Connection]) -> Iterator[Connection]:
        if self.left:
            self.left -= 1
            raise ConflictError("The database aborted the transaction because of a conflict with another one.")
        with opened as connection:
            yield connection


def at_work(database: Database, conflicts: list[int], meanwhile: str = "select") -> Bench:
    """Return a bench whose tries end amid so many conflicts each, and where something else happens as they work."""
    conflicting = Conflicting(database)

    def work(job: ClaimedJob) -> Done:
        with database.transaction() as connection:
            connection.execute(meanwhile)
        conflicting.left = conflicts.pop(0)
        return Done()

    bench = Bench(database, work)
    bench.consumer = bench.make(conflicting)
    return bench


def test_an_outcome_that_loses_a_few_conflicts_is_written_all_the_same(database: Database) -> None:
    bench = at_work(database, [4])
    job_id = make_job(database)
    assert bench.knock(bench.message(job_id)) == []
    assert (bench.states(), bench.column("attempts", job_id)) == (["completed"], 1)


def test_a_job_whose_outcome_cannot_be_written_is_claimable_at_once(database: Database) -> None:
    bench = at_work(database, [10, 0])
    job_id = make_job(database)
    message = bench.message(job_id)
    assert len(bench.knock(message)) == 1
    assert bench.states() == ["processing"]
    assert bench.column("lease_until <= now()", job_id)
    assert bench.knock(message) == []
    assert (bench.states(), bench.column("attempts", job_id)) == (["completed"], 2)


def test_a_lease_that_another_has_by_now_is_not_given_back(database: Database) -> None:
    bench = at_work(database, [10], meanwhile=OVERTAKE)
    job_id = make_job(database)
    assert len(bench.knock(bench.message(job_id))) == 1
    assert not bench.column("lease_until <= now()", job_id)


# Several rows of one table, which nobody else can want in another order.
UNORDERED = {
    "api.sources.sources_store._ASK_WHOLE": "put_sources holds the sources, by their keys",
    "api.sources.sources_store._REVIVE": "put_sources holds the sources, by their keys",
    "cluster.cluster_store._SETTLE_LABELS": "under the lock of the user's clusters",
    "cluster.cluster_store._FORGET": "under the lock of the user's clusters",
    "cluster.cluster_store._PUT": "under the lock of the user's clusters",
    "cluster.cluster_store._EMPTY": "under the lock of the user's clusters",
    "cluster.cluster_store._DROP_UNFILLED": "under the lock of the user's clusters",
    "cluster.cluster_store._RECOUNT": "under the lock of the user's clusters",
    "cluster.cluster_store._FORGET_RUNS": "under the lock of the user's clusters",
    "cluster.story_store._RECOUNT": "under the lock of the user's stories",
    "cluster.story_store._DROP_EMPTY": "under the lock of the user's stories",
    "fetch.poll.poll_store._EDIT_CONTENTS": "_HOLD_CONTENTS holds them, by their keys",
    "fetch.poll.poll_store._FILL_CONTENTS": "add_contents holds them, by their keys",
    "jobs.counts_store._FOLD": "under a lock of its own",
    "models.embedding_store._ABANDON": "one version is being built at most",
    "models.embedding_store._SEAL": "one version is active",
    "models.embedding_store._RETIRE": "one version is active",
    "jobs.recovery_store._EXPLAIN": "lines that this transaction wrote",
    "reprocess.reprocess_store._END": "one run goes on at most",
    "jobs.followers_store._SETTLE_REFRESH": "who settles holds the sources, by their keys",
    "models.spending_store._RESERVE": "_LOCK_DAY holds the day's two rows, in order",
    "models.spending_store._END": "_LOCK holds the day's two rows, in order",
    "jobs.subjects_store.CONTENT_CLAIMED": "a part of _CLAIM_CONTENT, which claims one job",
    "jobs.subjects_store.SOURCE_CLAIMED": "a part of _CLAIM_SOURCE, which claims one job",
}
_UNIQUE = """
select t.relname, array_agg(a.attname::text)
from pg_index i join pg_class t on t.oid = i.indrelid and t.relnamespace = 'public'::regnamespace
cross join lateral unnest(i.indkey::int2[]) as column_number
join pg_attribute a on a.attrelid = t.oid and a.attnum = column_number
where i.indisunique and i.indpred is null and i.indexprs is null group by t.relname, i.indexrelid
"""


def test_who_writes_several_rows_takes_them_in_one_order_or_leaves_those_that_another_has(database: Database) -> None:
    """As far as a program can tell: by an ``order by`` before the lock or the insert, or by ``skip locked``."""
    keys: dict[str, list[frozenset[str]]] = defaultdict(list)
    with database.transaction() as connection:
        for table, columns in connection.execute(_UNIQUE).fetchall():
            keys[table].append(frozenset(columns))
    found = writes()
    unordered = {one.name for one in found if not one.takes_one_row(keys) and not one.is_ordered()}
    assert unordered == set(UNORDERED)
    assert len(found) > 150  # it read the stores


@pytest.mark.parametrize(
    ("statement", "passes"),
    [
        ("update t set a = 1 where id = %(id)s and (b or c)", True),
        ("update t set a = 1 where id = %(id)s or b", False),
        ("update t set a = 1 where id = any(%(ids)b::uuid[])", False),
        ("update t set a = 1 from unnest(%(ids)b::uuid[]) as new (id) where t.id = new.id", False),
        ("with own as (select id from t where x order by id for update) update t set a = 1 from own where x", True),
        ("with own as (select id from t where x for update) update t set a = 1 from own where x", False),
        ("with own as (select id from t where x for update skip locked) delete from t using own where x", True),
        ("with one as (update t set a = 1 where id = %(id)s returning b) delete from t using one where id = one.b", 1),
        ("with some as (select b from t where c) delete from t using some where id = some.b", False),
        ("insert into t (id) values (%(id)s) on conflict (id) do nothing", True),
        ("insert into t (id) select id from unnest(%(ids)b::uuid[]) as new (id) on conflict (id) do nothing", False),
        ("insert into t (id) select id from unnest(%(ids)b) as new (id) order by id on conflict do nothing", True),
        ("delete from t where b = %(b)s", False),
    ],
)  # fmt: skip
def test_the_reader_of_statements_tells_which_rows_they_write(statement: str, passes: bool) -> None:
    (*_, last) = read("x", statement)
    assert (last.takes_one_row({"t": [frozenset({"id"})]}) or last.is_ordered()) is bool(passes)


@pytest.mark.parametrize(("table", "key"), [("contents", "url_key"), ("sources", "url_key")])
def test_every_statement_that_locks_several_pages_or_sources_takes_them_by_their_key(table: str, key: str) -> None:
    assert [one for name, text in statements() for one in disordered_locks(name, text, table, key)] == []


@pytest.mark.parametrize(
    "statement",
    [
        "select c.id from new join contents c on c.id = new.id order by c.id for key share of c",
        "with held as (select id from contents where id = any(%(ids)s) for update) delete from contents using held",
        "select id from contents where id = any(%(ids)s) order by id for no key update",
    ],
)
def test_pages_locked_in_another_order_are_found(statement: str) -> None:
    assert disordered_locks("", statement, "contents", "url_key")
    for put_right in (
        statement.replace("c.id for", "c.url_key for"),
        statement.replace("order by id", "order by url_key"),
    ):
        if put_right != statement:
            assert not disordered_locks("", put_right, "contents", "url_key")
