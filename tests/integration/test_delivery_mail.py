"""Editions by mail: what SES is given is what was frozen, once, or twice where nobody knows; real loop, SES's wire."""

import base64
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.headerregistry import Address

import pytest

from infra.local.aws import SHOWS_KEY
from siftline.brief.delivery import DeliverBriefing
from siftline.contracts import JobType
from siftline.jobs import jobs_store as jobs
from siftline.jobs.job_model import NewJob
from tests.briefing import Desk
from tests.delivering import READER, DeliveryDesk, FakeSes
from tests.servers import Answer, LoopbackServer
from tests.simulated_time import simulated_time


@pytest.fixture
def ses(site: LoopbackServer) -> FakeSes:
    return FakeSes(site)


@pytest.fixture
def desk(make_database, ses) -> Iterator[DeliveryDesk]:
    with simulated_time(make_database) as (clock, database):
        desk = DeliveryDesk(
            database, clock, ses.endpoint, unsubscribe_to="stop@siftline.example", configuration_set="siftline"
        )
        yield desk
        desk.close()


def lines(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def test_a_mail_holds_the_frozen_text_and_html_and_says_how_to_end_it(desk, ses):
    """Case D11."""
    edition_id = desk.mailed(name="Grüße aus 東京")
    [job] = desk.deliver_due()
    assert job["result"] == {"outcome": "sent"}
    assert desk.delivery() == {
        "state": "sent",
        "error_code": None,
        "begun": 1,
        "unanswered": 0,
        "provider_id": "ses-1",
        "at": True,
    }
    [mail], [asked] = ses.taken, ses.requests
    assert asked["Destination"] == {"ToAddresses": [READER]}
    assert asked["ConfigurationSetName"] == "siftline"
    [edition] = desk.rows("select html, plain from editions")
    assert mail.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in mail.iter_parts()] == ["text/plain", "text/html"]
    text, html = mail.iter_parts()
    assert lines(text.get_content()) == lines(edition["plain"])
    assert lines(html.get_content()) == lines(edition["html"])
    assert mail["X-Edition-Id"] == str(edition_id)
    assert mail["Message-ID"] == f"<edition.{edition_id}@news.example>"
    assert mail["Subject"].startswith("Grüße aus 東京: Ferry runs again")
    assert mail["Auto-Submitted"] == "auto-generated"
    [token] = desk.rows("select unsubscribe_token, id from briefings")
    link = f"https://news.example/v1/unsubscribe/{token['unsubscribe_token']}"
    assert mail["List-Unsubscribe"] == f"<{link}>, <mailto:stop@siftline.example?subject=unsubscribe>"
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert mail["List-Id"] == f"<{token['id']}.news.example>"
    assert link in text.get_content()


def test_a_mail_is_all_ascii_in_lines_that_every_mail_system_takes(desk, site):
    desk.mailed(name="Ж" * 80)
    desk.deliver_due()
    raw = base64.b64decode(json.loads(site.requests[-1].body)["Content"]["Raw"]["Data"])
    assert raw.isascii()
    assert all(len(line) <= 998 for line in raw.split(b"\r\n"))
    assert b"\n" not in raw.replace(b"\r\n", b"")
    head = raw.partition(b"\r\n\r\n")[0].decode()
    words = re.findall(r"=\?[^?]+\?.\?[^?]*\?=", head)
    assert words
    assert all(len(word) <= 75 for word in words)  # RFC 2047, section 2
    assert re.search(r"^List-Unsubscribe: <https://news\.example/v1/unsubscribe/", head, re.MULTILINE)


@pytest.mark.parametrize(
    "name",
    ["Morning\r\nBcc: victim@news.example", "Morning\nBcc: v@n.example", "a\x00b\x0b\x85\u2028Bcc: v@n.example"],
    ids=["crlf", "lf", "odd"],
)
def test_a_briefings_name_is_no_header(desk, ses, name):
    edition = desk.mailed()
    with desk.database.transaction() as connection:
        connection.execute(
            "update editions set document = jsonb_set(document, '{briefing,name}', to_jsonb(%s::text)) where id = %s",
            (name.replace("\x00", ""), edition),
        )
    desk.deliver_due()
    [mail] = ses.taken
    assert mail["Bcc"] is None
    assert "Bcc:" in mail["Subject"]
    assert mail["To"].addresses == (Address(addr_spec=READER),)


