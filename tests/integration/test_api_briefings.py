"""Briefings and editions as their owner makes, changes and reads them."""

import re
from collections.abc import Iterator
from datetime import datetime, time
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import pytest
from psycopg.rows import dict_row

from siftline.api.briefings.briefings import BRIEFINGS_MAX
from siftline.api.briefings.editions import preferred
from siftline.contracts import JobType, Queue
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from tests.api_client import Answered, ApiClient, World, sent
from tests.briefing import LINKS, Desk
from tests.http_events import http_event
from tests.simulated_time import simulated_time

MORNING = {"name": "Morning", "frequency": "DAILY", "at": "07:00"}


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def made(user: ApiClient, **more: Any) -> dict[str, Any]:
    answer = user.post("/v1/briefings", {**MORNING, **more})
    assert answer.status == 201, answer.text
    assert answer.headers["location"] == f"/v1/briefings/{answer.json['id']}"
    return dict(answer.json)


def row(world: World, briefing: dict[str, Any]) -> dict[str, Any]:
    with world.database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute("select * from briefings where id = %s", [briefing["id"]]).fetchone()
    assert found is not None
    return found


@pytest.mark.parametrize(
    "delivery",
    [
        {"channel": "webhook", "destination": "https://hooks.example/all"},
        {"channel": "email", "destination": "ada@post.example"},
    ],
)
def test_who_may_not_read_has_nothing_delivered(world: World, delivery: dict[str, str]) -> None:
    """What is delivered tells all that the account holds."""
    user = world.user()
    writer = world.client(user.user_id, "write")
    quiet = made(writer, delivery={"channel": "none"})
    refused = [
        writer.post("/v1/briefings", {**MORNING, "delivery": delivery}),
        writer.patch(f"/v1/briefings/{quiet['id']}", {"delivery": delivery}),
    ]
    told = writer.post("/v1/feed-tokens", {"name": "reader"})
    for answer in refused:
        assert (answer.status, answer.code) == (told.status, told.code) == (403, "insufficient_scope")
        assert answer.headers["www-authenticate"] == told.headers["www-authenticate"]
    assert world.sql("select channel from briefings") == [("none",)]
    loud = made(user, delivery=delivery)
    for changes in ({"name": "Evening"}, {"delivery": {"channel": "none"}}):
        assert writer.patch(f"/v1/briefings/{loud['id']}", changes).status == 200
    assert user.patch(f"/v1/briefings/{quiet['id']}", {"delivery": delivery}).status == 200


def test_a_briefing_is_made_shown_listed_changed_and_deleted(world):
    user = world.user()
    briefing = made(user, time_zone="Europe/Berlin", interests="tides")
    assert briefing["status"] == "ACTIVE"
    assert (briefing["at"], briefing["time_zone"], briefing["own_time_zone"]) == ("07:00", "Europe/Berlin", True)
    assert (briefing["weekday"], briefing["next_due_at"], briefing["last_edition_id"]) == (None, None, None)
    path = f"/v1/briefings/{briefing['id']}"

    shown = {name: value for name, value in briefing.items() if name != "signing_key"}
    assert user.get(path).json == shown
    assert user.get("/v1/briefings").json == {"items": [shown], "next": None}

    changed = user.patch(path, {"frequency": "WEEKLY", "weekday": 7, "at": "18:30", "time_zone": None})
    assert changed.status == 200, changed.text
    assert (changed.json["frequency"], changed.json["weekday"], changed.json["at"]) == ("WEEKLY", 7, "18:30")
    assert (changed.json["time_zone"], changed.json["own_time_zone"]) == ("UTC", False)
    assert changed.json["interests"] == "tides"

    assert user.delete(path).status == 204
    assert user.get(path).code == "not_found"


