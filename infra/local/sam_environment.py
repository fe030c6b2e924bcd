"""``make sam-env``: the environment of every function for ``sam local``, by logical id, as its ``--env-vars`` reads it.

SAM knows the template's parameters, but no queue's URL: it gives ``FetchQueue`` for one. So each variable that a
function of the template has is given with its value on the parts of ``make run``, as its containers reach them, or
(``--compose``) on those of infra/local/compose.yaml, which is how events/env.json was written.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from infra.local.answer import run_writing
from infra.local.state import running_environment, write_private
from infra.package import stage_parameters
from siftline.net.loopback import FROM_CONTAINERS
from siftline.worker.template import Reference, Template

ROOT = Path(__file__).resolve().parents[2]
COMPOSE_AWS_URL = "http://localstack:4566"
"""Where the other containers of the compose file reach LocalStack."""
_ACCOUNT = "000000000000"


def sam_environment(values: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return of ``values``, by logical id, what each function of the template reads."""
    template = _template({})
    return {
        name: {variable: values[variable] for variable in sorted(_declared(template, name)) if variable in values}
        for name in template.functions
    }


def compose_values() -> dict[str, str]:
    """Return what the template's functions are given where it is deployed by ``make localstack``, and only there."""
    here, anywhere = _template(stage_parameters("local")), _template({})
    names = {Reference(queue.logical_id): queue.name for queue in here.queues()}
    values = {"AWS_ENDPOINT_URL": COMPOSE_AWS_URL}
    for name, function in here.functions.items():
        usual = anywhere.functions[name].environment
        values |= {key: value for key, value in function.environment.items() if value != usual.get(key)}
        urls = {key: names[queue] for key, queue in function.references.items() if queue in names}
        values |= {key: f"{COMPOSE_AWS_URL}/{_ACCOUNT}/{queue}" for key, queue in urls.items()}
    return values


def _template(parameters: Mapping[str, str]) -> Template:
    # the variable of AwsEndpointUrl is there only where that is set
    return Template.read(ROOT / "template.yaml", {"AwsEndpointUrl": COMPOSE_AWS_URL, **parameters})


def _declared(template: Template, name: str) -> set[str]:
    function = template.functions[name]
    return {*function.environment, *function.references}


def main(arguments: list[str], out: TextIO) -> int:
    """Write the file and print where it is; returns the exit code."""
    parser = argparse.ArgumentParser(prog="make sam-env", description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / ".local", help="folder of make run")
    parser.add_argument("--compose", action="store_true", help="write events/env.json instead")
    options = parser.parse_args(arguments)
    if options.compose:
        path = ROOT / "events" / "env.json"
        path.write_text(_written(compose_values()), encoding="utf-8")
    else:
        path = options.folder / "sam-env.json"
        values = running_environment(options.folder)
        outside = {name: value.replace("127.0.0.1", FROM_CONTAINERS) for name, value in values.items()}
        write_private(path, _written(outside))  # it holds the database's password and the secret of this run
    print(path, file=out)
    return 0


def _written(values: Mapping[str, str]) -> str:
    return json.dumps(sam_environment(values), indent=2) + "\n"


if __name__ == "__main__":
    run_writing(main)
