"""One bad value stops nothing: a job over many rows sets those aside that it cannot use, and does the rest.

What is known to be unusable (a vector of no numbers, say) is told apart row by row as it is read (``checked``).
Whatever else a row may be is found out when the work on all of them fails: halves are tried, down to the rows that
fail alone, and the work is done without these (``sifted``). Each is written down with its reason, for operators to see
(``GET /v1/ops/set-aside``), and forgotten again by the job that can use it.

What is no row's fault is raised as ever: a database, model or vector store that is away, or a fault that no single row
shows.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from uuid import UUID

import psycopg

from siftline.contracts import JobType
from siftline.jobs import set_aside_store
from siftline.jobs.set_aside_store import SetAside
from siftline.kit.db import Connection
from siftline.kit.errors import SiftlineError, UnusableError
from siftline.kit.log import logger
from siftline.kit.metrics import COUNT, emit

_log = logger("jobs")
_TOLD = 10
_Row = TypeVar("_Row")
_Result = TypeVar("_Result")


class UnusableRowError(UnusableError):
    """A stored row holds what cannot be worked with; others are no worse for it."""

    code = "unusable_row"


@dataclass(frozen=True, slots=True)
class Sifted(Generic[_Row, _Result]):
    """What came of the rows that could be used, and those that could not."""

    result: _Result
    used: Sequence[_Row]
    aside: Sequence[SetAside] = field(default_factory=tuple)


def checked(
    rows: Sequence[_Row],
    check: Callable[[_Row], object],
    *,
    row_id: Callable[[_Row], UUID],
    kind: str,
    mark: Callable[[_Row], str] = lambda _: "",
) -> tuple[list[_Row], list[SetAside]]:
    """Return the rows that pass ``check``, and those for which it raises what is a row's fault."""
    good: list[_Row] = []
    aside: list[SetAside] = []
    for row in rows:
        error = _fault(check, row)
        if error is None:
            good.append(row)
        else:
            aside.append(_aside(row_id(row), kind, error, mark(row)))
    return good, aside


def sifted(
    rows: Sequence[_Row],
    work: Callable[[Sequence[_Row]], _Result],
    *,
    row_id: Callable[[_Row], UUID],
    kind: str,
    mark: Callable[[_Row], str] = lambda _: "",
) -> Sifted[_Row, _Result]:
    """Do ``work`` on all rows, or, where some make it fail, on the others. It must be fit to be done again.

    Raises what it raises where that is no single row's fault.
    """
    keep: list[_Result] = []
    error = _fault(work, rows, keep)
    if error is None:
        return Sifted(keep[0], rows)
    bad = _bad(rows, work)
    if not bad:
        raise error
    failing = {place for place, _ in bad}
    used = [row for place, row in enumerate(rows) if place not in failing]
    aside = [_aside(row_id(rows[place]), kind, fault, mark(rows[place])) for place, fault in bad]
    return Sifted(work(used), used, aside)


def tell(connection: Connection, job_type: JobType | str, aside: Sequence[SetAside], used: Collection[UUID]) -> None:
    """Write down what a job set aside, and forget what it could use: in the transaction of its own writes."""
    bad = {one.row_id for one in aside}
    set_aside_store.forget(connection, job_type, [one for one in used if one not in bad])
    set_aside_store.note(connection, job_type, aside)
    if not aside:
        return
    _log.warning(
        "rows_set_aside",
        job_type=str(job_type),
        rows=len(bad),
        kind=aside[0].kind,
        error_code=aside[0].code,
        detail=aside[0].detail,
        ids=[str(one) for one in sorted(bad)[:_TOLD]],
    )
    emit({"RowsSetAside": (len(bad), COUNT)}, {"job_type": str(job_type)})


def counted(aside: Sequence[SetAside]) -> dict[str, int]:
    """Return what a job's result says of it; nothing where no row was set aside."""
    return {"set_aside": len(aside)} if aside else {}


def _bad(rows: Sequence[_Row], work: Callable[[Sequence[_Row]], object]) -> list[tuple[int, Exception]]:
    """Return the places of the rows that make ``work`` fail by themselves, with how it does."""
    found: list[tuple[int, Exception]] = []
    waiting = [range(len(rows))]
    while waiting:
        places = waiting.pop()
        error = _fault(work, [rows[place] for place in places])
        if error is None:
            continue
        if len(places) == 1:
            found.append((places[0], error))
        elif places:
            middle = len(places) // 2
            waiting += [places[middle:], places[:middle]]
    return found


def _fault(work: Callable[[_Row], _Result], rows: _Row, keep: list[_Result] | None = None) -> Exception | None:
    """Do work and return how a row made it fail; what it came to goes into ``keep``."""
    try:
        result = work(rows)
    except UnusableError as error:
        return error
    except (SiftlineError, psycopg.OperationalError, psycopg.InterfaceError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a stored value may lead to, it is told with its row
        return error
    if keep is not None:
        keep.append(result)
    return None


def _aside(row_id: UUID, kind: str, error: Exception, mark: str) -> SetAside:
    if isinstance(error, SiftlineError):
        return SetAside(row_id, kind, error.error_code, error.detail, mark)
    # The type alone: what else an exception says may be of what a person wrote.
    return SetAside(row_id, kind, UnusableRowError.code, f"Processing it failed: {type(error).__name__}.", mark)