def test_a_new_time_begins_a_rhythm_and_another_name_does_not(world):
    user = world.user()
    briefing = made(user)
    path = f"/v1/briefings/{briefing['id']}"
    world.sql("update briefings set rhythm_since = '2026-01-01Z', next_due_at = '2026-01-02Z'")
    user.patch(path, {"name": "Early"})
    assert row(world, briefing)["next_due_at"] is not None
    user.patch(path, {"at": "06:00"})
    moved = row(world, briefing)
    assert (moved["next_due_at"], moved["at"]) == (None, time(6))
    assert moved["rhythm_since"].year == datetime.now().astimezone().year


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"at": "25:00"}, "#/at"),
        ({"at": "07:00+02:00"}, "#/at"),
        ({"weekday": 0}, "#/weekday"),
        ({"weekday": 3}, "#/weekday"),
        ({"frequency": "HOURLY"}, "#/frequency"),
        ({"time_zone": "Mars/Olympus"}, "#/time_zone"),
        ({"time_zone": "../../etc/passwd"}, "#/time_zone"),
        ({"name": " "}, "#/name"),
        ({"stories_max": 51}, "#/stories_max"),
        ({"delivery": {"channel": "email", "destination": "nobody"}}, "#/delivery/destination"),
        ({"delivery": {"channel": "email", "destination": "a@b.example\r\nBcc: c@d.x"}}, "#/delivery/destination"),
        ({"delivery": {"channel": "email", "destination": "a@b..cd"}}, "#/delivery/destination"),
        ({"delivery": {"channel": "email", "destination": ".a@b.cd"}}, "#/delivery/destination"),
        ({"delivery": {"channel": "email", "destination": "a@-b.cd"}}, "#/delivery/destination"),
        ({"delivery": {"channel": "email", "destination": "a" * 65 + "@b.cd"}}, "#/delivery/destination"),
        ({"delivery": {"channel": "webhook", "destination": "http://u:p@a.example/"}}, "#/delivery/destination"),
        ({"delivery": {"channel": "webhook", "destination": "http:\\\\u@a.example/"}}, "#/delivery/destination"),
        ({"delivery": {"channel": "webhook", "destination": "http://a.example/\tb"}}, "#/delivery/destination"),
        ({"delivery": {"channel": "webhook", "destination": "ht\ntp://a.example/"}}, "#/delivery/destination"),
        ({"delivery": {"channel": "email"}}, "#/delivery/destination"),
        ({"delivery": {"channel": "email", "destination": "a@b.example", "cc": "c@d.example"}}, "#/delivery/cc"),
        ({"delivery": {"destination": "a@b.example"}}, "#/delivery/channel"),
        ({"delivery": {"channel": "none", "destination": "a@b.example"}}, "#/delivery/destination"),
        ({"delivery": {"channel": "webhook", "destination": "ftp://a.example/"}}, "#/delivery/destination"),
        ({"delivery": {"channel": "webhook", "destination": "http://169.254.169.254/"}}, "#/delivery/destination"),
        ({"delivery": {"channel": "pigeon", "destination": "x"}}, "#/delivery/channel"),
        ({"colour": "red"}, "#/colour"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(world, body, pointer):
    answer = world.user().post("/v1/briefings", {**MORNING, **body})
    assert answer.status == 422, answer.text
    assert [fault["pointer"] for fault in answer.json["errors"]] == [pointer]


def test_a_weekday_is_for_weekly_ones_alone(world):
    user = world.user()
    briefing = made(user)
    path = f"/v1/briefings/{briefing['id']}"
    [fault] = user.patch(path, {"weekday": 3}).json["errors"]
    assert (fault["code"], fault["pointer"]) == ("weekday_of_daily", "#/weekday")
    assert user.patch(path, {"weekday": 3, "frequency": "WEEKLY"}).json["weekday"] == 3
    assert user.patch(path, {"weekday": 4}).json["weekday"] == 4
    assert user.patch(path, {"weekday": 4, "frequency": "DAILY"}).status == 422
    assert user.patch(path, {"frequency": "DAILY"}).json["weekday"] is None


def test_a_briefing_that_is_off_is_not_due(world):
    user = world.user()
    briefing = made(user)
    path = f"/v1/briefings/{briefing['id']}"
    world.sql("update briefings set next_due_at = '2026-11-30T06:00:00Z'")
    assert user.get(path).json["next_due_at"] == "2026-11-30T06:00:00Z"
    assert user.patch(path, {"enabled": False}).json["next_due_at"] is None
    assert [one["next_due_at"] for one in user.get("/v1/briefings").json["items"]] == [None]


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("23:59:59", "not have seconds"),
        ("7:00", '"HH:MM"'),
        (7, '"HH:MM"'),
        (None, '"HH:MM"'),
        ("07:00+02:00", "not have an offset"),
    ],
)
def test_a_time_that_is_none_of_the_wall_clocks_is_told_how_to_be_written(world, at, said):
    answer = world.user().post("/v1/briefings", {**MORNING, "at": at})
    [fault] = answer.json["errors"]
    assert (answer.status, fault["pointer"]) == (422, "#/at")
    assert said in fault["detail"]


