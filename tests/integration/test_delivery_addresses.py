"""Who gets mail at all: whose owner said yes, and nobody whose mail comes back or who complained."""

import json
from collections.abc import Iterator

import pytest

from siftline.brief.delivery import ASKED, ASKED_IN_TURN, ASKED_LATELY, BEING_ASKED
from siftline.brief.mail_events import read_event
from siftline.contracts import JobType
from tests.api_client import ApiClient, World, sent
from tests.delivering import READER, DeliveryDesk, FakeSes
from tests.functions import EVENTS
from tests.http_events import http_event
from tests.servers import LoopbackServer
from tests.simulated_time import simulated_time


@pytest.fixture
def ses(site: LoopbackServer) -> FakeSes:
    return FakeSes(site)


@pytest.fixture
def desk(make_database, ses) -> Iterator[DeliveryDesk]:
    with simulated_time(make_database) as (clock, database):
        desk = DeliveryDesk(database, clock, ses.endpoint)
        yield desk
        desk.close()


def event(kind: str, message_id: str = "ses-1", address: str = READER, **more: object) -> dict[str, object]:
    """Return the detail of SES's sample events for one address."""
    shown = {"eventType": kind, "mail": {"messageId": message_id, "destination": [address]}}
    return {**shown, **more}


def bounce(kind: str = "Permanent", address: str = READER) -> dict[str, object]:
    told = [{"emailAddress": address, "action": "failed", "status": "5.1.1", "diagnosticCode": "smtp; 550 unknown"}]
    return event("Bounce", bounce={"bounceType": kind, "bounceSubType": "General", "bouncedRecipients": told})


def complaint(feedback: str | None = "abuse", address: str = READER) -> dict[str, object]:
    told = {"complainedRecipients": [{"emailAddress": address}]}
    return event("Complaint", complaint=told | ({"complaintFeedbackType": feedback} if feedback else {}))


def why(desk: DeliveryDesk) -> str:
    """Return what the newest delivery says of itself."""
    [row] = desk.rows("select error_detail from deliveries order by created_at desc, id desc limit 1")
    detail: str = row["error_detail"]
    return detail


def go_on(desk: DeliveryDesk, title: str, **columns: object) -> None:
    """Have the only briefing changed and make an edition of it, as PATCH and run do."""
    desk.wait(60)
    desk.item(title)
    with desk.database.transaction() as connection:
        for name, value in columns.items():
            connection.execute(f"update briefings set {name} = %s", [value])
        connection.execute("update briefings set asked_at = now()")
    [briefing] = desk.rows("select id from briefings")
    desk.run(briefing["id"])
    desk.deliver_due()


def hear(desk: DeliveryDesk, told: dict[str, object]) -> str:
    """Hand an event to the loop as EventBridge does and return what came of it."""
    desk.hand({"job_type": "record_mail_event", "event": told})
    [row] = desk.rows(
        "select result ->> 'outcome' as outcome from jobs where job_type = 'record_mail_event' and state = 'completed'"
        " order by created_at desc, id desc limit 1"
    )
    outcome: str = row["outcome"]
    return outcome


def test_an_address_that_nobody_confirmed_is_asked_by_one_mail_a_day_and_gets_no_edition(desk, ses):
    desk.mailed(confirmed=False)
    desk.deliver_due()
    assert (desk.delivery()["state"], desk.delivery()["error_code"]) == ("suppressed", "address_not_confirmed")
    assert desk.work(JobType.CONFIRM_ADDRESS)[0]["result"] == {"outcome": "asked"}
    [mail] = ses.taken
    [row] = desk.rows("select token, confirmed_at from mail_addresses")
    assert mail["X-Edition-Id"] is None
    assert f"https://news.example/v1/mail-addresses/confirm/{row['token']}" in mail.get_content()
    assert "Morning" not in mail.as_string()  # nothing that the user wrote reaches a stranger

    [briefing] = desk.rows("select id from briefings")
    desk.at("2026-11-27 20:00")
    desk.item("Bridge closes")
    with desk.database.transaction() as connection:
        connection.execute("update briefings set asked_at = now()")
    desk.run(briefing["id"])
    desk.deliver_due()
    assert desk.work(JobType.CONFIRM_ADDRESS)[0]["result"] == {"outcome": "not_asked"}
    assert len(ses.taken) == 1

    desk.at("2026-11-28 13:00")
    desk.item("Bridge opens")
    desk.run(briefing["id"])
    desk.deliver_due()
    assert desk.work(JobType.CONFIRM_ADDRESS)[0]["result"] == {"outcome": "asked"}
    assert len(ses.taken) == 2


