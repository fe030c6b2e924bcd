"""Ending a briefing from a mail: with one click, by a button, never by a link that is only followed."""

from datetime import time

import pytest

from siftline.kit.ids import new_id
from tests.api_client import World, sent
from tests.http_events import http_event

FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture
def world(database) -> World:
    return World(database)


@pytest.fixture
def token(world: World) -> str:
    user = world.user()
    world.sql(
        "insert into briefings (id, user_id, name, frequency, at, channel, destination, unsubscribe_token)"
        " values (%s, %s, '<b>Morning</b> & \"news\"', 'DAILY', %s, 'email', 'a@news.example', 'tok-1_~')",
        new_id(),
        user.user_id,
        time(7),
    )
    return "tok-1_~"


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_what_others_add_to_a_link_changes_nothing(world, token, method):
    answered = sent(world.api, http_event(method, f"/v1/unsubscribe/{token}", query={"utm_source": "x", "a": ""}))
    assert answered.status == 200
    assert stopped(world) == ["unsubscribed" if method == "POST" else None]
    for folder in ("unsubscribe", "mail-addresses/confirm", "read"):
        unknown = sent(world.api, http_event(method, f"/v1/{folder}/nobody", query={"utm_source": "x"}))
        assert unknown.status == (405 if (method, folder) == ("POST", "read") else 404)


def stopped(world: World) -> list[str | None]:
    return [row[0] for row in world.sql("select stopped_code from briefings")]


def test_a_get_shows_a_page_with_one_button_and_changes_nothing(world, token):
    shown = sent(world.api, http_event("GET", f"/v1/unsubscribe/{token}"))
    assert shown.status == 200
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert shown.text.count("<button") == 1
    assert "&lt;b&gt;Morning&lt;/b&gt; &amp; &quot;news&quot;" in shown.text
    assert "<script" not in shown.text
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert shown.headers["referrer-policy"] == "no-referrer"
    assert shown.headers["cache-control"] == "no-store"
    assert stopped(world) == [None]


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ("List-Unsubscribe=One-Click", FORM),
        (b"List-Unsubscribe=One-Click", FORM),
        (
            '--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n',
            {"content-type": "multipart/form-data; boundary=b"},
        ),
        (None, {}),
    ],
    ids=["form", "form in base64", "multipart", "empty"],
)
def test_one_click_stops_delivery_without_a_login_and_once_more_is_answered_alike(world, token, body, headers):
    for _ in range(2):
        done = sent(world.api, http_event("POST", f"/v1/unsubscribe/{token}", body=body, headers=headers))
        assert done.status == 200
        assert "location" not in done.headers
        assert stopped(world) == ["unsubscribed"]
    shown = sent(world.api, http_event("GET", f"/v1/unsubscribe/{token}"))
    assert (shown.status, "<button" in shown.text) == (200, False)


def test_why_delivery_had_ended_before_stays(world, token):
    world.sql("update briefings set stopped_code = 'bounced'")
    assert sent(world.api, http_event("POST", f"/v1/unsubscribe/{token}")).status == 200
    assert stopped(world) == ["bounced"]


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("folder", ["/v1/unsubscribe", "/v1/mail-addresses/confirm"])
def test_a_token_that_nobody_has_leads_nowhere(world, token, method, folder):
    for unknown in ("tok-2", token.upper(), "%27or%201=1--", "x" * 500):
        answered = sent(world.api, http_event(method, f"{folder}/{unknown}"))
        assert answered.status == 404
    assert stopped(world) == [None]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_other_methods_are_told_the_right_ones(world, token, method):
    answered = sent(world.api, http_event(method, f"/v1/unsubscribe/{token}"))
    assert (answered.status, answered.headers["allow"]) == (405, "GET, HEAD, POST")


@pytest.mark.parametrize(
    "path", ["/v1/unsubscribe", "/v1/unsubscribe/", "/v1/unsubscribe/a/b", "/v1/mail-addresses/x/y"]
)
def test_nothing_beside_the_links_is_open(world, path):
    assert sent(world.api, http_event("POST", path)).status == 401
