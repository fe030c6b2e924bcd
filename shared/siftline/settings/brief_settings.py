"""The settings of briefings: where they are read, what counts as news, and how they are delivered.

A field's environment variable is its name in capitals; the template sets what a stage may choose.
"""

from typing import Self

from pydantic import Field

from siftline.settings.score_settings import RelevanceSettings
from siftline.settings.shared import AddressSettings, ConsumerSettings, HttpSettings

_MAILBOX = r"^$|^([^\r\n<>@]*<)?[^\s<>@]+@[^\s<>@]+>?$"


class BriefSettings(ConsumerSettings, HttpSettings, RelevanceSettings, AddressSettings):
    """The ``brief`` function."""

    news_max_age_days: float = Field(
        default=7, ge=1, le=366, description="what was published so long before it came in is no news, unless saved"
    )
    run_briefing_s: float = Field(default=20.0, gt=0, description="the longest that making one edition may take")
    mail_from: str = Field(
        default="",
        max_length=320,
        pattern=_MAILBOX,
        description="who mails are from, `Name <news@example.org>`, verified in SES; empty: editions are not mailed",
    )
    mail_configuration_set: str = Field(
        default="", max_length=64, description="SES configuration set whose events tell of bounces and complaints"
    )
    mail_unsubscribe_to: str = Field(
        default="",
        max_length=254,
        pattern=r"^$|^[^\s<>@,?&]+@[^\s<>@,?&]+$",
        description="mailbox that takes unsubscriptions, named in List-Unsubscribe beside the link; empty for none",
    )
    mail_asks_per_day: int = Field(
        default=20, ge=1, le=1_000, description="owners of mail addresses that a user may have asked within a day"
    )
    deliver_briefing_s: float = Field(
        default=15.0, gt=0, le=40, description="the longest that SES or a webhook may take to answer"
    )
    webhook_allow_loopback: bool = Field(
        default=False, description="webhooks may go to this machine, whatever HTTP_ALLOW_LOOPBACK says; for tests"
    )

    def longest_s(self) -> float:
        """Return the longest that one job may take: a connection takes SES five seconds more."""
        return max(self.run_briefing_s, self.deliver_briefing_s + 5)

    def webhooks(self) -> Self:
        """Return these settings for webhooks: asked once, and no redirect is followed."""
        once = {
            "http_total_s": self.deliver_briefing_s,
            "http_retries": 0,
            "http_redirects_max": 0,
            "http_allow_loopback": self.webhook_allow_loopback,
        }
        return self.model_copy(update=once)
