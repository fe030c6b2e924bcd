"""An edition accounts for all that came in: chosen over its whole window, and what is left out is counted by why."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from siftline.brief import brief_store
from siftline.brief.edition_model import Freshness, Window
from siftline.kit.ids import new_id
from tests.briefing import Desk
from tests.factories import make_source
from tests.simulated_time import simulated_time


@pytest.fixture
def desk(make_database) -> Iterator[Desk]:
    """Simulated time begins on 27 November 2026, a Friday, at 12:00 UTC."""
    with simulated_time(make_database) as (clock, database):
        yield Desk(database, clock)


def pour(desk: Desk, count: int, *, score: float | None = 0.5, title: str = "Item", **columns: str) -> None:
    """Give the user many contents, each a little older than the one before; ``columns`` are expressions of ``n``."""
    columns = {"sort_at": "now() - n * interval '10 seconds'", "ready_at": "now()", **columns}
    names, values = ", ".join(columns), ", ".join(columns.values())
    with desk.database.transaction() as connection:
        connection.execute("set local session_replication_role = replica")  # no words to be searched: it takes long
        connection.execute(
            f"insert into contents (id, url, url_key, title, status, {names})"
            f" select gen_random_uuid(), url, url, %(title)s || ' ' || n, 'READY', {values}"
            " from (select n, 'https://a.example/' || gen_random_uuid() as url"
            " from generate_series(1, %(count)s) n) as made",
            {"title": title, "count": count},
        )
        connection.execute(
            "insert into items (id, user_id, content_id, created_at, score)"
            " select gen_random_uuid(), %s, id, now(), %s from contents"
            " where not exists (select from items where content_id = contents.id)",
            [desk.user_id, score],
        )


def coverage_of(edition: dict[str, Any]) -> dict[str, Any]:
    coverage: dict[str, Any] = edition["document"]["coverage"]
    assert coverage["items_came_in"] == coverage["items_told"] + sum(coverage["items_left_out"].values())
    assert all(count >= 0 for count in coverage["items_left_out"].values())
    return coverage


def test_the_best_of_a_day_are_told_however_much_came_in_after_them(desk):
    """Case T42."""
    briefing = desk.brief(stories_max=3)
    pour(desk, 2_400, score=0.4)
    with desk.database.transaction() as connection:
        connection.execute(
            "update items set score = 0.95 from contents"
            " where contents.id = content_id and title in ('Item 2050', 'Item 2200', 'Item 2399')"
        )
    desk.run(briefing)

    [titles] = desk.titles(briefing)
    assert sorted(titles) == ["Item 2050", "Item 2200", "Item 2399"]
    coverage = coverage_of(desk.editions(briefing)[0])
    assert (coverage["items_came_in"], coverage["items_seen"], coverage["items_told"]) == (2_400, 2_400, 3)
    assert (coverage["stories_left_out"], coverage["items_left_out"]["no_place"]) == (2_397, 2_397)


def test_a_story_that_many_tell_is_found_however_low_each_of_them_is_scored(desk):
    briefing = desk.brief(stories_max=1)
    pour(desk, 2_100, score=0.4)
    story_id = new_id()
    members = [desk.item(f"Strait closes {n}", site_name=f"Paper {n}", saved=False) for n in range(12)]
    with desk.database.transaction() as connection:
        connection.execute("update items set score = 0.39 where content_id = any(%s)", [members])
        connection.execute(
            "insert into stories (id, user_id, model_version, centroid, size, first_at, last_at)"
            " values (%s, %s, 'tiny', '', 12, now(), now())",
            (story_id, desk.user_id),
        )
        for member in members:
            connection.execute(
                "insert into story_items (story_id, content_id, user_id, distance) values (%s, %s, %s, 0.1)",
                (story_id, member, desk.user_id),
            )
    desk.run(briefing)

    [edition] = desk.editions(briefing)
    assert desk.titles(briefing)[0][0].startswith("Strait closes")
    assert coverage_of(edition)["items_told"] == 12


def test_a_story_of_very_many_contents_is_told_by_its_best_and_all_of_it_is_counted(desk):
    briefing = desk.brief(stories_max=1)
    original = desk.item("The one", saved=False, site_name="First")
    pour(desk, 300, title="Copy", duplicate_of=f"'{original}'::uuid")
    with desk.database.transaction() as connection:
        connection.execute("update items set score = 0.9 where content_id = %s", [original])
    desk.run(briefing)

    [edition] = desk.editions(briefing)
    [story] = edition["document"]["stories"]
    assert story["title"] == "The one"
    assert len(story["citations"]) + story["more"] == 300
    coverage = coverage_of(edition)
    assert (coverage["items_told"], coverage["items_duplicate"]) == (301, 300)
    assert desk.rows("select count(*) as n from edition_items") == [{"n": brief_store.OF_STORY_MAX}]


@pytest.mark.parametrize(
    ("frequency", "told"),
    [("DAILY", ["1 days", "8 days"]), ("WEEKLY", ["1 days", "8 days", "20 days"])],
)
def test_after_forty_days_an_edition_tells_what_is_new_and_says_how_much_is_older(desk, frequency, told):
    briefing = desk.brief(frequency=frequency, weekday=5, last_due_at=datetime(2026, 11, 27, 6, tzinfo=UTC))
    with desk.database.transaction() as connection:
        connection.execute("update briefings set rhythm_since = '2026-11-01'")
    back = datetime(2027, 1, 8, 7, 30, tzinfo=UTC)
    for days in (36, 30, 27, 20, 8, 1):
        desk.at(f"{back - timedelta(days=days):%Y-%m-%d %H:%M}")
        desk.item(f"{days} days", saved=False)
    desk.at("2027-01-08 07:30")
    desk.run(briefing)

    [edition] = desk.editions(briefing)
    assert sorted(desk.titles(briefing)[0]) == sorted(told)
    coverage = coverage_of(edition)
    assert coverage["items_left_out"]["too_old"] == 6 - len(told)
    window = edition["document"]["window"]
    assert window["periods_passed_over"] == (41 if frequency == "DAILY" else 5)
    assert window["seconds"] > 40 * 86_400
    for rendering in (edition["html"], edition["plain"]):
        assert "Late: this edition covers 42 days" in " ".join(rendering.split())
        assert f"{6 - len(told)} articles from before" in " ".join(rendering.split())


def test_an_edition_in_its_time_says_nothing_of_being_overdue(desk):
    briefing = desk.brief(last_due_at=datetime(2026, 11, 27, 6, tzinfo=UTC), on_empty="skip")
    for day in ("28", "29"):
        desk.at(f"2026-11-{day} 06:00")
        assert desk.run(briefing)["result"]["outcome"] == "empty"
    desk.at("2026-11-30 06:00")
    desk.item("Ferry runs again")
    desk.run(briefing)

    [edition] = desk.editions(briefing)
    assert edition["document"]["window"]["periods_passed_over"] == 0
    assert "Overdue" not in edition["html"] + edition["plain"]


@pytest.mark.parametrize(
    "claimed",
    ["0001-01-01", "0001-01-01 BC", "1661-03-04", "1904-01-01", "1970-01-01", "9999-12-31", "-infinity", "infinity"],
)
def test_an_item_with_a_strange_date_counts_when_it_was_first_seen(desk, claimed):
    """Case T02: its briefing half."""
    briefing = desk.brief()
    desk.item("Dated strangely", saved=False, published_at=claimed, sort_at=claimed)
    desk.item("Dated well", saved=False, published_at=desk.clock.now())
    desk.run(briefing)

    [edition] = desk.editions(briefing)
    assert sorted(desk.titles(briefing)[0]) == ["Dated strangely", "Dated well"]
    published = {story["title"]: story["published_at"] for story in edition["document"]["stories"]}
    assert published == {"Dated strangely": None, "Dated well": "2026-11-27T12:00:00Z"}
    assert coverage_of(edition)["items_undated"] == 1
    assert "1 article without a date" in edition["plain"]


def test_what_an_edition_leaves_out_is_counted_by_why(desk):
    now = desk.clock.now()
    briefing = desk.brief()
    told = desk.item("Told", saved=False, published_at=now)
    desk.item("The same", saved=False, published_at=now, duplicate_of=told)
    read = desk.item("Read", saved=False, published_at=now)
    desk.item("Old", saved=False, published_at=now - timedelta(days=30), sort_at=now - timedelta(days=30))
    desk.item("Gone", saved=False, status="FAILED", error_code="http_404")
    for status in ("NEW", "PENDING", "PROCESSING"):
        desk.item(status, saved=False, status=status)
    with desk.database.transaction() as connection:
        connection.execute("update items set read_at = now() where content_id = %s", [read])
    desk.run(briefing)

    [edition] = desk.editions(briefing)
    coverage = coverage_of(edition)
    assert (coverage["items_came_in"], coverage["items_seen"], coverage["items_told"]) == (8, 2, 2)
    assert coverage["items_left_out"] == {
        "too_old": 1,
        "read": 1,
        "failed": 1,
        "not_read_yet": 3,
        "not_about": 0,
        "told_before": 0,
        "unusable": 0,
        "no_place": 0,
    }
    assert "Not considered: 1 too old, 1 already read, 1 unreadable, 3 not processed yet." in " ".join(
        edition["plain"].split()
    )


def spoil(desk, contents):
    """Have these contents hold reasons that nobody can tell."""
    with desk.database.transaction() as connection:
        connection.execute("""update items set score_reasons = '{"a": 1}' where content_id = any(%s)""", [contents])


def adds_up(coverage):
    left_out = coverage["items_left_out"]
    assert min(left_out.values()) >= 0, left_out
    return coverage["items_told"] + sum(left_out.values()) == coverage["items_came_in"]


@pytest.mark.parametrize("bad", [3, 20])
def test_what_cannot_be_told_takes_no_place_and_the_next_best_stands_there(desk, bad):
    briefing = desk.brief(stories_max=3, on_empty="skip")
    contents = [desk.item(f"Story {number}") for number in range(bad + 5)]
    with desk.database.transaction() as connection:
        for number, content in enumerate(contents):
            connection.execute("update items set score = %s where content_id = %s", (0.9 - number / 100, content))
    spoil(desk, contents[:bad])
    desk.run(briefing)

    assert desk.titles(briefing) == [[f"Story {number}" for number in range(bad, bad + 3)]]
    [edition] = desk.editions(briefing)
    coverage = coverage_of(edition)
    assert adds_up(coverage)
    assert (coverage["items_told"], coverage["items_left_out"]["unusable"]) == (3, bad)
    assert (coverage["items_left_out"]["no_place"], coverage["stories_left_out"]) == (2, 2)
    aside = desk.rows("select row_id, reason_code, detail from set_aside where job_type = 'run_briefing'")
    assert {one["row_id"] for one in aside} == set(contents[:bad])
    assert {(one["reason_code"], one["detail"]) for one in aside} == {
        ("unusable_row", "The reasons for its score are not in the format that scoring writes.")
    }


def test_an_edition_of_nothing_but_what_cannot_be_told_counts_all_of_it(desk):
    briefing = desk.brief(stories_max=2, on_empty="say")
    spoil(desk, [desk.item(f"Story {number}") for number in range(9)])
    desk.run(briefing)

    [edition] = desk.editions(briefing)
    coverage = coverage_of(edition)
    assert adds_up(coverage)
    assert (edition["stories"], coverage["items_left_out"]["unusable"]) == (0, 9)


def test_what_cannot_be_told_is_no_part_of_its_story(desk):
    briefing = desk.brief(on_empty="say")
    told = desk.item("Ferry")
    spoil(desk, [desk.item("Ferry again", duplicate_of=told)])
    desk.run(briefing)

    [edition] = desk.editions(briefing)
    coverage = coverage_of(edition)
    assert adds_up(coverage)
    assert (coverage["items_told"], coverage["items_left_out"]["unusable"]) == (1, 1)
    assert edition["document"]["stories"][0]["more"] == 0

    desk.at("2026-11-28 06:00")
    desk.item("Ferry once more", duplicate_of=told)
    spoil(desk, [desk.item("Ferry and no end", duplicate_of=told)])
    desk.run(briefing)

    coverage = coverage_of(desk.editions(briefing)[1])
    assert adds_up(coverage)
    assert (coverage["items_left_out"]["told_before"], coverage["items_left_out"]["unusable"]) == (1, 1)


@pytest.mark.parametrize("instant", ["infinity", "20000-01-01", "9999-12-31 23:59:59"])
@pytest.mark.parametrize(("table", "column"), [("contents", "ready_at"), ("items", "created_at")])
def test_what_came_at_no_time_that_can_be_came_now(desk, table, column, instant):
    briefing = desk.brief()
    content = desk.item("Ferry")
    waiting = desk.item("Bridge", status="PENDING")
    ids = "id" if table == "contents" else "content_id"
    with desk.database.transaction() as connection:
        connection.execute(
            f"update {table} set {column} = %s::timestamptz where {ids} = any(%s)", (instant, [content, waiting])
        )
    desk.run(briefing)

    [edition] = desk.editions(briefing)
    coverage = coverage_of(edition)
    assert (coverage["items_came_in"], coverage["items_told"], coverage["items_left_out"]["not_read_yet"]) == (2, 1, 1)


def test_thirty_thousand_items_in_a_window_are_counted_and_a_few_are_loaded(desk):
    briefing_id = desk.brief(stories_max=50)
    with desk.database.transaction() as connection:
        source = make_source(connection, title="Torrent")
    pour(desk, 30_000, title="Flood", sort_at="now() - n * interval '1 millisecond'")
    with desk.database.transaction() as connection:
        connection.execute("update items set source_id = %s", [source])
        connection.execute("analyze")
        end = desk.clock.now()
        briefing = brief_store.load(connection, briefing_id)
        assert briefing is not None
        window = Window(end - timedelta(days=1), end)
        looking = brief_store.Looking(briefing, window, end - timedelta(days=8), Freshness(), 50)
        came_in, loaded = brief_store.look(connection, looking)
    assert (came_in.came_in, came_in.looked_at, came_in.stories) == (30_000, 30_000, 30_000)
    assert len(loaded) == 50
    assert desk.run(briefing_id)["state"] == "completed"
    coverage = coverage_of(desk.editions(briefing_id)[0])
    assert (coverage["items_came_in"], coverage["items_told"]) == (30_000, 50)


def tell_all(desk: Desk, briefing: UUID) -> None:
    desk.wait(700)
    with desk.database.transaction() as connection:
        connection.execute("update briefings set asked_at = now()")
    desk.run(briefing)


def test_stories_told_before_take_no_place_from_new_ones_however_many_go_on(desk):
    briefing = desk.brief(stories_max=20)
    first = [desk.item(f"Story {n}", saved=False, site_name="Paper") for n in range(20)]
    desk.run(briefing)
    desk.wait(700)
    for content in first:  # what is said again of each, and better scored than all that is new
        more = desk.item("Again", saved=False, site_name="Paper", duplicate_of=content)
        with desk.database.transaction() as connection:
            connection.execute("update items set score = 0.99 where content_id = %s", [more])
    desk.item("New", saved=False)
    tell_all(desk, briefing)

    _, second = desk.editions(briefing)
    assert desk.titles(briefing)[1] == ["New"]
    coverage = coverage_of(second)
    assert (coverage["stories_told_before"], coverage["items_left_out"]["told_before"]) == (20, 20)
