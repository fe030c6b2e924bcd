"""How servers are treated: their waits, their floors, their moves; real servers, a real database, real polls."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from uuid import UUID

import pytest

from siftline.contracts import JobType, Priority, Queue
from siftline.fetch.kinds.readers import FeedReader
from siftline.fetch.poll import health_store
from siftline.jobs import jobs_store, lease_store
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.job_model import NewJob
from siftline.jobs.publish import Publisher
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.net.http_model import DnsFailedError, HttpLimits
from siftline.settings.functions import JobSettings
from tests.api_client import World
from tests.factories import FakeContext, sqs_event
from tests.fakes import FakeSender
from tests.open_client import OpenClient
from tests.polling import Poller, counts, item, poll_settings, rows, rss, source_of, subscribed
from tests.servers import Answer, LoopbackServer, drip, redirect

PACED = poll_settings(host_pace_loopback=True, host_requests_per_s=100, host_burst=1_000)
FEED = Answer(rss(item(0)))


@pytest.fixture
def poller(database: Database, feed_reader: FeedReader) -> Poller:
    return Poller(database, feed_reader, PACED)


def put(database: Database, source_id: UUID, **columns: Any) -> None:
    names = ", ".join(f"{name} = %({name})s" for name in columns)
    with database.transaction() as connection:
        connection.execute(f"update sources set {names} where id = %(id)s", {**columns, "id": source_id})


def wait_of(source: dict[str, Any]) -> timedelta:
    waited: timedelta = source["next_fetch_at"] - source["last_fetch_at"]
    return waited


class TestRefusals:
    def test_a_503_is_for_one_address_and_a_429_for_all_of_the_host(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        """Case F03: a 503 with Retry-After delays that address only; a 429 widens."""
        busy, fine, asked_too_often = (subscribed(database, site, path) for path in ("/a", "/b", "/c"))
        wait = {"Retry-After": "1500"}
        site.answers.update({"/a": Answer(status=503, headers=wait), "/b": FEED})
        site.answers["/c"] = Answer(status=429, headers=wait)
        assert poller.failing(busy) == "http_503"
        assert poller.poll(fine)["new"] == 1
        assert poller.failing(asked_too_often) == "http_429"
        assert poller.failing(fine) == "host_busy"
        assert len(site.requests) == 3
        assert wait_of(source_of(database, busy)) == timedelta(hours=1)

    @pytest.mark.parametrize("status", [429, 503])
    @pytest.mark.parametrize("form", ["seconds", "date"])
    def test_a_wait_in_both_forms_is_obeyed_by_the_servers_own_clock(
        self, database: Database, site: LoopbackServer, feed_reader: FeedReader, status: int, form: str
    ) -> None:
        """Case F05: the date form counts from the answer's own Date, though that clock is an hour slow."""
        source_id = subscribed(database, site, refresh_minutes=5)
        sent_at = datetime.now(UTC) - timedelta(hours=1)
        after = "600" if form == "seconds" else format_datetime(sent_at + timedelta(minutes=10), usegmt=True)
        headers = {"Date": format_datetime(sent_at, usegmt=True), "Retry-After": after}
        site.answers["/feed"] = Answer(status=status, headers=headers)
        assert Poller(database, feed_reader).failing(source_id) == f"http_{status}"
        source = source_of(database, source_id)
        assert wait_of(source) == timedelta(minutes=10)
        assert source["next_fetch_reason"] == "the server asked us to wait until then"

    def test_a_bare_429_is_asked_once_and_the_host_left_alone_for_a_minute(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = Answer(status=429)
        assert poller.failing(source_id) == "http_429"
        assert poller.failing(source_id) == "host_busy"
        assert len(site.requests) == 1

    def test_an_answer_that_was_the_last_one_for_now_keeps_the_host_alone(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        first, second = subscribed(database, site, "/a"), subscribed(database, site, "/b")
        site.answers["/a"] = Answer(rss(item(0)), headers={"X-RateLimit-Remaining": "0.0", "X-RateLimit-Reset": "90"})
        assert poller.poll(first)["new"] == 1
        assert poller.failing(second) == "host_busy"
        assert site.asked("/b") == []

    @pytest.mark.parametrize("status", [200, 429])
    def test_where_a_redirect_leads_answers_for_itself_alone(
        self, database: Database, site: LoopbackServer, poller: Poller, status: int
    ) -> None:
        """One user's link to a host that refuses does not switch off the link shortener for all others."""
        moved, other, target = (subscribed(database, site, path) for path in ("/moved", "/other", "/unused"))
        put(database, target, url=site.url("/target", host="localhost"))
        limits = {"Retry-After": "90", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "90"}
        site.answers.update({"/moved": redirect(site.url("/target", host="localhost")), "/other": FEED})
        site.answers["/target"] = Answer(rss(item(1)), status=status, headers=limits)
        if status == 429:
            assert poller.failing(moved) == "http_429"
        else:
            assert poller.poll(moved)["new"] == 1
        assert poller.poll(other)["new"] == 1
        assert poller.failing(target) == "host_busy"

    def test_links_of_many_hosts_that_lead_to_one_ask_it_at_its_pace(
        self, database: Database, site: LoopbackServer, feed_reader: FeedReader
    ) -> None:
        settings = poll_settings(
            host_pace_loopback=True, host_requests_per_s=100, host_burst=1_000, host_per_minute={"localhost": 1.0}
        )
        sources = [subscribed(database, site, f"/{number}") for number in range(4)]
        site.answers["/one"] = FEED
        for number in range(4):
            site.answers[f"/{number}"] = redirect(site.url("/one", host="localhost"))
        poller = Poller(database, feed_reader, settings)
        assert poller.poll(sources[0])["new"] == 1
        assert [poller.failing(source_id) for source_id in sources[1:]] == ["host_busy"] * 3
        assert len(site.asked("/one")) == 1

    def test_a_server_in_trouble_is_asked_again_only_in_turn(
        self, database: Database, site: LoopbackServer, feed_reader: FeedReader
    ) -> None:
        settings = poll_settings(host_pace_loopback=True, host_requests_per_s=0.01, host_burst=2)
        site.answers["/feed"] = Answer(status=500)
        assert Poller(database, feed_reader, settings).failing(subscribed(database, site)) == "http_500"
        assert len(site.requests) == 2


class Line:
    """The batch loop over the fetch queue."""

    def __init__(self, database: Database, poller: Poller, **limits: Any) -> None:
        self.sender = FakeSender()
        self.http = OpenClient(sleep=lambda _: None, limits=HttpLimits(**limits))
        settings = JobSettings()
        self.database = database
        self.consumer = BatchConsumer(
            queues={"siftline-local-fetch-queue": Queue.FETCH},
            database=database,
            publisher=Publisher(database, self.sender, settings),
            sender=self.sender,
            processors=[poller.processor(self.http)],
            subjects={JobType.FETCH_SOURCE: health_store.subject},
            settings=settings,
            clock=SystemClock(),
        )

    def knock(self, *source_ids: UUID) -> None:
        """Poll sources in one batch."""
        jobs = [
            NewJob(JobType.FETCH_SOURCE, source_id, "host:127.0.0.1", priority=Priority.SAVED)
            for source_id in source_ids
        ]
        with self.database.transaction() as connection:
            ids = jobs_store.enqueue(connection, jobs)
        bodies = [
            {"job_type": "fetch_source", "job_id": job_id, "source_id": source_id}
            for job_id, source_id in zip(ids, source_ids, strict=True)
        ]
        assert self.consumer.handle(sqs_event("fetch", *bodies), FakeContext()) == {"batchItemFailures": []}
        self.http.close()


def test_sources_that_fail_in_a_batch_leave_the_others_alone(
    database: Database, site: LoopbackServer, feed_reader: FeedReader
) -> None:
    """Case F37: a feed that answers 500 and one that never answers; the third of the batch is taken in."""
    bad, slow, good = (subscribed(database, site, path) for path in ("/bad", "/slow", "/good"))

    site.answers.update({"/bad": Answer(status=500), "/good": FEED})
    site.answers["/slow"] = Answer(drip(bytes(20), 10), content_length=20)
    Line(database, Poller(database, feed_reader), total_s=60, read_s=4, retries=0).knock(bad, slow, good)
    assert [source_of(database, one)["last_error_code"] for one in (bad, slow, good)] == ["http_500", "timed_out", None]
    assert counts(database)[0] == 1


def test_who_waits_for_the_pace_loses_nothing_by_it(
    database: Database, site: LoopbackServer, feed_reader: FeedReader
) -> None:
    first, second = subscribed(database, site, "/a"), subscribed(database, site, "/b")
    site.answers.update({"/a": FEED, "/b": FEED})
    settings = poll_settings(host_pace_loopback=True, host_requests_per_s=0.01, host_burst=1)
    Line(database, Poller(database, feed_reader, settings)).knock(first, second)
    [waiting] = rows(
        database, "select *, due_at - now() as left from jobs where subject_id = %s and state = 'pending'", second
    )
    assert (waiting["attempts"], waiting["deferred_since"], waiting["error_code"]) == (0, None, "host_busy")
    assert timedelta(seconds=90) < waiting["left"] <= timedelta(seconds=100)
    source = source_of(database, second)
    assert (source["fetch_status"], source["health"], source["consecutive_failures"]) == ("QUEUED", "active", 0)
    assert source["last_error_code"] is None


class TestFailuresOfOnePoll:
    def test_the_tries_of_one_poll_count_once_and_say_meanwhile_what_is_wrong(
        self, database: Database, site: LoopbackServer, feed_reader: FeedReader
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = Answer(status=500)
        seen = [self._tried(database, feed_reader, source_id) for _ in range(5)]
        waits, failed = ("QUEUED", 0, "http_500"), ("ERROR", 1, "http_500")
        assert seen == [waits, waits, waits, failed, ("QUEUED", 1, "http_500")]
        assert source_of(database, source_id)["next_fetch_reason"] == "retry after a failed attempt"

    @pytest.mark.parametrize("status", [429, 503])
    def test_what_a_server_puts_off_is_no_failure(
        self, database: Database, site: LoopbackServer, feed_reader: FeedReader, status: int
    ) -> None:
        source_id = subscribed(database, site, wished_minutes=30)
        site.answers["/feed"] = [*[Answer(status=status, headers={"Retry-After": "600"})] * 6, FEED]
        waits = ("QUEUED", 0, f"http_{status}")
        assert [self._tried(database, feed_reader, source_id) for _ in range(6)] == [waits] * 6
        assert self._tried(database, feed_reader, source_id) == ("IDLE", 0, None)
        assert wait_of(source_of(database, source_id)) == timedelta(minutes=30)

    def test_the_source_says_when_its_server_is_asked_again(
        self, database: Database, site: LoopbackServer, feed_reader: FeedReader
    ) -> None:
        world = World(database, http_allow_loopback=True)
        user = world.user()
        source_id = UUID(user.post("/v1/sources", {"url": site.url("/feed")}).json["id"])
        site.answers["/feed"] = [Answer(status=429, headers={"Retry-After": "600"}), Answer(status=500)]
        for reason in ("the server asked us to wait until then (429)", "retry after a failed attempt: The server"):
            self._tried(database, feed_reader, source_id)
            [job] = rows(database, "select due_at from jobs where state = 'pending'")
            source = user.get(f"/v1/sources/{source_id}").json
            assert datetime.fromisoformat(source["next_fetch_at"]) == job["due_at"]
            assert source["next_fetch_reason"].startswith(reason)
            assert (source["health"], source["consecutive_failures"]) == ("active", 0)
        site.answers["/feed"] = Answer(status=410)
        self._tried(database, feed_reader, source_id)
        source = user.get(f"/v1/sources/{source_id}").json
        assert (source["next_fetch_at"], source["waiting_reason"]) == (None, None)
        assert source["next_fetch_reason"] == "the server says the feed is gone for good"

    @staticmethod
    def _tried(database: Database, feed_reader: FeedReader, source_id: UUID) -> tuple[str, int, str | None]:
        rows(database, "update jobs set due_at = now() where state = 'pending' returning id")
        Line(database, Poller(database, feed_reader), retries=0).knock(source_id)
        source = source_of(database, source_id)
        return source["fetch_status"], source["consecutive_failures"], source["last_error_code"]


class TestFloors:
    def test_the_servers_freshness_goes_before_a_wish_and_a_304_renews_it(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site, wished_minutes=30)
        site.answers["/feed"] = [
            Answer(rss(item(0)), headers={"ETag": '"a"', "Cache-Control": "max-age=10800"}),
            Answer(status=304, headers={"Cache-Control": "max-age=7200"}),
            Answer(status=304, headers={"Expires": "Thu, 01 Jan 1970 00:00:00 GMT"}),
        ]
        seen = []
        for _ in range(3):
            poller.poll(source_id)
            source = source_of(database, source_id)
            seen.append((wait_of(source) / timedelta(minutes=1), source["next_fetch_reason"]))
        wish = "polling requested every 30 minutes"
        assert seen == [
            (180, f"the server says its answer is fresh for 3 hours ({wish})"),
            (120, f"the server says its answer is fresh for 2 hours ({wish})"),
            (30, wish),
        ]

    def test_what_the_feed_says_of_its_rhythm_is_kept_for_polls_that_bring_nothing(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        now = datetime.now(UTC)
        entries = [item(n, pubDate=format_datetime(now - timedelta(hours=6 * n))) for n in range(1, 5)]
        body = rss(*entries).replace(b"<title>News</title>", b"<title>News</title><ttl>240</ttl>")
        source_id = subscribed(database, site)
        site.answers["/feed"] = [Answer(body, headers={"ETag": '"a"'}), Answer(status=304)]
        for _ in range(2):
            poller.poll(source_id)
            source = source_of(database, source_id)
            assert source["next_fetch_reason"] == "the feed asks for 4 hours between polls"
            assert timedelta(hours=4) <= wait_of(source) <= timedelta(hours=4.4)
            assert source["refresh_minutes"] == 180

    def test_a_wish_that_came_while_the_feed_was_read_counts(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = FEED
        poller.poll(source_id, meanwhile=lambda: put(database, source_id, wished_minutes=20, refresh_minutes=20))
        source = source_of(database, source_id)
        assert (wait_of(source), source["refresh_minutes"]) == (timedelta(minutes=20), 20)


class TestMoves:
    def held(self, database: Database, site: LoopbackServer, poller: Poller, to: str = "/b") -> UUID:
        """Return a source whose address has redirected there for good, long enough to be adopted at the next poll."""
        source_id = subscribed(database, site, "/a")
        site.answers.update({"/a": redirect(to, 301), to: Answer(rss(item(0)))})
        poller.poll(source_id)
        put(database, source_id, resolved_polls=4, resolved_since=datetime.now(UTC) - timedelta(days=7))
        return source_id

    def test_a_permanent_redirect_that_held_is_polled_directly_and_the_given_address_stays(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = self.held(database, site, poller)
        for _ in range(2):
            poller.poll(source_id)
        assert [request.path for request in site.requests] == ["/a", "/b", "/a", "/b", "/b"]
        source = source_of(database, source_id)
        assert (source["url"], source["adopted_url"]) == (site.url("/a"), site.url("/b"))

    @pytest.mark.parametrize(
        ("answer", "code"),
        [
            (Answer(status=404), "not_found"),
            (Answer(status=410), "gone"),
            (Answer(b"parked"), "not_a_feed"),
        ],
        ids=["not found", "gone", "no feed"],
    )
    def test_a_new_address_that_has_nothing_any_more_leads_back_to_the_given_one(
        self, database: Database, site: LoopbackServer, poller: Poller, answer: Answer, code: str
    ) -> None:
        source_id = self.held(database, site, poller)
        poller.poll(source_id)
        site.answers.update({"/b": answer, "/a": Answer(rss(item(1)))})
        assert poller.failing(source_id) == code
        source = source_of(database, source_id)
        assert (source["adopted_url"], source["resolved_url"], source["health"]) == (None, None, "active")
        assert source["next_fetch_reason"] == ("the address it had moved to fails: trying the original address")
        assert poller.poll(source_id)["new"] == 1

    @pytest.mark.parametrize(
        ("status", "answer", "code"),
        [
            (301, Answer(status=410), "gone"),
            (308, Answer(status=410), "gone"),
            (301, Answer(status=404), "not_found"),
            (
                301,
                Answer(b"<!doctype html><title>For sale</title>", headers={"Content-Type": "text/html"}),
                "not_a_feed",
            ),
            (301, Answer(b"parked"), "not_a_feed"),
            (301, redirect("/parking"), "not_a_feed"),
            (301, Answer(status=403), "forbidden"),
        ],
        ids=["gone", "308", "not found", "parked", "no feed", "parked elsewhere", "refused"],
    )
    def test_where_the_given_address_goes_after_a_permanent_redirect_its_target_is_polled(
        self, database: Database, site: LoopbackServer, poller: Poller, status: int, answer: Answer, code: str
    ) -> None:
        """Case T21: 301 twice, then 410."""
        source_id = subscribed(database, site, "/a")
        site.answers.update({"/a": redirect("/b", status), "/b": redirect("/c", 301), "/c": Answer(rss(item(0)))})
        site.answers["/parking"] = Answer(
            b"<html><link rel='alternate' type='application/rss+xml' href='/spam'>",
            headers={"Content-Type": "text/html"},
        )
        for _ in range(2):
            poller.poll(source_id)
        site.answers["/a"] = answer
        assert poller.failing(source_id) == code
        source = source_of(database, source_id)
        assert (source["health"], source["adopted_url"]) == ("active", site.url("/c"))
        assert source["next_fetch_at"] <= datetime.now(UTC) + timedelta(seconds=1)
        assert source["next_fetch_reason"] == "its address fails: trying the address it had moved to"
        site.answers["/c"] = Answer(rss(item(0), item(1)))
        assert poller.poll(source_id)["new"] == 1
        source = source_of(database, source_id)
        assert (source["url"], source["health"], source["consecutive_failures"]) == (site.url("/a"), "active", 0)

    def test_where_the_name_of_the_given_address_goes_its_target_is_polled_once_the_poll_has_failed(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site, "/b")
        site.answers["/b"] = Answer(rss(item(0)))
        put(database, source_id, url="http://gone.invalid/a", resolved_url=site.url("/b"), resolved_polls=2)
        job = poller.claimed(source_id)
        error = DnsFailedError("It could not be resolved.", exists_not=True)
        error.at = "http://gone.invalid/a"
        processor = poller.processor(OpenClient())
        with database.transaction() as connection:
            processor.on_failure(connection, job, error)
        assert source_of(database, source_id)["adopted_url"] is None
        with database.transaction() as connection:
            lease_store.fail(connection, job, error, duration_ms=0, park_id=None)
            processor.on_failure(connection, job, error)
        assert source_of(database, source_id)["adopted_url"] == site.url("/b")
        assert poller.poll(source_id)["new"] == 1

    @pytest.mark.parametrize("answer", [Answer(status=500), Answer(status=503), Answer(status=429)], ids=str)
    def test_an_outage_of_the_given_address_is_no_move(
        self, database: Database, site: LoopbackServer, poller: Poller, answer: Answer
    ) -> None:
        source_id = subscribed(database, site, "/a")
        site.answers.update({"/a": redirect("/b", 301), "/b": Answer(rss(item(0)))})
        poller.poll(source_id)
        site.answers["/a"] = answer
        poller.failing(source_id)
        assert source_of(database, source_id)["adopted_url"] is None

    def test_where_both_addresses_are_gone_the_source_is(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site, "/a")
        site.answers.update({"/a": redirect("/b", 301), "/b": Answer(rss(item(0)))})
        poller.poll(source_id)
        site.answers.update({"/a": Answer(status=410), "/b": Answer(status=410)})
        for health in ("active", "active", "inactive"):
            assert poller.failing(source_id) == "gone"
            assert source_of(database, source_id)["health"] == health

    @pytest.mark.parametrize("status", [302, 303, 307])
    def test_a_temporary_redirect_seen_before_is_no_move(
        self, database: Database, site: LoopbackServer, poller: Poller, status: int
    ) -> None:
        source_id = subscribed(database, site, "/a")
        site.answers.update({"/a": redirect("/b", status), "/b": Answer(rss(item(0)))})
        poller.poll(source_id)
        site.answers["/a"] = Answer(status=410)
        assert poller.failing(source_id) == "gone"
        assert source_of(database, source_id)["health"] == "inactive"

    def test_a_page_that_is_no_feed_is_never_adopted(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = self.held(database, site, poller)
        site.answers["/b"] = Answer(b"this domain is for sale")
        assert poller.failing(source_id) == "not_a_feed"
        source = source_of(database, source_id)
        assert (source["adopted_url"], source["resolved_polls"]) == (None, 4)


def test_every_request_names_the_product_and_how_to_reach_who_runs_it(
    database: Database, site: LoopbackServer, feed_reader: FeedReader
) -> None:
    source_id = subscribed(database, site)
    site.answers["/feed"] = redirect("/moved")
    site.answers["/moved"] = FEED
    http = OpenClient(contact="https://siftline.example/bot")
    poller = Poller(database, feed_reader)
    poller.processor(http).process(poller.claimed(source_id))
    http.close()
    agents = {request.headers["user-agent"] for request in site.requests}
    assert len(site.requests) == 2
    assert len(agents) == 1
    assert agents.pop().endswith("(+https://siftline.example/bot)")