def test_a_briefing_whose_address_is_changed_again_and_again_asks_no_more_strangers_than_one_may(desk, ses):
    with desk.database.transaction() as connection:
        connection.execute(
            "insert into mail_addresses (id, user_id, address, token)"
            " select gen_random_uuid(), %s, n || '@news.example', n::text from generate_series(1, 49) n",
            [desk.user_id],
        )
    desk.mailed(confirmed=False)
    desk.deliver_due()
    assert why(desk) == BEING_ASKED
    go_on(desk, "Bridge closes", destination="stranger@news.example")
    [row] = desk.rows("select state, error_code from deliveries where destination = 'stranger@news.example'")
    assert row == {"state": "suppressed", "error_code": "too_many_mail_addresses"}
    assert "Delete one first" in why(desk)
    assert len(desk.rows("select id from mail_addresses")) == 50
    assert [job["result"] for job in desk.work(JobType.CONFIRM_ADDRESS)] == [{"outcome": "asked"}]


def test_a_user_has_so_many_owners_asked_a_day_and_the_others_wait_their_turn(make_database, ses):
    with simulated_time(make_database) as (clock, database):
        desk = DeliveryDesk(database, clock, ses.endpoint, asks_per_day=2)
        desk.mailed(confirmed=False)
        desk.deliver_due()
        desk.work(JobType.CONFIRM_ADDRESS)
        for number in (1, 2):
            go_on(desk, f"Story {number}", destination=f"stranger{number}@news.example")
            told = why(desk)
            [job] = desk.work(JobType.CONFIRM_ADDRESS)
        assert (job["state"], job["error_code"], job["attempts"]) == ("pending", "too_many_mail_asks", 0)
        assert told == ASKED_IN_TURN
        assert len(ses.taken) == 2
        clock.sleep(86_400 - 120)  # when the first question is a day old
        [job] = desk.work(JobType.CONFIRM_ADDRESS)
        assert job["result"] == {"outcome": "asked"}
        assert len(ses.taken) == 3
        desk.close()


def test_an_address_that_is_deleted_and_given_again_is_not_asked_twice_a_day(desk, ses):
    desk.mailed(confirmed=False)
    desk.deliver_due()
    desk.work(JobType.CONFIRM_ADDRESS)
    user = ApiClient(World(desk.database).api, desk.user_id)
    [given] = user.get("/v1/mail-addresses").json["items"]
    assert user.delete(f"/v1/mail-addresses/{given['id']}").status == 204
    go_on(desk, "Bridge closes")
    assert why(desk) == ASKED_LATELY
    assert desk.work(JobType.CONFIRM_ADDRESS)[0]["result"] == {"outcome": "not_asked"}
    assert len(ses.taken) == 1
    desk.clock.sleep(86_400)
    go_on(desk, "Bridge opens")
    assert why(desk) == BEING_ASKED
    assert desk.work(JobType.CONFIRM_ADDRESS)[0]["result"] == {"outcome": "asked"}
    go_on(desk, "Bridge closes again")
    assert why(desk) == ASKED
    assert len(ses.taken) == 2


def test_a_scanner_that_follows_the_link_confirms_nothing_and_the_button_does(desk, ses):
    desk.mailed(confirmed=False)
    desk.deliver_due()
    desk.work(JobType.CONFIRM_ADDRESS)
    [row] = desk.rows("select token from mail_addresses")
    path = f"/v1/mail-addresses/confirm/{row['token']}"
    api = World(desk.database).api
    shown = sent(api, http_event("GET", path))
    assert (shown.status, '<form method="post">' in shown.text) == (200, True)
    assert sent(api, http_event("HEAD", path)).status == 200
    assert desk.rows("select confirmed_at from mail_addresses") == [{"confirmed_at": None}]

    for _ in range(2):
        done = sent(api, http_event("POST", path, body=b"List-Unsubscribe=One-Click"))
        assert (done.status, READER in done.text, "<form" in done.text) == (200, True, False)
    desk.at("2026-11-28 06:00")
    desk.item("Bridge closes")
    [briefing] = desk.rows("select id from briefings")
    desk.run(briefing["id"])
    desk.deliver_due()
    assert ses.taken[-1]["Subject"] == "Morning: Bridge closes"


