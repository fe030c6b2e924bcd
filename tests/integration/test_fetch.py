"""Polling feeds: a real server, a real parser process, a real database; jobs run through the real arrows."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from siftline.contracts import Queue
from siftline.fetch.fetch_service import FetchSource, UnsupportedSourceError
from siftline.fetch.kinds.readers import FeedReader
from siftline.kit.clock import SystemClock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import PermanentError
from siftline.kit.ids import new_id
from siftline.net.pacing import Pace
from siftline.net.urls import canonical_url
from tests.factories import make_content
from tests.open_client import OpenClient
from tests.polling import Poller, counts, item, poll_settings, rows, rss, source_of, subscribed
from tests.servers import Answer, LoopbackServer, redirect


@pytest.fixture
def poller(database: Database, feed_reader: FeedReader) -> Poller:
    return Poller(database, feed_reader)


class TestNewEntries:
    def test_entries_contents_items_and_jobs_are_saved_together(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site, users=2)
        now = datetime.now(UTC)
        dates = [now - timedelta(hours=1), now - timedelta(hours=50), now - timedelta(days=30), now + timedelta(days=9)]
        site.answers["/feed"] = Answer(
            rss(
                *(
                    item(n, pubDate=format_datetime(date), author="Ann", link=f"http://127.0.0.1/{n}")
                    for n, date in enumerate(dates)
                ),
                item("undated"),
            )
        )
        assert poller.poll(source_id) == {
            "entries": 5, "skipped": 0, "new": 5, "new_analysed": 5, "edited": 0, "renamed": 0,
            "returned": 0,
        }  # fmt: skip
        assert counts(database) == (5, 10, 5, 5)
        jobs = rows(database, "select j.*, c.title from jobs j join contents c on c.id = j.subject_id order by title")
        assert [job["priority"] for job in jobs] == [10, 5, 0, 10, 10]
        assert {job["queue"] for job in jobs} == {Queue.CONTENT_BACKGROUND}
        followers = rows(database, "select 'follower:' || user_id as tenant from subscriptions order by user_id")
        turns = dict(zip((one["tenant"] for one in followers), (3, 2), strict=True))
        assert Counter(job["group_key"] for job in jobs) == turns
        contents = rows(database, "select * from contents order by title")
        assert {content["status"] for content in contents} == {"PENDING"}
        first, future, undated = contents[0], contents[3], contents[4]
        assert (first["url"], first["author"], first["site_name"]) == ("http://127.0.0.1/0", "Ann", "News")
        assert (first["entry_html"], first["description"]) == ("Text of entry 0.", "Text of entry 0.")
        assert first["sort_at"] == first["published_at"] == dates[0].replace(microsecond=0)
        assert future["published_at"] > future["sort_at"] == future["first_seen_at"]
        assert undated["published_at"] is None
        assert undated["sort_at"] == undated["first_seen_at"]

    def test_five_hundred_new_entries_at_the_second_poll_are_all_saved_with_their_jobs(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = [Answer(rss(item(0))), Answer(rss(*(item(number) for number in range(501))))]
        poller.poll(source_id)
        assert poller.poll(source_id)["new_analysed"] == 500
        assert counts(database) == (501, 501, 501, 501)

    def test_a_bulk_larger_than_a_chunk_is_saved_whole(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = Answer(rss(*(item(number, description=None) for number in range(5_100))))
        poller.poll(source_id)
        assert counts(database) == (5_100, 5_100, 5_100, 5_100)

    def test_nothing_is_saved_when_the_transaction_fails(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = Answer(rss(item(0)))
        job = poller.claimed(source_id)
        http = OpenClient()
        done = poller.processor(http).process(job)
        http.close()

        def lost(connection: Connection) -> None:
            done.write(connection)
            raise PermanentError("answer lost")

        with pytest.raises(PermanentError), database.transaction() as connection:
            lost(connection)
        assert counts(database) == (0, 0, 0, 0)

    def test_a_page_that_another_source_brought_is_shared_and_read_once(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        first, second = subscribed(database, site, "/a"), subscribed(database, site, "/b")
        site.answers["/a"] = Answer(rss(item(0)))
        site.answers["/b"] = Answer(rss(item(0, guid="other", link="http://news.example/0?utm_source=b"), item(1)))
        poller.poll(first)
        poller.poll(second)
        assert counts(database) == (2, 3, 3, 2)

    def test_a_page_that_another_sources_first_import_left_unread_is_read_now(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        first, second = subscribed(database, site, "/a", first_import="skip"), subscribed(database, site, "/b")
        site.answers.update({"/a": Answer(rss(item(0))), "/b": Answer(rss(item(0)))})
        poller.poll(first)
        poller.poll(second)
        assert counts(database) == (1, 2, 2, 1)

    def test_what_a_user_saved_before_stays_saved(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        with database.transaction() as connection:
            content_id = make_content(connection, url="https://news.example/0", status="READY", text="read")
            [(user_id,)] = connection.execute("select user_id from subscriptions").fetchall()
            connection.execute(
                "insert into items (id, user_id, content_id, saved) values (%s, %s, %s, true)",
                (new_id(), user_id, content_id),
            )
        site.answers["/feed"] = Answer(rss(item(0)))
        poller.poll(source_id)
        assert counts(database) == (1, 1, 1, 0)
        assert rows(database, "select saved, source_id from items") == [{"saved": True, "source_id": None}]

    def test_an_entry_without_a_link_is_a_note_of_its_own(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = Answer(rss(item(0, link=None), item(1, link=None)))
        poller.poll(source_id)
        contents = rows(database, "select kind, url from contents")
        assert contents == [{"kind": "note", "url": site.url("/feed")}] * 2


class TestFirstImport:
    @pytest.mark.parametrize(
        ("default", "own", "analysed"),
        [
            ("skip", None, []), ("all", None, [0, 1, 2, 3]), ("newest:2", None, [1, 2]), ("all", "skip", []),
            ("skip", "newest:3", [1, 2, 3]), ("skip", "newest:99", [0, 1, 2, 3]),
        ],
    )  # fmt: skip
    def test_the_rule_says_what_is_analysed_and_the_rest_is_stored_as_it_is(
        self,
        database: Database,
        site: LoopbackServer,
        feed_reader: FeedReader,
        default: str,
        own: str | None,
        analysed: list[int],
    ) -> None:
        poller = Poller(database, feed_reader, poll_settings(first_import=default))
        source_id = subscribed(database, site, first_import=own)
        dates = [
            None,
            "Wed, 03 Jan 2024 00:00:00 GMT",
            "Thu, 04 Jan 2024 00:00:00 GMT",
            "Mon, 01 Jan 2024 00:00:00 GMT",
        ]
        old = [item(number, pubDate=date) for number, date in enumerate(dates)]
        site.answers["/feed"] = [Answer(rss(*old)), Answer(rss(*old, item(9)))]
        poller.poll(source_id)
        found = rows(database, "select url, status, topics from contents order by url")
        assert [int(row["url"][-1]) for row in found if row["status"] == "PENDING"] == analysed
        assert {row["status"] for row in found if int(row["url"][-1]) not in analysed} <= {"READY"}
        assert counts(database) == (4, 4, 4, len(analysed))
        poller.poll(source_id)
        assert counts(database) == (5, 5, 5, len(analysed) + 1)


class TestIdentityOverPolls:
    def test_the_same_feed_again_brings_nothing(self, database: Database, site: LoopbackServer, poller: Poller) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = [Answer(rss(item(0), item(1)) + b" " * n) for n in range(3)]
        assert [poller.poll(source_id)["new"] for _ in range(3)] == [2, 0, 0]
        assert counts(database) == (2, 2, 2, 2)

    def test_entries_without_guid_that_share_a_link_are_several_and_stay_known(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        shared = [item(n, guid=None, link="https://news.example/same") for n in range(3)]
        site.answers["/feed"] = [Answer(rss(*shared)), Answer(rss(*reversed(shared))), Answer(rss(*shared[1:]))]
        assert [poller.poll(source_id)["new"] for _ in range(3)] == [3, 0, 0]
        assert counts(database) == (3, 3, 3, 3)

    def test_an_undated_entry_keeps_the_day_it_was_first_seen(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = [Answer(rss(item(0)) + b" " * n) for n in range(3)]
        seen = []
        for _ in range(3):
            poller.poll(source_id)
            seen += rows(database, "select first_seen_at, sort_at, published_at from contents")
        assert seen[0] == seen[1] == seen[2]

    def test_rewritten_guids_are_seen_through(self, database: Database, site: LoopbackServer, poller: Poller) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = [
            Answer(rss(*(item(n, guid=f"{scheme}{n}") for n in range(3))))
            for scheme in ("http://g.example/", "https://g.example/", "urn:new:", "urn:newer:")
        ]
        assert [poller.poll(source_id)["new"] for _ in range(4)] == [3, 0, 0, 0]
        assert counts(database) == (3, 3, 3, 3)
        assert {row["guid"] for row in rows(database, "select guid from source_entries")} == {
            f"urn:newer:{n}" for n in range(3)
        }

    def test_guids_rewritten_at_each_poll_bring_nothing_without_links_either(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = [
            Answer(rss(*(item(n, guid=f"urn:{poll}:{n}", link=None) for n in range(3)))) for poll in range(4)
        ]
        assert [poller.poll(source_id)["new"] for _ in range(4)] == [3, 0, 0, 0]
        assert counts(database) == (3, 3, 3, 3)

    @pytest.mark.parametrize("link", [None, "https://news.example/"])
    def test_an_entry_that_differs_in_a_digit_is_another_one(
        self, database: Database, site: LoopbackServer, poller: Poller, link: str | None
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = [
            Answer(
                rss(item(0, guid=f"urn:{number}", link=link, title="New", description=f"Episode {number}, v1.{number}"))
            )
            for number in (12, 13, 14)
        ]
        assert [poller.poll(source_id)["new"] for _ in range(3)] == [1, 1, 1]
        assert counts(database) == (3, 3, 3, 3)

    def test_guid_and_title_changed_together_on_one_link_are_one_content(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        own = "http://127.0.0.1/story"
        site.answers["/feed"] = [
            Answer(rss(item(0, link=own, guid="a", title="First words"), item(1))),
            Answer(rss(item(0, link=own, guid="b", title="Second thoughts", description="Other text."), item(1))),
            Answer(rss(item(0, link=own, guid="c", title="Second thoughts", description="Other text."), item(1))),
        ]
        polls = [poller.poll(source_id) for _ in range(3)]
        assert [(poll["new"], poll["renamed"], poll["edited"]) for poll in polls] == [(2, 0, 0), (0, 1, 1), (0, 1, 0)]
        assert counts(database) == (2, 2, 2, 2)
        assert rows(database, "select title from contents where url = %s", own) == [{"title": "Second thoughts"}]

    def test_a_feed_speaks_only_for_pages_of_its_own_site(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        with database.transaction() as connection:
            url = "https://news.example/0"
            make_content(connection, url=url, url_key=canonical_url(url), status="READY", title="True", text="true")
        site.answers["/feed"] = [
            Answer(rss(item(0), item(1, description="Long enough to be believed. " * 100))),
            Answer(rss(item(0, title="False", description="False."), item(1))),
        ]
        for _ in range(2):
            poller.poll(source_id)
        assert rows(database, "select title, text, entry_html from contents order by url_key") == [
            {"title": "True", "text": "true", "entry_html": None},
            {"title": None, "text": None, "entry_html": None},
        ]
        told = rows(database, "select told_title from items join contents on contents.id = content_id order by url_key")
        assert [row["told_title"] for row in told] == ["Entry 0", "Entry 1"]
        assert len(rows(database, "select id from jobs where job_type = 'ingest_content'")) == 1

    def test_an_edit_is_noticed_stored_and_read_again_if_it_was_read(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        own = "http://127.0.0.1/1"
        source_id = subscribed(database, site)
        site.answers["/feed"] = [
            Answer(rss(item(0, description="Nine comments, 9"), item(1, link=own))),
            Answer(rss(item(0, description="Nine comments, 10"), item(1, link=own, title="Entry 1, corrected"))),
        ]
        poller.poll(source_id)
        with database.transaction() as connection:
            connection.execute("update jobs set state = 'completed', finished_at = now()")
            connection.execute("update contents set status = 'READY', text = 'read'")
        assert poller.poll(source_id) == {
            "entries": 2, "skipped": 0, "new": 0, "new_analysed": 0, "edited": 1, "renamed": 0,
            "returned": 0,
        }  # fmt: skip
        assert counts(database) == (2, 2, 2, 3)
        assert rows(database, "select title, status from contents order by title") == [
            {"title": "Entry 1, corrected", "status": "PENDING"},
            {"title": None, "status": "READY"},
        ]


class TestConditionalRequests:
    def test_validators_are_echoed_byte_for_byte_and_renewed_by_every_answer(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        """Case F07: both validators are stored from every 200 and 304, whichever of them changed."""
        source_id = subscribed(database, site)
        modified = "Mon, 01 Jan 2024 00:00:00 GMT"
        site.answers["/feed"] = [
            Answer(rss(item(0)), headers={"ETag": 'W/"a\xe9"', "Last-Modified": modified}),
            Answer(rss(item(1)), headers={"ETag": '"b"', "Last-Modified": modified}),
            Answer(status=304, headers={"ETag": '"c"'}),
            Answer(status=304),
            Answer(rss(item(2))),
            Answer(rss(item(3))),
        ]
        results = [poller.poll(source_id) for _ in range(6)]
        assert results[2] == results[3] == {"unchanged": "not modified"}
        sent = [
            (request.headers.get("if-none-match"), request.headers.get("if-modified-since"))
            for request in site.requests
        ]
        assert sent == [
            (None, None), ('W/"a\xe9"', modified), ('"b"', modified), ('"c"', modified), ('"c"', modified), (None, None)
        ]  # fmt: skip

    def test_an_unchanged_body_is_not_parsed_again(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = Answer(rss(item(0)))
        poller.poll(source_id)
        assert poller.poll(source_id) == {"unchanged": "same body"}

    def test_a_date_from_the_future_is_not_sent_back(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        """Case F09: a Last-Modified of the year 2041 is never sent back."""
        source_id = subscribed(database, site)
        headers = {"Last-Modified": "Tue, 01 Jan 2041 00:00:00 GMT"}
        site.answers["/feed"] = [Answer(rss(item(0)), headers=headers), Answer(rss(item(1)), headers=headers)]
        assert [poller.poll(source_id)["new"] for _ in range(2)] == [1, 1]

    def test_a_validator_too_long_for_most_servers_is_not_sent_back(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        headers = {"ETag": f'"{"a" * 6_000}"', "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
        site.answers["/feed"] = [Answer(rss(item(0)), headers=headers), Answer(rss(item(1)), headers=headers)]
        assert [poller.poll(source_id)["new"] for _ in range(2)] == [1, 1]
        again = site.requests[-1].headers
        assert (again.get("if-none-match"), again.get("if-modified-since")) == (None, headers["Last-Modified"])

    def test_after_a_week_of_304_the_whole_feed_is_asked_for(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        """Case F09: after seven days of unbroken 304 one request has no conditions."""
        source_id = subscribed(
            database, site, etag='"a"', body_sha256=b"x", last_full_at=datetime.now(UTC) - timedelta(days=8)
        )
        site.answers["/feed"] = Answer(rss(item(0)))
        assert poller.poll(source_id)["new"] == 1
        assert "if-none-match" not in site.requests[0].headers

    def test_304_to_an_unconditional_request_is_a_fault(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = Answer(status=304)
        assert poller.failing(source_id) == "http_304"

    @pytest.mark.parametrize("status", [302, 303, 307])
    def test_every_poll_starts_at_the_address_the_user_gave(
        self, database: Database, site: LoopbackServer, poller: Poller, status: int
    ) -> None:
        """Case F01: a temporary redirect is followed afresh at each poll and changes no address."""
        source_id = subscribed(database, site, "/a")
        site.answers.update(
            {
                "/a": [redirect("/b", status), redirect("/c", status)],
                "/b": Answer(rss(item(0))),
                "/c": Answer(rss(item(1))),
            }
        )
        poller.poll(source_id)
        poller.poll(source_id)
        assert [request.path for request in site.requests] == ["/a", "/b", "/a", "/c"]
        source = source_of(database, source_id)
        assert (source["url"], source["resolved_url"], source["adopted_url"]) == (site.url("/a"), None, None)

    def test_a_permanent_redirect_is_remembered_with_its_age(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site, "/a")
        site.answers.update({"/a": redirect("/b", 301), "/b": [Answer(rss(item(n))) for n in range(2)]})
        poller.poll(source_id)
        since = source_of(database, source_id)["resolved_since"]
        poller.poll(source_id)
        source = source_of(database, source_id)
        assert (source["url"], source["resolved_url"]) == (site.url("/a"), site.url("/b"))
        assert source["resolved_since"] == since is not None


class TestHealth:
    def test_a_success_is_written(self, database: Database, site: LoopbackServer, poller: Poller) -> None:
        source_id = subscribed(database, site, wished_minutes=30)
        site.answers["/feed"] = Answer(rss(item(0), "<item><category>nothing else</category></item>"))
        poller.poll(source_id)
        source = source_of(database, source_id)
        assert (source["fetch_status"], source["health"], source["consecutive_failures"]) == ("IDLE", "active", 0)
        assert source["next_fetch_at"] - source["last_fetch_at"] == timedelta(minutes=30)
        assert (source["next_fetch_reason"], source["title"]) == ("polling requested every 30 minutes", "News")
        assert (source["skipped_entries"], source["imported_at"] is not None) == (1, True)

    def test_failures_degrade_a_source_with_widening_waits_and_it_heals_by_itself(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        """Case F11: a source that fails is asked ever more rarely, but always again."""
        source_id = subscribed(database, site, refresh_minutes=60)
        site.answers["/feed"] = [*[Answer(status=404)] * 6, Answer(rss(item(0)))]
        seen, reasons = [], []
        for _ in range(6):
            assert poller.failing(source_id) == "not_found"
            source = source_of(database, source_id)
            reasons.append(source["next_fetch_reason"])
            wait = source["next_fetch_at"] - source["last_fetch_at"]
            seen.append((source["consecutive_failures"], source["health"], wait / timedelta(hours=1)))
        assert seen == [
            (1, "active", 1), (2, "active", 2), (3, "active", 4), (4, "active", 8), (5, "degraded", 16),
            (6, "degraded", 24),
        ]  # fmt: skip
        assert (source["fetch_status"], source["last_error_code"]) == ("ERROR", "not_found")
        assert (reasons[0], reasons[5]) == ("after a failed poll", "after 6 failed polls in a row")
        poller.poll(source_id)
        source = source_of(database, source_id)
        assert (source["health"], source["consecutive_failures"], source["last_error_code"]) == ("active", 0, None)

    def test_a_count_of_failures_at_its_end_counts_no_further(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        with database.transaction() as connection:
            connection.execute("update sources set consecutive_failures = 2147483647")
        site.answers["/feed"] = Answer(status=404)
        assert poller.failing(source_id) == "not_found"
        assert source_of(database, source_id)["health"] == "degraded"

    def test_a_server_that_says_when_to_come_back_is_obeyed(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id, other = subscribed(database, site, "/a"), subscribed(database, site, "/b")
        site.answers["/a"] = Answer(status=503, headers={"Retry-After": "90000"})
        site.answers["/b"] = Answer(rss(item(0)))
        assert poller.failing(source_id) == "http_503"
        source = source_of(database, source_id)
        assert source["next_fetch_at"] - source["last_fetch_at"] == timedelta(seconds=90_000)
        assert source["next_fetch_reason"] == "the server asked us to wait until then"
        poller.poll(other)
        assert source_of(database, other)["next_fetch_reason"] == "new entries found: every 30 minutes"

    def test_a_feed_that_is_gone_is_polled_no_more_and_keeps_its_items(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        """Case F35: 410 ends the polling, its items stay, and people read why."""
        source_id = subscribed(database, site)
        site.answers["/feed"] = [Answer(rss(item(0))), Answer(status=410)]
        poller.poll(source_id)
        assert poller.failing(source_id) == "gone"
        source = source_of(database, source_id)
        assert (source["health"], source["last_error_code"]) == ("inactive", "gone")
        assert source["next_fetch_reason"] == "the server says the feed is gone for good"
        assert counts(database) == (1, 1, 1, 1)
        assert poller.poll(source_id) == {"skipped": "inactive"}
        assert len(site.requests) == 2

    def test_a_feed_over_the_cap_has_its_own_state_and_the_next_check_moves_on(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        """Case F33: too large is a state with a name, and the next check moves forward."""
        source_id = subscribed(database, site)
        site.answers["/feed"] = Answer(rss(item(0, description="x" * 11_000_000)))
        before = source_of(database, source_id)["next_fetch_at"]
        assert poller.failing(source_id) == "too_large"
        source = source_of(database, source_id)
        assert (source["health"], source["last_error_code"]) == ("degraded", "too_large")
        assert source["next_fetch_at"] > before

    @pytest.mark.parametrize(
        ("answer", "code"),
        [
            (
                Answer(b"<!DOCTYPE html><html><head><title>A page</title></head><body><p>Hello</p></body></html>"),
                "no_feed_found",
            ),
            (Answer(b""), "not_a_feed"),
            (Answer(b"\x89PNG\r\n\x1a\n" + bytes(1000)), "not_a_feed"),
            (Answer(b"<rss><channel>" + b"<a>" * 100_000), "feed_too_complex"),
            (Answer(status=403), "forbidden"),
            (Answer(b"<title>Just a moment...</title>", 403, {"cf-mitigated": "challenge"}), "blocked_by_site"),
            (Answer(b"<!DOCTYPE html><html><script>var a = _cf_chl_opt</script></html>", 503), "blocked_by_site"),
            (Answer(b"<!DOCTYPE html><html><script>var a = _cf_chl_opt</script></html>"), "blocked_by_site"),
            (Answer(status=500), "http_500"),
        ],
    )
    def test_what_cannot_be_read_is_told_by_a_code(
        self, database: Database, site: LoopbackServer, poller: Poller, answer: Answer, code: str
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = answer
        assert poller.failing(source_id) == code
        source = source_of(database, source_id)
        assert (source["last_error_code"], source["consecutive_failures"]) == (code, 1)
        assert source["last_error_detail"]

    def test_one_failing_source_leaves_the_others_alone(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        bad, good = subscribed(database, site, "/bad"), subscribed(database, site, "/good")
        site.answers.update({"/bad": Answer(status=500), "/good": Answer(rss(item(0)))})
        assert poller.failing(bad) == "http_500"
        assert poller.poll(good)["new"] == 1

    def test_a_source_of_a_kind_without_fetcher_or_of_none_is_refused(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        job = poller.claimed(subscribed(database, site, kind="web"))
        pace = Pace(database, poller.settings, SystemClock())
        with pytest.raises(UnsupportedSourceError):
            FetchSource(database, {}, pace, SystemClock(), poller.settings).process(job)
        assert poller.failing(new_id()) == "source_gone"
