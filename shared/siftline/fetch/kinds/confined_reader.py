"""What the readers of this room have in common: children that do the reading, and how their ends are told."""

from collections.abc import Sequence
from typing import ClassVar, Self, TypeVar

from siftline.kit.confined import ChildLostError, Confined, TooMuchMemoryError, TooSlowError, UnexpectedInChildError
from siftline.kit.errors import PermanentError

MEMORY_BYTES = 256 * 1024 * 1024
"""Address space that one body may add: a feed or a page at the size cap as a tree, and what is made of it."""
T = TypeVar("T")


class ConfinedReader:
    """Reads what strangers wrote, each body in a child of its own while it lasts, as many at once as callers ask.

    Thread-safe. ``what`` is the noun for it; ``too_complex`` is raised when a limit of time or memory is passed, and
    ``unreadable`` when the child did not survive.
    """

    what: ClassVar[str]
    too_complex: ClassVar[type[PermanentError]]
    unreadable: ClassVar[type[PermanentError]]

    def __init__(self, functions: Sequence[str], *, timeout_s: float, memory_bytes: int) -> None:
        self._timeout_s = timeout_s
        self._confined = Confined(*functions, memory_bytes=memory_bytes, what=self.what)

    def _call(self, returns: type[T], function: str, body: bytes, **named: object) -> T:
        try:
            return self._confined.call(returns, function, body, within_s=self._timeout_s, **named)
        except (TooSlowError, TooMuchMemoryError) as error:
            raise self.too_complex(error.detail) from error
        except (ChildLostError, UnexpectedInChildError) as error:
            raise self.unreadable(f"The {self.what} could not be read.") from error

    def close(self) -> None:
        """End the children."""
        self._confined.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
