"""Dates that nothing can have been published at, claimed by feeds or stored before: nothing that reckons fails."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siftline.cluster.cluster_service import ClusterUser
from siftline.cluster.joining import Rule
from siftline.cluster.space import Recipe
from siftline.cluster.story_service import JoinUserStories
from siftline.contracts import JobType
from siftline.fetch.kinds.readers import FeedReader
from siftline.fetch.poll.next_poll import Rhythm, Wishes, plan
from siftline.ingest.page_child import PageReader
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database, Pool, SingleConnection
from siftline.net.http import HttpClient
from siftline.text.instants import believed
from tests.api_client import World
from tests.briefing import Desk
from tests.factories import claimed, embed
from tests.integration.test_cluster import MODEL, bunch
from tests.integration.test_ingest import Bench, page
from tests.polling import Poller, item, rows, rss, subscribed
from tests.scoring import Reader
from tests.servers import Answer, LoopbackServer

ZERO = "Mon, 01 Jan 0001 00:00:00 +0000"
EXTREMES = (
    "0001-01-01 00:00+00", "0044-03-15 00:00+00 BC", "-infinity", "infinity", "9999-12-31 23:59:59+00",
    "294276-12-31 00:00+00",
)  # fmt: skip


@contextmanager
def unguarded(database: Database) -> Iterator[None]:
    """Let rows stand as they were written before contents were guarded."""
    with database.transaction() as connection:
        connection.execute("alter table contents disable trigger contents_undated")
    try:
        yield
    finally:
        with database.transaction() as connection:
            connection.execute("alter table contents enable trigger contents_undated")


@pytest.fixture
def poller(database: Database, feed_reader: FeedReader) -> Poller:
    return Poller(database, feed_reader)


def entries(*dates: str) -> Answer:
    return Answer(rss(*(item(number, link=f"/news/{number}", pubDate=date) for number, date in enumerate(dates))))


def contents(database: Database) -> list[dict[str, Any]]:
    return rows(database, "select * from contents order by title")


class TestClaims:
    @pytest.mark.parametrize(
        ("claim", "code"),
        [
            (ZERO, "date_implausible"),
            ("0", "date_implausible"),
            ("1970-01-01T00:00:00Z", "date_implausible"),
            ("Fri, 31 Dec 9999 23:59:59 GMT", "date_implausible"),
            ("Mon, 01 Jan 2091 00:00:00 GMT", "date_implausible"),
            ("2091-01-01T00:00:00+02:00", "date_implausible"),
            ("1 janvier 2091", "date_implausible"),
            ("Mon, 01 Jan 0000 00:00:00 GMT", "date_implausible"),
            ("as soon as it is ready", "date_unreadable"),
            ("8/9/2018", "date_ambiguous"),
        ],
    )
    def test_a_date_that_cannot_be_is_told_and_first_seen_counts(
        self, database: Database, site: LoopbackServer, poller: Poller, claim: str, code: str
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = entries(claim)
        assert poller.poll(source_id)["new"] == 1
        [row] = contents(database)
        assert (row["published_at"], row["undated_code"]) == (None, code)
        assert row["undated_claim"] == claim
        assert row["sort_at"] == row["first_seen_at"]

    @pytest.mark.parametrize(
        ("claim", "right"),
        [
            ("8/21/2018 9:00:00 AM", "2018-08-21T09:00"),
            ("ma, 08 okt 2018 10:09", "2018-10-08T10:09"),
            ("2018年10月8日 10:09", "2018-10-08T10:09"),
            ("Tue, 17 Mar 2020 23:00:00 AEDT", "2020-03-17T12:00"),
            ("1661362853", "2022-08-24T17:40:53"),
        ],
    )
    def test_a_date_that_can_be_read_is_the_item_s(
        self, database: Database, site: LoopbackServer, poller: Poller, claim: str, right: str
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = entries(claim)
        poller.poll(source_id)
        [row] = contents(database)
        assert row["published_at"] == datetime.fromisoformat(right).replace(tzinfo=UTC)
        assert (row["undated_code"], row["undated_claim"]) == (None, None)

    def test_the_api_says_why_an_item_is_undated(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        site.answers["/feed"] = entries(ZERO)
        poller.poll(source_id)
        user = World(database).user()
        with database.transaction() as connection:
            connection.execute("update items set user_id = %s", (user.user_id,))
        [shown] = user.get("/v1/items").json["items"]
        assert (shown["published_at"], shown["sort_at"]) == (None, shown["first_seen_at"])
        assert shown["undated"]["code"] == "date_implausible"
        assert ZERO in shown["undated"]["detail"]
        assert user.get(f"/v1/items/{shown['id']}").json["undated"] == shown["undated"]
        assert user.get(f"/v1/items/{shown['id']}/timeline").json["undated"] == shown["undated"]

    def test_a_follower_s_stories_are_joined_whatever_dates_the_feed_claims(
        self, database: Database, site: LoopbackServer, poller: Poller
    ) -> None:
        source_id = subscribed(database, site)
        now = datetime.now(UTC)
        site.answers["/feed"] = entries(ZERO, "-62135596800", "Sat, 01 Jan 10000 00:00:00 GMT", format_datetime(now))
        poller.poll(source_id)
        [user_id] = [row["user_id"] for row in rows(database, "select distinct user_id from items")]
        with database.transaction() as connection:
            for row, vector in zip(contents(database), bunch(0, 4), strict=True):
                connection.execute("update contents set status = 'READY', text = 'x' where id = %s", (row["id"],))
                embed(connection, row["id"], vector, MODEL)
        done = JoinUserStories(database, Rule()).process(claimed(user_id, JobType.JOIN_STORIES))
        assert done.result["joined"] == 4

    @pytest.mark.parametrize("claim", [ZERO, "0", "Thu, 01 Jan 1970 00:00:00 GMT", "1661362853", "soon"])
    def test_the_next_briefing_tells_an_undated_entry_by_when_it_was_first_seen(
        self, database: Database, site: LoopbackServer, poller: Poller, claim: str
    ) -> None:
        desk = Desk(database, SystemClock())
        source_id = subscribed(database, site)
        with database.transaction() as connection:
            connection.execute("update subscriptions set user_id = %s", (desk.user_id,))
        site.answers["/feed"] = entries(claim)
        poller.poll(source_id)
        with database.transaction() as connection:
            connection.execute("update contents set status = 'READY', ready_at = now() - interval '1 day'")
            connection.execute("update items set created_at = now() - interval '1 day'")
        briefing_id = desk.brief(rhythm_since=datetime.now(UTC) - timedelta(days=3))
        assert desk.run(briefing_id)["state"] == "completed"
        # What is rightly of 2022 is no news.
        assert desk.titles(briefing_id) == ([] if claim == "1661362853" else [["Entry 0"]])

    @pytest.mark.parametrize(
        ("stated", "right"),
        [
            ('<meta name="date" content="21 August 2018">', (datetime(2018, 8, 21, tzinfo=UTC), None, None)),
            ("", (None, "date_implausible", ZERO)),
            ('<meta name="date" content="soon">', (None, "date_unreadable", "soon")),
            ('<meta name="date" content="2091-01-01">', (None, "date_implausible", "2091-01-01")),
        ],
    )
    def test_a_page_s_own_date_takes_the_place_of_one_that_cannot_be(
        self,
        database: Database,
        site: LoopbackServer,
        once: HttpClient,
        page_reader: PageReader,
        stated: str,
        right: tuple[object, ...],
    ) -> None:
        site.answers["/story"] = page(head=stated)
        bench = Bench(database, site, once, page_reader)
        content_id = bench.content("/story", published_at=None, undated_code="date_implausible", undated_claim=ZERO)
        row = bench.work(content_id)
        assert (row["published_at"], row["undated_code"], row["undated_claim"]) == right
        assert row["sort_at"] == (right[0] or row["first_seen_at"])


class TestStored:
    """What was stored before, by whichever way: guarded at the table, and safe to reckon with where it is not."""

    @pytest.mark.parametrize("extreme", EXTREMES)
    def test_no_writer_gets_an_instant_into_a_content_that_nothing_can_have(
        self, database: Database, extreme: str
    ) -> None:
        desk = Desk(database, SystemClock())
        content_id = desk.item("One", published_at=extreme, sort_at=extreme)
        [row] = desk.rows("select * from contents where id = %s", content_id)
        assert (row["published_at"], row["undated_code"]) == (None, "date_implausible")
        assert row["sort_at"] == row["first_seen_at"]

    @pytest.mark.parametrize("extreme", EXTREMES[1:])
    def test_no_writer_gets_an_instant_into_a_content_that_programs_cannot_hold(
        self, database: Database, extreme: str
    ) -> None:
        desk = Desk(database, SystemClock())
        desk.item("One")
        with database.transaction() as connection:
            connection.execute("update contents set sort_at = %s, first_seen_at = %s", (extreme, extreme))
        [row] = desk.rows("select sort_at, first_seen_at from contents")
        assert row["sort_at"] == row["first_seen_at"]
        assert believed(row["sort_at"])

    @pytest.mark.parametrize("extreme", EXTREMES)
    def test_stories_are_joined_though_such_an_instant_is_stored(self, database: Database, extreme: str) -> None:
        desk = Desk(database, SystemClock())
        with unguarded(database):
            ids = [desk.item("One", sort_at=extreme), desk.item("Two"), desk.item("Three")]
        with database.transaction() as connection:
            for content_id, vector in zip(ids, bunch(0, 3), strict=True):
                embed(connection, content_id, vector, MODEL)
        for _ in range(2):  # and again, with stories around that have such times
            done = JoinUserStories(database, Rule()).process(claimed(desk.user_id, JobType.JOIN_STORIES))
            with database.transaction() as connection:
                done.write(connection)
                connection.execute("update story_items set stale = true")
            assert done.result["joined"] == 3
        [count] = desk.rows("select count(*) as count from story_items")
        assert count["count"] == 3

    @pytest.mark.parametrize("extreme", EXTREMES)
    def test_items_are_clustered_and_scored_and_listed_though_such_an_instant_is_stored(
        self, database: Database, extreme: str
    ) -> None:
        user = World(database).user()
        reader = Reader(database, user.user_id)
        with unguarded(database):
            odd = reader.hold("solar", sort_at=extreme, published_at=extreme)
            plain = reader.hold("chess")
        assert reader.score()["scored"] == 2
        assert all(score is not None for score in reader.scores().values())
        for query in ({}, {"sort": "score"}):
            found = user.get("/v1/items", **query).json["items"]
            assert {one["id"] for one in found} == {str(odd), str(plain)}
            assert all(0 <= one["score"] <= 1 for one in found)
        assert user.get(f"/v1/items/{odd}").status == 200
        assert user.get("/v1/feed").status == 200
        done = ClusterUser(database, Recipe()).process(claimed(user.user_id, JobType.CLUSTER_USER))
        assert done is not None

    @pytest.mark.parametrize("extreme", EXTREMES)
    def test_a_briefing_is_made_though_such_an_instant_is_stored(self, database: Database, extreme: str) -> None:
        clock = SystemClock()
        desk = Desk(database, clock)
        with unguarded(database):
            desk.item("Plain")
            desk.item("Odd", sort_at=extreme, published_at=extreme)
        for zone in ("Pacific/Kiritimati", "America/Los_Angeles"):
            briefing_id = desk.brief(time_zone=zone, rhythm_since=clock.now() - timedelta(days=3))
            with database.transaction() as connection:
                connection.execute("update items set created_at = now() - interval '2 days'")
                connection.execute("update contents set ready_at = now() - interval '2 days'")
            assert desk.run(briefing_id)["state"] == "completed"
            [titles] = desk.titles(briefing_id)
            assert sorted(titles) == ["Odd", "Plain"]

    @pytest.mark.parametrize("extreme", EXTREMES)
    @pytest.mark.parametrize("binary", [False, True])
    def test_any_instant_can_be_read_from_the_database(self, database_url: str, extreme: str, binary: bool) -> None:
        for opened in (SingleConnection(database_url), Pool(database_url, size=1)):
            query = "select %s::timestamptz, '2018-08-21 09:00+02'::timestamptz"
            with opened.statement() as connection, connection.cursor(binary=binary) as cursor:
                [row] = cursor.execute(query, (extreme,)).fetchall()
            opened.close()
            assert row[0].utcoffset() == timedelta()
            assert (row[0] < row[1]) == (extreme.startswith(("0", "-")))
            assert row[1] == datetime(2018, 8, 21, 7, tzinfo=UTC)

    @pytest.mark.parametrize("newest_at", ["0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00", "soon", None])
    def test_the_next_poll_is_planned_whatever_rhythm_is_stored(self, newest_at: str | None) -> None:
        rhythm = Rhythm.loaded({"newest_at": newest_at, "gap_minutes": 60})
        planned = plan(
            UUID(int=1), now=datetime.now(UTC), wishes=Wishes(None, None, None), rhythm=rhythm, before_minutes=60,
            changed=False, headers={}, bounds_minutes=(15, 1_440),
        )  # fmt: skip
        assert timedelta() < planned.wait < timedelta(days=60)


@pytest.fixture
def stage(database: Database, site: LoopbackServer, poller: Poller) -> tuple[Database, LoopbackServer, Poller]:
    return database, site, poller


_WORDS = st.sampled_from([
    ZERO, "0", "1661362853", "infinity", "-infinity", "now", "epoch", "9999-12-31T23:59:59-14:00", "0000-00-00",
    "8/9/2018", "8/21/2018 9:00:00 AM", "ma, 08 okt 2018 10:09", "2018年10月8日", "31 Feb 2018", "24:00",
    "\u0661/\u0661/\u0661",
])  # fmt: skip


@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    claims=st.lists(
        st.one_of(
            _WORDS,
            st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(  # noqa: DTZ001 - made aware beside
                lambda at: at.replace(tzinfo=UTC).isoformat()
            ),
            st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="<&>"), max_size=30),
        ),
        min_size=3,
        max_size=8,
    )
)
def test_hostile_dates_pass_from_the_feed_to_the_briefing(
    stage: tuple[Database, LoopbackServer, Poller], claims: list[str]
) -> None:
    database, site, poller = stage
    desk = Desk(database, SystemClock())
    path = f"/feed/{desk.user_id}"
    source_id = subscribed(database, site, path)
    with database.transaction() as connection:
        connection.execute("update subscriptions set user_id = %s where source_id = %s", (desk.user_id, source_id))
    site.answers[path] = Answer(
        rss(*(item(n, pubDate=f"<![CDATA[{claim}]]>", link=site.url(f"{path}/{n}")) for n, claim in enumerate(claims)))
    )
    assert poller.poll(source_id)["new"] == len(claims)
    held = desk.rows(
        "select c.* from contents c join items i on i.content_id = c.id where i.user_id = %s", desk.user_id
    )
    assert len(held) == len(claims)
    for row, vector in zip(held, bunch(0, len(held)), strict=True):
        assert row["published_at"] is None or believed(row["published_at"])
        assert row["sort_at"] == min(filter(None, (row["published_at"], row["first_seen_at"])))
        with database.transaction() as connection:
            connection.execute(
                "update contents set status = 'READY', text = 'x', ready_at = now() - interval '1 day' where id = %s",
                (row["id"],),
            )
            embed(connection, row["id"], vector, MODEL)
    with database.transaction() as connection:
        connection.execute(
            "update items set created_at = now() - interval '1 day', saved = true where user_id = %s", (desk.user_id,)
        )
    done = JoinUserStories(database, Rule()).process(claimed(desk.user_id, JobType.JOIN_STORIES))
    assert done.result["joined"] == len(claims)
    assert Reader(database, desk.user_id).score()["scored"] == len(claims)
    briefing_id = desk.brief(rhythm_since=datetime.now(UTC) - timedelta(days=3))
    assert desk.run(briefing_id)["state"] == "completed"
    [edition] = desk.editions(briefing_id)
    assert sum(1 + len(story["citations"]) for story in edition["document"]["stories"]) == len(claims)


def test_what_claims_to_come_in_a_hundred_years_is_not_the_newest_of_a_first_import(
    database: Database, site: LoopbackServer, feed_reader: FeedReader
) -> None:
    source_id = subscribed(database, site, first_import="newest:1")
    site.answers["/feed"] = entries("Mon, 01 Jan 2091 00:00:00 GMT", format_datetime(datetime.now(UTC)))
    assert Poller(database, feed_reader).poll(source_id)["new_analysed"] == 1
    assert [row["status"] for row in contents(database)] == ["READY", "PENDING"]
