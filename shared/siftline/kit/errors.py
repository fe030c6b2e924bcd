"""The two families of failure. Nobody parses message text: a leaf has a ``code`` and typed facts."""

from typing import ClassVar

from siftline.kit.lines import line


class SiftlineError(Exception):
    """A failure with a stable ``code`` and a ``detail`` written for the person whose item it concerns."""

    code: ClassVar[str] = "internal_error"
    at: str | None = None
    """The address at which it happened, where that was asked for something: after redirects not the first one."""

    def __init__(self, detail: str, *, code: str | None = None) -> None:
        self.detail = line(detail)  # it may tell what a stranger's server said
        super().__init__(self.detail)
        self.error_code = code or self.code


class TransientError(SiftlineError):
    """May succeed later without anybody's help: network, 408/429/5xx, locks, throttling.

    ``retry_after_s`` is set where the far side said when to come back: the job is then deferred, which uses no attempt.
    """

    code = "temporarily_unavailable"
    provider: ClassVar[str | None] = None
    """A part of our own that is away; while it stays so, jobs that need it wait instead of using up attempts."""

    def __init__(self, detail: str, *, code: str | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(detail, code=code)
        self.retry_after_s = retry_after_s


class NotTriedError(TransientError):
    """What the work needs is known not to serve it now, so it was not begun.

    Deferred as it asks, no longer: it used no attempt and says nothing about its subject.
    """

    in_turn: ClassVar[bool] = False
    """Whether it only waits for its turn among others, which comes for sure: then no patience is used up either."""


class PermanentError(SiftlineError):
    """Will fail the same way every time: a bad URL, 404, an unsupported type, a refused address."""

    code = "not_processable"


class UnusableError(PermanentError):
    """A stored value is none that work can be done with: the row that it stands in is set aside."""

    code = "unusable"


class ConfigurationError(SiftlineError):
    """The system is set up wrongly (a missing model, a collection of another dimension): an operator must act.

    ``provider`` names what is wrong; jobs that need it wait until it serves again.
    """

    code = "misconfigured"
    provider: ClassVar[str] = "setup"
