"""Give a user credits: ``make credits USER=Ada AMOUNT=100``; ``AMOUNT=unmetered`` stops counting for them."""

import argparse
import sys
from contextlib import closing

from siftline.jobs import credits_store
from siftline.jobs.sweep import resume_waiting
from siftline.kit.db import Database
from siftline.kit.errors import SiftlineError
from siftline.operate.command_line import Parser, counted
from siftline.operate.set_up_error import SetUpError
from siftline.operate.user_command import open_database, user_named
from siftline.settings.functions import JobSettings

_UNMETERED = "unmetered"
# No balance comes near what PostgreSQL can count.
_AMOUNT_MAX = 10**12
_BATCH = 1_000


def give(database: Database, word: str, amount: int | None) -> tuple[int | None, int]:
    """Grant ``amount`` (``None``: not metered) to the user of this name or id, and let go on what waited for it.

    Returns the new balance and how many contents went on. Raises ``SetUpError`` where the word names none or several.
    """
    with database.transaction() as connection:
        balance = credits_store.grant(connection, user_named(connection, word), amount)
    resumed, attempts = 0, JobSettings().job_max_attempts
    while went_on := resume_waiting(database, limit=_BATCH, max_attempts=attempts):
        resumed += went_on
    return balance, resumed


def _amount(text: str) -> int | None:
    if text == _UNMETERED:
        return None
    try:
        amount = int(text)
    except ValueError:
        amount = 0
    if abs(amount) > _AMOUNT_MAX:
        raise argparse.ArgumentTypeError(f"must be {-_AMOUNT_MAX:,} to {_AMOUNT_MAX:,}")
    if amount == 0:
        raise argparse.ArgumentTypeError(f"{text} is neither a number of credits nor {_UNMETERED}")
    return amount


def main(arguments: list[str]) -> int:
    """Give credits as the command line says; return the exit code."""
    parser = Parser(
        prog="make credits",
        usage="make credits USER=name-or-id AMOUNT=100 (negative amounts deduct; or AMOUNT=unmetered)",
        description="Give a user credits; one credit pays for one analysis.",
    )
    parser.add_argument("--user", required=True, help="name or id")
    parser.add_argument(
        "--amount", required=True, type=_amount, help=f"credits to add; negative to deduct; or {_UNMETERED}"
    )
    if "--user=" in arguments or "--amount=" in arguments:  # as the Makefile passes what was not typed
        parser.error("set both USER=… and AMOUNT=… on the command line")
    chosen = parser.parse_args(arguments)
    try:
        with closing(open_database()) as database:
            balance, resumed = give(database, chosen.user, chosen.amount)
    except (SiftlineError, SetUpError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"credits {_UNMETERED if balance is None else balance}")
    waiting = "waiting for credit"
    print(f"resumed {counted(resumed, 'item')} {waiting}" if resumed else f"no items were {waiting}")
    return 0
