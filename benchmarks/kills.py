"""No job lost: workers killed by SIGKILL in mid-work, Siftline beside its peers. ``python -m benchmarks.kills``

Each run: jobs that each read a slow page from a loopback server and leave one effect in PostgreSQL; two workers with
two jobs in work each; SIGKILL hits one of them again and again at seeded points of the work; whoever is dead is started
again at once. Nothing else is done by hand: recovery is left to the tool. A run is over when every job is, or when
nothing more has happened for longer than the tool's documented defaults take. Peers run on their documented defaults.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.killing.celery import Celery
from benchmarks.killing.ours import Siftline
from benchmarks.killing.procrastinate import Procrastinate
from benchmarks.killing.trial import SMALL, Outcome, Plan, Tool, run
from benchmarks.report import Report, durability
from infra.local.aws import MiniStack
from infra.local.errors import SetUpError
from infra.local.machine import ROOT
from infra.local.migrate import create_database, migrate
from infra.local.ministack_environment import ministack_python
from infra.local.postgres import EmbeddedPostgres


def main(arguments: Sequence[str] = ()) -> int:
    """Measure and print the table; returns 1 when a run of ours lost or repeated anything."""
    options = _options(arguments)
    plan = SMALL if options.quick else Plan()
    report = Report("kills")
    report.open(f"{plan.jobs} jobs, {plan.kills} SIGKILLs, lease {plan.lease_s} s, sweep {plan.sweep_s} s")
    with tempfile.TemporaryDirectory(prefix="siftline-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o711)  # PostgreSQL runs as another user when this one is root
        server = stack.enter_context(EmbeddedPostgres(folder / "postgres"))
        with psycopg.connect(server.url()) as connection:
            report.tell(durability(connection))
        aws = stack.enter_context(MiniStack(ministack_python(ROOT / ".local" / "ministack"), folder / "aws"))
        ours = Siftline(aws.endpoint)
        outcomes = {ours.name: _runs(ours, plan, options.runs, folder, server, report)}
        for peer in _peers(report) if options.peer_runs else ():
            try:
                outcomes[peer.name] = _runs(peer, plan, options.peer_runs, folder, server, report)
            except (OSError, subprocess.SubprocessError, SetUpError) as error:
                report.tell({"left out": f"{peer.name}: {error}"})
    report.table("all runs together; times are the longest", [_summary(tool, outcomes[tool]) for tool in outcomes])
    report.keep()
    return 1 if any(_broken(outcome) for outcome in outcomes[ours.name]) else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="runs of Siftline")
    parser.add_argument("--peer-runs", type=int, default=2, help="runs of each peer; 0 for none")
    parser.add_argument("--quick", action="store_true", help="small runs: a look at whether it works")
    return parser.parse_args(arguments)


def _peers(report: Report) -> Iterator[Tool]:
    """Yield the peers that can run here; say why another cannot."""
    makers: Sequence[Callable[[], Procrastinate | Celery]] = (Procrastinate, Celery, lambda: Celery(late=True))
    for make in makers:
        try:
            peer = make()
        except SetUpError as error:
            report.tell({"left out": str(error)})
        else:
            report.tell({peer.name: peer.version})
            yield peer


def _runs(tool: Tool, plan: Plan, runs: int, folder: Path, server: EmbeddedPostgres, report: Report) -> list[Outcome]:
    outcomes = []
    for number in range(1, runs + 1):
        with _place(folder, server, tool) as (place, database_url):
            outcomes.append(run(tool, plan.numbered(number), place, database_url))
        print(f"   {tool.name}, run {number}: {_line(outcomes[-1])}", flush=True)
    report.table(f"{tool.name}, run by run", [_row(number, one) for number, one in enumerate(outcomes, 1)])
    return outcomes


@contextmanager
def _place(folder: Path, server: EmbeddedPostgres, tool: Tool) -> Iterator[tuple[Path, str]]:
    """Make a folder and an empty database of a run's own."""
    name = f"{tool.name.split()[0].lower()}_{len(list(folder.glob('run-*')))}"
    place = folder / f"run-{name}"
    place.mkdir()
    create_database(server.url(), name)
    if isinstance(tool, Siftline):
        migrate(server.url(name))
    yield place, server.url(name)


def _row(number: int, one: Outcome) -> Mapping[str, Any]:
    return {
        "run": number,
        "kills": one.kills,
        "jobs cut off": one.cut_off,
        "completed": one.completed,
        "stranded": one.stranded,
        "effect twice": one.twice,
        "read twice": one.repeated,
        "kill to back s": _longest([one.back_s]),
        "kill to done s": _longest([one.done_s]),
        "last kill to end s": _longest([one.healed_s]),
        "wall s": _longest([one.wall_s]),
        "records": "-" if one.faults is None else "; ".join(one.faults) or "agree",
    }


def _summary(tool: str, outcomes: Sequence[Outcome]) -> Mapping[str, Any]:
    return {
        "tool": tool,
        "runs": len(outcomes),
        "kills": sum(one.kills for one in outcomes),
        "jobs cut off": sum(one.cut_off for one in outcomes),
        "stranded": " ".join(str(one.stranded) for one in outcomes),
        "effect twice": " ".join(str(one.twice) for one in outcomes),
        "kill to back s": _longest([one.back_s for one in outcomes]),
        "kill to done s": _longest([one.done_s for one in outcomes]),
        "last kill to end s": _longest([one.healed_s for one in outcomes]),
        "wall s": _longest([one.wall_s for one in outcomes]),
    }


def _longest(seconds: Sequence[float | None]) -> float | str:
    return max((round(one, 1) for one in seconds if one is not None), default="-")


def _line(one: Outcome) -> str:
    return ", ".join(f"{name} {value}" for name, value in _row(0, one).items() if name != "run")


def _broken(one: Outcome) -> bool:
    return bool(one.stranded or one.twice or one.faults)


if __name__ == "__main__":
    import sys

    sys.exit(main(sys.argv[1:]))
