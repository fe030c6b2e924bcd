"""The sources resource, through API Gateway's events and on a real PostgreSQL."""

import threading
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from siftline.contracts import JobType, Queue
from siftline.jobs import lease_store
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from tests.api_client import ApiClient, World
from tests.factories import make_content

URL = "https://news.example/feed.xml"


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def follow(user: ApiClient, url: str = URL, **more: Any) -> str:
    answer = user.post("/v1/sources", {"url": url, **more})
    assert answer.status == 202, answer.text
    return str(answer.json["id"])


def bring(world: World, source_id: str, number: int) -> list[UUID]:
    """Let a source have brought contents, oldest first."""
    with world.database.transaction() as connection:
        contents = [make_content(connection) for _ in range(number)]
        for place, content_id in enumerate(contents):
            connection.execute(
                "update contents set sort_at = '2026-01-01Z'::timestamptz + %s * interval '1 minute' where id = %s",
                (place, content_id),
            )
            connection.execute(
                "insert into source_entries (source_id, entry_key, content_sha256, content_id) values (%s, %s, '', %s)",
                (source_id, str(place), content_id),
            )
        connection.execute("update sources set imported_at = now(), fetch_status = 'IDLE' where id = %s", (source_id,))
        connection.execute(
            "update jobs set state = 'completed', finished_at = now() where subject_id = %s", (source_id,)
        )
    return contents


def test_following_a_feed_queues_its_first_fetch(world: World) -> None:
    user = world.user()
    answer = user.post("/v1/sources", {"url": URL, "title": "News", "topics": ["World"], "first_import": "newest:10"})
    assert answer.status == 202
    assert answer.headers["location"] == f"/v1/sources/{answer.json['id']}"
    assert (answer.json["status"], answer.json["health"]) == ("QUEUED", "active")
    [envelope] = world.sender.sent[Queue.FETCH]
    assert envelope.group == f"user:{user.user_id}"
    source = user.get(answer.headers["location"]).json
    assert (source["title"], source["topics"], source["url"]) == ("News", ["World"], URL)
    assert (source["refresh_minutes"], source["own_refresh_minutes"], source["items"]) == (60, None, 0)
    assert world.sql("select first_import, priority from sources, jobs") == [("newest:10", 20)]


def test_a_page_that_two_sources_list_is_an_item_of_both(world: World) -> None:
    user, other = world.user(), world.user()
    first = follow(user)
    contents = bring(world, first, 3)
    second = follow(user, f"{URL}?2")
    follow(other, f"{URL}?2")
    world.sql(
        "insert into source_entries (source_id, entry_key, content_sha256, content_id)"
        " select %s, entry_key, '', content_id from source_entries where source_id = %s and entry_key < '2'",
        second,
        first,
    )
    world.sql(  # an entry that is listed twice counts once, one whose page is gone not at all
        "insert into source_entries (source_id, entry_key, content_sha256, content_id) values (%s, 'x', '', %s),"
        " (%s, 'y', '', null)",
        second,
        contents[0],
        second,
    )
    with world.database.transaction() as connection:
        for content_id in contents:
            connection.execute(
                "insert into items (id, user_id, content_id, source_id) values (%s, %s, %s, %s)",
                (new_id(), user.user_id, content_id, first),
            )

    def listed(source_id: str) -> list[str]:
        found = [item["content_id"] for item in user.get("/v1/items", source_id=source_id).json["items"]]
        assert user.get(f"/v1/sources/{source_id}").json["items"] == len(found)
        return found

    assert listed(first) == [str(one) for one in reversed(contents)]
    assert listed(second) == [str(one) for one in reversed(contents[:2])]
    assert other.get(f"/v1/sources/{second}").json["items"] == 0
    # AND who follows it no longer is not told what it lists
    user.delete(f"/v1/sources/{second}")
    assert user.get("/v1/items", source_id=second).json["items"] == []
    assert len(user.get("/v1/items", source_id=first).json["items"]) == 3


def test_following_it_again_changes_nothing(world: World) -> None:
    user = world.user()
    source_id = follow(user)
    again = user.post("/v1/sources", {"url": URL + "#top"})
    assert (again.status, again.json["id"]) == (200, source_id)
    assert world.sql("select count(*) from jobs") == [(1,)]


