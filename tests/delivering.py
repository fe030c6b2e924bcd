"""A mail provider that speaks the wire of SES v2 on loopback, and a desk that delivers through it and to webhooks."""

import base64
import json
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import partial
from typing import Any
from uuid import UUID

import boto3
from botocore.config import Config

from infra.local.aws import CLIENT_OPTIONS
from siftline.brief.channels import DeliveryChannel, WebhookChannel
from siftline.brief.delivery import DeliverBriefing
from siftline.brief.mail import Letterhead, MailChannel, SesMailer
from siftline.brief.mail_confirmation import ConfirmAddress
from siftline.brief.mail_events import RecordEvent
from siftline.catalog.mail_address_store import ASKS_PER_DAY
from siftline.contracts import JobType
from siftline.jobs.job_model import Processor
from siftline.kit.db import Database
from siftline.net.http import HttpClient
from siftline.net.http_model import HttpLimits
from tests.briefing import LINKS, Desk
from tests.servers import Answer, LoopbackServer, Request
from tests.simulated_time import SimulatedTime

READER = "reader@news.example"
SENDING = "/v2/email/outbound-emails"


def mail_at(endpoint: str, *, read_s: float = 10.0) -> Any:
    """Return a client of SES v2 for an endpoint on this machine, patient for ``read_s``."""
    patience = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=read_s)
    return boto3.client("sesv2", endpoint_url=endpoint, config=patience, **CLIENT_OPTIONS)


class FakeSes:
    """Takes mails, unless told otherwise, over HTTP as SES does. ``answers`` come first, one a mail; then it takes."""

    def __init__(self, server: LoopbackServer) -> None:
        self.endpoint = server.url("")
        self.answers: list[Answer | None] = []
        self.taken: list[EmailMessage] = []
        self.requests: list[Any] = []
        server.answers[SENDING] = self._answer

    def refuse(self, status: int, name: str, *, message: str | None = None, times: int = 1) -> None:
        """Answer the next mails with an error."""
        body = json.dumps({"message": message or name}).encode()
        headers = {"Content-Type": "application/json", "x-amzn-ErrorType": name}
        self.answers += [Answer(body, status, headers)] * times

    def lose(self, *, times: int = 1) -> None:
        """Take the next mails and hang up without an answer."""
        self.answers += [None] * times

    def cut_off(self) -> None:
        """Take the next mail and break off in the answer."""
        self.answers.append(Answer(b"", content_length=100))

    def _answer(self, request: Request) -> Answer:
        asked = json.loads(request.body)
        self.requests.append(asked)
        told = self.answers.pop(0) if self.answers else Answer()
        if told is None or told.status == 200:
            raw = base64.b64decode(asked["Content"]["Raw"]["Data"])
            self.taken.append(message_from_bytes(raw, policy=policy.default))
        if told is None:
            raise ConnectionAbortedError("as asked")
        if told.status != 200 or told.content_length is not None:
            return told
        body = json.dumps({"MessageId": f"ses-{len(self.taken)}"}).encode()
        return Answer(body, headers={"Content-Type": "application/json"})


class DeliveryDesk(Desk):
    """A desk whose editions are delivered; by mail too where SES has an ``endpoint``."""

    def __init__(
        self,
        database: Database,
        clock: SimulatedTime,
        endpoint: str | None,
        *,
        mail_from: str = "Siftline <news@siftline.example>",
        unsubscribe_to: str = "",
        allow_loopback: bool = True,
        configuration_set: str = "",
        asks_per_day: int = ASKS_PER_DAY,
    ) -> None:
        head = Letterhead(mail_from, LINKS, unsubscribe_to)
        limits = HttpLimits(total_s=60, read_s=30, retries=0, redirects=0)
        self.http = HttpClient(allow_loopback=allow_loopback, limits=limits)
        channels: dict[str, DeliveryChannel] = {"webhook": WebhookChannel(self.http, clock)}
        mailer = None
        self.client: Any = None if endpoint is None else mail_at(endpoint)
        if self.client is not None:
            mailer = SesMailer(lambda: self.client, mail_from, configuration_set)
            channels["email"] = MailChannel(mailer, head, clock)
        work: list[Processor] = [
            DeliverBriefing(database, channels, asks_per_day=asks_per_day),
            ConfirmAddress(database, mailer, head, clock, asks_per_day=asks_per_day),
            RecordEvent(database),
        ]
        super().__init__(database, clock, work)
        self.deliver_due = partial(self.work, JobType.DELIVER_BRIEFING)

    def close(self) -> None:
        """Close the connections."""
        self.http.close()
        if self.client is not None:
            self.client.close()

    def mailed(self, *, confirmed: bool = True, destination: str = READER, **columns: Any) -> UUID:
        """Make a briefing that is mailed, and an edition of it; returns the edition."""
        if confirmed:
            self.confirm(destination)
        return self.made(channel="email", destination=destination, **columns)

    def posted(self, url: str, **columns: Any) -> UUID:
        """Make a briefing that is posted to a webhook, and an edition of it; returns the edition."""
        return self.made(channel="webhook", destination=url, **{"signing_key": "whsec-1", **columns})

    def made(self, **columns: Any) -> UUID:
        """Make a briefing and an edition of it with a story; returns the edition."""
        briefing = self.brief(**columns)
        self.item("Ferry runs again: “Überfahrt” für 2 €")
        self.run(briefing)
        [edition] = self.editions(briefing)
        edition_id: UUID = edition["id"]
        return edition_id

    def confirm(self, address: str) -> None:
        """Have the user's address confirmed."""
        with self.database.transaction() as connection:
            connection.execute(
                "insert into mail_addresses (id, user_id, address, token, confirmed_at)"
                " values (gen_random_uuid(), %s, lower(%s), gen_random_uuid()::text, now())"
                " on conflict (user_id, address) do update set confirmed_at = now()",
                (self.user_id, address),
            )

    def delivery(self) -> dict[str, Any]:
        """Return the only delivery."""
        [row] = self.rows(
            "select state, error_code, begun, unanswered, provider_id, sent_at is not null as at from deliveries"
        )
        return row

    def later(self) -> None:
        """Let a retry become due."""
        self.wait(3_600)
