"""The monthly bill on paper: what is counted in the template, what grows with users, and which limit is met first."""

import tomllib
from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks.monthly_cost import CROWD, CROWD_CONTENTS, FUNCTION_OF, USERS, Load, Unit, limits, month, nobody, ticks
from siftline.worker.template import Template
from tests.house.reading import ROOT, template

PRICES = tomllib.loads((ROOT / "benchmarks" / "aws_prices.toml").read_text(encoding="utf-8"))
UNITS = dict.fromkeys(FUNCTION_OF, Unit(seconds=0.3, usd=5e-6))


def bill(load, alarms=10):
    return month(load, template(), alarms, UNITS, PRICES)


def test_the_clock_runs_as_often_as_the_templates_schedules_say():
    every_minute, every_hour, every_day = 4, 1, 2
    assert ticks(template()) == every_minute * 730 * 60 + every_hour * 730 + every_day * 30
    resting = Template.read(ROOT / "template.yaml", {"SweepEnabled": "false"})
    assert ticks(template()) - ticks(resting) == 730 * 60


def test_an_idle_deployment_pays_for_what_stands_and_ticks_alone():
    idle = bill(nobody())
    assert {name for name, usd in idle.items() if usd == 0} == {"API Gateway", "SES"}
    assert bill(nobody(), alarms=20)["CloudWatch alarms"] - idle["CloudWatch alarms"] == pytest.approx(1.0)


def test_every_resource_costs_more_with_more_users_or_as_much():
    bills = [bill(Load.of(users)) for users in USERS]
    for fewer, more in pairwise(bills):
        assert all(fewer[name] <= more[name] for name in fewer)
        assert sum(fewer.values()) < sum(more.values())


def test_a_memory_that_items_fill_is_paid_for():
    small = Load.of(100)
    large = replace(small, contents=small.contents * 1000)
    assert bill(large)["Qdrant on Fargate"] > 10 * bill(small)["Qdrant on Fargate"]
    assert bill(large)["Aurora"] > 10 * bill(small)["Aurora"]


def test_a_limit_is_the_templates_own_and_what_is_over_it_is_above_one():
    rows = {
        row["limit"]: row
        for row in limits([Load.of(100), Load.of(CROWD, CROWD_CONTENTS)], template(), UNITS, requests_per_s=50)
    }
    polls = rows["polls a tick (DueSourcesPerTick 100)"]
    assert polls["100"] < 1 < polls[f"{CROWD:,}"]
    assert "clustering queue (2 functions)" in rows
    assert rows["SQS (120,000 in flight)"]["100"] == rows["SQS (120,000 in flight)"][f"{CROWD:,}"] < 1
