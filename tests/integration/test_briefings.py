"""One edition a period, frozen, of what came in since the one before: real PostgreSQL, real loop, moved time."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, time, timedelta
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from siftline.kit.ids import new_id
from siftline.rank.briefing_likeness import compare
from tests.briefing import Desk
from tests.factories import embed, make_source, make_user
from tests.scoring import MODEL, AxisDirections, vector
from tests.simulated_time import simulated_time


@pytest.fixture
def desk(make_database) -> Iterator[Desk]:
    """Simulated time begins on 27 November 2026, a Friday, at 12:00 UTC."""
    with simulated_time(make_database) as (clock, database):
        yield Desk(database, clock)


def test_what_came_in_since_the_last_edition_is_told_once_at_the_readers_time(desk):
    briefing = desk.brief(last_due_at=datetime(2026, 11, 27, 6, tzinfo=UTC))
    desk.item("Ferry runs again")
    assert desk.run(briefing)["result"] == {"outcome": "nothing_due"}  # 13:00 in Berlin: tomorrow's is not due

    desk.at("2026-11-28 06:00")
    job = desk.run(briefing)

    assert job["state"] == "completed"
    (edition,) = desk.editions(briefing)
    assert (edition["period_key"], edition["stories"]) == ("2026-11-28", 1)
    assert edition["window_until"] == datetime(2026, 11, 28, 6, tzinfo=UTC)
    assert desk.titles(briefing) == [["Ferry runs again"]]
    (row,) = desk.rows("select status, next_due_at, last_due_at from briefings")
    assert row["next_due_at"] == datetime(2026, 11, 29, 6, tzinfo=UTC)

    desk.at("2026-11-29 06:00")
    desk.item("Bridge closes")
    desk.run(briefing)
    assert desk.titles(briefing) == [["Ferry runs again"], ["Bridge closes"]]


def test_the_window_begins_where_the_last_one_ended_however_late_a_run_is(desk):
    """Cases D07, D15."""
    briefing = desk.brief(frequency="WEEKLY", weekday=1, last_due_at=datetime(2026, 11, 23, 6, tzinfo=UTC))
    desk.at("2026-11-29 20:00")
    desk.item("Sunday night")
    desk.at("2026-11-30 05:30")
    desk.item("Monday morning")
    desk.at("2026-11-30 08:00")  # two hours late
    desk.run(briefing)
    desk.item("Monday noon")
    desk.at("2026-12-07 06:00")
    desk.run(briefing)

    first, second = desk.titles(briefing)
    assert sorted(first) == ["Monday morning", "Sunday night"]
    assert second == ["Monday noon"]
    one, two = desk.editions(briefing)
    assert two["window_from"] == one["window_until"]


def test_two_triggers_at_once_make_one_edition(desk):
    """Cases D08, D15: the period is claimed by the row itself."""
    briefing = desk.brief()
    desk.item("Ferry runs again")
    jobs = []
    for _ in range(4):
        jobs.append(desk.enqueue(briefing))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda job: desk.deliver(briefing, job), jobs))
    assert len(set(jobs)) == 1
    assert len(desk.editions(briefing)) == 1


def test_a_period_that_another_run_made_meanwhile_is_not_made_again(desk):
    briefing = desk.brief()
    desk.item("Ferry runs again")
    desk.run(briefing)
    with (
        desk.database.transaction() as connection
    ):  # as after a restore: the briefing has forgotten, the edition stands
        connection.execute("update briefings set last_due_at = null, next_due_at = null")
    desk.item("Bridge closes")
    desk.run(briefing)
    assert desk.titles(briefing) == [["Ferry runs again"]]


def test_a_three_day_outage_ends_in_one_edition_of_all_that_came_in(desk):
    briefing = desk.brief(last_due_at=datetime(2026, 11, 27, 6, tzinfo=UTC))
    for day in (28, 29, 30):
        desk.at(f"2026-11-{day} 10:00")
        desk.item(f"On the {day}th")
    desk.at("2026-12-01 05:59")
    desk.run(briefing)
    desk.run(briefing)
    (edition,) = desk.editions(briefing)
    assert edition["period_key"] == "2026-11-30"
    assert sorted(desk.titles(briefing)[0]) == ["On the 28th", "On the 29th", "On the 30th"]


@pytest.mark.parametrize(("policy", "editions"), [("skip", 0), ("say", 1)])
def test_an_edition_of_nothing_is_skipped_or_says_so(desk, policy, editions):
    """Case D09."""
    briefing = desk.brief(on_empty=policy)
    job = desk.run(briefing)
    assert len(desk.editions(briefing)) == editions
    assert job["result"]["outcome"] == ("empty" if policy == "skip" else "made")
    for edition in desk.editions(briefing):
        assert edition["document"]["empty"] is True
        assert "Nothing new." in edition["html"]
        assert "Nothing new." in edition["plain"]
    assert desk.run(briefing)["result"] == {"outcome": "nothing_due"}


def test_who_asks_for_an_edition_is_told_that_nothing_is_new(desk):
    briefing = desk.brief(on_empty="skip")
    desk.run(briefing)
    assert desk.editions(briefing) == []
    with desk.database.transaction() as connection:
        connection.execute("update briefings set asked_at = now()")
    assert desk.run(briefing)["result"]["outcome"] == "made"
    [edition] = desk.editions(briefing)
    assert (edition["asked"], edition["document"]["empty"]) == (True, True)
    assert desk.run(briefing)["result"] == {"outcome": "nothing_due"}


@pytest.mark.parametrize(("policy", "editions"), [("skip", 0), ("say", 1)])
def test_an_edition_whose_one_item_was_deleted_before_it_was_rendered_is_one_of_nothing(desk, policy, editions):
    """Case D09."""
    briefing = desk.brief(on_empty=policy)
    gone = desk.item("Deleted before")
    with desk.database.transaction() as connection:
        connection.execute("delete from items where content_id = %s", [gone])
    desk.run(briefing)
    assert len(desk.editions(briefing)) == editions
    for edition in desk.editions(briefing):
        assert (edition["stories"], edition["document"]["coverage"]["items_seen"]) == (0, 0)
        assert edition["document"]["empty"] is True
        for rendering in (edition["html"], edition["plain"]):
            assert "Nothing new." in rendering
            assert "Deleted before" not in rendering


def test_every_rendering_shows_what_the_document_counts_and_stays(desk):
    """Cases D09, D11."""
    briefing = desk.brief()
    gone, stays = desk.item("Deleted before", sort_at=desk.clock.now()), desk.item("Stays")
    with desk.database.transaction() as connection:
        connection.execute("delete from contents where id = %s", [gone])
    desk.run(briefing)
    desk.item("Comes between")
    with desk.database.transaction() as connection:
        connection.execute("update contents set title = 'Edited later' where id = %s", [stays])
    (edition,) = desk.editions(briefing)
    assert [story["title"] for story in edition["document"]["stories"]] == ["Stays"]
    assert edition["document"]["coverage"]["items_seen"] == edition["stories"] == 1
    for rendering in (edition["html"], edition["plain"]):
        assert "1 story since" in rendering
        assert "Stays" in rendering
        assert "Deleted before" not in rendering
        assert "Comes between" not in rendering


def test_what_is_read_told_or_old_news_is_left_out_but_not_what_was_saved(desk):
    now = desk.clock.now()
    briefing = desk.brief()
    desk.item("Read already")
    with desk.database.transaction() as connection:
        connection.execute("update items set read_at = now()")
    desk.item("Old when it came", saved=False, sort_at=now - timedelta(days=30))
    desk.item("Old but saved", sort_at=now - timedelta(days=30))
    desk.item("New", saved=False)
    desk.item("Not read yet", status="PENDING")
    desk.run(briefing)
    assert sorted(desk.titles(briefing)[0]) == ["New", "Old but saved"]


def test_what_becomes_ready_after_an_edition_is_in_the_next(desk):
    briefing = desk.brief()
    late = desk.item("Slow page", status="PROCESSING")
    desk.item("Quick page")
    desk.run(briefing)
    desk.at("2026-11-27 15:00")
    with desk.database.transaction() as connection:
        connection.execute("update contents set status = 'READY' where id = %s", [late])
    desk.at("2026-11-28 06:00")
    desk.run(briefing)
    assert desk.titles(briefing) == [["Quick page"], ["Slow page"]]


def ask_again(desk: Desk, briefing: UUID) -> None:
    """Ask for an edition and make it, as ``POST …/run`` does."""
    desk.wait(120)
    with desk.database.transaction() as connection:
        connection.execute("update briefings set asked_at = now()")
    desk.run(briefing)


def test_what_was_seen_and_left_out_for_lack_of_room_does_not_come_again_as_new(desk):
    briefing = desk.brief(stories_max=2, on_empty="say")
    for number in range(6):
        desk.item(f"Story {number}")
    desk.run(briefing)
    for _ in range(3):  # all within the minutes that each window looks back for
        ask_again(desk, briefing)
    assert [len(titles) for titles in desk.titles(briefing)] == [2, 0, 0, 0]
    desk.item("Bridge closes")
    ask_again(desk, briefing)
    assert desk.titles(briefing)[-1] == ["Bridge closes"]
    windows = [(one["window_from"], one["window_until"]) for one in desk.editions(briefing)]
    assert [start for start, _ in windows[1:]] == [end for _, end in windows[:-1]]


def test_what_was_committed_after_the_window_that_it_came_in_is_told_by_the_next_edition(desk):
    briefing = desk.brief(stories_max=1, last_due_at=datetime(2026, 11, 27, 6, tzinfo=UTC), on_empty="say")
    desk.item("Left out", sort_at=desk.clock.now() - timedelta(hours=1))
    desk.item("Ferry runs again")
    slow = desk.item("Slow page", status="PROCESSING")
    with desk.database.transaction() as connection:  # committed at its end, two editions later
        connection.execute("update contents set status = 'READY' where id = %s", [slow])
        ask_again(desk, briefing)
        ask_again(desk, briefing)
    assert desk.titles(briefing) == [["Ferry runs again"], []]
    ask_again(desk, briefing)
    ask_again(desk, briefing)
    assert desk.titles(briefing) == [["Ferry runs again"], [], ["Slow page"], []]


def test_another_users_contents_are_never_told(desk):
    briefing = desk.brief()
    with desk.database.transaction() as connection:
        other = make_user(connection, name="other")
    desk.item("Mine")
    desk.item("Theirs", user_id=other)
    desk.run(briefing)
    assert desk.titles(briefing) == [["Mine"]]


def test_an_edition_asked_for_out_of_turn_comes_at_once_and_leaves_the_days_own(desk):
    briefing = desk.brief(last_due_at=datetime(2026, 11, 27, 6, tzinfo=UTC))
    desk.item("Ferry runs again")
    with desk.database.transaction() as connection:
        connection.execute("update briefings set asked_at = now()")
    desk.run(briefing)
    desk.run(briefing)
    desk.at("2026-11-28 06:00")
    desk.item("Bridge closes")
    desk.run(briefing)
    assert desk.titles(briefing) == [["Ferry runs again"], ["Bridge closes"]]
    assert [one["asked"] for one in desk.editions(briefing)] == [True, False]


def test_a_new_zone_moves_the_time_and_nothing_before_it_is_missed(desk):
    briefing = desk.brief(time_zone=None)
    with desk.database.transaction() as connection:
        connection.execute("update users set time_zone = 'Asia/Tokyo'")
    desk.item("Ferry runs again")
    assert desk.run(briefing)["result"] == {"outcome": "nothing_due"}
    (row,) = desk.rows("select next_due_at from briefings")
    assert row["next_due_at"] == datetime(2026, 11, 27, 22, tzinfo=UTC)


def test_a_zone_that_is_none_is_told_and_does_not_stop_others(desk):
    wrong, right = desk.brief(time_zone="Mars/Olympus"), desk.brief()
    desk.item("Ferry runs again")
    assert desk.run(wrong)["state"] == "failed"
    assert desk.run(right)["state"] == "completed"
    told = {row["id"]: row for row in desk.rows("select id, status, error_code, next_due_at from briefings")}
    assert (told[wrong]["status"], told[wrong]["error_code"]) == ("ERROR", "unknown_time_zone")
    assert told[wrong]["next_due_at"] > desk.clock.now()
    assert (told[right]["status"], told[right]["error_code"]) == ("ACTIVE", None)


def test_coverage_tells_which_sources_were_read_failed_or_not_asked(desk):
    now = desk.clock.now()
    briefing = desk.brief()
    states = {
        "Read": {"last_fetch_at": now, "last_success_at": now},
        "Broken": {"last_fetch_at": now, "last_error_code": "http_500"},
        "Idle": {"last_fetch_at": now - timedelta(days=9), "last_success_at": now - timedelta(days=9)},
    }
    with desk.database.transaction() as connection:
        for title, columns in states.items():
            source = make_source(connection, title=title, **columns)
            connection.execute(
                "insert into subscriptions (id, user_id, source_id) values (gen_random_uuid(), %s, %s)",
                (desk.user_id, source),
            )
    desk.item("Ferry runs again")
    desk.run(briefing)
    coverage = desk.editions(briefing)[0]["document"]["coverage"]
    assert (coverage["sources_read"], coverage["sources_failed"], coverage["sources_skipped"]) == (1, 1, 1)
    assert coverage["failed"] == [{"title": "Broken", "error_code": "http_500"}]


def test_a_delivery_is_written_with_the_edition_and_says_so_once_it_is_stopped(desk):
    mail = desk.brief(channel="email", destination="reader@news.example")
    stopped = desk.brief(channel="email", destination="reader@news.example", stopped_code="unsubscribed", at=time(6))
    desk.item("Ferry runs again")
    desk.run(mail)
    desk.run(stopped)
    assert len(desk.editions(mail)) == len(desk.editions(stopped)) == 1
    told = {
        row["edition_id"]: (row["state"], row["error_code"], row["error_detail"])
        for row in desk.rows("select edition_id, state, error_code, error_detail from deliveries")
    }
    assert told == {
        desk.editions(mail)[0]["id"]: ("pending", None, None),
        desk.editions(stopped)[0]["id"]: (
            "suppressed",
            "unsubscribed",
            "The recipient unsubscribed from this briefing.",
        ),
    }
    assert desk.rows("select count(*) as n from jobs where job_type = 'deliver_briefing'") == [{"n": 1}]


def test_ten_thousand_items_make_an_edition_of_ten(desk):
    briefing = desk.brief()
    with desk.database.transaction() as connection:
        connection.execute(
            "insert into contents (id, url, url_key, title, status, sort_at)"
            " select gen_random_uuid(), url, url, url, 'READY', now()"
            " from (select 'https://a.example/' || n as url from generate_series(1, 10000) n) as made"
        )
        connection.execute(
            "insert into items (id, user_id, content_id, created_at)"
            " select gen_random_uuid(), %s, id, now() from contents",
            [desk.user_id],
        )
    assert desk.run(briefing)["state"] == "completed"
    assert len(desk.titles(briefing)[0]) == 10


def test_the_best_for_the_user_comes_first_with_its_reasons(desk):
    briefing = desk.brief()
    reason = {"code": "interest", "weight": 0.6, "value": 0.9, "about": "tides", "cosine": 0.31}
    weak = {"code": "source", "weight": 0.4, "value": 0.2, "starred": 0, "read": 1, "brought": 30}
    for title, score in (("Dull", 0.1), ("Unscored", None), ("Fine", 0.9)):
        content = desk.item(title)
        with desk.database.transaction() as connection:
            connection.execute(
                "update items set score = %s, score_reasons = %s where content_id = %s",
                (score, Jsonb([weak, reason]), content),
            )
    desk.run(briefing)
    assert desk.titles(briefing) == [["Fine", "Unscored", "Dull"]]
    first, unscored, _ = desk.editions(briefing)[0]["document"]["stories"]
    assert first["reasons"] == ['Close to your interest "tides".']
    assert first["score"] == pytest.approx(0.915)
    assert unscored["score"] is None


def test_a_briefing_with_interests_tells_what_lies_near_them_and_says_so(make_database):
    with simulated_time(make_database) as (clock, database):
        desk = Desk(database, clock)
        briefing = desk.brief(interests="chess\nopera")
        for about in ("solar", "chess", "opera", "banks"):
            content = desk.item(f"On {about}", lang="en", text=about)
            with database.transaction() as connection:
                embed(connection, content, vector(about), MODEL)
        judged = compare(database, AxisDirections(), desk.user_id, interests_max=20)
        again = compare(database, AxisDirections(), desk.user_id, interests_max=20)
        desk.run(briefing)
        titles = desk.titles(briefing)
        stories = desk.editions(briefing)[0]["document"]["stories"]
    assert (judged, again) == (4, 0)
    assert sorted(titles[0]) == ["On chess", "On opera"]
    assert {story["reasons"][0] for story in stories} == {
        'It matches "chess", a topic of this briefing.',
        'It matches "opera", a topic of this briefing.',
    }


def test_an_edition_waits_some_minutes_for_what_it_is_about_to_be_compared(make_database):
    with simulated_time(make_database) as (clock, database):
        desk = Desk(database, clock)
        briefing = desk.brief(interests="chess")
        content = desk.item("On banks", lang="en", text="banks")
        with database.transaction() as connection:
            embed(connection, content, vector("banks"), MODEL)
        job = desk.run(briefing)
        assert (job["state"], job["error_code"], job["attempts"]) == ("pending", "interests_not_compared", 0)
        assert desk.editions(briefing) == []
        for _ in range(3):
            clock.sleep(400)
            desk.run(briefing)
        assert desk.titles(briefing) == [["On banks"]]


def test_what_was_compared_too_late_for_an_edition_is_in_the_next(make_database):
    with simulated_time(make_database) as (clock, database):
        desk = Desk(database, clock)
        briefing = desk.brief(interests="chess", on_empty="say")
        contents = {}
        for about in ("banks", "chess"):
            contents[about] = desk.item(f"On {about}", lang="en", text=about)
        with database.transaction() as connection:
            connection.execute(
                "insert into briefing_likeness values (%s, %s, 'd', 0.1, 'chess', now())",
                (briefing, contents["banks"]),
            )
        desk.run(briefing)
        desk.at("2026-11-27 13:00")
        with database.transaction() as connection:
            connection.execute(
                "insert into briefing_likeness values (%s, %s, 'd', 0.9, 'chess', now())",
                (briefing, contents["chess"]),
            )
        desk.at("2026-11-28 06:00")
        desk.run(briefing)
        assert desk.titles(briefing) == [[], ["On chess"]]


def story(desk: Desk, *contents: UUID) -> UUID:
    """Put contents into one story of the user's, as ``join_stories`` does."""
    story_id = new_id()
    with desk.database.transaction() as connection:
        connection.execute(
            "insert into stories (id, user_id, model_version, centroid, size, first_at, last_at)"
            " values (%s, %s, 'tiny', '', %s, now(), now())",
            (story_id, desk.user_id, len(contents)),
        )
    add(desk, story_id, *contents)
    return story_id