def test_another_users_confirmation_counts_for_nobody_else(desk, ses):
    desk.mailed(confirmed=False)
    with desk.database.transaction() as connection:
        connection.execute("insert into users (id, name) values (gen_random_uuid(), 'other')")
        connection.execute(
            "insert into mail_addresses (id, user_id, address, token, confirmed_at, asked_at)"
            " select gen_random_uuid(), id, %s, 'theirs', now(), now() from users where name = 'other'",
            [READER],
        )
        connection.execute("insert into mail_asks values (gen_random_uuid(), %s, null, now())", [READER])
    desk.deliver_due()
    assert desk.delivery()["error_code"] == "address_not_confirmed"
    assert "a later edition asks again" in why(desk)
    # and nobody's mailbox is filled by way of many accounts
    assert desk.work(JobType.CONFIRM_ADDRESS)[0]["result"] == {"outcome": "not_asked"}
    assert ses.taken == []


def test_a_question_that_was_not_taken_is_asked_again_and_one_that_may_have_been_is_not(desk, ses):
    ses.refuse(503, "ServiceUnavailable")
    ses.lose()
    desk.mailed(confirmed=False)
    desk.deliver_due()
    assert desk.work(JobType.CONFIRM_ADDRESS)[0]["state"] == "pending"
    desk.later()
    assert desk.work(JobType.CONFIRM_ADDRESS)[0]["result"] == {"outcome": "unanswered"}
    assert len(ses.taken) == 1


@pytest.mark.parametrize(
    ("told", "reason"), [(bounce(), "bounced"), (complaint(), "complained"), (complaint(None), "complained")]
)
def test_a_bounce_for_good_and_a_complaint_end_delivery_to_an_address(desk, ses, told, reason):
    desk.mailed()
    desk.deliver_due()
    assert hear(desk, told) == reason
    assert hear(desk, told) == reason
    assert desk.rows("select address, reason from mail_suppressions") == [{"address": READER, "reason": reason}]
    assert desk.rows("select stopped_code from briefings") == [{"stopped_code": reason}]
    assert (desk.delivery()["state"], desk.delivery()["error_code"]) == ("sent", reason)
    assert desk.rows("select id from mail_events") == []

    other = desk.mailed(destination=READER.upper())
    desk.deliver_due()
    rows = desk.rows("select state, error_code from deliveries where edition_id = %s", other)
    assert rows == [{"state": "suppressed", "error_code": reason}]
    assert len(ses.taken) == 1


def test_a_complaint_outweighs_a_bounce_and_never_the_other_way_round(desk):
    for told in (bounce(), complaint(), bounce()):
        hear(desk, told)
    assert desk.rows("select reason from mail_suppressions") == [{"reason": "complained"}]


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        (bounce("Transient"), "nothing_to_do"),
        (bounce("Undetermined"), "nothing_to_do"),
        (complaint("not-spam"), "nothing_to_do"),
        (event("Delivery", delivery={"recipients": [READER]}), "nothing_to_do"),
        (event("Subscription"), "nothing_to_do"),
        (event("Bounce"), "nothing_to_do"),
        (event("Bounce", bounce={"bounceType": "Forever"}), "unknown_shape"),
        ({"notificationType": "Bounce"}, "unknown_shape"),
        ({}, "unknown_shape"),
        ({"eventType": ["Bounce"], "mail": "x"}, "unknown_shape"),
    ],
    ids=str,
)
def test_other_events_and_unknown_shapes_change_nothing(desk, told, outcome):
    desk.mailed()
    desk.deliver_due()
    assert hear(desk, told) == outcome
    assert desk.rows("select address from mail_suppressions") == []
    assert desk.rows("select stopped_code from briefings") == [{"stopped_code": None}]
    assert desk.rows("select id from mail_events") == []


def test_a_rejected_mail_was_not_sent(desk):
    desk.mailed()
    desk.deliver_due()
    assert hear(desk, event("Reject", reject={"reason": "Bad content"})) == "rejected"
    assert (desk.delivery()["state"], desk.delivery()["error_code"]) == ("failed", "rejected")


def test_a_message_without_an_event_is_parked(desk):
    desk.hand({"job_type": "record_mail_event"})
    assert desk.rows("select id from jobs where job_type = 'record_mail_event'") == []


@pytest.mark.parametrize(("case", "outcome"), [("bounce", "bounced"), ("complaint", "complained")])
def test_the_sample_events_are_understood(case, outcome):
    [record] = json.loads((EVENTS / f"brief.{case}.json").read_text(encoding="utf-8"))["Records"]
    noted = read_event(json.loads(record["body"])["event"])
    assert (noted.outcome, noted.addresses) == (outcome, ["recipient@example.com"])
