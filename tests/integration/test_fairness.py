"""Fair to people at every stage: what one imports never stands before what another one waits for."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siftline.contracts import BACKGROUND_OF, JobType, Priority, Queue, Tick
from siftline.fetch.kinds.readers import FeedReader
from siftline.ingest.ingest_service import analysis_after
from siftline.ingest.saving import save_url
from siftline.jobs import followers_store, jobs_store
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.job_model import ClaimedJob, Done, NewJob, follower, user
from siftline.jobs.jobs_store import FOREGROUND_MAX
from siftline.jobs.publish import Publisher
from siftline.jobs.sweep import Recovery
from siftline.kit.clock import SystemClock
from siftline.kit.db import Connection, Database, SingleConnection
from siftline.settings.functions import JobSettings
from tests.api_client import ApiClient, World
from tests.factories import FakeContext, make_content, make_item, make_job, make_source, make_user, sqs_event
from tests.fakes import FakeProcessor, FakeSender
from tests.polling import Poller, follow, item, rows, rss
from tests.servers import Answer, LoopbackServer, serving
from tests.ticks import make_schedule

INGEST, ANALYZE, SCORE = JobType.INGEST_CONTENT, JobType.ANALYZE_CONTENT, JobType.SCORE_USER


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serving() as running:
        yield running


class House:
    """An API and a worker whose queues give messages out in the order in which they came, as SQS about does."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.world = World(database, http_allow_loopback=True)
        self.sender: FakeSender = self.world.sender
        self.meanwhile: Callable[[], object] = lambda: None
        """What happens while the next job is in work."""
        made = JobSettings()
        self.consumer = BatchConsumer(
            queues={f"siftline-local-{queue}-queue": queue for queue in Queue},
            database=database,
            publisher=Publisher(database, self.sender, made),
            sender=self.sender,
            processors=[FakeProcessor(self._done, one) for one in (INGEST, ANALYZE, SCORE)],
            subjects={},
            settings=made,
            clock=SystemClock(),
        )

    def work(self, queue: Queue, messages: int = 1) -> None:
        """Work off the next messages of a queue."""
        for _ in range(messages):
            sent = self.sender.sent[queue].pop(0)
            assert self.consumer.handle(sqs_event(queue, sent.body), FakeContext())["batchItemFailures"] == []

    def _done(self, job: ClaimedJob) -> Done:
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        return Done(follow=[analysis_after(job)] if job.job_type is INGEST else [])

    def job(self, job_type: JobType, subject_id: UUID) -> tuple[str, str, int, str]:
        """Return (queue, state, priority, tenant) of the newest job of a subject."""
        found = rows(
            self.database,
            "select queue, state, priority, group_key from jobs where job_type = %s and subject_id = %s"
            " order by created_at desc, id desc limit 1",
            job_type,
            subject_id,
        )[0]
        return found["queue"], found["state"], found["priority"], found["group_key"]

    def save(self, client: ApiClient, url: str) -> UUID:
        answer = client.post("/v1/items", {"url": url})
        assert answer.status in (200, 202), answer.text
        return UUID(answer.json["content_id"])

    def imports(self, client: ApiClient, server: LoopbackServer, reader: FeedReader, feeds: int, entries: int) -> None:
        """Let a user follow feeds, poll them, and hand out what they brought."""
        poller = Poller(self.database, reader)
        for feed in range(feeds):
            told = [item(f"{feed}-{one}") for one in range(entries)]
            server.answers[f"/feed/{feed}"] = Answer(rss(*told))
            poller.poll(follow(client, server, f"/feed/{feed}"))
        Publisher(self.database, self.sender, JobSettings()).hand_out(Queue.CONTENT_BACKGROUND)


@pytest.fixture
def house(database: Database) -> House:
    return House(database)


