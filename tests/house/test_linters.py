"""The template passes the linters that people use, and the files that they do not read are at least well formed."""

import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from infra.package import Target, stage_target
from tests.house.reading import ROOT, document, resources

TOOLS = ROOT / ".local" / "tools" / "bin"
CHECKOV = ROOT / ".local" / "checkov" / "bin" / "checkov"
CHECK_JSONSCHEMA = ROOT / ".local" / "workflows" / "bin" / "check-jsonschema"
TEMPLATES = [
    "template.yaml",
    *sorted({body["TemplateURL"] for body in resources("AWS::CloudFormation::Stack").values()}),
]
STAGES = ("local", "staging", "prod")


def _run(*command: str | Path) -> str:
    if not Path(command[0]).exists():
        pytest.fail(f"{command[0]} is missing; `make check` installs it")
    quiet = {
        "SAM_CLI_TELEMETRY": "0",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "PATH": "/usr/bin:/bin",
        "HOME": str(ROOT / ".local"),
    }
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=quiet)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_cfn_lint_has_nothing_to_say() -> None:
    assert _run(TOOLS / "cfn-lint", *TEMPLATES).strip() == ""


@pytest.mark.slow
def test_sam_finds_the_template_valid() -> None:
    assert "is a valid SAM Template" in _run(TOOLS / "sam", "validate", "--lint")


@pytest.mark.slow
def test_checkov_has_nothing_to_say_but_what_is_skipped_with_a_reason() -> None:
    _run(CHECKOV, "--config-file", "infra/checkov.yaml", "--file", *TEMPLATES)


@pytest.mark.slow
@pytest.mark.parametrize("schema", ["vendor.github-workflows", "custom.github-workflows-require-timeout"])
def test_the_workflows_have_the_form_that_github_reads(schema: str) -> None:
    _run(CHECK_JSONSCHEMA, "--builtin-schema", schema, *(ROOT / ".github" / "workflows").iterdir())


def test_every_skipped_check_stands_below_its_reason() -> None:
    lines = (ROOT / "infra" / "checkov.yaml").read_text(encoding="utf-8").splitlines()
    skipped = [number for number, line in enumerate(lines) if line.strip().startswith("- CKV")]

    assert skipped
    for number in skipped:
        above = next(line.strip() for line in reversed(lines[:number]) if not line.strip().startswith("- CKV"))
        assert above.startswith("# "), lines[number]


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_says_what_it_deploys_and_names_only_parameters_of_the_template(stage: str) -> None:
    config = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))[stage]
    overrides = dict(line.split("=", 1) for line in config["deploy"]["parameters"]["parameter_overrides"])
    parameters = document()["Parameters"]

    assert overrides["Stage"] == stage
    assert set(overrides) <= set(parameters)
    assert config["build"]["parameters"]["build_in_source"] is True
    assert stage_target(stage) == Target(overrides["Runtime"], overrides["Architecture"])
    for name in ("Runtime", "Architecture"):
        assert overrides[name] in parameters[name]["AllowedValues"]


@pytest.mark.parametrize("stage", STAGES)
def test_a_plain_sam_build_packs_for_what_the_stage_deploys(stage: str) -> None:
    # sam does not tell the build targets its stage: they build for the defaults unless make names one
    defaults = {name: document()["Parameters"][name]["Default"] for name in ("Runtime", "Architecture")}

    assert stage_target(stage) == Target(defaults["Runtime"], defaults["Architecture"])


def test_the_compose_file_pins_its_images_and_listens_on_loopback_only() -> None:
    compose = yaml.safe_load((ROOT / "infra" / "local" / "compose.yaml").read_text(encoding="utf-8"))

    assert set(compose["services"]) == {"localstack", "database", "vectors"}
    for name, service in compose["services"].items():
        image, _, tag = service["image"].partition(":")
        assert image, name
        assert tag not in {"", "latest"}, name
        assert all(port.startswith("127.0.0.1:") for port in service["ports"]), name
        assert all(network in compose["networks"] for network in service["networks"]), name
        named = [volume.split(":")[0] for volume in service.get("volumes", ()) if not volume.startswith(("/", "."))]
        assert all(volume in compose["volumes"] for volume in named), name