def test_a_second_follower_shares_the_source_and_gets_its_newest_hundred_at_once(world: World) -> None:
    source_id = follow(world.user())
    contents = bring(world, source_id, 103)
    second = world.user()
    answer = second.post("/v1/sources", {"url": URL})
    assert (answer.status, answer.json["id"], answer.json["items"]) == (202, source_id, 100)
    listed = second.get("/v1/items", source_id=source_id, limit=200).json["items"]
    assert [item["content_id"] for item in listed] == [str(one) for one in reversed(contents[3:])]
    assert len(world.sender.sent[Queue.FETCH]) == 1
    assert second.get(f"/v1/sources/{source_id}").json["items"] == 100


def test_a_page_that_was_saved_before_stays_as_it_is_when_its_feed_is_followed(world: World) -> None:
    source_id = follow(world.user())
    [content_id] = bring(world, source_id, 1)
    second = world.user()
    world.sql(
        "insert into items (id, user_id, content_id, saved) values (%s, %s, %s, true)",
        new_id(),
        second.user_id,
        content_id,
    )
    assert second.post("/v1/sources", {"url": URL}).json["items"] == 0
    [item] = second.get("/v1/items").json["items"]
    assert (item["saved"], item["source_id"]) == (True, None)


def test_who_follows_while_a_poll_is_being_written_gets_what_it_brings(world: World) -> None:
    first, second = world.user(), world.user()
    source_id = follow(first)
    answers: list[Any] = []
    with world.database.transaction() as connection:
        # GIVEN a poll that has written its entries and has asked who follows, not committed yet
        content_id = make_content(connection)
        connection.execute(
            "insert into source_entries (source_id, entry_key, content_sha256, content_id) values (%s, 'a', '', %s)",
            (source_id, content_id),
        )
        # WHEN another user follows the source meanwhile
        thread = threading.Thread(target=lambda: answers.append(second.post("/v1/sources", {"url": URL}).json))
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        # THEN the poll can still end by changing the source's row
        connection.execute("update sources set imported_at = now(), fetch_status = 'IDLE'")
    thread.join(60)
    # AND the new follower has its items
    assert answers[0]["items"] == 1
    assert [item["content_id"] for item in second.get("/v1/items").json["items"]] == [str(content_id)]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"url": "ftp://news.example/feed"}, "unsupported_scheme"),
        ({"url": "news"}, "invalid_url"),
        ({"url": "http://169.254.169.254/"}, "address_refused"),
        ({"url": URL, "kind": "reddit"}, "invalid_url"),
        ({"url": URL, "kind": "atom"}, "invalid_request"),
        ({"url": URL, "selector": "h2 a"}, "invalid_request"),
        ({"url": URL, "kind": "web", "selector": " "}, "invalid_request"),
        ({"url": URL, "refresh_minutes": 4}, "invalid_request"),
        ({"url": URL, "first_import": "newest:0"}, "invalid_request"),
        ({"url": URL, "topics": [""]}, "invalid_request"),
        ({}, "invalid_request"),
    ],
)
def test_what_cannot_be_followed_is_refused(world: World, body: dict[str, Any], code: str) -> None:
    answer = world.user().post("/v1/sources", body)
    assert (answer.status, answer.code) == (422, code)
    assert world.sql("select count(*) from sources") == [(0,)]


def test_limits_that_cross_are_refused_also_with_the_one_that_is_kept(world: World) -> None:
    user = world.user()
    crossed = {"refresh_min_minutes": 60, "refresh_max_minutes": 30}
    refused = user.post("/v1/sources", {"url": URL, **crossed})
    path = f"/v1/sources/{follow(user, refresh_min_minutes=60)}"
    for answer in (refused, user.patch(path, crossed), user.patch(path, {"refresh_max_minutes": 59})):
        assert (answer.status, answer.code) == (422, "invalid_request")
        [fault] = answer.json["errors"]
        assert (fault["code"], fault["pointer"]) == ("limits_crossed", "#/refresh_min_minutes")
    assert user.get(path).json["own_refresh_max_minutes"] is None
    assert user.patch(path, {"refresh_max_minutes": 60}).status == 200
    assert user.patch(path, {"refresh_min_minutes": None, "refresh_max_minutes": 30}).status == 200