def test_a_page_saved_beside_an_import_is_read_before_the_imports_rest(
    house: House, server: LoopbackServer, feed_reader: FeedReader
) -> None:
    """T35: it waited behind the import's texts, 145 s and more."""
    importer, saver = house.world.user(), house.world.user()
    house.imports(importer, server, feed_reader, feeds=6, entries=20)
    house.work(Queue.CONTENT_BACKGROUND, 30)
    assert len(house.sender.sent[Queue.ANALYSIS_BACKGROUND]) >= 30
    # WHEN another one saves a page, THEN nothing stands before it at any stage
    page = house.save(saver, "https://news.example/saved")
    assert [str(page) in one.body for one in house.sender.sent[Queue.CONTENT_PROCESSING]] == [True]
    house.work(Queue.CONTENT_PROCESSING)
    assert [str(page) in one.body for one in house.sender.sent[Queue.ANALYSIS]] == [True]
    house.work(Queue.ANALYSIS)
    assert house.job(ANALYZE, page)[1] == "completed"
    assert rows(house.database, "select count(*) as left from jobs where state = 'pending'")[0]["left"] >= 100
    # AND the import goes on
    house.work(Queue.ANALYSIS_BACKGROUND, 5)


def test_what_a_person_imports_is_that_one_persons_at_every_stage_however_many_feeds_and_hosts(
    house: House, server: LoopbackServer, feed_reader: FeedReader
) -> None:
    importer, other = house.world.user(), house.world.user()
    outlines = "".join(f'<outline type="rss" xmlUrl="https://feed{at}.example/rss"/>' for at in range(200))
    opml = f"<opml version='2.0'><body>{outlines}</body></opml>"
    answer = importer.send("POST", "/v1/opml", body=opml, headers={"content-type": "text/x-opml"})
    assert answer.status == 200, answer.text
    share = JobSettings().job_tenant_share
    handed_out = house.sender.sent[Queue.FETCH]
    assert {one.group for one in handed_out} == {user(importer.user_id)}
    assert len(handed_out) == share
    # WHEN another one follows a feed, THEN it is handed out behind one person's share
    assert other.post("/v1/sources", {"url": "https://lone.example/rss"}).status == 202
    assert [one.group for one in handed_out[share:]] == [user(other.user_id)]
    # AND what the feeds bring is one tenant's as well, to SQS the same
    house.imports(importer, server, feed_reader, feeds=3, entries=20)
    tenants = rows(house.database, "select distinct group_key from jobs where job_type = 'ingest_content'")
    assert [one["group_key"] for one in tenants] == [follower(importer.user_id)]
    brought = house.sender.sent[Queue.CONTENT_BACKGROUND]
    assert [one.group for one in brought] == [user(importer.user_id)] * share


@pytest.mark.parametrize("stage", ["waits", "handed out", "in work", "analysis waits", "analysis handed out"])
def test_a_page_that_an_import_already_brought_goes_on_in_the_lane_of_who_saves_it(house: House, stage: str) -> None:
    saver = house.world.user()
    with house.database.transaction() as connection:
        page = make_content(connection, url="https://news.example/both", status="PENDING")
        make_item(connection, make_user(connection), page)
        brought = NewJob(INGEST, page, follower(make_user(connection)), Priority.UNDER_24_HOURS)
        [job_id] = jobs_store.enqueue(connection, [brought])
    publisher = Publisher(house.database, house.sender, JobSettings())
    if stage != "waits":
        publisher.publish([job_id])
    if stage.startswith("analysis"):
        house.work(Queue.CONTENT_BACKGROUND)
        with house.database.transaction() as connection:
            connection.execute("update contents set status = 'PENDING', text = 'Words.'")
            if stage == "analysis waits":
                connection.execute("update jobs set published_at = null where state = 'pending'")
    if stage == "in work":
        house.meanwhile = lambda: house.save(saver, "https://news.example/both")
        house.work(Queue.CONTENT_BACKGROUND)
    else:
        house.save(saver, "https://news.example/both")
    if stage in ("waits", "handed out"):
        assert house.job(INGEST, page) == ("content-processing", "pending", Priority.SAVED, user(saver.user_id))
        house.work(Queue.CONTENT_PROCESSING)
    assert house.job(ANALYZE, page) == ("analysis", "pending", Priority.SAVED, user(saver.user_id))
    assert [str(page) in one.body for one in house.sender.sent[Queue.ANALYSIS]] == [True]
    house.work(Queue.ANALYSIS)
    # AND the message that stands in the background still does nothing twice
    for queue in BACKGROUND_OF.values():
        house.work(queue, len(house.sender.sent[queue]))
    done = rows(house.database, "select job_type, count(*) as jobs from jobs where state = 'completed' group by 1")
    assert {(one["job_type"], one["jobs"]) for one in done} >= {("ingest_content", 1), ("analyze_content", 1)}


