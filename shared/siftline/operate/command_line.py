"""The command line of what operators do: words as they are typed to ``make``."""

import argparse
import re
from contextvars import ContextVar
from datetime import datetime
from typing import NoReturn

same_place: ContextVar[str] = ContextVar("same_place", default="")
"""What has to be added to another command so that it acts where this one does."""

_NUMBER_MAX = 1_000_000_000  # more than there is of anything here, and no more than every column takes


class Parser(argparse.ArgumentParser):
    """Speaks of what is wrong in the words that are typed to ``make``: of PORT=…, not of --port."""

    def error(self, message: str) -> NoReturn:
        """Tell the fault and exit."""
        super().error(
            re.sub(r"^(?:argument )?--([a-z-]+)", lambda found: f"{found[1].replace('-', '_').upper()}=…", message)
        )


def number(text: str) -> int:
    """Return what an option that is a number says."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value > _NUMBER_MAX:
        raise argparse.ArgumentTypeError(f"must be at most {_NUMBER_MAX:,}")
    return value


def moment(text: str) -> datetime:
    """Return what an option that is a date, with or without a time, says."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a date such as 2026-11-01") from None


def counted(count: int, thing: str) -> str:
    """Return how many of a thing there are, in words."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
