"""The table at the end of a run: each fault, how often it was injected, and how long the system took to heal.

A plugin of the whole run, because only the controlling process writes it; tests add to it by ``healing``.
"""

from collections import defaultdict
from collections.abc import Callable
from statistics import median
from typing import Any

import pytest

_PROPERTY = "healing"
Told = Callable[[str, float], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of larger runs."""
    group = parser.getgroup("faults")
    group.addoption("--fault-rounds", type=int, default=1, help="how often each fault is injected")
    group.addoption("--fault-items", type=int, default=4, help="how many pages are under way when a fault strikes")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for ``fault_round`` as often as the option says."""
    if "fault_round" in metafunc.fixturenames:
        metafunc.parametrize("fault_round", range(metafunc.config.getoption("--fault-rounds")))


@pytest.fixture
def healing(record_property: Callable[[str, object], None]) -> Told:
    """Tell the table a fault and how many seconds passed until all was well, with no human act."""
    return lambda fault, seconds: record_property(_PROPERTY, [fault, seconds])


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table, if any fault was injected."""
    healed: dict[str, list[float]] = defaultdict(list)
    for report in terminalreporter.stats.get("passed", []):
        for name, value in getattr(report, "user_properties", []):
            if name == _PROPERTY:
                healed[value[0]].append(value[1])
    if not healed:
        return
    terminalreporter.section("faults healed with no human act, the invariants audited")
    terminalreporter.write_line(
        "from the fault (where it lasts, from its end) to rest; the leases of who is killed end at once, sweep each "
        "second, repeat after 2 s, backoff 1, 1, 2 s"
    )
    width = max(map(len, healed))
    terminalreporter.write_line(f"{'fault':{width}}  {'times':>5}  {'median':>8}  {'longest':>8}")
    for fault in sorted(healed, key=_order):
        times = healed[fault]
        terminalreporter.write_line(f"{fault:{width}}  {len(times):>5}  {median(times):>6.1f} s  {max(times):>6.1f} s")


def _order(fault: str) -> tuple[int, str]:
    number = fault.partition(" ")[0]
    return (int(number) if number.isdigit() else 99, fault)