def test_the_most_frequent_wish_decides_how_often_a_source_is_polled(world: World) -> None:
    first, second = world.user(), world.user()
    source_id = follow(first, refresh_minutes=240)
    path = f"/v1/sources/{source_id}"
    follow(second, refresh_minutes=30)
    assert first.get(path).json["refresh_minutes"] == 30
    assert first.get(path).json["own_refresh_minutes"] == 240
    assert second.patch(path, {"refresh_minutes": None}).json["refresh_minutes"] == 240
    assert first.patch(path, {"refresh_minutes": 15}).json["refresh_minutes"] == 15
    assert first.delete(path).status == 204
    assert second.get(path).json["refresh_minutes"] == 60


def test_limits_of_a_subscriber_count_where_nobody_is_made_to_wait_by_them(world: World) -> None:
    def limits() -> list[tuple[int | None, int | None]]:
        return world.sql("select refresh_min_minutes, refresh_max_minutes from sources")

    first, second = world.user(), world.user()
    path = f"/v1/sources/{follow(first, refresh_min_minutes=120, refresh_max_minutes=600)}"
    assert limits() == [(120, 600)]
    follow(second, refresh_max_minutes=300)
    assert limits() == [(None, 300)]
    shown = second.patch(path, {"refresh_min_minutes": 60, "refresh_max_minutes": None}).json
    assert (shown["own_refresh_min_minutes"], shown["own_refresh_max_minutes"]) == (60, None)
    assert limits() == [(60, 600)]


def test_no_wish_brings_a_poll_forward_that_the_server_does_not_want_yet(world: World) -> None:
    user = world.user()
    path = f"/v1/sources/{follow(user)}"
    world.sql(
        "update sources set last_fetch_at = now(), next_fetch_at = now() + interval '8 hours',"
        " fresh_until = now() + interval '3 hours' returning 1"
    )
    user.patch(path, {"refresh_minutes": 15})
    assert world.sql("select next_fetch_at = fresh_until from sources") == [(True,)]


def test_the_reason_says_so_where_a_wish_moved_the_next_poll(world: World) -> None:
    user = world.user()
    path = f"/v1/sources/{follow(user)}"
    world.sql(
        "update sources set last_fetch_at = now(), next_fetch_at = now() + interval '90 minutes',"
        " next_fetch_reason = 'new entries about 8 times a day: every 90 minutes', fetch_status = 'IDLE' returning 1"
    )
    world.sql("delete from jobs returning 1")
    wished = user.patch(path, {"refresh_minutes": 30}).json
    assert wished["next_fetch_reason"].startswith("requested polling interval changed")
    assert world.sql("select next_fetch_at - last_fetch_at = interval '30 minutes' from sources") == [(True,)]


@pytest.mark.parametrize(
    ("minutes", "wanted"),
    [
        (60, "polling requested every 60 minutes from then on"),
        (240, "polling requested every 4 hours from then on"),
        (None, "polling at its own rhythm from then on"),
    ],
)
def test_the_reason_follows_a_wish_that_does_not_move_the_next_poll(
    world: World, minutes: int | None, wanted: str
) -> None:
    user = world.user()
    path = f"/v1/sources/{follow(user, refresh_minutes=30)}"
    world.sql("delete from jobs returning 1")
    for told_as in ("{}", "the server says its answer is fresh for 2 hours ({}); after the hours"):
        world.sql(
            "update sources set last_fetch_at = now(), next_fetch_at = now() + interval '30 minutes',"
            " next_fetch_reason = %s returning 1",
            told_as.format("polling requested every 30 minutes"),
        )
        user.patch(path, {"refresh_minutes": 45})
        assert told(user.patch(path, {"refresh_minutes": minutes}).json)[1] == told_as.format(wanted)


def test_a_name_and_topics_are_each_followers_own(world: World) -> None:
    first, second = world.user(), world.user()
    path = f"/v1/sources/{follow(first)}"
    follow(second)
    world.sql("update sources set title = 'The feed''s own'")
    changed = first.patch(path, {"title": "Mine", "topics": ["World"]}).json
    assert (changed["title"], changed["topics"]) == ("Mine", ["World"])
    other = second.get(path).json
    assert (other["title"], other["topics"]) == ("The feed's own", [])
    assert first.patch(path, {"title": None}).json["title"] == "The feed's own"
    assert first.get(path).json["topics"] == ["World"]
    assert first.patch(path, {}).code == "invalid_request"


