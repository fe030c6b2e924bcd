"""Every role is exact: no wildcard, and every AWS call that a function's code can make is granted to that function."""

import ast
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from botocore import xform_name
from botocore.session import get_session

from infra.package import AWS_SERVICES
from tests.house.reading import (
    FUNCTION_NAMES,
    FUNCTIONS,
    SOURCE,
    document,
    function_resources,
    logical_id,
    python_files,
    reachable,
    resources,
    stacks,
    task,
    tree,
)

# Where IAM's action is named otherwise than the API's operation.
ACTION_OF = {
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
    "sesv2:SendEmail": "ses:SendEmail",
    "s3:HeadObject": "s3:GetObject",
    "s3:ListObjectsV2": "s3:ListBucket",
    "s3:DownloadFile": "s3:GetObject",
    "s3:DownloadFileobj": "s3:GetObject",
}
# What an operation asks for besides: SES v2's SendEmail, of a raw mail, the permission of the older operation.
ALSO = {"ses:SendEmail": "ses:SendRawEmail"}
# What Lambda does in a function's name for an event source mapping.
POLLING = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"}
CONSUMERS = [
    name
    for name, (_, properties) in function_resources().items()
    if any(event["Type"] == "SQS" for event in properties.get("Events", {}).values())
]
WORKER = "worker"
RUNNING = [*FUNCTION_NAMES, WORKER]
DEAD = {name for name in resources("AWS::SQS::Queue") if name.endswith("DeadLetterQueue")}
# Actions for which the service knows no resource (Service Authorization Reference).
WITHOUT_RESOURCE = {
    "xray:PutTraceSegments",
    "xray:PutTelemetryRecords",
    "ec2:CreateNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:DeleteNetworkInterface",
    "ec2:AssignPrivateIpAddresses",
    "ec2:UnassignPrivateIpAddresses",
    "ecr:GetAuthorizationToken",
}
TRACED_AND_LOGGED = {"logs:CreateLogStream", "logs:PutLogEvents"} | WITHOUT_RESOURCE


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _statements(policy: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for statement in _listed(policy["Statement"]):
        yield statement["Fn::If"][1] if "Fn::If" in statement else statement


def _managed(reference: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the policy that an entry of ``ManagedPolicyArns`` names, conditional ones as if their condition held."""
    name = reference["Fn::If"][1]["Ref"] if "Fn::If" in reference else reference["Ref"]
    return resources("AWS::IAM::ManagedPolicy")[name]["PolicyDocument"]


def _granted(function: str) -> list[Mapping[str, Any]]:
    """Return every statement of a function's role, or of the worker's."""
    name = "WorkerRole" if function == WORKER else logical_id(function_resources()[function][1]["Role"])
    role = resources("AWS::IAM::Role")[name]
    policies = [inline["PolicyDocument"] for inline in role["Policies"]]
    policies += [_managed(reference) for reference in role["ManagedPolicyArns"]]
    return [statement for policy in policies for statement in _statements(policy)]


def _actions(function: str) -> set[str]:
    return {action for statement in _granted(function) for action in _listed(statement["Action"])}


def _queues(function: str, action: str) -> set[str]:
    """Return the logical ids of the queues on which a function may do something."""
    granted = [statement for statement in _granted(function) if action in _listed(statement["Action"])]
    return {logical_id(resource) for statement in granted for resource in _listed(statement["Resource"])}


@cache
def _operations() -> Mapping[str, str]:
    """Return ``service:Operation`` by the method that boto3 gives it, for every service that our code opens."""
    found = {"download_file": "s3:DownloadFile", "download_fileobj": "s3:DownloadFileobj"}
    for service in _services(python_files(SOURCE)):
        names = get_session().get_service_model(service).operation_names
        found |= {xform_name(name): f"{service}:{name}" for name in names}
    return found


def _services(files: list[Path]) -> set[str]:
    """Return the services for which the code makes clients."""
    return {
        node.args[0].value
        for path in files
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "client"
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }


def _started(function: str) -> list[Path]:
    """Return what Lambda imports for a function; for the worker, itself and the functions that it hosts."""
    if function == WORKER:
        return [SOURCE / "worker" / "__main__.py", *(FUNCTIONS / name / "app.py" for name in CONSUMERS)]
    return [FUNCTIONS / function / "app.py"]


def _variables(function: str) -> Mapping[str, Any]:
    if function == WORKER:
        return {variable["Name"]: variable["Value"] for variable in task()["Environment"]}
    variables: Mapping[str, Any] = function_resources()[function][1]["Environment"]["Variables"]
    return variables


def _consumed(function: str) -> set[str]:
    """Return the logical ids of the queues that a function consumes; the worker consumes all of them."""
    names = CONSUMERS if function == WORKER else [function]
    events = [event for name in names for event in function_resources()[name][1].get("Events", {}).values()]
    return {logical_id(event["Properties"]["Queue"]) for event in events if event["Type"] == "SQS"}


def _called(function: str) -> set[str]:
    """Return the IAM actions of the AWS calls that stand in any file that a function imports, directly or not."""
    names = {
        node.func.attr
        for start in _started(function)
        for path in reachable(start)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    operations = {_operations()[name] for name in names & set(_operations())}
    actions = {ACTION_OF.get(operation, operation) for operation in operations}
    return actions | {ALSO[action] for action in actions & set(ALSO)}


def test_the_packages_describe_every_aws_service_that_the_code_opens() -> None:
    assert _services(python_files(SOURCE)) <= AWS_SERVICES


def test_the_scan_finds_the_calls_that_it_is_there_for() -> None:
    assert {"sqs:SendMessage", "secretsmanager:GetSecretValue"} <= _called("schedule")


@pytest.mark.parametrize("function", RUNNING)
def test_every_aws_call_that_a_function_can_reach_is_granted(function: str) -> None:
    assert _called(function) <= _actions(function)


def test_no_role_or_policy_of_any_stack_allows_a_wildcard_or_is_a_denial_or_an_exception() -> None:
    for policy in _policies():
        for statement in _statements(policy):
            assert statement["Effect"] == "Allow"
            assert not {"NotAction", "NotResource"} & set(statement)
            assert not [action for action in _listed(statement["Action"]) if "*" in action]
            if "*" in _listed(statement["Resource"]):
                assert set(_listed(statement["Action"])) <= WITHOUT_RESOURCE


def _policies() -> Iterator[Mapping[str, Any]]:
    for stack in (document(), *stacks().values()):
        for body in stack["Resources"].values():
            if body["Type"] == "AWS::IAM::ManagedPolicy":
                yield body["Properties"]["PolicyDocument"]
            elif body["Type"] == "AWS::IAM::Role":
                yield from (inline["PolicyDocument"] for inline in body["Properties"].get("Policies", ()))


@pytest.mark.parametrize("function", RUNNING)
def test_nothing_is_granted_that_neither_the_code_nor_lambda_uses(function: str) -> None:
    used = _called(function)
    if function != WORKER:  # the worker polls by its own code, and Fargate writes its log by another role
        used |= TRACED_AND_LOGGED | (POLLING if function in CONSUMERS else set())
    used |= {"kms:Decrypt"}  # Secrets Manager asks for it, where a secret is encrypted with a key of one's own

    assert _actions(function) <= used


@pytest.mark.parametrize("function", RUNNING)
def test_a_function_may_send_to_the_queues_that_its_environment_names(function: str) -> None:
    named = {value["Ref"] for key, value in _variables(function).items() if key.endswith("_QUEUE_URL")}

    assert named <= _queues(function, "sqs:SendMessage")


@pytest.mark.parametrize("function", RUNNING)
def test_a_function_may_drain_and_park_what_it_consumes_redrive_what_is_dead_and_no_other_queue(function: str) -> None:
    consumed = _consumed(function)
    dead = {name.removesuffix("Queue") + "DeadLetterQueue" for name in consumed}

    redriven = DEAD if "sqs:StartMessageMoveTask" in _called(function) else set()
    assert _queues(function, "sqs:DeleteMessage") == consumed | redriven
    assert dead <= _queues(function, "sqs:SendMessage")


def test_roles_are_assumed_by_what_runs_under_them_alone_and_inherit_no_policy_of_amazons() -> None:
    users = {"Role": "lambda", "TaskRoleArn": "ecs-tasks", "ExecutionRoleArn": "ecs-tasks", "RoleArn": "rds"}
    for stack in (document(), *stacks().values()):
        bodies = stack["Resources"].values()
        used = {
            logical_id(body["Properties"][key]): service
            for body in bodies
            for key, service in users.items()
            if key in body.get("Properties", {})
        }
        if "Globals" in stack:
            used[logical_id(stack["Globals"]["Function"]["DeploymentPreference"]["Role"])] = "codedeploy"
        roles = {
            name: body["Properties"] for name, body in stack["Resources"].items() if body["Type"] == "AWS::IAM::Role"
        }
        assert set(used) == set(roles)
        for name, role in roles.items():
            (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
            assert statement["Principal"] == {"Service": f"{used[name]}.amazonaws.com"}, name
            assert "arn:aws" not in json.dumps(role.get("ManagedPolicyArns", [])), name


@pytest.mark.parametrize("stack", [document(), stacks()["Vectors"]], ids=["worker", "vectors"])
def test_fargate_may_fetch_a_tasks_image_read_its_secrets_and_write_its_log_and_nothing_else(
    stack: Mapping[str, Any],
) -> None:
    [properties] = [
        body["Properties"] for body in stack["Resources"].values() if body["Type"] == "AWS::ECS::TaskDefinition"
    ]
    [container] = properties["ContainerDefinitions"]
    needed = {"logs:CreateLogStream", "logs:PutLogEvents"}
    if ".dkr.ecr." in json.dumps(container["Image"]):
        needed |= {"ecr:GetAuthorizationToken", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"}
    if "Secrets" in container:
        needed |= {"secretsmanager:GetSecretValue", "kms:Decrypt"}

    role = stack["Resources"][logical_id(properties["ExecutionRoleArn"])]["Properties"]
    statements = [one for inline in role["Policies"] for one in _statements(inline["PolicyDocument"])]
    assert {action for statement in statements for action in _listed(statement["Action"])} == needed


def test_every_role_and_policy_of_the_template_is_used() -> None:
    text = json.dumps([document()["Globals"], document()["Resources"]])

    for kind in ("AWS::IAM::Role", "AWS::IAM::ManagedPolicy"):
        for name in resources(kind):
            assert f'"{name}"' in text.replace(f'"{name}":', ""), name