STRAYS = ("\u2028", "\u2029", "\x85", "\xa0", "\u3000", "\n", "\t", "\v", "\x1c")


def test_an_address_is_checked_alike_wherever_it_is_given(world):
    user = world.user()
    briefing = made(user)
    strays = [f"{before}x@news.example{after}" for sign in STRAYS for before, after in (("", sign), (sign, ""))]
    for given in ("a@b..cd", "äda@news.example", "", "a" * 250 + "@b.example", *strays, " Ada@Bücher.example "):
        delivery = {"delivery": {"channel": "email", "destination": given}}
        asked = user.post("/v1/mail-addresses", {"address": given})
        changed = user.patch(f"/v1/briefings/{briefing['id']}", delivery)
        assert (asked.status == 202) == (changed.status == 200) == given.endswith("Bücher.example "), repr(given)
        if asked.status != 202:
            [told], [other] = asked.json["errors"], changed.json["errors"]
            assert (told["code"], told["detail"]) == (other["code"], other["detail"])
    assert changed.json["delivery"]["destination"] == "Ada@xn--bcher-kva.example"


@pytest.mark.parametrize("url", ["https://hooks.example/u@p?x=a@b#c@d", "https://hooks.example?a@b"])
def test_an_at_sign_elsewhere_in_a_webhooks_address_is_no_password(world, url):
    assert made(world.user(), delivery={"channel": "webhook", "destination": url})["signing_key"]


def test_a_webhook_gets_a_key_that_is_shown_once(world):
    user = world.user()
    hook = {"channel": "webhook", "destination": "https://hooks.example/a"}
    briefing = made(user, delivery=hook)
    assert len(briefing["signing_key"]) >= 32
    path = f"/v1/briefings/{briefing['id']}"
    assert "signing_key" not in user.get(path).json
    again = user.patch(path, {"delivery": hook}).json["signing_key"]
    assert again not in {None, briefing["signing_key"]}
    assert row(world, briefing)["signing_key"] == again
    user.patch(path, {"delivery": {"channel": "none"}})
    assert row(world, briefing)["signing_key"] is None


def test_delivery_that_was_stopped_begins_again_once_it_is_set(world):
    user = world.user()
    mail = {"channel": "email", "destination": "reader@example.org"}
    briefing = made(user, delivery=mail)
    world.sql("update briefings set stopped_code = 'unsubscribed'")
    path = f"/v1/briefings/{briefing['id']}"
    assert user.get(path).json["delivery"]["stopped"] == {"code": "unsubscribed"}
    assert user.patch(path, {"delivery": mail}).json["delivery"]["stopped"] is None


def test_a_user_has_so_many_briefings_and_no_more(world):
    user = world.user()
    for _ in range(BRIEFINGS_MAX):
        made(user)
    assert user.post("/v1/briefings", MORNING).code == "too_many_briefings"
    assert made(world.user())["name"] == "Morning"


