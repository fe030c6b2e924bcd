"""Where the ``brief`` function is put together."""

from collections.abc import Sequence
from functools import partial

from siftline.brief.brief_service import RunBriefing, subject_of
from siftline.brief.channels import DeliveryChannel, WebhookChannel
from siftline.brief.delivery import EMAIL, DeliverBriefing, delivery_of
from siftline.brief.edition import Links
from siftline.brief.edition_model import Freshness
from siftline.brief.mail import Letterhead, MailChannel, SesMailer
from siftline.brief.mail_confirmation import ConfirmAddress, address_of
from siftline.brief.mail_events import RecordEvent, event_of
from siftline.contracts import JobType
from siftline.jobs.consume import BatchConsumer, consumer
from siftline.jobs.job_model import Processor
from siftline.jobs.jobs_wiring import producer
from siftline.kit.aws import mail_client
from siftline.kit.clock import Clock
from siftline.kit.db import Database
from siftline.net.http import HttpClient
from siftline.net.http_model import HttpLimits
from siftline.settings.functions import BriefSettings

_DELIVER_S = 15.0
"""How long SES or a webhook may take: whoever is slower has a retry, and a job holds a thread meanwhile."""
LONGEST_S = _DELIVER_S + 5
"""The longest that one job may take: a connection takes SES five seconds more; an edition is made in less."""

SUBJECTS = {
    JobType.RUN_BRIEFING: subject_of,
    JobType.DELIVER_BRIEFING: delivery_of,
    JobType.CONFIRM_ADDRESS: address_of,
    JobType.RECORD_MAIL_EVENT: event_of,
}


def processors(settings: BriefSettings, database: Database, clock: Clock) -> Sequence[Processor]:
    """Return all that the function does."""
    links = Links(settings.public_url.rstrip("/"))
    head = Letterhead(settings.mail_from, links, settings.mail_unsubscribe_to)
    mailer: SesMailer | None = None
    channels: dict[str, DeliveryChannel] = {"webhook": WebhookChannel(_webhooks(settings), clock)}
    if settings.mail_from:
        mailer = SesMailer(partial(mail_client, _DELIVER_S), settings.mail_from, settings.mail_configuration_set)
        channels[EMAIL] = MailChannel(mailer, head, clock)
    freshness = Freshness(settings.score_freshness_weight, settings.score_half_life_h * 3_600)
    return [
        RunBriefing(database, clock, links, freshness=freshness),
        DeliverBriefing(database, channels),
        ConfirmAddress(database, mailer, head, clock),
        RecordEvent(database),
    ]


def open_brief(settings: BriefSettings) -> BatchConsumer:
    """Return the batch loop of the function."""
    parts = producer(settings)
    work = processors(settings, parts.database, parts.clock)
    return consumer(settings, parts, work, SUBJECTS, reserve_s=LONGEST_S)


def _webhooks(settings: BriefSettings) -> HttpClient:
    """Return the client of webhooks: it asks once, and follows no redirect."""
    return HttpClient(
        contact=settings.http_contact,
        allow_loopback=settings.webhook_allow_loopback,
        limits=HttpLimits(total_s=_DELIVER_S, read_s=settings.http_read_s, retries=0, redirects=0),
    )
