"""``make localstack`` without containers: its files name the same addresses, bucket, network and services."""

import json
import re
import tomllib
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import yaml

from infra.local.localstack import COMPOSE_FILE, published
from infra.local.sam_environment import COMPOSE_AWS_URL
from infra.package import stage_parameters
from layers.model.build import MODEL_VERSION
from siftline.worker.template import Evaluator
from tests.house.reading import ROOT, document, observability, tracked_files

PARAMETERS = stage_parameters("local")
SERVICE_OF = {"ApiGateway": "apigateway", "Serverless": "lambda"}
# What serverless resources become besides functions, and what the commands themselves ask.
ALSO = {"apigatewayv2", "events", "s3", "secretsmanager", "sts"}


@cache
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE_FILE.read_text(encoding="utf-8"))
    return loaded


def test_every_address_that_the_functions_are_given_is_a_container_reached_from_here_too() -> None:
    addresses = [COMPOSE_AWS_URL, PARAMETERS["DatabaseUrl"], PARAMETERS["QdrantUrl"]]

    assert [urlsplit(url).hostname for url in addresses] == ["localstack", "database", "vectors"]
    for url in addresses:
        assert urlsplit(published(url)).hostname == "127.0.0.1"


def test_the_database_is_made_with_the_name_and_the_password_that_the_functions_use() -> None:
    url, made = urlsplit(PARAMETERS["DatabaseUrl"]), compose()["services"]["database"]["environment"]

    assert made == {"POSTGRES_USER": url.username, "POSTGRES_PASSWORD": url.password, "POSTGRES_DB": url.path[1:]}


def test_the_model_has_one_bucket_named_in_one_place() -> None:
    bucket = PARAMETERS["ModelBucket"]
    named = {
        str(path.relative_to(ROOT))
        for path in tracked_files()
        if path.suffix in {".toml", ".mk", ".yaml", ".json", ".md", ".py", ""}
        and re.search(r"\bsiftline-(\w+-)?model\b", path.read_text(encoding="utf-8"))
    }

    assert PARAMETERS["ModelUri"] == f"s3://{bucket}/{MODEL_VERSION}"
    assert named - {"tests/house/test_localstack.py"} == {"samconfig.toml", "events/env.json"}
    assert bucket in json.dumps(json.loads((ROOT / "events" / "env.json").read_text(encoding="utf-8")))


def test_containers_and_functions_share_one_network() -> None:
    [network] = compose()["networks"].values()
    config = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))["default"]

    assert compose()["services"]["localstack"]["environment"]["LAMBDA_DOCKER_NETWORK"] == network["name"]
    for command in ("local_invoke", "local_start_api"):
        assert config[command]["parameters"]["docker_network"] == network["name"]


def test_localstack_serves_what_the_template_has() -> None:
    served = set(compose()["services"]["localstack"]["environment"]["SERVICES"].split(","))
    made = Evaluator(document(), PARAMETERS).condition
    resources = [
        body for body in document()["Resources"].values() if "Condition" not in body or made(body["Condition"])
    ]
    kinds = {resource["Type"].split("::")[1] for resource in [*resources, *observability()["Resources"].values()]}

    assert {SERVICE_OF.get(kind, kind.lower()) for kind in kinds} | ALSO <= served