def test_an_edition_asked_for_is_a_job_and_a_wish(world):
    user = world.user()
    briefing = made(user)
    answer = user.post(f"/v1/briefings/{briefing['id']}/run")
    assert answer.status == 202, answer.text
    [(job_id, job_type, queue, subject)] = world.sql("select id, job_type, queue, subject_id from jobs")
    assert (str(job_id), job_type, queue) == (answer.json["job_id"], JobType.RUN_BRIEFING, Queue.BRIEFING)
    assert str(subject) == briefing["id"]
    assert row(world, briefing)["asked_at"] is not None
    assert user.get(f"/v1/briefings/{briefing['id']}").json["status"] == "QUEUED"
    user.patch(f"/v1/briefings/{briefing['id']}", {"enabled": False})
    assert user.post(f"/v1/briefings/{briefing['id']}/run").code == "briefing_off"


def test_a_deleted_briefing_leaves_no_job(world):
    user = world.user()
    briefing = made(user)
    user.post(f"/v1/briefings/{briefing['id']}/run")
    user.delete(f"/v1/briefings/{briefing['id']}")
    assert world.sql("select state from jobs") == [("cancelled",)]


def test_nobody_sees_or_touches_anothers(world):
    owner, other = world.user(), world.user()
    briefing = made(owner)
    path = f"/v1/briefings/{briefing['id']}"
    answers = [
        other.get(path),
        other.patch(path, {"name": "Mine"}),
        other.delete(path),
        other.post(f"{path}/run"),
        other.get(f"/v1/editions/{new_id()}"),
    ]
    assert [answer.code for answer in answers] == ["not_found"] * 5
    assert other.get("/v1/briefings").json == {"items": [], "next": None}
    assert row(world, briefing)["name"] == "Morning"
    assert world.sql("select count(*) from jobs") == [(0,)]


@pytest.fixture
def desk(make_database) -> Iterator[Desk]:
    with simulated_time(make_database) as (clock, database):
        yield Desk(database, clock)


class _Shown(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]


def test_an_edition_is_read_as_json_page_and_text_by_its_owner_only(desk):
    world = World(desk.database)
    briefing = desk.brief(name="Morgen <b>früh</b>")
    desk.item("Ferry <script>alert(1)</script> runs", summary="It runs & runs.", url="https://news.example/a?b=1&c=2")
    desk.run(briefing)
    owner = world.client(desk.user_id)
    [listed] = owner.get("/v1/editions", briefing_id=str(briefing)).json["items"]
    assert (listed["name"], listed["stories"], listed["deliveries"]) == ("Morgen <b>früh</b>", 1, [])
    path = f"/v1/editions/{listed['id']}"

    shown = owner.get(path).json
    assert shown["document"]["stories"][0]["title"] == "Ferry <script>alert(1)</script> runs"
    page = owner.send("GET", path, headers={"accept": "text/html,*/*;q=0.8"})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    parsed = _Shown()
    parsed.feed(page.text)
    assert not {"script", "b", "img", "iframe", "form"} - {"b"} & set(parsed.tags)
    assert "https://news.example/a?b=1&c=2" in parsed.links
    assert re.search(r"Ferry &lt;script&gt;", page.text)
    text = owner.send("GET", path, headers={"accept": "text/plain"})
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert "Ferry <script>alert(1)</script> runs" in text.text

    other = world.user()
    assert other.get("/v1/editions").json["items"] == []
    assert {other.send("GET", path, headers={"accept": kind}).code for kind in ("text/html", "*/*")} == {"not_found"}


