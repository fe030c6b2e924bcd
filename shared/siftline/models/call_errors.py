"""What a call to a model fails with, whatever it was asked: whether it cost money, and who has to wait."""

from siftline.kit.errors import ConfigurationError, TransientError


class CallFailedError(Exception):
    """A call that brought no answer. ``billed``: it may have been paid for all the same."""

    billed = False


class ModelBusyError(CallFailedError, TransientError):
    """The model wants to be asked in ``retry_after_s`` seconds, or cannot be reached; nothing was billed."""


class ModelUnavailableError(CallFailedError, TransientError):
    """The model gave an unexpected answer. ``billed``: the call may have been paid for all the same."""

    def __init__(self, detail: str, *, billed: bool, retry_after_s: float | None = None) -> None:
        super().__init__(detail, retry_after_s=retry_after_s)
        self.billed = billed


class ModelRefusedError(CallFailedError):
    """The model does not take this call.

    ``set_up`` is what that means where it takes no other text either; ``None``: it is surely for this text.
    """

    def __init__(self, detail: str, *, set_up: ConfigurationError | None) -> None:
        super().__init__(detail)
        self.set_up = set_up
