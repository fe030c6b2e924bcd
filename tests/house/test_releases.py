"""A release goes through aliases, by SAM's own transform: what serves events is published, and shifts by its alarms."""

import json
import re
import subprocess
from collections.abc import Mapping
from functools import cache
from graphlib import TopologicalSorter
from typing import Any

import pytest

from infra.package import stage_parameters
from infra.releases import LIVE
from tests.house.reading import FUNCTION_NAMES, ROOT, document, function_resources, references

PYTHON = ROOT / ".local" / "tools" / "bin" / "python"
CANARY, AT_ONCE = "ReleasePreference=Canary10Percent5Minutes", "ReleasePreference=AllAtOnce"
SERVING = [name for name in FUNCTION_NAMES if name != "operate"]
CODE_DEPLOY_ALARMS = 10
"""The most that a deployment group takes (CodeDeploy quotas)."""


@cache
def transformed(*parameters: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the resources that SAM makes of the template."""
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} is missing; `make check` installs it")
    quiet = {"AWS_DEFAULT_REGION": "eu-central-1", "PATH": "/usr/bin:/bin", "HOME": str(ROOT / ".local")}
    command = [str(PYTHON), "tests/house/sam_transform.py", *parameters]
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    resources: Mapping[str, Mapping[str, Any]] = json.loads(done.stdout)["Resources"]
    return resources


def of_type(kind: str, *parameters: str) -> dict[str, Mapping[str, Any]]:
    return {name: body for name, body in transformed(*parameters).items() if body["Type"] == kind}


def version_of(function: str, *parameters: str) -> str:
    """Return the logical id of the version that a function is published with."""
    [found] = [
        name
        for name, body in of_type("AWS::Lambda::Version", *parameters).items()
        if body["Properties"]["FunctionName"] == {"Ref": function}
    ]
    return found


@pytest.mark.parametrize("preference", [CANARY, AT_ONCE])
@pytest.mark.parametrize("name", SERVING)
def test_a_function_that_serves_events_is_published_behind_its_alias(name: str, preference: str) -> None:
    function, _ = function_resources()[name]
    alias = transformed("Release=1764594300", preference)[f"{function}Alias{LIVE}"]
    version = version_of(function, "Release=1764594300", preference)

    assert alias["Properties"]["Name"] == LIVE
    assert alias["Properties"]["FunctionName"] == {"Ref": function}
    assert alias["Properties"]["FunctionVersion"] == {"Fn::GetAtt": [version, "Version"]}
    assert transformed("Release=1764594300", preference)[version]["DeletionPolicy"] == "Retain"


def test_operate_is_invoked_by_its_name_and_has_no_alias() -> None:
    function, _ = function_resources()["operate"]
    rest = json.dumps([body for name, body in transformed(CANARY).items() if name != function])

    assert f'"{function}"' not in rest
    assert f"${{{function}" not in rest


@pytest.mark.parametrize("preference", [CANARY, AT_ONCE])
def test_whatever_invokes_a_function_invokes_its_alias(preference: str) -> None:
    aliases = {f"{function_resources()[name][0]}Alias{LIVE}" for name in SERVING}
    mappings = of_type("AWS::Lambda::EventSourceMapping", preference).values()
    rules = [rule for name, rule in of_type("AWS::Events::Rule", preference).items() if name.startswith("Schedule")]
    permissions = of_type("AWS::Lambda::Permission", preference)
    api = json.dumps(transformed(preference)["HttpApi"]["Properties"]["Body"])
    (authorizer,) = re.findall(r"[^\"]*:function:[^\"]*", api)

    assert len(mappings) == len(rules) == 8
    assert {mapping["Properties"]["FunctionName"]["Ref"] for mapping in mappings} <= aliases
    assert {target["Arn"]["Ref"] for rule in rules for target in rule["Properties"]["Targets"]} <= aliases
    assert set(re.findall(r"functions/\$\{([A-Z]\w+)\}", api)) <= aliases
    assert authorizer.endswith(f"${{AuthorizeFunction}}:{LIVE}")
    asked = permissions.pop("HttpApiTokenAuthorizerPermission")["Properties"]["FunctionName"]
    assert asked == {"Fn::Sub": authorizer}
    assert {body["Properties"]["FunctionName"]["Ref"] for body in permissions.values()} <= aliases
    retried = of_type("AWS::Lambda::EventInvokeConfig", preference).values()
    assert [body["Properties"]["Qualifier"] for body in retried] == [LIVE]


def test_every_release_publishes_every_function_and_the_same_one_publishes_none_again() -> None:
    first, second = (set(of_type("AWS::Lambda::Version", f"Release={number}")) for number in (1764594300, 1764594301))

    assert len(first) == len(second) == len(SERVING)
    assert not first & second
    # a parameter of a function is one of the release, too: SAM would not see it change
    assert set(of_type("AWS::Lambda::Version", "Release=1764594300", "LlmModel=gpt")) == first


@pytest.mark.parametrize("name", SERVING)
def test_a_canary_shifts_by_an_alarm_on_the_new_versions_errors(name: str) -> None:
    function, _ = function_resources()[name]
    resources = transformed("Release=1764594300", CANARY)
    shifted = resources[f"{function}Alias{LIVE}"]["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]
    group = resources[shifted["DeploymentGroupName"]["Ref"]]["Properties"]
    named = [alarm["Name"]["Ref"] for alarm in group["AlarmConfiguration"]["Alarms"]]
    alarm = resources[f"{name.title()}ReleaseAlarm"]["Properties"]

    assert group["DeploymentConfigName"]["Fn::Sub"][1] == {"ConfigName": "Canary10Percent5Minutes"}
    assert group["ServiceRoleArn"] == {"Fn::GetAtt": ["ReleaseRole", "Arn"]}
    assert "DEPLOYMENT_STOP_ON_ALARM" in group["AutoRollbackConfiguration"]["Events"]
    of_the_api = ["ServerErrorsReleaseAlarm"] if name in {"api", "authorize", "search"} else []
    assert named == [f"{name.title()}ReleaseAlarm", *of_the_api]
    assert len(named) <= CODE_DEPLOY_ALARMS
    assert (alarm["Namespace"], alarm["MetricName"]) == ("AWS/Lambda", "Errors")
    assert {one["Name"]: one["Value"] for one in alarm["Dimensions"]} == {
        "FunctionName": {"Ref": function},
        "Resource": {"Fn::Sub": f"${{{function}}}:{LIVE}"},
        "ExecutedVersion": {"Fn::GetAtt": [version_of(function, "Release=1764594300", CANARY), "Version"]},
    }


def test_all_at_once_needs_no_code_deploy() -> None:
    assert not [name for name, body in transformed(AT_ONCE).items() if body["Type"].startswith("AWS::CodeDeploy::")]
    assert not [name for name, body in transformed(AT_ONCE).items() if "UpdatePolicy" in body]


@pytest.mark.parametrize("preference", [CANARY, AT_ONCE])
def test_no_resource_waits_for_itself(preference: str) -> None:
    resources = transformed(preference)
    waits = {name: _named(body) & set(resources) for name, body in resources.items()}

    assert set(TopologicalSorter(waits).static_order()) == set(resources)
    # the authorizer's ARN names the alias in a text, for which CloudFormation would not wait
    assert "AuthorizeFunctionAliaslive" in waits["HttpApi"]
    assert "HttpApi" in waits["HttpApiTokenAuthorizerPermission"]


def _named(body: Mapping[str, Any]) -> set[str]:
    """Return whatever a resource's body refers to."""
    depends = body.get("DependsOn", [])
    return {*([depends] if isinstance(depends, str) else depends), *(name for name, _ in references(body))}


def test_prod_has_a_canary_and_the_other_stages_none() -> None:
    default = document()["Parameters"]["ReleasePreference"]["Default"]
    preferences = {
        stage: stage_parameters(stage).get("ReleasePreference", default) for stage in ("local", "staging", "prod")
    }

    assert preferences == {"local": "AllAtOnce", "staging": "AllAtOnce", "prod": "Canary10Percent5Minutes"}


def test_what_a_release_may_prefer_is_known_to_code_deploy_or_is_left_to_cloudformation() -> None:
    choices = document()["Parameters"]["ReleasePreference"]["AllowedValues"]
    shifts = document()["Mappings"]["ReleasePreferences"]

    assert list(shifts) == choices
    assert [name for name in choices if shifts[name]["Shifts"] == "false"] == ["AllAtOnce"]
