"""Builds the template with SAM and deploys it with SAM, into MiniStack instead of AWS."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

import infra.deploy
from infra.local.aws import CLIENT_OPTIONS, MiniStack
from infra.stage import Stage
from siftline.settings.functions import process_environment
from tests.packing import ARCHITECTURE, ROOT, RUNTIME

SAM = ROOT / ".local" / "tools" / "bin" / "sam"
MINISTACK_PYTHON = ROOT / ".local" / "ministack-sam" / "bin" / "python"
STAGE = Stage("local")
_ALIAS_IN_URI = re.compile(r"functions/\$\{([A-Z]\w+)\}|:function:\$\{(\w+)\}:(\w+)")
TARGET = {"Runtime": RUNTIME, "Architecture": ARCHITECTURE}
"""Parameters that are what this machine can run."""
API_BODY = "AWS::ApiGatewayV2::Api.Body"


@dataclass(frozen=True)
class Deployed:
    """The deployed stack: its API's address for HTTP clients on this machine, and its resources by logical id."""

    api_host: str
    endpoint: str
    resources: Mapping[str, str]
    template: Mapping[str, Any]
    """As SAM's transform left it."""
    ignored: Sequence[str]
    """Properties of resources of which MiniStack made nothing, and the harness what they ask for."""

    def client(self, service: str) -> Any:
        """Return a client of the AWS that it is deployed into."""
        return boto3.client(service, endpoint_url=self.endpoint, **CLIENT_OPTIONS)  # type: ignore[call-overload]  # any


def build(folder: Path) -> Path:
    """Run ``sam build`` for this interpreter and processor; return the folder with the built template."""
    target = " ".join(f"{name}={value}" for name, value in TARGET.items())
    variables = {"RUNTIME": RUNTIME, "ARCHITECTURE": ARCHITECTURE, "BUILD_PYTHON": sys.executable}
    _sam(["build", "--config-env", "local", "--build-dir", str(folder), "--parameter-overrides", target], variables)
    return folder


def deploy(built: Path, aws: MiniStack, parameters: Mapping[str, str]) -> Deployed:
    """Do what ``make deploy`` does, and what MiniStack leaves undone; ``parameters`` come on top of the stage's."""
    infra.deploy.deploy(STAGE, built, parameters)
    cloudformation = boto3.client("cloudformation", endpoint_url=aws.endpoint, **CLIENT_OPTIONS)
    found = cloudformation.describe_stack_resources(StackName=STAGE.stack)["StackResources"]
    resources = {resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in found}
    template = cloudformation.get_template(StackName=STAGE.stack, TemplateStage="Processed")["TemplateBody"]
    document = json.loads(template) if isinstance(template, str) else template
    api_host = f"{resources['HttpApi']}.execute-api.localhost"
    made = boto3.client("apigatewayv2", endpoint_url=aws.endpoint, **CLIENT_OPTIONS)
    ignored = [] if made.get_routes(ApiId=resources["HttpApi"])["Items"] else [API_BODY]
    deployed = Deployed(api_host, aws.endpoint, resources, document, ignored)
    if ignored:
        _import_body(deployed, document["Resources"]["HttpApi"]["Properties"]["Body"])
    return deployed


def _import_body(deployed: Deployed, body: Mapping[str, Any]) -> None:
    """Make the integrations, routes and authorizer of an HTTP API's OpenAPI body, as API Gateway does on import."""
    gateway, api_id = deployed.client("apigatewayv2"), deployed.resources["HttpApi"]

    def arn(uri: Mapping[str, Any]) -> str:
        [(alias, function, name)] = _ALIAS_IN_URI.findall(json.dumps(uri))
        return deployed.resources[alias or f"{function}Alias{name}"]

    def invocation(uri: Mapping[str, Any]) -> str:
        return f"arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/{arn(uri)}/invocations"

    authorizers = {}
    for name, scheme in body["components"]["securitySchemes"].items():
        asked = scheme["x-amazon-apigateway-authorizer"]
        made = gateway.create_authorizer(
            ApiId=api_id,
            Name=name,
            AuthorizerType=asked["type"].upper(),
            AuthorizerUri=invocation(asked["authorizerUri"]),
            IdentitySource=asked["identitySource"],
            AuthorizerPayloadFormatVersion=str(asked["authorizerPayloadFormatVersion"]),
            AuthorizerResultTtlInSeconds=int(asked["authorizerResultTtlInSeconds"]),
            EnableSimpleResponses=asked["enableSimpleResponses"],
        )
        authorizers[name] = made["AuthorizerId"]
    for path, methods in body["paths"].items():
        for method, route in methods.items():
            integration = gateway.create_integration(
                ApiId=api_id,
                IntegrationType="AWS_PROXY",
                IntegrationUri=arn(route["x-amazon-apigateway-integration"]["uri"]),
                PayloadFormatVersion=route["x-amazon-apigateway-integration"]["payloadFormatVersion"],
            )
            verb = "ANY" if method == "x-amazon-apigateway-any-method" else method.upper()
            guards = [name for requirement in route.get("security", ()) for name in requirement if name != "NONE"]
            gateway.create_route(
                ApiId=api_id,
                RouteKey=f"{verb} {path}",
                Target=f"integrations/{integration['IntegrationId']}",
                **({"AuthorizationType": "CUSTOM", "AuthorizerId": authorizers[guards[0]]} if guards else {}),
            )


def _sam(arguments: list[str], variables: Mapping[str, str]) -> None:
    assert SAM.exists(), f"{SAM} is missing; `make test` installs it"
    environment = {**process_environment(), "SAM_CLI_TELEMETRY": "0", "AWS_DEFAULT_REGION": "us-east-1", **variables}
    done = subprocess.run([SAM, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"sam {arguments[0]}\n{done.stdout}\n{done.stderr}"
