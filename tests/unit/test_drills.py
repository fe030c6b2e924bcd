"""Every alarm has a drill that makes it ring, by CloudWatch's own arithmetic, and leaves all as it was."""

import subprocess
import sys
from typing import Any

import pytest

from infra import drill
from infra.alarms import FUNCTIONS, ROOT, alarms
from infra.drill import DRILLS, FAILING_EVENT, DrilledStage, DrillError, hold
from infra.local.aws import CREDENTIALS
from siftline.contracts import Tick
from tests import alarm_math
from tests.aws_account import STAGE, Account, deployed_alarms
from tests.fakes import NOWHERE

ALARMS = {f"siftline-{STAGE}-{alarm.name}": alarm for alarm in alarms()}
DEPLOYED = deployed_alarms()


def a_stage(account: Account) -> DrilledStage:
    return DrilledStage(STAGE, "siftline", account.client, account, account.wait, account.ask)


@pytest.fixture
def account() -> Account:
    """An account in which nothing has happened for a while."""
    made = Account()
    made.wait(1_800)
    return made


def test_every_alarm_that_is_deployed_has_a_drill() -> None:
    assert set(ALARMS) == set(DEPLOYED)
    assert {alarm.kind for alarm in ALARMS.values()} == set(DRILLS)


def test_no_alarm_rings_in_a_quiet_hour() -> None:
    account = Account()
    account.wait(600)
    for _ in range(60):
        account.wait(60)
        assert account.ringing() == set()


@pytest.mark.parametrize("name", DEPLOYED)
def test_a_drill_makes_its_alarm_ring_and_leaves_all_as_it_was(name: str, account: Account) -> None:
    alarm = ALARMS[name]
    before = account.settings()

    assert hold(a_stage(account), alarm) <= 2 * alarm.window.period_s * alarm.window.periods + 300
    assert account.settings() == before
    account.wait(1_800)
    assert account.ringing() == set()


@pytest.mark.parametrize("name", DEPLOYED)
def test_an_alarm_does_not_ring_at_its_threshold_but_beyond_it(name: str) -> None:
    deployed = DEPLOYED[name]
    periods, threshold = deployed["EvaluationPeriods"], float(deployed["Threshold"])
    beyond = threshold + (-1 if deployed["ComparisonOperator"].startswith("Less") else 1)

    assert alarm_math.judged(deployed, [threshold] * periods) == "OK"
    assert alarm_math.judged(deployed, [beyond] * periods) == "ALARM"
    assert alarm_math.judged(deployed, [beyond] * (periods - 1) + [threshold]) == "OK"


@pytest.mark.parametrize("name", DEPLOYED)
def test_what_is_missing_rings_where_silence_is_the_fault_and_nowhere_else(name: str) -> None:
    silent = alarm_math.judged(DEPLOYED[name], [None] * 7)

    assert silent == ("ALARM" if ALARMS[name].silence else "OK")


def test_a_drill_on_a_queue_where_others_wait_deletes_its_own_dead_letter_only(account: Account) -> None:
    dead = f"siftline-{STAGE}-fetch-dlq"
    account.dead[dead].append("somebody's")
    with DRILLS["dead-letters"].cause(a_stage(account), ALARMS[f"siftline-{STAGE}-fetch-dead-letters"]):
        assert len(account.dead[dead]) == 2

    assert account.dead[dead] == ["somebody's"]


def test_a_drill_leaves_a_functions_own_concurrency_and_a_switched_off_schedule_as_they_were(account: Account) -> None:
    account.concurrency[f"siftline-{STAGE}-fetch"] = 7
    account.schedules["ScheduleFunctionClusterings"]["State"] = "DISABLED"

    hold(a_stage(account), ALARMS[f"siftline-{STAGE}-fetch-throttles"])
    hold(a_stage(account), ALARMS[f"siftline-{STAGE}-no-tick"])

    assert account.concurrency == {f"siftline-{STAGE}-fetch": 7}
    off = [name for name, schedule in account.schedules.items() if schedule["State"] == "DISABLED"]
    assert off == ["ScheduleFunctionClusterings"]
    assert len(account.schedules) == len(Tick)


