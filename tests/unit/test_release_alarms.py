"""A bad release is thrown out within the canary's five minutes, a good one never, by the arithmetic of alarms.

The metrics are those that Lambda publishes by alias and executed version, and those counted from the access log.
"""

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest

from infra.releases import LIVE
from siftline.worker.template import Evaluator, Reference
from tests.aws_account import STAGE, Account, place
from tests.house.reading import FUNCTION_NAMES, document, function_resources

SERVING = [name for name in FUNCTION_NAMES if name != "operate"]
OLD, NEW = "7", "8"
CANARY_SHARE, CANARY_MINUTES = 0.1, 5
"""``Canary10Percent5Minutes``."""
BUSY = 30
"""Invocations a minute of which a tenth is enough to see."""


def release_alarms() -> dict[str, dict[str, Any]]:
    """Return the release alarms as they are deployed with the version ``NEW``, by name."""
    names = {logical_id: f"siftline-{STAGE}-{name}" for name, (logical_id, _) in function_resources().items()}

    def real(value: Any) -> str:
        if not isinstance(value, Reference):
            return str(value)
        if value.attribute == "Version.Version":
            return NEW
        text = value.logical_id if "${" in value.logical_id else f"${{{value.logical_id}}}"
        return re.sub(r"\$\{(\w+)\}", lambda found: names[found[1]], text)

    found = {}
    for body in document()["Resources"].values():
        if body["Type"] == "AWS::CloudWatch::Alarm":
            alarm = Evaluator(document(), {"Stage": STAGE}).value(body["Properties"])
            dimensions = [{"Name": one["Name"], "Value": real(one["Value"])} for one in alarm["Dimensions"]]
            found[alarm["AlarmName"]] = {**alarm, "Dimensions": dimensions}
    return found


class Canary:
    """A function whose new version gets a tenth of its invocations until an alarm rings or five minutes are over."""

    def __init__(self, function: str) -> None:
        self.account = Account()
        self.account.alarms = release_alarms()
        self.account.wait(1_800)
        self.rang: set[str] = set()
        self.live = OLD
        self.failed = self.invoked = 0
        self._function = f"siftline-{STAGE}-{function}"

    def shift(self, invocations: int, failing: Mapping[str, float], *, tell: Callable[[str, bool], None]) -> None:
        """Let the minutes pass; ``failing`` is each version's share of failures, and ``tell`` records an invocation."""
        chance = Random(f"{self._function} {invocations} {failing}")
        for _ in range(CANARY_MINUTES):
            for _ in range(invocations):
                version = NEW if chance.random() < CANARY_SHARE else OLD
                failed = chance.random() < failing.get(version, 0)
                tell(version, failed)
                self.failed += failed
                self.invoked += 1
            self.account.wait(60)
            if rang := self.account.ringing():
                self.rang = rang
                return
        self.live = NEW

    def invoke(self, version: str, failed: bool) -> None:
        """Record an invocation that raises or does not, as Lambda does for a weighted alias."""
        of_version = {
            "FunctionName": self._function,
            "Resource": f"{self._function}:{LIVE}",
            "ExecutedVersion": version,
        }
        self.account.record(place("AWS/Lambda", "Errors", of_version), failed)

    def answer(self, version: str, failed: bool) -> None:
        """Record a request that a function answers itself, with 500 or without."""
        self.invoke(version, failed=False)
        self.account.logged(status="500" if failed else "200")


@pytest.mark.parametrize("function", SERVING)
@pytest.mark.parametrize(("invocations", "failing"), [(BUSY, 1.0), (300, 0.2)])
def test_a_new_version_that_fails_is_thrown_out_by_its_own_alarm_before_it_gets_all(
    function: str, invocations: int, failing: float
) -> None:
    canary = Canary(function)
    canary.shift(invocations, {NEW: failing}, tell=canary.invoke)

    assert (canary.live, canary.rang) == (OLD, {f"release-{function}"})
    assert canary.failed / canary.invoked < 2 * CANARY_SHARE


@pytest.mark.parametrize("invocations", [BUSY, 300])
@pytest.mark.parametrize("function", ["api", "search", "authorize"])
def test_a_new_version_that_answers_500_is_thrown_out_by_what_the_api_answers(function: str, invocations: int) -> None:
    canary = Canary(function)
    canary.shift(invocations, {NEW: 1.0}, tell=canary.answer)

    assert (canary.live, canary.rang) == (OLD, {"release-5xx"})


@pytest.mark.parametrize("function", SERVING)
@pytest.mark.parametrize("invocations", [0, 1, BUSY, 300])
def test_a_healthy_release_gets_all_whether_it_is_busy_or_quiet(function: str, invocations: int) -> None:
    canary = Canary(function)
    canary.shift(invocations, {}, tell=canary.answer)

    assert (canary.live, canary.rang) == (NEW, set())


def test_errors_of_the_version_before_throw_out_no_release() -> None:
    canary = Canary("ingest")
    canary.shift(300, {OLD: 0.2}, tell=canary.invoke)

    assert (canary.live, canary.rang) == (NEW, set())


def test_errors_within_one_minute_only_throw_out_no_release() -> None:
    canary = Canary("api")
    for _ in range(3):
        canary.invoke(NEW, failed=True)
        canary.answer(NEW, failed=True)
    canary.account.wait(60)
    canary.shift(BUSY, {}, tell=canary.answer)

    assert (canary.live, canary.rang) == (NEW, set())


def test_a_single_500_a_minute_throws_out_no_release() -> None:
    canary = Canary("api")

    def seldom(version: str, failed: bool) -> None:
        canary.answer(version, failed=canary.invoked % BUSY == 0)

    canary.shift(BUSY, {}, tell=seldom)
    assert (canary.live, canary.rang) == (NEW, set())