@pytest.mark.parametrize(
    "destination",
    [
        "reader@news.example\r\nBcc: victim@news.example",
        "reader@news.example, victim@news.example",
        "reader@news.example;victim@news.example",
        "Victim <victim@news.example>",
        "reader",
        "reader@localhost",
        "reader@127.0.0.1",
        "@news.example",
        "réader@news.example",
        "a..b@news.example",
    ],
)
def test_what_is_no_single_plain_address_gets_no_mail(desk, ses, destination):
    desk.mailed(destination=destination)
    [job] = desk.deliver_due()
    assert (job["state"], job["error_code"]) == ("failed", "invalid_mail_address")
    assert desk.delivery()["state"] == "failed"
    assert ses.requests == []


def test_a_domain_beyond_ascii_is_mailed_in_its_ascii_form(desk, ses):
    desk.confirm("ada@xn--bcher-kva.example")
    desk.mailed(confirmed=False, destination="Ada@Bücher.example")
    desk.deliver_due()
    assert ses.requests[0]["Destination"] == {"ToAddresses": ["Ada@xn--bcher-kva.example"]}


@pytest.mark.parametrize(
    ("status", "name"),
    [(429, "TooManyRequestsException"), (400, "LimitExceededException"), (503, "ServiceUnavailable"), (500, "Oops")],
)
def test_what_the_provider_cannot_take_now_is_sent_later_and_is_no_repeat(desk, ses, status, name):
    ses.refuse(status, name, times=3)
    desk.mailed()
    for _ in range(3):
        [job] = desk.deliver_due()
        assert (job["state"], job["error_code"]) == ("pending", "mail_unavailable")
        desk.later()
    assert (desk.delivery()["state"], desk.delivery()["unanswered"]) == ("pending", 0)
    desk.deliver_due()
    assert (desk.delivery()["state"], desk.delivery()["begun"]) == ("sent", 4)
    assert len(ses.taken) == 1


def test_a_provider_that_stays_away_ends_in_a_failure_that_a_redrive_takes_up_again(desk, ses):
    ses.refuse(503, "ServiceUnavailable", times=4)
    edition = desk.mailed()
    for _ in range(4):
        desk.deliver_due()
        desk.later()
    assert (desk.delivery()["state"], desk.delivery()["error_code"]) == ("failed", "mail_unavailable")
    [job] = desk.rows("select id, subject_id, park_id from jobs where job_type = 'deliver_briefing'")
    desk.hand(
        {
            "job_type": "deliver_briefing",
            "job_id": str(job["id"]),
            "delivery_id": str(job["subject_id"]),
            "park_id": str(job["park_id"]),
        }
    )
    assert desk.delivery()["state"] == "sent"
    assert [mail["X-Edition-Id"] for mail in ses.taken] == [str(edition)]


@pytest.mark.parametrize(("status", "name"), [(400, "MessageRejected"), (400, "BadRequestException")])
def test_what_the_provider_will_never_take_fails_with_its_reason(desk, ses, status, name):
    ses.refuse(status, name)
    desk.mailed()
    [job] = desk.deliver_due()
    assert (job["state"], job["error_code"]) == ("failed", "mail_refused")
    assert (desk.delivery()["state"], desk.delivery()["unanswered"]) == ("failed", 0)


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "SendingPausedException"),
        (400, "MailFromDomainNotVerifiedException"),
        (400, "AccountSuspendedException"),
        (404, "NotFoundException"),
        (403, "AccessDeniedException"),
        (403, "InvalidClientTokenId"),
    ],
)
def test_a_fault_of_the_account_opens_the_breaker_and_every_mail_waits_without_a_try(desk, ses, status, name):
    ses.refuse(status, name)
    desk.mailed()
    [job] = desk.deliver_due()
    assert (job["state"], job["error_code"]) == ("pending", "mail_misconfigured")
    assert desk.rows("select provider, error_code from breakers where opened_at is not null") == [
        {"provider": "mail", "error_code": "mail_misconfigured"}
    ]
    desk.deliver_due()
    assert len(ses.requests) == 1
    desk.later()
    desk.deliver_due()
    assert desk.delivery()["state"] == "sent"


