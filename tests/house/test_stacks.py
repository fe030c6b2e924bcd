"""What no parameter names is made, by nested stacks that fit the template; what cannot work is refused beforehand."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from infra.package import stage_parameters
from siftline.settings.functions import DatabaseSettings, WorkerSettings
from siftline.worker.template import Evaluator
from tests.house.reading import (
    ROOT,
    document,
    function_resources,
    logical_id,
    observability,
    references,
    resources,
    stacks,
    task,
)

PARAMETERS = document()["Parameters"]
ALL = {"DatabaseUrl": "postgresql://u:p@h/d", "QdrantUrl": "http://vectors.example:6333", "ModelBucket": "models"}
SUBNETS = {"SubnetIds": "subnet-1,subnet-2", "SecurityGroupIds": "sg-1"}
SECRET = "arn:aws:secretsmanager:eu-central-1:000000000000:secret:x"


# --- rules ---


def _value(node: Any, given: Mapping[str, str]) -> Any:
    """Work out what CloudFormation does in rules, of which only these functions are used."""
    if not isinstance(node, dict):
        return node
    [(name, argument)] = node.items()
    match name:
        case "Ref":
            value = given.get(argument, str(PARAMETERS[argument]["Default"]))
            return value.split(",") if PARAMETERS[argument]["Type"] == "CommaDelimitedList" else value
        case "Fn::Equals":
            return _value(argument[0], given) == _value(argument[1], given)
        case "Fn::EachMemberEquals":
            return all(member == argument[1] for member in _value(argument[0], given))
        case "Fn::Not":
            return not _value(argument[0], given)
        case "Fn::And":
            return all(_value(one, given) for one in argument)
        case "Fn::Or":
            return any(_value(one, given) for one in argument)
    raise AssertionError(f"{name} is not understood here")


def refusals(given: Mapping[str, str]) -> list[str]:
    """Return what CloudFormation would say to parameters."""
    assert set(given) <= set(PARAMETERS)
    return [
        assertion["AssertDescription"]
        for rule in document()["Rules"].values()
        if _value(rule["RuleCondition"], given)
        for assertion in rule["Assertions"]
        if not _value(assertion["Assert"], given)
    ]


@pytest.mark.parametrize(
    "given",
    [
        {},
        *map(stage_parameters, ("local", "staging", "prod")),
        ALL,
        {**ALL, **SUBNETS},
        {**SUBNETS, "VpcId": "vpc-1"},
        {"DatabaseSecretArn": SECRET, "DatabaseSecretOptions": "?host=h"},
        {"DatabaseSnapshot": "x"},
        {**ALL, "QdrantApiKeySecretArn": SECRET, "ModelUri": "s3://models/x"},
        {"MailFrom": "a@news.example", "MailIdentity": "news.example", "WorkerImage": "worker:1"},
    ],
    ids=json.dumps,
)
def test_parameters_that_can_work_are_taken(given: Mapping[str, str]) -> None:
    assert refusals(given) == []


REFUSED = [
    ({"SecurityGroupIds": "sg-1"}, "SecurityGroupIds belong to SubnetIds"),
    ({**ALL, "SubnetIds": "subnet-1"}, "Functions in SubnetIds need SecurityGroupIds"),
    ({"VpcId": "vpc-1"}, "VpcId is the VPC of SubnetIds"),
    (SUBNETS, "Name their VpcId"),
    ({**SUBNETS, "DatabaseUrl": "postgresql://u:p@h/d"}, "Name their VpcId"),
    ({**SUBNETS, "QdrantUrl": "http://vectors.example:6333"}, "Name their VpcId"),
    ({"DatabaseSecretArn": SECRET, "DatabaseUrl": "postgresql://u:p@h/d"}, "two databases"),
    ({"DatabaseSecretOptions": "?host=h"}, "DatabaseSecretOptions complete the secret"),
    ({"DatabaseSnapshot": "x", "DatabaseSecretArn": SECRET}, "DatabaseSnapshot fills"),
    ({"DatabaseSnapshot": "x", "DatabaseUrl": "postgresql://u:p@h/d"}, "DatabaseSnapshot fills"),
    ({"QdrantApiKeySecretArn": SECRET}, "A Qdrant made here has its own"),
    ({"ModelUri": "s3://models/x"}, "ModelUri lies in ModelBucket"),
    ({"MailFrom": "a@news.example"}, "MailFrom needs MailIdentity"),
    ({"MailIdentity": "news.example"}, "MailIdentity is what SES has verified"),
]


@pytest.mark.parametrize(("given", "why"), REFUSED, ids=[f"{json.dumps(given)} {why}" for given, why in REFUSED])
def test_parameters_that_cannot_work_are_refused_with_one_sentence_that_says_why(
    given: Mapping[str, str], why: str
) -> None:
    [said] = refusals(given)
    assert why in said


def test_every_rule_is_broken_by_one_of_these() -> None:
    said = {sentence for given, _ in REFUSED for sentence in refusals(given)}
    every = [one["AssertDescription"] for rule in document()["Rules"].values() for one in rule["Assertions"]]
    assert said == set(every)
    assert all(sentence.endswith(".") for sentence in every)


# --- what is made ---


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({}, {"Network", "Data", "Vectors", "ModelFiles"}),
        (ALL, set()),
        ({**ALL, **SUBNETS}, set()),
        ({**SUBNETS, "VpcId": "vpc-1"}, {"Data", "Vectors", "ModelFiles"}),
        ({**ALL, "DatabaseUrl": ""}, {"Network", "Data"}),
        ({**ALL, "QdrantUrl": ""}, {"Network", "Vectors"}),
        ({**ALL, "ModelBucket": ""}, {"ModelFiles"}),
        ({**ALL, "WorkerImage": "worker:1"}, {"Network", "Worker", "WorkerTask"}),
        ({**ALL, **SUBNETS, "WorkerImage": "worker:1"}, {"Worker", "WorkerTask"}),
        (stage_parameters("local"), set()),
        (stage_parameters("staging"), {"Network", "Data", "Vectors", "ModelFiles"}),
        (stage_parameters("prod"), {"Network", "Data", "Vectors", "ModelFiles"}),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else " ".join(sorted(value)),
)
def test_what_is_not_named_is_made_and_nothing_else(given: Mapping[str, str], made: set[str]) -> None:
    evaluator = Evaluator(document(), given)
    optional = {*stacks(), "ModelFiles", "WorkerTask"} - {"Observability"}
    found = {name for name in optional if evaluator.condition(document()["Resources"][name]["Condition"])}
    assert found == made


def test_lambda_leaves_the_queues_to_the_worker_where_there_is_one() -> None:
    for given, polls in (({}, True), ({"WorkerImage": "worker:1"}, False)):
        evaluator = Evaluator(document(), given)
        events = [event for _, body in function_resources().values() for event in body.get("Events", {}).values()]
        mappings = [evaluator.value(event["Properties"]) for event in events if event["Type"] == "SQS"]
        assert len(mappings) == 8
        assert {mapping["Enabled"] for mapping in mappings} == {polls}


@pytest.mark.parametrize("name", stacks())
def test_a_nested_stack_is_given_what_it_asks_for_and_gives_what_it_is_asked_for(name: str) -> None:
    asked = {
        attribute for stack, attribute in references([document()["Resources"], document()["Outputs"]]) if stack == name
    }

    assert set(resources("AWS::CloudFormation::Stack")[name]["Parameters"]) == set(stacks()[name]["Parameters"])
    assert asked == {f"Outputs.{output}" for output in stacks()[name].get("Outputs", {})}


def _every(kind: str) -> Iterator[Mapping[str, Any]]:
    for stack in (document(), *stacks().values()):
        yield from (body for body in stack["Resources"].values() if body["Type"] == kind)


@pytest.mark.parametrize("kind", ["AWS::RDS::DBCluster", "AWS::S3::Bucket"])
def test_what_cannot_be_made_again_outlives_its_stack(kind: str) -> None:
    found = [(body.get("DeletionPolicy"), body.get("UpdateReplacePolicy")) for body in _every(kind)]
    assert found
    assert set(found) <= {("Snapshot", "Snapshot"), ("RetainExceptOnCreate", "Retain")}


def test_nothing_is_reached_but_at_one_port_from_one_security_group() -> None:
    rules = [
        rule
        for body in _every("AWS::EC2::SecurityGroup")
        for rule in body["Properties"].get("SecurityGroupIngress", ())
    ]
    assert {rule["FromPort"] for rule in rules} == {5432, 6333}
    for rule in rules:
        assert rule["FromPort"] == rule["ToPort"]
        assert "SourceSecurityGroupId" in rule
        assert not [key for key in rule if key.startswith("Cidr")]


def test_the_versions_that_are_made_are_those_that_this_project_speaks_with() -> None:
    compose = yaml.safe_load((ROOT / "infra" / "local" / "compose.yaml").read_text(encoding="utf-8"))
    image = stacks()["Vectors"]["Resources"]["Task"]["Properties"]["ContainerDefinitions"][0]["Image"]
    version = re.fullmatch(r"qdrant/qdrant:v(\d+)\.(\d+)\.\d+", image)

    assert image == compose["services"]["vectors"]["image"]
    assert version
    assert (int(version[1]), int(version[2])) >= (1, 16)
    assert float(PARAMETERS["DatabaseEngineVersion"]["Default"]) >= 16


def test_the_models_address_is_where_it_is_uploaded_to() -> None:
    recipe = (ROOT / "layers" / "model" / "build.py").read_text(encoding="utf-8")
    [version] = re.findall(r'^MODEL_VERSION = "(.+)"$', recipe, re.MULTILINE)
    named = re.findall(r"s3://\$\{\w+\}/([\w-]+)", (ROOT / "template.yaml").read_text(encoding="utf-8"))

    assert set(named) == {version}


# --- the worker ---


def test_the_worker_is_given_what_the_functions_that_it_hosts_are_given() -> None:
    wanted: dict[str, Any] = {}
    for _, function in function_resources().values():
        if any(event["Type"] == "SQS" for event in function.get("Events", {}).values()):
            for name, value in function["Environment"]["Variables"].items():
                if not name.startswith(("AWS_", "POWERTOOLS_")):
                    assert wanted.setdefault(name, value) == value, name
    given = {variable["Name"]: variable["Value"] for variable in task()["Environment"]}
    own = {name: value for name, value in given.items() if name not in wanted}

    assert {name: value for name, value in given.items() if name in wanted} == wanted
    settings = {name.upper() for name in (*WorkerSettings.model_fields, *DatabaseSettings.model_fields)}
    assert set(own) <= settings | {"AWS_DEFAULT_REGION"}


def test_fargate_waits_until_the_worker_has_finished_what_it_has_begun() -> None:
    given = {variable["Name"]: variable["Value"] for variable in task()["Environment"]}
    drain_s = WorkerSettings(worker_drain_s=given["WORKER_DRAIN_S"]).worker_drain_s

    assert drain_s + 2 < task()["StopTimeout"] <= 120


def test_workers_are_scaled_by_the_pending_jobs_of_every_queue_as_the_alarms_see_them() -> None:
    alarms = [body["Properties"] for body in observability()["Resources"].values()]
    seen = [
        {"Namespace": alarm["Namespace"], "MetricName": alarm["MetricName"], "Dimensions": alarm["Dimensions"]}
        for alarm in alarms
        if alarm.get("MetricName") == "JobsPending"
    ]
    policy = stacks()["Worker"]["Resources"]["ScalingPolicy"]["Properties"]
    metrics = policy["TargetTrackingScalingPolicyConfiguration"]["CustomizedMetricSpecification"]["Metrics"]
    measured = {metric["Id"]: metric["MetricStat"]["Metric"] for metric in metrics if "MetricStat" in metric}
    [expression] = [metric["Expression"] for metric in metrics if "Expression" in metric]

    queues = [metric for metric in measured.values() if metric["MetricName"] == "JobsPending"]
    value = Evaluator(observability(), {"Stage": "house"}).value
    assert sorted(value(queues), key=str) == sorted(value(seen), key=str)
    assert set(re.findall(r"[a-z]\w*", expression)) == set(measured)
    assert (
        logical_id(resources("AWS::CloudFormation::Stack")["Worker"]["Parameters"]["TaskDefinitionArn"]) == "WorkerTask"
    )