def test_a_source_that_nobody_follows_is_kept_but_rests_until_it_is_followed_again(world: World) -> None:
    first, second = world.user(), world.user()
    source_id = follow(first)
    follow(second)
    assert first.delete(f"/v1/sources/{source_id}").status == 204
    assert world.sql("select health from sources") == [("active",)]
    assert second.delete(f"/v1/sources/{source_id}").status == 204
    assert world.sql("select health, fetch_status from sources") == [("inactive", "IDLE")]
    assert world.sql("select state from jobs") == [("cancelled",)]
    assert follow(second) == source_id
    assert world.sql("select health, fetch_status from sources") == [("active", "QUEUED")]
    assert len(world.sender.sent[Queue.FETCH]) == 2


def test_items_stay_when_their_source_is_followed_no_longer(world: World) -> None:
    first, second = world.user(), world.user()
    source_id = follow(first)
    bring(world, source_id, 2)
    follow(second)
    second.delete(f"/v1/sources/{source_id}")
    assert len(second.get("/v1/items").json["items"]) == 2


def test_a_source_shows_its_health(world: World) -> None:
    user = world.user()
    source_id = follow(user)
    world.sql(
        "update sources set health = 'degraded', fetch_status = 'ERROR', consecutive_failures = 5,"
        " last_error_code = 'http_503', last_error_detail = 'The site answered 503.', skipped_entries = 2"
    )
    source = user.get(f"/v1/sources/{source_id}").json
    assert (source["status"], source["health"], source["consecutive_failures"]) == ("ERROR", "degraded", 5)
    assert source["last_error"] == {"code": "http_503", "detail": "The site answered 503."}
    assert source["skipped_entries"] == 2
    assert [one["id"] for one in user.get("/v1/sources", health="degraded").json["items"]] == [source_id]
    assert user.get("/v1/sources", health="active").json["items"] == []
    reset = user.post(f"/v1/sources/{source_id}/reset-health").json
    assert (reset["health"], reset["consecutive_failures"], reset["last_error"]) == ("active", 0, None)
    assert reset["status"] == "QUEUED"


def told(source: Any) -> tuple[datetime | None, str]:
    """Return when a source is said to be asked next, and why."""
    at = source["next_fetch_at"]
    return at and datetime.fromisoformat(at), source["next_fetch_reason"]


def put_off(world: World, source_id: str, code: str, *, deferred: bool) -> datetime:
    """Let a source's fetch wait."""
    [(due_at,)] = world.sql(
        "update jobs set due_at = now() + interval '10 min', published_at = null, error_message = 'Why.',"
        " waits_for = %s, deferred_since = case when %s then now() end"
        " where subject_id = %s and state = 'pending' returning due_at",
        code,
        deferred,
        source_id,
    )
    assert isinstance(due_at, datetime)
    return due_at


def test_a_source_says_when_it_is_asked_next_while_its_fetch_waits(world: World) -> None:
    user = world.user()
    source_id = follow(user)
    path = f"/v1/sources/{source_id}"
    due_at = put_off(world, source_id, "http_429", deferred=True)
    source = user.get(path).json
    assert told(source) == (due_at, "the server asked us to wait until then (429)")
    assert (datetime.fromisoformat(source["waiting_until"]), source["waiting_reason"]) == (due_at, "Why.")
    assert user.get("/v1/sources").json["items"] == [source]
    # AND it is not asked any sooner by hand
    assert told(user.post(f"{path}/refresh").json) == told(source)
    assert told(user.post(f"{path}/reset-health").json) == told(source)
    due_at = put_off(world, source_id, "http_500", deferred=False)
    assert told(user.get(path).json) == (due_at, "retry after a failed attempt: Why.")
    due_at = put_off(world, source_id, "host_busy", deferred=False)
    assert told(user.get(path).json) == (due_at, "Why.")