def add(desk: Desk, story_id: UUID, *contents: UUID) -> None:
    with desk.database.transaction() as connection:
        for content in contents:
            connection.execute(
                "insert into story_items (story_id, content_id, user_id, distance) values (%s, %s, %s, 0.1)",
                (story_id, content, desk.user_id),
            )


def test_a_text_with_two_addresses_on_its_site_is_cited_once(desk):
    briefing = desk.brief()
    lead = desk.item("Strait closes", site_name="Paper 0")
    page = desk.item("Ministry closes strait", site_name="Paper 1")
    moved = desk.item("Ministry closes strait", site_name="Paper 1", duplicate_of=page)
    copied = desk.item("Ministry closes strait", site_name="Paper 2", duplicate_of=page)
    story(desk, lead, page, moved, copied)
    with desk.database.transaction() as connection:
        connection.execute("update items set score = 0.9 where content_id = %s", [lead])
    desk.run(briefing)
    [edition] = desk.editions(briefing)
    [told] = edition["document"]["stories"]
    assert (told["title"], told["more"]) == ("Strait closes", 1)
    assert sorted(one["site"] for one in told["citations"]) == ["Paper 1", "Paper 2"]


def test_a_story_takes_one_place_and_comes_again_only_as_an_update(desk):
    """Cases C05, D13."""
    briefing = desk.brief()
    first = [desk.item(f"Strait closes {n}", site_name=f"Paper {n}") for n in range(3)]
    desk.item("Ferry runs again", site_name="Paper 9")
    story_id = story(desk, *first)
    desk.run(briefing)
    [edition] = desk.editions(briefing)
    assert edition["stories"] == 2
    assert len(edition["document"]["stories"][0]["citations"]) == 2

    desk.at("2026-11-28 06:00")
    add(desk, story_id, desk.item("Strait closed, says ministry", site_name="Paper 0"))
    desk.item("Bridge closes", site_name="Paper 9")
    desk.run(briefing)
    assert desk.titles(briefing)[1] == ["Bridge closes"]
    assert desk.editions(briefing)[1]["document"]["coverage"]["stories_told_before"] == 1

    desk.at("2026-11-29 06:00")
    add(desk, story_id, *(desk.item(f"Strait opens {n}", site_name=f"Paper {n}") for n in (7, 8)))
    desk.run(briefing)
    [told] = desk.editions(briefing)[2]["document"]["stories"]
    assert told["update"] is True
    assert told["title"].startswith("Strait opens")