def test_webhooks_are_called_while_mails_wait_for_the_breaker_and_prove_nothing_of_it(desk, ses, site):
    ses.refuse(400, "SendingPausedException")
    site.answers["/hook"] = Answer(status=204)
    desk.mailed()
    desk.deliver_due()
    for calls in (1, 2):  # while the breaker is open, and when it may be probed
        desk.posted(site.url("/hook"))
        [job] = desk.rows(
            "select jobs.id, subject_id from jobs join deliveries on deliveries.id = subject_id"
            " where channel = 'webhook' and jobs.state = 'pending'"
        )
        desk.deliver(job["subject_id"], job["id"], JobType.DELIVER_BRIEFING)
        assert len(site.asked("/hook")) == calls
        assert desk.rows("select provider, probe_until from breakers") == [{"provider": "mail", "probe_until": None}]
        desk.later()
    assert len(ses.requests) == 1


_UNVERIFIED = "Email address is not verified. The following identities failed the check in region US-EAST-1: "


@pytest.mark.parametrize(
    "named",
    [
        "news@siftline.example",
        "Siftline <news@siftline.example>",
        f"{READER}, NEWS@siftline.example",
        "siftline.example",
    ],
)
def test_a_sender_that_is_not_verified_is_our_set_up_and_mails_wait(desk, ses, named):
    ses.refuse(400, "MessageRejected", message=_UNVERIFIED + named)
    desk.mailed()
    [job] = desk.deliver_due()
    assert (job["state"], job["error_code"]) == ("pending", "mail_misconfigured")
    assert len(desk.rows("select provider from breakers where opened_at is not null")) == 1
    desk.later()
    desk.deliver_due()
    assert desk.delivery()["state"] == "sent"


@pytest.mark.parametrize("named", [READER, "news.example", "other@siftline.example", "news@siftline.example.org", ""])
def test_a_receiver_that_is_not_verified_in_the_sandbox_is_refused_with_the_providers_reason(desk, ses, named):
    ses.refuse(400, "MessageRejected", message=_UNVERIFIED + named + "\r\n\x1b[31m" + "x" * 5_000)
    desk.mailed()
    [job] = desk.deliver_due()
    assert (job["state"], job["error_code"]) == ("failed", "mail_refused")
    assert desk.rows("select provider from breakers where opened_at is not null") == []
    [row] = desk.rows("select error_detail from deliveries")
    assert f"MessageRejected: {_UNVERIFIED}{named}" in row["error_detail"]
    assert row["error_detail"].isprintable()
    assert len(row["error_detail"]) < 400


def test_the_embedded_provider_refuses_an_unknown_sender_and_takes_the_mail_once_it_is_verified(
    make_database, sqs_endpoint
):
    with simulated_time(make_database) as (clock, database):
        desk = DeliveryDesk(database, clock, sqs_endpoint, mail_from="Nobody <nobody@unverified.example>")
        desk.mailed(destination="embedded@news.example")
        [job] = desk.deliver_due()
        assert (job["state"], job["error_code"]) == ("pending", "mail_misconfigured")
        desk.client.create_email_identity(EmailIdentity="nobody@unverified.example")
        desk.later()
        desk.deliver_due()
        assert desk.delivery()["state"] == "sent"
        desk.close()