@pytest.mark.parametrize(("waits_for", "now"), [("host_busy", True), ("tenant_busy", True), ("http_503", False)])
def test_a_page_that_waits_for_its_turn_in_the_background_need_not_once_it_is_saved(
    house: House, waits_for: str, now: bool
) -> None:
    """A far side that asked to be left alone is, whoever waits."""
    saver = house.world.user()
    with house.database.transaction() as connection:
        page = make_content(connection, url="https://news.example/both", status="PENDING")
        jobs_store.enqueue(connection, [NewJob(INGEST, page, follower(make_user(connection)), Priority.UNDER_24_HOURS)])
        connection.execute(
            "update jobs set waits_for = %s, due_at = now() + interval '10 minutes',"
            " deferred_since = case when %s then null else now() end",
            [waits_for, now],
        )
    house.save(saver, "https://news.example/both")
    [(due,)] = house.world.sql("select due_at <= now() from jobs")
    assert due == now


def test_many_pages_of_one_person_fill_no_foreground_queue(house: House) -> None:
    """Whoever saves hundreds at once waits for the first ones, and nobody waits for the rest."""
    eager, other = house.world.user(), house.world.user()
    pages = [{"url": f"https://news.example/{at}"} for at in range(3 * FOREGROUND_MAX)]
    assert eager.post("/v1/items/batch", {"items": pages}).status == 200
    house.save(eager, "https://news.example/one-more")
    assert len(house.sender.sent[Queue.CONTENT_PROCESSING]) == FOREGROUND_MAX
    page = house.save(other, "https://other.example/")
    assert str(page) in house.sender.sent[Queue.CONTENT_PROCESSING][FOREGROUND_MAX].body
    for _ in range(FOREGROUND_MAX + 1):
        house.work(Queue.CONTENT_PROCESSING)
    ahead = [str(page) in one.body for one in house.sender.sent[Queue.ANALYSIS]].index(True)
    assert ahead <= FOREGROUND_MAX
    # AND the rest is read in the background, before what feeds bring
    [rest] = rows(
        house.database,
        "select min(priority) as least, count(*) as jobs from jobs where queue = 'content-background'",
    )
    assert (rest["least"], rest["jobs"]) == (Priority.SAVED_MANY, 2 * FOREGROUND_MAX + 1)
    assert Priority.UNDER_24_HOURS < Priority.SAVED_MANY < Priority.SAVED


def test_an_item_read_again_by_hand_takes_the_lane_and_what_operators_have_read_again_does_not(house: House) -> None:
    saver = house.world.user()
    with house.database.transaction() as connection:
        page = make_content(connection, status="READY", text="Words.", topics="[]")
        item_id = make_item(connection, saver.user_id, page)
        [job_id] = jobs_store.enqueue(connection, [NewJob(ANALYZE, page, "reprocess", Priority.AGAIN)])
    assert house.job(ANALYZE, page)[0] == Queue.ANALYSIS_BACKGROUND
    Publisher(house.database, house.sender, JobSettings()).publish([job_id])
    assert saver.post(f"/v1/items/{item_id}/reprocess", {"from": "analyze"}).status == 202
    assert house.job(ANALYZE, page)[:3] == ("analysis", "pending", Priority.SAVED)
    assert [str(page) in one.body for one in house.sender.sent[Queue.ANALYSIS]] == [True]