def test_a_drill_is_not_held_where_the_alarm_rings_already_or_is_not_deployed(account: Account) -> None:
    alarm = ALARMS[f"siftline-{STAGE}-unknown-jobs"]
    hold(a_stage(account), alarm)
    with pytest.raises(DrillError, match="rings already"):
        hold(a_stage(account), alarm)
    del account.alarms[f"siftline-{STAGE}-database-capacity"]
    with pytest.raises(DrillError, match="not deployed"):
        hold(a_stage(account), ALARMS[f"siftline-{STAGE}-database-capacity"])


def test_every_handler_raises_for_the_event_that_is_none() -> None:
    """In a process of its own: what functions build is kept as long as a process lives."""
    code = f"""
import importlib, json
for name in {FUNCTIONS}:
    app = importlib.import_module(f"functions.{{name}}.app")
    app.build()
    try:
        app.handler(json.loads({FAILING_EVENT!r}), None)
    except Exception:  # whichever: that it raises is what makes the alarm ring
        print(name)
"""
    variables = {name.upper(): value for name, value in NOWHERE.items()} | CREDENTIALS
    variables |= {"MODEL_URI": "/nowhere", "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False)

    assert [line for line in done.stdout.splitlines() if line in FUNCTIONS] == FUNCTIONS, done.stderr


class Deaf(Account):
    """Metric data that come in are lost."""

    def put_metric_data(self, Namespace: str, MetricData: object) -> dict[str, Any]:  # noqa: N803 - AWS's names
        return {}


def test_an_alarm_that_does_not_ring_is_told_and_the_cause_undone() -> None:
    account = Deaf()
    account.wait(600)
    with pytest.raises(DrillError, match="did not ring within 25 minutes"):
        hold(a_stage(account), ALARMS[f"siftline-{STAGE}-fetch-due"])


def test_the_command_says_what_a_drill_does_and_does_nothing_before_it_is_told_to(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert drill.main(["--stage=staging", "--alarm=fetch-age"]) == 0
    assert "siftline-staging-fetch-age: lowers its threshold" in capsys.readouterr().out
    assert drill.main(["--alarm=nothing"]) == 2
    assert capsys.readouterr().err == "siftline: There is no alarm nothing: make drill lists them.\n"
    assert drill.main([]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n{alarm.name} " in listed for alarm in alarms())
    assert drill.main(["--stage=nowhere", "--alarm=fetch-age", "--yes"]) == 1
    assert "There is no stage nowhere" in capsys.readouterr().err


# The guide's own examples ("Configuring how CloudWatch alarms treat missing data"): X breaches, 0 does not, - is none.
TREATED = ("breaching", "notBreaching")
EXAMPLES = [
    (3, "0-X-X", "OK", "OK"),
    (3, "----0", "OK", "OK"),
    (3, "-----", "ALARM", "OK"),
    (3, "0XX-X", "ALARM", "ALARM"),
    (3, "--X--", "ALARM", "OK"),
    (2, "0-X-X", "ALARM", "ALARM"),
    (2, "00X0X", "ALARM", "ALARM"),
    (2, "0-X--", "ALARM", "OK"),
    (2, "----0", "ALARM", "OK"),
    (2, "---X-", "ALARM", "OK"),
]


@pytest.mark.parametrize("treated", TREATED)
@pytest.mark.parametrize(("needed", "periods", "breaching", "not_breaching"), EXAMPLES)
def test_missing_data_are_treated_as_the_guide_says(
    treated: str, needed: int, periods: str, breaching: str, not_breaching: str
) -> None:
    alarm = {
        "EvaluationPeriods": 3,
        "DatapointsToAlarm": needed,
        "Threshold": 1,
        "ComparisonOperator": "GreaterThanThreshold",
        "TreatMissingData": treated,
    }
    values = [{"X": 2.0, "0": 0.0, "-": None}[one] for one in periods]

    assert alarm_math.judged(alarm, values) == (breaching if treated == "breaching" else not_breaching)


def test_a_statistic_is_that_of_each_whole_period() -> None:
    alarm = {**DEPLOYED[f"siftline-{STAGE}-api-latency"], "EvaluationPeriods": 1}
    fast, slow = [(float(second), 100.0) for second in range(198)], [(198.5, 9_000.0), (199.0, 9_000.0)]

    assert alarm_math.state(alarm, [*fast, *slow], 299) == "OK"  # the period has not ended
    assert alarm_math.state(alarm, [*fast, *slow], 300) == "OK"  # one in a hundred
    assert alarm_math.state(alarm, [*fast, *slow, (200.0, 9_000.0)], 300) == "ALARM"