@pytest.mark.parametrize("lose", [FakeSes.lose, FakeSes.cut_off], ids=["whole", "its end"])
def test_an_answer_that_is_lost_is_repeated_once_under_the_same_id(desk, ses, lose):
    """Fault 32."""
    lose(ses)
    edition = desk.mailed()
    [job] = desk.deliver_due()
    assert (job["state"], job["error_code"]) == ("pending", "unanswered")
    desk.later()
    desk.deliver_due()
    assert [mail["X-Edition-Id"] for mail in ses.taken] == [str(edition)] * 2
    assert len({mail["Message-ID"] for mail in ses.taken}) == 1
    row = desk.delivery()
    assert (row["state"], row["begun"], row["unanswered"]) == ("sent", 2, 1)


def test_two_lost_answers_are_the_end_and_never_a_third_mail(desk, ses):
    """Fault 32."""
    ses.lose(times=2)
    desk.mailed()
    for _ in range(4):
        desk.deliver_due()
        desk.later()
    assert len(ses.taken) == 2
    row = desk.delivery()
    assert (row["state"], row["error_code"], row["begun"]) == ("unconfirmed", "unanswered", 2)


def test_two_triggers_at_once_send_one_mail(desk, ses):
    """Case D08."""
    desk.mailed()
    [job] = desk.rows("select id, subject_id from jobs where job_type = 'deliver_briefing'")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: desk.deliver(job["subject_id"], job["id"], JobType.DELIVER_BRIEFING), range(4)))
    assert len(ses.taken) == 1
    with desk.database.transaction() as connection:  # another job of a delivery that is over
        jobs.enqueue(connection, [NewJob(JobType.DELIVER_BRIEFING, job["subject_id"], "user:test")])
    [again] = desk.deliver_due()
    assert again["result"] == {"outcome": "sent"}
    assert len(ses.taken) == 1


def test_without_mail_the_edition_is_made_and_the_delivery_says_why_it_is_not_sent(make_database):
    with simulated_time(make_database) as (clock, database):
        desk = DeliveryDesk(database, clock, None)
        desk.mailed()
        [job] = desk.deliver_due()
        assert job["result"] == {"outcome": "suppressed", "reason": "mail_not_configured"}
        row = desk.delivery()
        assert (row["state"], row["error_code"], row["begun"]) == ("suppressed", "mail_not_configured", 0)
        assert len(desk.rows("select id from editions")) == 1
        desk.close()


def test_another_channel_that_is_missing_is_not_taken_for_mail(make_database):
    with simulated_time(make_database) as (clock, database):
        desk = Desk(database, clock, [DeliverBriefing(database, {})])
        briefing = desk.brief(channel="webhook", destination="https://hooks.example/", signing_key="whsec-1")
        desk.item("Ferry runs again")
        desk.run(briefing)
        [job] = desk.work(JobType.DELIVER_BRIEFING)
        assert job["result"] == {"outcome": "suppressed", "reason": "channel_not_configured"}


def test_a_briefing_that_was_stopped_meanwhile_is_not_sent(desk, ses):
    desk.mailed()
    with desk.database.transaction() as connection:
        connection.execute("update briefings set stopped_code = 'unsubscribed'")
    desk.deliver_due()
    assert (desk.delivery()["state"], desk.delivery()["error_code"]) == ("suppressed", "unsubscribed")
    assert ses.requests == []


def test_a_delivery_whose_edition_is_gone_ends_quietly(desk, ses):
    edition = desk.mailed()
    with desk.database.transaction() as connection:
        connection.execute("delete from editions where id = %s", [edition])
    [job] = desk.deliver_due()
    assert job["result"] == {"outcome": "gone"}
    assert ses.requests == []


def test_the_embedded_provider_takes_a_mail_as_it_is(make_database, sqs_endpoint, once):
    with simulated_time(make_database) as (clock, database):
        desk = DeliveryDesk(database, clock, sqs_endpoint)
        desk.client.create_email_identity(EmailIdentity="siftline.example")
        desk.mailed(destination="embedded@news.example")
        desk.deliver_due()
        row = desk.delivery()
        desk.close()
    assert row["state"] == "sent"
    assert row["provider_id"] in once.get(f"{sqs_endpoint}/_ministack/ses/messages", headers=SHOWS_KEY).body.decode()