@pytest.mark.parametrize("how", ["refresh", "reset-health"])
def test_a_retry_that_waits_is_brought_forward_by_hand(world: World, how: str) -> None:
    user = world.user()
    source_id = follow(user)
    path = f"/v1/sources/{source_id}"
    later = put_off(world, source_id, "http_500", deferred=False)
    world.sql("update sources set consecutive_failures = 1, last_error_code = 'http_500', last_error_detail = 'Why.'")
    source = user.post(f"{path}/{how}").json
    at, why = told(source)
    assert at is not None
    assert (at < later, why) == (True, "requested: fetch queued")
    assert (source["status"], source["waiting_until"]) == ("QUEUED", None)
    assert "Why." not in source["waiting_reason"]
    assert (source["last_error"] is None) == (how == "reset-health")
    # AND it is handed out again, and to be had at once
    assert len(world.sender.sent[Queue.FETCH]) == 2
    [(job_id,)] = world.sql("select id from jobs")
    with world.database.transaction() as connection:
        assert lease_store.claim(connection, job_id, JobType.FETCH_SOURCE, lease_s=60, grace_s=0) is not None


@pytest.mark.parametrize(("code", "deferred"), [("http_503", True), ("host_busy", False), ("tenant_busy", False)])
def test_what_the_far_side_or_a_turn_put_off_waits_on_and_says_why(world: World, code: str, deferred: bool) -> None:
    user = world.user()
    source_id = follow(user)
    due_at = put_off(world, source_id, code, deferred=deferred)
    for how in ("refresh", "reset-health"):
        source = user.post(f"/v1/sources/{source_id}/{how}").json
        why = "the server asked us to wait until then (503)" if deferred else "Why."
        assert (told(source), source["waiting_reason"]) == ((due_at, why), "Why.")


def test_a_source_whose_fetch_is_queued_or_in_work_is_asked_now(world: World) -> None:
    user = world.user()
    source_id = follow(user)
    path = f"/v1/sources/{source_id}"
    bring(world, source_id, 1)
    world.sql("update sources set next_fetch_at = now() - interval '1 h', next_fetch_reason = 'long ago'")
    [(before,)] = world.sql("select now()")
    for how in ("refresh", "reset-health"):
        at, why = told(user.post(f"{path}/{how}").json)
        assert at is not None
        assert (at >= before, why) == (True, "fetch queued")
    [(job_id,)] = world.sql("select id from jobs where state = 'pending'")
    with world.database.transaction() as connection:
        assert lease_store.claim(connection, job_id, JobType.FETCH_SOURCE, lease_s=60, grace_s=1) is not None
    at, why = told(user.get(path).json)
    assert at is not None
    assert (at >= before, why) == (True, "being fetched now")
    # AND once nothing is under way, its own plan counts
    world.sql("update jobs set state = 'completed', lease_token = null, lease_until = null, finished_at = now()")
    [planned] = world.sql("update sources set next_fetch_at = now() + interval '3 h' returning next_fetch_at")
    source = user.get(path).json
    assert told(source) == (*planned, "its health was reset")
    assert (source["waiting_until"], source["waiting_reason"]) == (None, None)


def test_a_source_that_is_switched_off_is_asked_at_no_time(world: World) -> None:
    """Case F35: people read why a feed is polled no more."""
    user = world.user()
    path = f"/v1/sources/{follow(user)}"
    assert told(user.post(f"{path}/deactivate").json) == (None, "deactivated by a user")
    world.sql("update sources set next_fetch_reason = 'the server says the feed is gone for good'")
    assert told(user.get(path).json) == (None, "the server says the feed is gone for good")


def test_a_source_can_be_fetched_by_hand(world: World) -> None:
    user = world.user()
    source_id = follow(user)
    bring(world, source_id, 1)
    answer = user.post(f"/v1/sources/{source_id}/refresh")
    assert (answer.status, answer.json["status"]) == (202, "QUEUED")
    assert len(world.sender.sent[Queue.FETCH]) == 2
    world.sql("update sources set health = 'inactive'")
    assert user.post(f"/v1/sources/{source_id}/refresh").code == "source_inactive"


