"""Fault 32: the worker is killed around the moment at which the mail provider takes a mail."""

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from datetime import time
from email import message_from_bytes
from typing import Any
from uuid import UUID

import pytest

from infra.local.aws import SHOWS_KEY
from siftline.kit.ids import new_id
from tests.delivering import SENDING, mail_at
from tests.faults.http_proxy import Asked, Reply
from tests.faults.machine import FaultMachine
from tests.faults.table import Told
from tests.open_client import OpenClient


@pytest.fixture(scope="module", autouse=True)
def sender(sqs_endpoint: str) -> Iterator[None]:
    """The sender that the embedded provider knows."""
    client = mail_at(sqs_endpoint)
    client.create_email_identity(EmailIdentity="siftline.example")
    yield
    client.close()


class Mails:
    """What the provider took, as seen on the wire."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def sees(self, asked: Asked) -> bool:
        """Note a mail that goes out."""
        if asked.path != SENDING:
            return False
        raw = base64.b64decode(json.loads(asked.body)["Content"]["Raw"]["Data"])
        self.asked.append(str(message_from_bytes(raw)["X-Edition-Id"]))
        return True


def subscribe(machine: FaultMachine, user_id: UUID) -> UUID:
    """Make a user's briefing that is due, mailed to an address that is confirmed."""
    briefing_id, address = new_id(), f"{user_id}@news.example"
    with machine.database.transaction() as connection:
        connection.execute(
            "insert into mail_addresses (id, user_id, address, token, confirmed_at) values (%s, %s, %s, %s, now())",
            (new_id(), user_id, address, str(briefing_id)),
        )
        connection.execute(
            "insert into briefings (id, user_id, name, frequency, at, time_zone, rhythm_since, channel, destination,"
            " unsubscribe_token) values (%s, %s, 'Morning', 'DAILY', %s, 'UTC', now() - interval '2 days', 'email', %s,"
            " %s)",
            (briefing_id, user_id, time(0), address, str(briefing_id)),
        )
    return briefing_id


def outcome(machine: FaultMachine, briefing_id: UUID) -> tuple[str, str, int, int]:
    """Return the one edition and what became of its delivery."""
    [row] = machine.ask(
        "select e.id::text, d.state, d.begun, d.unanswered from editions e join deliveries d on d.edition_id = e.id"
        " where e.briefing_id = %s",
        briefing_id,
    )
    found: tuple[str, str, int, int] = row
    return found


def reader(machine: FaultMachine) -> UUID:
    """Make a user who holds something to tell of."""
    user_id = machine.user()
    machine.save(machine.site.add_pages(1), user_id)
    machine.rest()
    return user_id


@pytest.mark.parametrize(("when", "taken"), [("before", 1), ("after", 2)])
def test_a_worker_killed_as_a_mail_is_taken_sends_it_at_most_once_more_under_the_same_id(
    machine: FaultMachine, healing: Told, when: str, taken: int, fault_round: int
) -> None:
    """Fault 32, case D08; fault 36 of a scheduler that fires each second: one edition, a repeat known by its id."""
    mails = Mails()

    def before(_: Asked) -> Reply:
        machine.kill_worker()
        return Reply(503)

    def after(_: Asked, reply: Reply) -> Reply:
        machine.kill_worker()
        return reply

    user_id = reader(machine)
    wire = machine.sqs_wire
    trap = wire.trap(mails.sees, before=before) if when == "before" else wire.trap(mails.sees, after=after)
    briefing_id = subscribe(machine, user_id)
    trap.await_sprung()
    machine.see(lambda: machine.ask("select 1 from deliveries where state = 'sent' and user_id = %s", user_id))
    healing(f"32 killed {when} a mail is taken", machine.heal(trap.at))
    edition_id, state, begun, unanswered = outcome(machine, briefing_id)
    assert (state, begun, unanswered) == ("sent", 2, 1)
    assert mails.asked == [edition_id] * 2
    provider = machine.ask("select provider_id from deliveries where user_id = %s", user_id)
    assert len(provider) == 1
    assert accepted(machine, user_id) == taken


def test_a_worker_killed_twice_so_leaves_it_unconfirmed_and_no_third_mail_is_sent(
    machine: FaultMachine, healing: Told, fault_round: int
) -> None:
    """Fault 32, twice in a row."""
    mails = Mails()

    def after(_: Asked, reply: Reply) -> Reply:
        machine.kill_worker()
        return reply

    user_id = reader(machine)
    trap = machine.sqs_wire.trap(mails.sees, after=after, times=2)
    briefing_id = subscribe(machine, user_id)
    trap.await_sprung()
    machine.see(lambda: machine.ask("select 1 from deliveries where state = 'unconfirmed' and user_id = %s", user_id))
    healing("32 killed twice after a mail was taken", machine.heal(trap.at))
    edition_id, state, begun, _ = outcome(machine, briefing_id)
    assert (state, begun) == ("unconfirmed", 2)
    assert mails.asked == [edition_id] * 2
    assert accepted(machine, user_id) == 2


def accepted(machine: FaultMachine, user_id: UUID) -> int:
    """Return how many mails to a user the provider has taken."""
    with closing(OpenClient()) as client:
        found = client.get(f"{machine.sqs.meta.endpoint_url}/_ministack/ses/messages", headers=SHOWS_KEY)
    return sum(f"{user_id}@news.example" in mail["To"] for mail in mails_in(json.loads(found.body)))


def mails_in(value: Any) -> list[dict[str, Any]]:
    """Return the mails of all accounts."""
    if isinstance(value, dict) and "To" in value:
        return [value]
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [mail for member in members for mail in mails_in(member)]