def test_an_editions_page_is_read_by_its_link_alone_and_opens_nothing_else(desk):
    world = World(desk.database)
    briefing = desk.brief()
    for day in (1, 2):
        desk.at(f"2026-12-0{day} 06:00")
        desk.item(f"Day {day}")
        desk.run(briefing)
    owner = world.client(desk.user_id)
    second, first = owner.get("/v1/editions").json["items"]
    shown = owner.get(f"/v1/editions/{first['id']}").json
    assert shown["document"]["links"]["page"] == f"{LINKS.base_url}{urlsplit(first['page_url']).path}"

    def follow(link: str, method: str = "GET", **query: str) -> Answered:
        return sent(world.api, http_event(method, urlsplit(link).path, query=query))

    page = follow(first["page_url"])
    assert page.status == 200
    assert "Day 1" in page.text
    assert "Day 2" not in page.text
    assert (page.headers["referrer-policy"], page.headers["x-robots-tag"]) == ("no-referrer", "noindex")
    assert (page.headers["cache-control"], page.headers["content-type"]) == ("no-store", "text/html; charset=utf-8")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert follow(first["page_url"], utm_source="x").text == page.text
    assert follow(first["page_url"], "HEAD").status == 200
    parsed = _Shown()
    parsed.feed(page.text)
    assert shown["document"]["links"]["page"] in parsed.links
    text = owner.send("GET", f"/v1/editions/{first['id']}", headers={"accept": "text/plain"}).text
    assert f"Read in a browser: {shown['document']['links']['page']}" in text
    for elsewhere in (first["id"], second["id"], "x", "read"):
        assert follow(f"https://news.example/v1/read/{elsewhere}").status == 404
    token = first["page_url"].rpartition("/")[2]
    assert sent(world.api, http_event("GET", f"/v1/editions/{token}")).status == 401
    owner.send("DELETE", f"/v1/briefings/{briefing}")
    assert follow(first["page_url"]).status == 404


def test_only_what_is_sent_says_how_to_stop_it_and_only_to_whom_it_is_sent(desk):
    world = World(desk.database)
    mailed = desk.brief(channel="email", destination="reader@news.example", at=time(6))
    quiet = desk.brief()
    desk.item("Ferry runs again")
    for briefing in (mailed, quiet):
        desk.run(briefing)
    [sent_out], [read_here] = desk.editions(mailed), desk.editions(quiet)
    stop = f"{LINKS.base_url}/v1/unsubscribe/{mailed}"
    assert stop in sent_out["html"]
    assert f"\nStop this briefing: {stop}\n" in sent_out["plain"]
    for form in ("html", "plain"):
        assert "unsubscribe" not in read_here[form]
        assert "Stop this briefing" not in read_here[form]
    assert read_here["plain"].endswith(read_here["document"]["links"]["page"] + "\n")
    kept = sent_out["read_token"]
    page = sent(world.api, http_event("GET", f"/v1/read/{kept}")).text
    token = world.client(desk.user_id).post("/v1/feed-tokens", {"name": "phone"}).json["token"]
    feed = sent(world.api, http_event("GET", "/v1/editions.atom", query={"token": token})).text
    for text in (page, feed):
        assert "Read in a browser" in text
        assert "unsubscribe" not in text
        assert "Stop this briefing" not in text


def test_editions_are_listed_newest_first_page_by_page(desk):
    world = World(desk.database)
    briefing = desk.brief()
    for day in range(1, 6):
        desk.at(f"2026-12-0{day} 06:00")
        desk.item(f"Day {day}")
        desk.run(briefing)
    owner = world.client(desk.user_id)
    found: list[str] = []
    query: dict[str, Any] = {}
    while True:
        answer = owner.get("/v1/editions", limit=2, **query).json
        found += [edition["period"] for edition in answer["items"]]
        if answer["next"] is None:
            break
        query = {"next": answer["next"]}
    assert found == [f"2026-12-0{day}" for day in (5, 4, 3, 2, 1)]
    shown = owner.get(f"/v1/briefings/{briefing}").json
    assert shown["last_edition_id"] == owner.get("/v1/editions", limit=1).json["items"][0]["id"]


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", "document"),
        ("*/*", "document"),
        ("application/json", "document"),
        ("text/html", "html"),
        ("TEXT/HTML; q=0.9, application/json; q=0.8", "html"),
        ("text/html;q=0", "document"),
        ("text/plain, text/html", "plain"),
        ("text/html;q=nonsense, text/plain", "plain"),
        ("image/png", "document"),
    ],
)
def test_accept_chooses_the_form(accept, form):
    assert preferred(accept) == form
