"""``make rollback``: functions go back to what was live before the last deployment, on MiniStack's CloudFormation.

The stack is a small one with versions and aliases as SAM writes them (``tests/house/test_releases.py``).
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from infra import rollback
from infra.local.aws import CREDENTIALS, MiniStack
from infra.local.ministack_environment import ministack_python
from infra.releases import LIVE, PREVIOUS, remember, versions
from infra.stage import Stage
from siftline.operate.set_up_error import SetUpError
from siftline.settings.functions import environment
from tests.stack import MINISTACK

API, FETCH, OPERATE = (f"siftline-staging-{name}" for name in ("api", "fetch", "operate"))


def template(release: int, *published: str) -> str:
    """Return a stack of three functions, of which some are published with this release."""
    resources: dict[str, Any] = {}
    for name in (API, FETCH, OPERATE):
        function = name.title().replace("-", "")
        resources[function] = {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "FunctionName": name,
                "Description": str(release),
                "Runtime": "python3.13",
                "Handler": "index.handler",
                "Role": "arn:aws:iam::000000000000:role/nobody",
                "Code": {"ZipFile": "def handler(event, context): return 1"},
            },
        }
        if name in published:
            resources[f"{function}Version{release}"] = {
                "Type": "AWS::Lambda::Version",
                "DeletionPolicy": "Retain",
                "Properties": {"FunctionName": {"Ref": function}},
            }
            version = {"Fn::GetAtt": [f"{function}Version{release}", "Version"]}
            resources[f"{function}Aliaslive"] = {
                "Type": "AWS::Lambda::Alias",
                "Properties": {"Name": LIVE, "FunctionName": {"Ref": function}, "FunctionVersion": version},
            }
    return json.dumps({"Resources": resources})


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniStack]:
    home = tmp_path_factory.mktemp("ministack")
    with MiniStack(ministack_python(MINISTACK), home, persists=False, everything=True) as started:
        yield started


@pytest.fixture
def stage(aws: MiniStack) -> Iterator[Stage]:
    """A stage as its first deployment leaves it: ``api`` and ``fetch`` are live in version 1, ``operate`` has none."""
    with environment({**CREDENTIALS, "AWS_ENDPOINT_URL": aws.endpoint}):
        made = Stage("staging")
        client = made.client("cloudformation")
        client.create_stack(StackName=made.stack, TemplateBody=template(1, API, FETCH))
        client.get_waiter("stack_create_complete").wait(StackName=made.stack, WaiterConfig={"Delay": 1})
        yield made
        client.delete_stack(StackName=made.stack)
        client.get_waiter("stack_delete_complete").wait(StackName=made.stack, WaiterConfig={"Delay": 1})


def release(stage: Stage, number: int, *published: str) -> None:
    """Do what a deployment that succeeds does to versions and aliases."""
    before, client = versions(stage), stage.client("cloudformation")
    client.update_stack(StackName=stage.stack, TemplateBody=template(number, *(published or (API, FETCH))))
    client.get_waiter("stack_update_complete").wait(StackName=stage.stack, WaiterConfig={"Delay": 1})
    remember(stage, before)


def alias(stage: Stage, function: str, name: str) -> Any:
    return stage.client("lambda").get_alias(FunctionName=function, Name=name)["FunctionVersion"]


def test_every_function_goes_back_to_the_release_before_and_says_so(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    release(stage, 2)

    assert rollback.main(["--stage=staging", "--yes"]) == 0

    assert {name: alias(stage, name, LIVE) for name in (API, FETCH)} == {API: "1", FETCH: "1"}
    said = capsys.readouterr().out
    for name in (API, FETCH):
        assert f"{name}: version 2 → 1\n" in said
    assert OPERATE not in said
    assert "keeps its schema" in said


def test_a_version_that_an_alarm_threw_out_is_passed_over(stage: Stage) -> None:
    release(stage, 2)
    thrown_out = stage.client("lambda")
    thrown_out.update_function_configuration(FunctionName=API, Description="3")
    assert thrown_out.publish_version(FunctionName=API)["Version"] == "3"  # it stays, though ``live`` is 2 again
    release(stage, 4)
    assert alias(stage, API, LIVE) == "4"

    rollback.roll_back(stage, yes=True)
    assert alias(stage, API, LIVE) == "2"


def test_a_release_that_was_rolled_back_is_passed_over_by_the_next_rollback(stage: Stage) -> None:
    release(stage, 2)
    rollback.roll_back(stage, yes=True)
    release(stage, 3)
    assert alias(stage, API, LIVE) == "3"  # a deployment goes forward, wherever the alias was

    rollback.roll_back(stage, yes=True)
    assert alias(stage, API, LIVE) == "1"


def test_versions_that_no_alias_names_are_deleted_by_the_next_release(stage: Stage) -> None:
    client = stage.client("lambda")
    for number in (2, 3, 4):
        release(stage, number)
        if number == 2:
            client.create_alias(FunctionName=FETCH, Name="mine", FunctionVersion="2")

    kept = {
        name: [one["Version"] for one in client.list_versions_by_function(FunctionName=name)["Versions"]]
        for name in (API, FETCH)
    }
    assert kept == {API: ["$LATEST", "3", "4"], FETCH: ["$LATEST", "2", "3", "4"]}


def test_a_stage_that_was_rolled_back_is_told_from_what_its_stack_takes_for_live(stage: Stage) -> None:
    release(stage, 2)
    assert {found.live == found.deployed for found in versions(stage).values()} == {True}
    rollback.roll_back(stage, yes=True)
    assert {found.live == found.deployed for found in versions(stage).values()} == {False}


def test_a_function_that_the_last_release_brought_stays(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    release(stage, 2, API, FETCH, OPERATE)

    rollback.roll_back(stage, yes=True)
    assert (alias(stage, API, LIVE), alias(stage, OPERATE, LIVE)) == ("1", "1")
    assert f"{API}: version 2 → 1\n" in (said := capsys.readouterr().out)
    assert f"{OPERATE}: version 1 stays\n" in said


def test_a_stage_without_an_earlier_release_is_left_alone(stage: Stage) -> None:
    nothing = "There is no release of staging to go back to"
    with pytest.raises(SetUpError, match=nothing):
        rollback.roll_back(stage, yes=True)
    release(stage, 2)
    rollback.roll_back(stage, yes=True)
    with pytest.raises(SetUpError, match=nothing):
        rollback.roll_back(stage, yes=True)
    assert alias(stage, API, LIVE) == alias(stage, API, PREVIOUS) == "1"


def test_nothing_moves_while_a_deployment_is_under_way_which_can_be_stopped(stage: Stage) -> None:
    release(stage, 2)
    slow, client = json.loads(template(3, API, FETCH)), stage.client("cloudformation")
    slow["Resources"]["Handle"] = {"Type": "AWS::CloudFormation::WaitConditionHandle"}
    signal = {"Handle": {"Ref": "Handle"}, "Timeout": "3"}
    slow["Resources"]["Signal"] = {"Type": "AWS::CloudFormation::WaitCondition", "Properties": signal}
    client.update_stack(StackName=stage.stack, TemplateBody=json.dumps(slow))

    with pytest.raises(SetUpError, match="cancel-update-stack --stack-name siftline-staging --region eu-central-1"):
        rollback.roll_back(stage, yes=True)
    # nobody signals: the deployment fails, and CloudFormation undoes it
    client.get_waiter("stack_rollback_complete").wait(StackName=stage.stack, WaiterConfig={"Delay": 1})
    assert alias(stage, API, LIVE) == "2"
    rollback.roll_back(stage, yes=True)
    assert alias(stage, API, LIVE) == "1"


def test_nothing_moves_before_somebody_says_yes(stage: Stage) -> None:
    release(stage, 2)
    with pytest.raises(SetUpError, match=r"makes the release before live at staging\..* add YES=1"):
        rollback.main(["--stage=staging"])
    assert alias(stage, API, LIVE) == "2"


def test_a_stage_that_is_not_deployed_is_told_so(stage: Stage) -> None:
    with pytest.raises(SetUpError, match=r"siftline-prod .*does not exist"):
        rollback.roll_back(Stage("prod"), yes=True)
