"""Editions to a user's own address: signed, posted once, never to an inside address, never behind a redirect."""

import hashlib
import hmac
import json
from collections.abc import Iterator

import pytest

from siftline.brief.channels import body_of
from tests.delivering import DeliveryDesk
from tests.servers import Answer, LoopbackServer, redirect
from tests.simulated_time import simulated_time

PATH = "/hook"
INSIDE = (
    "http://127.0.0.1{port}/", "http://127.1{port}/", "http://2130706433{port}/", "http://0x7f.1{port}/",
    "http://0177.1{port}/", "http://\uff11\uff12\uff17.\uff10.\uff10.\uff11{port}/", "http://localhost{port}/",
    "http://a.localhost{port}/", "http://[::1]{port}/", "http://[::ffff:127.0.0.1]{port}/", "http://[::127.0.0.1]{port}/",
    "http://[64:ff9b::7f00:1]{port}/", "http://[2002:7f00:1::1]{port}/", "http://good@127.0.0.1{port}/",
    "https://127.0.0.1{port}/", "http://169.254.169.254/", "http://[fd00:ec2::254]/", "http://10.0.0.1/",
    "http://100.64.0.1/", "ftp://127.0.0.1{port}/", "file:///etc/passwd", "gopher://127.0.0.1{port}/_", "//127.0.0.1/",
)  # fmt: skip


@pytest.fixture
def desk(make_database) -> Iterator[DeliveryDesk]:
    with simulated_time(make_database) as (clock, database):
        desk = DeliveryDesk(database, clock, None)
        yield desk
        desk.close()


def test_a_webhook_gets_the_frozen_document_and_can_check_who_it_is_from(desk, site: LoopbackServer):
    """Case D11."""
    site.answers[PATH] = Answer(b"thanks", status=202)
    edition = desk.posted(site.url(PATH), signing_key="whsec-ключ")
    [job] = desk.deliver_due()
    assert job["result"] == {"outcome": "sent"}
    [asked] = site.asked(PATH)
    [frozen] = desk.rows("select document from editions")
    assert json.loads(asked.body) == frozen["document"]
    assert (asked.method, asked.headers["content-type"]) == ("POST", "application/json")
    assert asked.headers["x-siftline-edition-id"] == str(edition)
    timestamp = asked.headers["x-siftline-timestamp"]
    assert int(timestamp) == int(desk.clock.now().timestamp())
    expected = hmac.new("whsec-ключ".encode(), f"{timestamp}.".encode() + asked.body, hashlib.sha256).hexdigest()
    assert asked.headers["x-siftline-signature"] == f"v1={expected}"
    assert "authorization" not in asked.headers
    assert desk.delivery()["state"] == "sent"


def test_the_same_document_is_the_same_bytes():
    assert body_of({"b": "é", "a": 1}) == body_of({"a": 1, "b": "é"}) == '{"a":1,"b":"é"}'.encode()


def test_gone_ends_the_briefings_delivery(desk, site):
    site.answers[PATH] = Answer(status=410)
    desk.posted(site.url(PATH))
    desk.deliver_due()
    assert (desk.delivery()["state"], desk.delivery()["error_code"]) == ("failed", "gone")
    assert desk.rows("select stopped_code from briefings") == [{"stopped_code": "gone"}]


@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_a_refusal_fails_the_delivery_and_not_the_briefing(desk, site, status):
    site.answers[PATH] = Answer(status=status)
    desk.posted(site.url(PATH))
    desk.deliver_due()
    assert (desk.delivery()["state"], desk.delivery()["unanswered"]) == ("failed", 0)
    assert desk.rows("select stopped_code from briefings") == [{"stopped_code": None}]


def test_a_busy_server_is_asked_again_when_it_says_so(desk, site):
    site.answers[PATH] = [Answer(status=429, headers={"Retry-After": "1800"}), Answer(status=503), Answer()]
    desk.posted(site.url(PATH))
    desk.deliver_due()
    [job] = desk.rows(
        "select attempts, due_at - now() as wait from jobs where job_type = 'deliver_briefing' and state = 'pending'"
    )
    assert (job["attempts"], job["wait"].total_seconds()) == (0, 1800)
    for _ in range(2):
        desk.later()
        desk.deliver_due()
    assert [len(site.asked(PATH)), desk.delivery()["state"], desk.delivery()["unanswered"]] == [3, "sent", 0]


def test_a_server_that_is_down_is_asked_as_often_as_a_job_is_tried(desk, site):
    with_nobody = "http://127.0.0.1:1/hook"
    desk.posted(with_nobody)
    for _ in range(4):
        desk.deliver_due()
        desk.later()
    row = desk.delivery()
    assert (row["state"], row["error_code"], row["begun"], row["unanswered"]) == ("failed", "connection_failed", 4, 0)


def test_a_server_that_hangs_up_before_its_answer_is_asked_once_more_and_no_more(desk, site):
    """Fault 32."""
    site.answers[PATH] = Answer(b"", content_length=100)
    edition = desk.posted(site.url(PATH))
    for _ in range(4):
        desk.deliver_due()
        desk.later()
    asked = site.asked(PATH)
    assert [one.headers["x-siftline-edition-id"] for one in asked] == [str(edition)] * 2
    assert asked[0].body == asked[1].body
    assert (desk.delivery()["state"], desk.delivery()["error_code"]) == ("unconfirmed", "unanswered")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(desk, site, status):
    site.answers[PATH] = redirect(site.url("/else"), status)
    desk.posted(site.url(PATH))
    desk.deliver_due()
    assert (desk.delivery()["state"], desk.delivery()["error_code"]) == ("failed", "redirect_refused")
    assert site.asked("/else") == []


def test_an_answer_without_end_and_a_body_in_a_foreign_encoding_count_as_taken(desk, site):
    site.answers[PATH] = [Answer(b"x" * 200_000), Answer(b"?", headers={"Content-Encoding": "br"})]
    for _ in range(2):
        desk.posted(site.url(PATH))
        desk.deliver_due()
    assert desk.rows("select state, unanswered from deliveries") == [{"state": "sent", "unanswered": 0}] * 2


def test_no_spelling_of_an_inside_address_is_posted_to(make_database, site):
    """Cases S01 to S05 hold for what is sent as for what is fetched: it is one client."""
    site.answers["/"] = Answer()
    with simulated_time(make_database) as (clock, database):
        desk = DeliveryDesk(database, clock, None, allow_loopback=False)
        desk.item("Ferry runs again")
        for spelling in INSIDE:
            desk.posted(spelling.format(port=f":{site.port}"))
        jobs = desk.deliver_due()
        desk.close()
    assert [job["state"] for job in jobs] == ["failed"] * len(INSIDE)
    assert {job["error_code"] for job in jobs} <= {"address_refused", "invalid_url", "unsupported_scheme"}
    assert site.requests == []
