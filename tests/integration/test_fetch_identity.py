"""What a feed tells again is known again: over polls and days, after deletions, under new guids, dates and titles."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from uuid import UUID

import pytest

from siftline.api.items import items_store
from siftline.fetch.kinds.readers import FeedReader
from siftline.ingest import saving
from siftline.kit.db import Database
from tests.factories import make_user
from tests.polling import Poller, counts, item, rows, rss, source_of, subscribed
from tests.servers import Answer, LoopbackServer, serving

OLD = datetime.now(UTC) - timedelta(days=400)


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serving() as running:
        yield running


@pytest.fixture
def poller(database: Database, feed_reader: FeedReader) -> Poller:
    return Poller(database, feed_reader)


def polled(poller: Poller, server: LoopbackServer, source_id: UUID, *polls: bytes) -> list[int]:
    """Poll these bodies one after the other; returns how many entries each brought."""
    server.answers["/feed"] = [Answer(body + b" " * n) for n, body in enumerate(polls)]
    return [poller.poll(source_id)["new"] for _ in polls]


def days_pass(database: Database) -> None:
    """Let a day pass for what is stored."""
    with database.transaction() as connection:
        for table, column in (
            ("contents", "first_seen_at"),
            ("contents", "sort_at"),
            ("source_entries", "last_seen_at"),
        ):
            connection.execute(f"update {table} set {column} = {column} - interval '1 day'")


def test_an_undated_entry_polled_on_three_days_keeps_its_first(
    database: Database, server: LoopbackServer, poller: Poller
) -> None:
    """Case F21: the same undated item polled 3 times over 3 days."""
    source_id = subscribed(database, server)
    server.answers["/feed"] = [Answer(rss(item(0)) + b" " * n) for n in range(3)]
    poller.poll(source_id)
    for _ in range(2):
        days_pass(database)
        before = rows(database, "select first_seen_at, sort_at, published_at from contents")
        assert poller.poll(source_id)["new"] == 0
        assert rows(database, "select first_seen_at, sort_at, published_at from contents") == before
    assert before[0]["published_at"] is None
    assert counts(database) == (1, 1, 1, 1)


@pytest.mark.parametrize("by", ["retention", "user"])
def test_what_was_deleted_does_not_come_back_as_long_as_the_feed_lists_it(
    database: Database, server: LoopbackServer, poller: Poller, by: str
) -> None:
    """Case F23: a feed always lists a 400-day-old item, which a retention rule or its reader deleted."""
    source_id = subscribed(database, server)
    body = rss(item(0, pubDate=format_datetime(OLD)), item(1))
    assert polled(poller, server, source_id, body) == [2]
    with database.transaction() as connection:
        if by == "retention":
            connection.execute("delete from contents where sort_at < now() - interval '30 days'")
        else:
            [(item_id, user_id)] = connection.execute(
                "select id, user_id from items where told_title = 'Entry 0'"
            ).fetchall()
            assert items_store.delete_item(connection, user_id, item_id)
        connection.execute("update subscriptions set created_at = created_at - interval '1 hour'")
    for day in range(1, 4):
        days_pass(database)
        assert polled(poller, server, source_id, body + b" " * day) == [0]
        assert rows(database, "select url from contents") == [{"url": "https://news.example/1"}]


def test_who_follows_after_a_retention_rule_struck_gets_what_the_feed_lists(
    database: Database, server: LoopbackServer, poller: Poller
) -> None:
    source_id = subscribed(database, server)
    polled(poller, server, source_id, rss(item(0)))
    with database.transaction() as connection:
        connection.execute("update subscriptions set created_at = created_at - interval '1 hour'")
        connection.execute("delete from contents")
        user_id = make_user(connection)
        connection.execute(
            "insert into subscriptions (id, user_id, source_id) values (gen_random_uuid(), %s, %s)",
            (user_id, source_id),
        )
    server.answers["/feed"] = Answer(rss(item(0)) + b" ")
    assert poller.poll(source_id)["returned"] == 1
    assert counts(database)[0] == 1


def test_entries_without_guid_that_share_a_link_stay_known(
    database: Database, server: LoopbackServer, poller: Poller
) -> None:
    """Case F25: 3 items, no GUID, one shared link."""
    source_id = subscribed(database, server)
    three = [item(n, guid=None, link="https://news.example/all") for n in range(3)]
    found = polled(poller, server, source_id, rss(*three), rss(*reversed(three)), rss(*three, item(9)), rss(*three[:2]))
    assert found == [3, 0, 1, 0]
    assert counts(database) == (4, 4, 4, 4)


@pytest.mark.parametrize("link", ["https://news.example/{}", "https://news.example/", None])
def test_rewritten_guids_bring_no_second_analysis_and_no_second_item(
    database: Database, server: LoopbackServer, poller: Poller, link: str | None
) -> None:
    """Case F27: poll 2 with every GUID rewritten, http to https, then to a new scheme."""
    source_id = subscribed(database, server, users=2)
    bodies = [
        rss(*(item(n, guid=f"{scheme}{n}", link=link and link.format(n)) for n in range(3)))
        for scheme in (
            "http://g.example/" if link else "urn:old:",
            "https://g.example/" if link else "x:",
            "urn:new:",
            "t:",
        )
    ]
    assert polled(poller, server, source_id, bodies[0]) == [3]
    with database.transaction() as connection:
        connection.execute("update jobs set state = 'completed', finished_at = now()")
        connection.execute("update contents set status = 'READY', text = 'read', topics = '[]'")
    before = rows(database, "select id, user_id, content_id, created_at from items order by id")
    assert polled(poller, server, source_id, *(body + b"   " for body in bodies[1:])) == [0, 0, 0]
    assert counts(database) == (3, 6, 3, 3)
    assert rows(database, "select id, user_id, content_id, created_at from items order by id") == before
    assert rows(database, "select id from jobs where state = 'pending'") == []
    assert rows(database, "select distinct status from contents") == [{"status": "READY"}]


@pytest.mark.parametrize("dated", [True, False], ids=["dated", "undated"])
@pytest.mark.parametrize("link", [True, False], ids=["with a link", "the guid is the address"])
def test_new_permalinks_and_guids_bring_no_second_item_and_what_was_read_stays_read(
    database: Database, server: LoopbackServer, poller: Poller, dated: bool, link: bool
) -> None:
    """Case T23: a site changes the form of its addresses, and its guids with them."""

    def body(form: str) -> bytes:
        return rss(
            *(
                item(
                    n,
                    guid=server.url(form.format(n)),
                    link=server.url(form.format(n)) if link else None,
                    pubDate=format_datetime(OLD + timedelta(hours=n)) if dated else None,
                )
                for n in range(5)
            )
        )

    source_id = subscribed(database, server, users=2)
    assert polled(poller, server, source_id, body("/?p={}")) == [5]
    with database.transaction() as connection:
        connection.execute("update items set read_at = now()")
        connection.execute("update jobs set state = 'completed', finished_at = now()")
        connection.execute("update contents set status = 'READY', text = 'read', topics = '[]'")
    before = rows(database, "select id, user_id, content_id, read_at from items order by id")
    assert polled(poller, server, source_id, body("/2024/entry-{}/"), body("/2024/entry-{}/") + b" ") == [0, 0]
    assert counts(database) == (5, 10, 5, 5)
    assert rows(database, "select id, user_id, content_id, read_at from items order by id") == before
    assert rows(database, "select id from jobs where state = 'pending'") == []
    shown = (
        "select distinct coalesce(items.url, contents.url) as url from items join contents on content_id = contents.id"
    )
    urls = [row["url"] for row in rows(database, f"{shown} order by url")]
    assert urls == [server.url(f"/2024/entry-{n}/") for n in range(5)]


FOREIGN = ("https://paper.example/a", "https://paper.example/b")


def own_words(n: int, guid: str, link: str, words: str = "The very same words") -> str:
    return item(n, guid=guid, link=link, title=f"Mine {n}", description=f"{words}, number {n}.")


@pytest.mark.parametrize("guids", ["new", "old"])
def test_a_feed_moves_and_changes_no_page_of_another_site(
    database: Database, server: LoopbackServer, poller: Poller, guids: str
) -> None:
    """A feed that listed pages of another site may put neither its address nor its words in their place."""
    source_id = subscribed(database, server)
    first = rss(*(own_words(n, f"a{n}", link) for n, link in enumerate(FOREIGN)))
    new, words = ("b", "The very same words") if guids == "new" else ("a", "Other words")
    then = rss(*(own_words(n, f"{new}{n}", server.url(f"/evil/{n}"), words) for n in range(len(FOREIGN))))
    assert polled(poller, server, source_id, first) == [2]
    with database.transaction() as connection:
        connection.execute("update contents set status = 'READY', title = 'Theirs', text = 'read', topics = '[]'")
    polled(poller, server, source_id, then)
    theirs = "select url, title, entry_html from contents where url like 'https://paper.example%%' order by url"
    pages = rows(database, theirs)
    assert pages == [{"url": url, "title": "Theirs", "entry_html": None} for url in FOREIGN]
    shown = rows(database, "select url from items where url is not null")
    assert not [one for one in shown if "evil" in one["url"]]


@pytest.mark.parametrize("read", [True, False])
def test_a_page_that_somebody_else_holds_too_stays_at_its_address_for_them(
    database: Database, server: LoopbackServer, poller: Poller, read: bool
) -> None:
    """On a host of many people a feed may move its own followers' links, and nobody else's."""
    source_id = subscribed(database, server)
    old = [server.url(f"/bob/{n}") for n in range(2)]
    new = [server.url(f"/mallory/{n}") for n in range(2)]
    with database.transaction() as connection:
        bob = make_user(connection)
        saving.save_url(connection, bob, old[0])
    polled(poller, server, source_id, rss(*(own_words(n, f"a{n}", link) for n, link in enumerate(old))))
    with database.transaction() as connection:
        if read:
            connection.execute("update contents set status = 'READY', text = 'read', topics = '[]'")
    polled(poller, server, source_id, rss(*(own_words(n, f"b{n}", link) for n, link in enumerate(new))))
    with database.transaction() as connection:
        saving.save_url(connection, bob, old[1])
    held = "select c.url from contents c join items i on i.content_id = c.id where i.user_id = %s order by c.url"
    urls = [row["url"] for row in rows(database, held, bob)]
    assert urls == old
    shown = (
        "select coalesce(i.url, c.url) as url from contents c join items i on content_id = c.id where i.source_id = %s"
    )
    assert sorted(row["url"] for row in rows(database, shown, source_id)) == new


def test_a_new_entry_with_the_title_of_an_old_one_stays_new(
    database: Database, server: LoopbackServer, poller: Poller
) -> None:
    source_id = subscribed(database, server)
    days = [
        rss(item(n, title="Daily links", description="Today's.", pubDate=format_datetime(OLD + timedelta(days=n))))
        for n in range(3)
    ]
    assert polled(poller, server, source_id, *days) == [1, 1, 1]


def test_dates_stamped_anew_at_each_poll_change_nothing(
    database: Database, server: LoopbackServer, poller: Poller
) -> None:
    source_id = subscribed(database, server)
    start = datetime(2024, 1, 1, tzinfo=UTC)
    bodies = [
        rss(item(0, pubDate=format_datetime(start + timedelta(hours=poll))), item(1, guid=None, pubDate=str(poll)))
        for poll in range(4)
    ]
    assert polled(poller, server, source_id, *bodies) == [2, 0, 0, 0]
    assert rows(database, "select told_at from items where told_title = 'Entry 0'") == [{"told_at": start}]
    assert counts(database) == (2, 2, 2, 2)


def test_an_edited_title_is_an_edit(database: Database, server: LoopbackServer, poller: Poller) -> None:
    own = "http://127.0.0.1/0"
    source_id = subscribed(database, server)
    assert polled(
        poller, server, source_id, rss(item(0, link=own)), rss(item(0, link=own, title="Entry 0, corrected"))
    ) == [1, 0]
    assert rows(database, "select title from contents") == [{"title": "Entry 0, corrected"}]
    assert counts(database) == (1, 1, 1, 1)


def test_an_edited_title_without_a_guid_is_an_edit_too(
    database: Database, server: LoopbackServer, poller: Poller
) -> None:
    own = "http://127.0.0.1/0"
    source_id = subscribed(database, server)
    bodies = [rss(item(0, guid=None, link=own, title=title), item(1, guid=None)) for title in ("First", "Second")]
    assert polled(poller, server, source_id, *bodies) == [2, 0]
    assert counts(database) == (2, 2, 2, 2)


def test_one_guid_for_all_entries_tells_nothing(database: Database, server: LoopbackServer, poller: Poller) -> None:
    source_id = subscribed(database, server)
    bodies = [rss(*(item(n, guid="the-same") for n in numbers)) for numbers in ([0, 1, 2], [2, 1, 0], [3, 2, 1])]
    assert polled(poller, server, source_id, *bodies) == [3, 0, 1]
    assert counts(database) == (4, 4, 4, 4)


def on_day(number: int, **parts: str | None) -> str:
    words = ["Rain all day in the north", "Heavy storm, stay inside! Sun and mild winds", "Fog until noon."]
    date = format_datetime(OLD + timedelta(days=number), usegmt=True)
    return item(number, **{"pubDate": date, "description": words[number % len(words)], **parts})


@pytest.mark.parametrize("page", ["http://127.0.0.1/today", "https://elsewhere.example/today"])
@pytest.mark.parametrize("guid", [True, False])
def test_a_page_that_is_another_entry_each_day_is_another_item_each_day(
    database: Database, server: LoopbackServer, poller: Poller, page: str, guid: bool
) -> None:
    source_id = subscribed(database, server)
    bodies = [rss(on_day(n, link=page, guid=f"tag:{n}" if guid else None)) for n in range(3)]
    assert polled(poller, server, source_id, *bodies) == [1, 1, 1]
    assert counts(database) == (3, 3, 3, 3)
    titles = rows(database, "select coalesce(nullif(c.title, ''), i.told_title) as title from items i "
        "join contents c on c.id = i.content_id order by title")  # fmt: skip
    assert [row["title"] for row in titles] == ["Entry 0", "Entry 1", "Entry 2"]
    assert polled(poller, server, source_id, bodies[-1] + b"<!-- again -->") == [0]


@pytest.mark.parametrize("page", ["http://127.0.0.1/today", "https://elsewhere.example/today"])
def test_entries_that_share_guid_and_link_are_told_apart(
    database: Database, server: LoopbackServer, poller: Poller, page: str
) -> None:
    source_id = subscribed(database, server)
    bodies = [rss(*(on_day(n, link=page, guid=page) for n in days)) for days in ([2, 1, 0], [0, 1, 2], [3, 2, 1])]
    assert polled(poller, server, source_id, *bodies) == [3, 0, 1]
    assert counts(database) == (4, 4, 4, 4)


@pytest.mark.parametrize("site", ["http://127.0.0.1", "https://elsewhere.example"])
def test_guids_that_are_places_in_the_feed_hide_no_entry(
    database: Database, server: LoopbackServer, poller: Poller, site: str
) -> None:
    source_id = subscribed(database, server)
    days = ([2, 1, 0], [3, 2, 1], [4, 3, 2], [4, 3, 2])
    bodies = [rss(*(on_day(n, link=f"{site}/{n}", guid=str(place)) for place, n in enumerate(day))) for day in days]
    assert polled(poller, server, source_id, *bodies) == [3, 1, 1, 0]
    assert counts(database) == (5, 5, 5, 5)
    titles = rows(database, "select coalesce(nullif(c.title, ''), i.told_title) as title, c.url from items i "
        "join contents c on c.id = i.content_id order by title")  # fmt: skip
    assert [(row["title"], row["url"]) for row in titles] == [(f"Entry {n}", f"{site}/{n}") for n in range(5)]


def shown(database: Database) -> list[tuple[str, str]]:
    """Return the titles and addresses of what was brought, by title."""
    found = rows(database, "select coalesce(nullif(c.title, ''), i.told_title) as title, coalesce(i.url, c.url) as url"
        " from items i join contents c on c.id = i.content_id order by title")  # fmt: skip
    return [(row["title"], row["url"]) for row in found]


@pytest.mark.parametrize("site", ["http://127.0.0.1", "https://elsewhere.example"])
@pytest.mark.parametrize("text", [True, False], ids=["text", "title only"])
@pytest.mark.parametrize("dated", [True, False], ids=["dated", "undated"])
@pytest.mark.parametrize("guid", ["top", "pos-{}"])
def test_articles_at_named_places_are_items_each(
    database: Database, server: LoopbackServer, poller: Poller, site: str, text: bool, dated: bool, guid: str
) -> None:
    """A feed of one entry, or of three, in which every poll brings other articles under the guids of the last."""
    count = 1 if guid == "top" else 3

    def body(poll: int) -> bytes:
        numbers = range(poll * count, (poll + 1) * count)
        return rss(*(
            item(
                n, guid=guid.format(place), link=f"{site}/{n}",
                description=f"About {'abcdefghi'[n]}." if text else None,
                pubDate=format_datetime(OLD + timedelta(days=n)) if dated else None,
            )
            for place, n in enumerate(numbers)
        ))  # fmt: skip

    source_id = subscribed(database, server)
    bodies = [body(0), body(1), body(1) + b" ", body(2), body(2) + b" "]
    assert polled(poller, server, source_id, *bodies) == [count, count, 0, count, 0]
    assert shown(database) == [(f"Entry {n}", f"{site}/{n}") for n in range(3 * count)]


def test_an_undated_article_at_the_top_takes_no_other_ones_address(
    database: Database, server: LoopbackServer, poller: Poller
) -> None:
    source_id = subscribed(database, server)
    urls = [server.url(f"/M/{name}") for name in "abcde"]

    def body(top: int) -> bytes:
        listed = [("top", top), ("k1", 1), ("k2", 2)]
        return rss(*(
            item(n, guid=guid, link=urls[n], description=f"About {'abcde'[n]}.") for guid, n in listed
        ))  # fmt: skip

    assert polled(poller, server, source_id, body(0), body(3), body(3) + b" ", body(4), body(0)) == [3, 1, 0, 1, 0]
    assert shown(database) == [(f"Entry {n}", url) for n, url in enumerate(urls)]


@pytest.mark.parametrize("dated", [True, False], ids=["dated", "undated"])
@pytest.mark.parametrize("read", [True, False], ids=["read", "unread"])
@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({}, id="nothing else"),
        pytest.param({"title": "Another title"}, id="title"),
        pytest.param({"description": "Other words."}, id="text"),
        pytest.param(
            {"title": "Another title", "description": "Other words.", "guid": "tag:n.example,2024:a"}, id="all"
        ),
    ],
)
def test_an_entry_with_a_new_link_under_its_guid_gets_the_new_address(
    database: Database, server: LoopbackServer, poller: Poller, dated: bool, read: bool, parts: dict[str, str]
) -> None:
    source_id = subscribed(database, server, users=2)
    same = {"guid": parts.get("guid", "a"), "pubDate": format_datetime(OLD) if dated else None}
    assert polled(poller, server, source_id, rss(item(0, link=server.url("/L/a"), **same))) == [1]
    if read:
        with database.transaction() as connection:
            connection.execute("update contents set status = 'READY', text = 'read', topics = '[]'")
    there = rss(item(0, **{"link": server.url("/L/b"), **same, **parts}))
    assert polled(poller, server, source_id, there + b"  ", there + b"   ") == [0, 0]
    assert shown(database) == [(parts.get("title", "Entry 0"), server.url("/L/b"))] * 2
    assert rows(database, "select link from source_entries") == [{"link": server.url("/L/b")}]
    assert counts(database)[:3] == (1, 2, 1)


@pytest.mark.parametrize("dated", [True, False], ids=["dated", "undated"])
def test_what_comes_to_an_address_that_another_entry_has_left_is_an_item(
    database: Database, server: LoopbackServer, poller: Poller, dated: bool
) -> None:
    """The newest entry stands at one address and moves to its own; between two there may be none, or a gap."""
    source_id = subscribed(database, server)
    newest = server.url("/newest")

    def told(n: int, link: str) -> str:
        date = format_datetime(OLD + timedelta(days=n)) if dated else None
        return item(n, guid=f"g{n}", link=link, description=f"About {'abc'[n]}.", pubDate=date)

    bodies = [
        rss(told(0, newest)),
        rss(told(0, server.url("/0"))),
        rss(told(1, newest)),
        rss(told(2, newest), told(1, server.url("/1"))),
    ]
    assert polled(poller, server, source_id, *bodies) == [1, 0, 1, 1]
    urls = [server.url("/0"), server.url("/1"), newest]
    assert shown(database) == [(f"Entry {n}", url) for n, url in enumerate(urls)]


@pytest.mark.parametrize("shift", [1, 3, 5])
@pytest.mark.parametrize("dated", [True, False], ids=["dated", "undated"])
@pytest.mark.parametrize("link", ["/p/gp{}", "/all", "/", None], ids=["own links", "one link", "home", "no link"])
@pytest.mark.parametrize("guid", ["{}", "urn:place:{}"])
def test_each_story_of_a_feed_whose_guids_are_places_is_an_item_with_its_own_values(
    database: Database,
    server: LoopbackServer,
    poller: Poller,
    guid: str,
    link: str | None,
    dated: bool,
    shift: int,
) -> None:
    """Stories move down the places of a feed, and none takes another's address, title, words or date."""
    if guid.startswith("urn:"):
        shift = min(shift, 4)  # of names that nobody has seen move nothing tells that they are places

    def story(n: int) -> dict[str, str | None]:
        return {
            "title": f"Story {'abcdefghijklmnopq'[n]}",
            "link": link and server.url(link.format(n)),
            "description": f"What is told of {'abcdefghijklmnopq'[n]}.",
            "pubDate": format_datetime(OLD + timedelta(hours=n)) if dated else None,
        }

    def body(newest: int) -> bytes:
        places = enumerate(range(newest, newest - 5, -1))
        return rss(*(item(n, guid=guid.format(place), **story(n)) for place, n in places))

    source_id = subscribed(database, server)
    found = polled(poller, server, source_id, body(5), body(5 + shift), body(5 + shift) + b" ", body(6 + shift))
    assert found == [5, shift, 0, 1]
    shown = rows(
        database,
        "select title, contents.url, entry_html, published_at from contents join items on content_id = contents.id"
        " order by title",
    )
    for n, one in enumerate(shown, start=1):
        told = story(n)
        assert (one["title"], one["entry_html"]) == (told["title"], told["description"])
        assert one["url"] == (told["link"] or source_of(database, source_id)["url"])
        assert one["published_at"] == ((OLD + timedelta(hours=n)).replace(microsecond=0) if dated else None)
    assert len(shown) == 6 + shift


def test_what_was_listed_long_ago_and_is_listed_again_is_known(
    database: Database, server: LoopbackServer, poller: Poller
) -> None:
    source_id = subscribed(database, server)
    assert polled(poller, server, source_id, rss(item(0), item(1)), rss(item(2))) == [2, 1]
    for _ in range(60):
        days_pass(database)
    assert polled(poller, server, source_id, rss(item(1), item(0, guid="tag:other"), item(2)) + b"   ") == [0]
    assert counts(database) == (3, 3, 3, 3)


def test_a_note_whose_guid_and_count_both_change_is_known_by_its_time(
    database: Database, server: LoopbackServer, poller: Poller
) -> None:
    source_id = subscribed(database, server)
    date = format_datetime(datetime(2024, 1, 1, 12, 30, 7, tzinfo=UTC))
    bodies = [
        rss(item(0, link=None, guid=f"urn:{poll}", description=f"{poll} comments", pubDate=date)) for poll in range(4)
    ]
    assert polled(poller, server, source_id, *bodies) == [1, 0, 0, 0]
    assert counts(database) == (1, 1, 1, 1)
