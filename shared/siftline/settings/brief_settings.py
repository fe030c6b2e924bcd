"""The settings of briefings: where they are read, what counts as news, and how they are delivered.

A field's environment variable is its name in capitals; the template sets what a stage may choose.
"""

from pydantic import Field

from siftline.settings.score_settings import RelevanceSettings
from siftline.settings.shared import AddressSettings, ConsumerSettings, HttpSettings

_MAILBOX = r"^$|^([^\r\n<>@]*<)?[^\s<>@]+@[^\s<>@]+>?$"


class BriefSettings(ConsumerSettings, HttpSettings, RelevanceSettings, AddressSettings):
    """The ``brief`` function."""

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
    webhook_allow_loopback: bool = Field(
        default=False, description="webhooks may go to this machine, whatever HTTP_ALLOW_LOOPBACK says; for tests"
    )
