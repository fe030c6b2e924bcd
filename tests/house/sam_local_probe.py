"""Run by SAM's own interpreter: ``sam local`` up to the moment at which it would start a container.

What would be given to the container, or listened for, is printed as JSON instead. Arguments: those of ``sam local``.
"""

import json
import sys
from typing import Any
from unittest.mock import MagicMock

from samcli.cli.main import cli
from samcli.local.apigw.local_apigw_service import LocalApigwService
from samcli.local.docker.container_client_factory import ContainerClientFactory
from samcli.local.lambdafn.runtime import LambdaRuntime


def _invoked(runtime: LambdaRuntime, config: Any, event: str, *_: object, **__: object) -> None:
    network = runtime._container_manager.docker_network_id
    told = {"handler": config.handler, "event": json.loads(event), "network": network}
    print(json.dumps({**told, "environment": config.env_vars.resolve()}))  # noqa: T201  -- the answer


def _served(service: LocalApigwService) -> None:
    routes = [
        {
            "methods": sorted(route.methods),
            "path": route.path,
            "function": route.function_name,
            "authorizer": route.authorizer_object and route.authorizer_object.lambda_name,
        }
        for route in service.api.routes
    ]
    runner = service.lambda_runner
    environments = {
        function.name: runner.get_invoke_config(function).env_vars.resolve() for function in runner.provider.get_all()
    }
    print(json.dumps({"routes": routes, "environments": environments}))  # noqa: T201  -- the answer


ContainerClientFactory.create_client = MagicMock  # in place of a container engine, which need not be there
LambdaRuntime.invoke = _invoked
LocalApigwService.run = _served
cli(["local", *sys.argv[1:]], standalone_mode=False)