def test_a_content_told_alone_counts_for_the_story_that_it_joins_later(desk):
    briefing = desk.brief()
    alone = desk.item("Strait closes", site_name="Paper 1")
    desk.run(briefing)
    desk.at("2026-11-28 06:00")
    story(desk, alone, desk.item("Strait is closed", site_name="Paper 2"))
    desk.run(briefing)
    assert desk.titles(briefing) == [["Strait closes"]]


@pytest.mark.parametrize(
    ("rhythm", "made_at", "moved", "next_due_at"),
    [
        ({"frequency": "DAILY"}, "2026-11-28 06:00", "2026-11-28 10:00", datetime(2026, 11, 29, 17, tzinfo=UTC)),
        (
            {"frequency": "WEEKLY", "weekday": 6},
            "2026-11-28 06:00",
            "2026-11-28 10:00",
            datetime(2026, 12, 5, 17, tzinfo=UTC),
        ),
    ],
    ids=["day", "week"],
)
def test_a_time_moved_on_within_what_was_told_is_due_with_what_was_not(desk, rhythm, made_at, moved, next_due_at):
    briefing = desk.brief(**rhythm)
    desk.at(made_at)
    desk.item("Ferry runs again")
    desk.run(briefing)
    desk.at(moved)
    with desk.database.transaction() as connection:
        connection.execute("update briefings set at = '18:00', rhythm_since = now(), next_due_at = null")
    desk.run(briefing)
    [row] = desk.rows("select next_due_at from briefings")
    assert row["next_due_at"] == next_due_at
    desk.clock.move_to(next_due_at)
    desk.item("Bridge closes")
    desk.run(briefing)
    assert desk.titles(briefing) == [["Ferry runs again"], ["Bridge closes"]]


def test_two_wishes_within_a_second_are_two_editions(desk):
    briefing = desk.brief(last_due_at=datetime(2026, 11, 27, 6, tzinfo=UTC))
    for title in ("Ferry runs again", "Bridge closes"):
        desk.clock.sleep(0.3)
        desk.item(title)
        with desk.database.transaction() as connection:
            connection.execute("update briefings set asked_at = now()")
        desk.run(briefing)
    assert desk.titles(briefing) == [["Ferry runs again"], ["Bridge closes"]]
