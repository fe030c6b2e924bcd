"""``sam local``, by SAM's own code up to the container: whole environments, and every route behind its authorizer."""

import json
import subprocess
from functools import cache
from typing import Any

import pytest

from infra.local.sam_environment import COMPOSE_AWS_URL, compose_values, sam_environment
from siftline.api.http.auth import OPEN, OPEN_BY_TOKEN
from siftline.settings.functions import environment
from tests.house.reading import FUNCTION_NAMES, ROOT, document, function_resources, settings_of, template

PYTHON = ROOT / ".local" / "tools" / "bin" / "python"


@cache
def _sam_local(*arguments: str) -> Any:
    """Return what ``sam local`` would give to a container, or serve, with the settings of samconfig.toml."""
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} is missing; `make check` installs it")
    quiet = {
        "SAM_CLI_TELEMETRY": "0",
        "AWS_EC2_METADATA_DISABLED": "true",
        "PATH": "/usr/bin:/bin",
        "HOME": str(ROOT / ".local"),
    }
    command = [str(PYTHON), "tests/house/sam_local_probe.py", *arguments, "--template", "template.yaml"]
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


@cache
def _served() -> Any:
    return _sam_local("start-api")


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_sam_gives_a_function_its_whole_environment(name: str) -> None:
    logical_id, properties = function_resources()[name]
    given = _served()["environments"][logical_id]

    declared = {key: given[key] for key in properties["Environment"]["Variables"]}
    assert not set(declared.values()) & set(document()["Resources"]), "a queue's logical id in place of its URL"
    assert declared["DATABASE_URL"].startswith("postgresql://")
    urls = {key for key in declared if key.endswith(("_QUEUE_URL", "_DLQ_URL"))}
    assert all(declared[key].startswith(f"{COMPOSE_AWS_URL}/") for key in urls)
    assert given["AWS_ENDPOINT_URL"] == COMPOSE_AWS_URL
    with environment(declared):
        settings_of(name)()


def test_sam_serves_every_route_of_the_template_behind_its_authorizer() -> None:
    served = {(route["path"], route["function"], route["authorizer"]) for route in _served()["routes"]}
    [authorizer] = template().authorizers().values()

    assert served == {
        (route.path, route.function.logical_id, authorizer.function.logical_id if route.authorizer else None)
        for route in template().routes()
    }
    assert {path for path, _, guard in served if guard is None} == OPEN | OPEN_BY_TOKEN


def test_plain_sam_local_invoke_acts_on_what_make_localstack_started() -> None:
    given = _sam_local("invoke", "FetchFunction", "--event", "events/fetch.ok.json")

    assert given["handler"] == "functions.fetch.app.handler"
    assert given["event"] == json.loads((ROOT / "events" / "fetch.ok.json").read_text(encoding="utf-8"))
    assert given["environment"] == _served()["environments"]["FetchFunction"]
    assert (given["network"], given["environment"]["AWS_REGION"]) == ("siftline", "us-east-1")


def test_the_environments_in_events_are_those_of_the_compose_file() -> None:
    written = json.loads((ROOT / "events" / "env.json").read_text(encoding="utf-8"))

    assert written == sam_environment(compose_values()), (
        "write it again: python -m infra.local.sam_environment --compose"
    )
