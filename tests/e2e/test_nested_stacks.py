"""A stage from nothing: SAM deploys the template with every nested stack into MiniStack, as far as it knows resources.

The functions hold no code here: they run in ``test_template.py``. What MiniStack does not know is left out of the
nested templates, and stands below by name.
"""

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.deploy import bring_model, sam_deploy
from infra.destroy import fate
from infra.local.aws import CREDENTIALS, MiniStack
from infra.stage import ROOT, Stage
from siftline.models.model_folders import MANIFEST
from siftline.operate.set_up_error import SetUpError
from siftline.settings.functions import environment
from siftline.worker.template import load
from tests.e2e.deployment import MINISTACK_PYTHON

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]
NESTED = ("network", "data", "vectors", "worker")
NOT_PROVISIONED = {
    "AWS::ApplicationAutoScaling::ScalableTarget",
    "AWS::ApplicationAutoScaling::ScalingPolicy",
    "AWS::EC2::EIP",
    "AWS::EC2::NatGateway",
    "AWS::RDS::DBProxy",
    "AWS::RDS::DBProxyTargetGroup",
}
NOT_TOLD = [["Cluster", "MasterUserSecret.SecretArn"]]
"""It makes no secret for a database either."""
LEFT_OUT = "left-out"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The stage ``staging`` of an account that is empty."""
    home = tmp_path_factory.mktemp("ministack")
    with (
        MiniStack(MINISTACK_PYTHON, home, persists=False, everything=True) as aws,
        environment({**CREDENTIALS, "AWS_ENDPOINT_URL": aws.endpoint}),
    ):
        yield Stage("staging")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The templates as SAM takes them, the nested ones without what MiniStack does not know."""
    folder = tmp_path_factory.mktemp("templates")
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")
    for code in ("CodeUri", "ContentUri"):
        text = text.replace(f"{code}: .\n", f"{code}: code\n")
    (folder / "template.yaml").write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "functions" / "authorize", folder / "code")
    (folder / "infra").mkdir()
    shutil.copy2(ROOT / "infra" / "observability.yaml", folder / "infra")
    for name in NESTED:
        document = load(ROOT / "infra" / f"{name}.yaml")
        (folder / "infra" / f"{name}.yaml").write_text(json.dumps(_without(document)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def deployed(stage: Stage, folder: Path) -> Stage:
    """Everything made."""
    sam_deploy(stage, folder, {"NatPerZone": "true", "WorkerImage": "siftline-worker:1"})
    return stage


def _without(document: Mapping[str, Any]) -> Any:
    """Return a template without the resources that MiniStack does not know."""
    gone = {name for name, body in document["Resources"].items() if body["Type"] in NOT_PROVISIONED}

    def kept(node: Any) -> Any:
        if isinstance(node, dict):
            attribute = node.get("Fn::GetAtt", [None])
            if node.get("Ref") in gone or attribute[0] in gone or attribute in NOT_TOLD:
                return LEFT_OUT
            return {key: kept(value) for key, value in node.items() if not (key == "DependsOn" and value in gone)}
        return [kept(value) for value in node] if isinstance(node, list) else node

    return kept({**document, "Resources": {n: body for n, body in document["Resources"].items() if n not in gone}})


def _resources(stage: Stage, stack: str) -> list[dict[str, Any]]:
    pages = stage.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
    return [resource for page in pages for resource in page["StackResourceSummaries"]]


def _made(stage: Stage, logical_id: str, stack: str | None = None) -> str:
    [found] = [one for one in _resources(stage, stack or stage.stack) if one["LogicalResourceId"] == logical_id]
    return str(found["PhysicalResourceId"])


def test_a_first_deployment_that_fails_leaves_nothing_in_the_way_of_the_next(stage: Stage, folder: Path) -> None:
    nowhere = {"SubnetIds": "subnet-1,subnet-2", "SecurityGroupIds": "sg-1", "VpcId": "vpc-1"}
    with pytest.raises(SetUpError, match="Nothing of it is left"):
        sam_deploy(stage, folder, {**nowhere, "DatabaseDeletionProtection": "true"}, is_new=True)

    with pytest.raises(ClientError, match="does not exist"):
        stage.client("cloudformation").describe_stacks(StackName=stage.stack)


def test_what_ministack_does_not_know_is_exactly_what_is_left_out(stage: Stage) -> None:
    unknown = set()
    for name in NESTED:
        template = json.dumps(load(ROOT / "infra" / f"{name}.yaml"))
        try:
            stage.client("cloudformation").validate_template(TemplateBody=template)
        except ClientError as error:
            [named] = re.findall(r"Unrecognized resource types: \[(.+?)\]", str(error))
            unknown |= set(named.split(", "))
    assert unknown == NOT_PROVISIONED


@pytest.mark.parametrize("name", NESTED)
def test_every_other_resource_of_a_nested_stack_is_made(deployed: Stage, name: str) -> None:
    made = _resources(deployed, _made(deployed, name.title()))
    declared = [body["Type"] for body in load(ROOT / "infra" / f"{name}.yaml")["Resources"].values()]

    assert {one["ResourceStatus"] for one in made} == {"CREATE_COMPLETE"}
    assert Counter(one["ResourceType"] for one in made) == Counter(
        kind for kind in declared if kind not in NOT_PROVISIONED
    )


@pytest.mark.parametrize("service", ["worker", "qdrant"])
def test_tasks_run_in_the_private_subnets(deployed: Stage, service: str) -> None:
    stack = {"worker": "Worker", "qdrant": "Vectors"}[service]
    network, own = _made(deployed, "Network"), _made(deployed, stack)
    groups = {"worker": network, "qdrant": own}[service]

    cluster = _made(deployed, "Cluster", own)
    [found] = deployed.client("ecs").describe_services(cluster=cluster, services=[service])["services"]
    where = found["networkConfiguration"]["awsvpcConfiguration"]
    assert set(where["subnets"]) == {_made(deployed, f"PrivateSubnet{zone}", network) for zone in "AB"}
    assert where["securityGroups"] == [_made(deployed, "SecurityGroup", groups)]
    assert where["assignPublicIp"] == "DISABLED"


def test_functions_are_told_where_what_was_made_is(deployed: Stage) -> None:
    found = deployed.client("lambda").get_function_configuration(FunctionName="siftline-staging-analyze")
    variables = found["Environment"]["Variables"]
    assert variables["DATABASE_URL"].startswith("secretsmanager://")
    assert variables["DATABASE_URL"].endswith(f"?host={LEFT_OUT}&dbname=siftline&sslmode=require")
    assert variables["QDRANT_URL"] == "http://qdrant.siftline-staging.internal:6333"
    key = deployed.client("secretsmanager").get_secret_value(
        SecretId=variables["QDRANT_API_KEY"].removeprefix("secretsmanager://")
    )
    assert len(key["SecretString"]) == 40
    assert variables["MODEL_URI"] == deployed.outputs()["ModelUri"]


def test_the_capacity_of_the_database_that_was_made_is_watched(deployed: Stage) -> None:
    alarms = deployed.client("cloudwatch").describe_alarms(AlarmNames=["siftline-staging-database-capacity"])
    [alarm] = alarms["MetricAlarms"]
    assert [one["Value"] for one in alarm["Dimensions"]] == [deployed.outputs()["DatabaseCluster"]]


def test_the_worker_is_given_what_a_function_is_given(deployed: Stage) -> None:
    found = deployed.client("ecs").describe_task_definition(taskDefinition="siftline-staging-worker")["taskDefinition"]
    [container] = found["containerDefinitions"]
    given = {variable["name"]: variable["value"] for variable in container["environment"]}
    function = deployed.client("lambda").get_function_configuration(FunctionName="siftline-staging-analyze")

    del function["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]
    assert function["Environment"]["Variables"].items() <= given.items()
    assert container["image"].endswith("/siftline-worker:1")


def test_the_model_is_brought_once(deployed: Stage, capfd: pytest.CaptureFixture[str]) -> None:
    uri = deployed.outputs()["ModelUri"]

    bring_model(deployed, ROOT / ".local" / "model")
    assert f"The model is at {uri}" in capfd.readouterr().out
    bring_model(deployed, Path("/nowhere"))
    assert capfd.readouterr().out == ""


def test_a_contradiction_is_refused_with_its_sentence(
    deployed: Stage, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SetUpError):
        sam_deploy(deployed, folder, {"SecurityGroupIds": "sg-1"})
    assert "SecurityGroupIds belong to SubnetIds, which is empty. Name both or neither." in "".join(capfd.readouterr())


def test_destroy_names_what_it_keeps_and_the_models_outlive_the_stack(deployed: Stage) -> None:
    """``sam delete`` itself does not take MiniStack's addresses of nested templates for S3's.

    MiniStack takes no snapshot of a nested stack's database; ``tests/house/test_stacks.py`` reads that it is asked for.
    """
    cluster = deployed.outputs()["DatabaseCluster"]
    bucket, uri = (deployed.outputs()[name] for name in ("ModelBucket", "ModelUri"))
    prefix = uri.removeprefix(f"s3://{bucket}/")
    gone, kept = fate(deployed).splitlines()
    assert f"the database {cluster} with its automated backups" in gone
    assert f"a last snapshot of the database; the models' bucket {bucket}." in kept

    cloudformation = deployed.client("cloudformation")
    cloudformation.delete_stack(StackName=deployed.stack)
    cloudformation.get_waiter("stack_delete_complete").wait(StackName=deployed.stack, WaiterConfig={"Delay": 1})

    assert deployed.client("rds").describe_db_clusters()["DBClusters"] == []
    assert deployed.client("s3").list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/{MANIFEST}")["KeyCount"] == 1


def test_a_protected_database_is_told_before_anything_is_asked(stage: Stage, folder: Path) -> None:
    sam_deploy(stage, folder, {"DatabaseDeletionProtection": "true"})

    with pytest.raises(SetUpError, match=r"is protected\. Deploy staging with DatabaseDeletionProtection=false first"):
        fate(stage)