@pytest.mark.parametrize("before", ["nothing", "waits", "handed out", "in work"])
def test_the_scores_after_a_wish_take_the_lane_whatever_the_import_had_asked_for(house: House, before: str) -> None:
    client = house.world.user()
    if before != "nothing":
        job_id = make_job(
            house.database, job_type=SCORE, subject_id=client.user_id, priority=Priority.UNDER_24_HOURS, queue=None
        )
        if before != "waits":
            Publisher(house.database, house.sender, JobSettings()).publish([job_id])
    if before == "in work":
        house.meanwhile = lambda: client.patch("/v1/me", {"interests": "harbours"})
        house.work(Queue.ANALYSIS_BACKGROUND)
    else:
        assert client.patch("/v1/me", {"interests": "harbours"}).status == 200
    assert house.job(SCORE, client.user_id) == ("analysis", "pending", Priority.SAVED, user(client.user_id))
    assert [str(client.user_id) in one.body for one in house.sender.sent[Queue.ANALYSIS]] == [True]


def test_scores_that_the_sweep_asks_for_are_background_work(house: House) -> None:
    client = house.world.user()
    with house.database.transaction() as connection:
        make_item(connection, client.user_id, make_content(connection, status="READY", text="Words."))
    publisher = Publisher(house.database, house.sender, JobSettings())
    assert Recovery(house.database, publisher, JobSettings()).scores(limit=10) == 1
    assert house.job(SCORE, client.user_id)[0] == Queue.ANALYSIS_BACKGROUND


@pytest.mark.parametrize("followers", [1, 2, 3, 5])
def test_a_feed_burdens_its_followers_in_turn_poll_by_poll(database: Database, followers: int) -> None:
    with database.transaction() as connection:
        source = make_source(connection)
        people = sorted(make_user(connection) for _ in range(followers))
        for one in people:
            _subscribe(connection, one, source)
    schedule, _ = make_schedule(database)
    for _ in range(2 * followers):
        assert schedule.run(Tick.DUE_SOURCES) == {"enqueued": 1}
        with database.transaction() as connection:
            connection.execute("update jobs set state = 'completed', finished_at = now() where state = 'pending'")
            connection.execute("update sources set fetch_status = 'IDLE'")
    polls = rows(database, "select group_key from jobs order by created_at")
    assert [one["group_key"] for one in polls] == [user(one) for one in people] * 2


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(followers=st.integers(0, 6), entries=st.integers(1, 20), first=st.integers(0, 5), strange=st.booleans())
def test_a_feeds_entries_burden_its_followers_evenly(
    database_url: str, followers: int, entries: int, first: int, strange: bool
) -> None:
    database = SingleConnection(database_url)
    try:
        with database.transaction() as connection:
            source = make_source(connection)
            people = sorted(make_user(connection) for _ in range(followers))
            for one in people:
                _subscribe(connection, one, source)
            begins = "host:feeds.example" if strange or not people else user(people[first % followers])
            tenants = followers_store.followers(connection, source, first=begins, limit=entries)
    finally:
        database.close()
    assert tenants, "what nobody follows has a tenant, too"
    burden = Counter(islice(cycle(tenants), entries))
    if people:
        assert set(burden) <= {follower(one) for one in people}
        assert len(burden) == min(followers, entries)
        assert max(burden.values()) - min(burden.values()) <= 1
        assert strange or tenants[0] == follower(people[first % followers])


def test_a_stuck_page_goes_on_for_who_saved_it(house: House) -> None:
    with house.database.transaction() as connection:
        page = make_content(connection, status="PENDING")
        saver = make_user(connection)
        save_url(connection, saver, f"https://news.example/{page}")
        connection.execute("update jobs set state = 'cancelled', finished_at = now(), group_key = 'host:news.example'")
        connection.execute("update contents set updated_at = now() - interval '1 hour'")
    publisher = Publisher(house.database, house.sender, JobSettings())
    assert Recovery(house.database, publisher, JobSettings()).contents(limit=10) == 1
    assert house.job(INGEST, page) == ("content-processing", "pending", Priority.SAVED, user(saver))


def _subscribe(connection: Connection, user_id: UUID, source_id: UUID) -> None:
    connection.execute(
        "insert into subscriptions (id, user_id, source_id) values (gen_random_uuid(), %s, %s)", (user_id, source_id)
    )