def test_only_its_sole_follower_or_an_operator_can_switch_a_source_off(world: World) -> None:
    first, second, operator = world.user(), world.user(), world.user("read", "write", "ops")
    path = f"/v1/sources/{follow(first)}"
    assert first.post(f"{path}/deactivate").json["health"] == "inactive"
    assert first.post(f"{path}/reset-health").json["health"] == "active"
    follow(second)
    assert first.post(f"{path}/deactivate").code == "source_shared"
    follow(operator)
    assert operator.post(f"{path}/deactivate").json["health"] == "inactive"


def test_sources_are_paged_newest_first(world: World) -> None:
    user = world.user()
    made = [follow(user, f"https://news.example/{place}.xml") for place in range(3)]
    first = user.get("/v1/sources", limit=2).json
    second = user.get("/v1/sources", limit=2, next=first["next"]).json
    assert [one["id"] for one in first["items"] + second["items"]] == made[::-1]
    assert second["next"] is None


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", {"title": "mine now", "refresh_minutes": 5}),
        ("DELETE", "", None),
        ("POST", "/refresh", None),
        ("POST", "/reset-health", None),
        ("POST", "/deactivate", None),
    ],
)
def test_a_source_that_one_does_not_follow_looks_like_one_that_is_not_there(
    world: World, method: str, path: str, body: dict[str, Any] | None
) -> None:
    owner, stranger = world.user(), world.user()
    source_id = follow(owner)
    bring(world, source_id, 1)  # nothing is under way, so its next fetch stands
    before = owner.get(f"/v1/sources/{source_id}").json
    answers = [stranger.send(method, f"/v1/sources/{wanted}{path}", body=body) for wanted in (source_id, new_id(), "x")]
    assert {(answer.status, answer.code) for answer in answers} == {(404, "not_found")}
    assert owner.get(f"/v1/sources/{source_id}").json == before


def _found(world: World, source_id: str, column: str, url: str) -> None:
    with world.database.transaction() as connection:
        connection.execute(f"update sources set {column} = %s where id = %s", (url, source_id))


@pytest.mark.parametrize("column", ["feed_url", "adopted_url"])
@pytest.mark.parametrize(
    "second", ["https://news.example/rss.xml", "http://news.example/rss.xml/", "news.example/rss.xml"]
)
def test_a_feed_is_not_followed_twice_under_two_addresses(world: World, column: str, second: str) -> None:
    """Case: a site and the feed that was found there were two sources of one follower."""
    user, other = world.user(), world.user()
    site = user.post("/v1/sources", {"url": "https://news.example/"}).json["id"]
    _found(world, site, column, "https://news.example/rss.xml")

    again = user.post("/v1/sources", {"url": second})

    assert (again.status, again.json["id"], again.json["items"]) == (200, site, 0)
    assert [one["id"] for one in user.get("/v1/sources").json["items"]] == [site]
    assert other.post("/v1/sources", {"url": second}).status == 202  # who does not follow the site follows the feed


def test_who_follows_a_feed_does_not_follow_its_site_too(world: World) -> None:
    user, other = world.user(), world.user()
    feed = user.post("/v1/sources", {"url": "https://news.example/rss.xml"}).json["id"]
    site = other.post("/v1/sources", {"url": "https://news.example/"}).json["id"]
    _found(world, site, "feed_url", "https://news.example/rss.xml")

    again = user.post("/v1/sources", {"url": "https://news.example/"})

    assert (again.status, again.json["id"]) == (200, feed)


def test_the_second_address_of_a_feed_needs_no_room(database: Database) -> None:
    world = World(database, sources_per_user=1)
    user = world.user()
    site = user.post("/v1/sources", {"url": "https://news.example/"}).json["id"]
    _found(world, site, "feed_url", "https://news.example/rss.xml")

    assert user.post("/v1/sources", {"url": "https://news.example/rss.xml"}).status == 200
    assert user.post("/v1/sources", {"url": "https://else.example/rss.xml"}).code == "too_many_sources"


@pytest.mark.parametrize("typed", ["news.example/feed.xml", "//news.example/feed.xml"])
def test_a_source_without_a_scheme_is_followed_by_https(world: World, typed: str) -> None:
    """Case: ``example.org`` was refused as no address."""
    user = world.user()
    source_id = user.post("/v1/sources", {"url": typed}).json["id"]
    assert user.get(f"/v1/sources/{source_id}").json["url"] == "https://news.example/feed.xml"
