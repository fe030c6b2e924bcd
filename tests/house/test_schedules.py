"""Each schedule has its own switch: on AWS a parameter of the template, in a worker the same as a setting."""

from typing import Any

import pytest

from siftline.contracts import Tick
from siftline.settings.functions import WorkerSettings
from siftline.worker.template import Template
from tests.house.reading import ROOT, document

TICKS = sorted(Tick)


def parameter_of(tick: Tick) -> str:
    return "".join(word.title() for word in tick.split("_")) + "Enabled"


@pytest.mark.parametrize("tick", TICKS)
def test_a_schedule_has_a_switch_in_the_template_and_the_same_in_the_workers_settings(tick: Tick) -> None:
    parameter = document()["Parameters"][parameter_of(tick)]
    field = WorkerSettings.model_fields[f"siftline_{tick}_enabled"]

    assert parameter["AllowedValues"] == ["true", "false"]
    assert parameter["Default"] == str(field.default).lower()


@pytest.mark.parametrize("tick", TICKS)
@pytest.mark.parametrize("on", ["true", "false"])
def test_the_switch_of_a_schedule_turns_that_one_and_no_other(tick: Tick, on: str) -> None:
    path = ROOT / "template.yaml"
    before = {schedule.input for schedule in Template.read(path).schedules()}
    after = {schedule.input for schedule in Template.read(path, {parameter_of(tick): on}).schedules()}
    own = f'{{"tick": "{tick}"}}'

    assert (own in after) == (on == "true")
    assert after - {own} == before - {own}


@pytest.mark.parametrize("tick", TICKS)
def test_a_workers_settings_give_the_templates_switches(tick: Tick) -> None:
    switches: dict[str, Any] = {f"siftline_{tick}_enabled": False}
    settings = WorkerSettings(**switches)

    assert settings.parameters()[parameter_of(tick)] == "false"
    assert set(settings.parameters()) == {"Stage"} | {parameter_of(one) for one in Tick}
