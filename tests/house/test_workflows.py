"""GitHub's workflows: pinned actions, few permissions, commands that exist, and AWS without a stored key."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml

from tests.house.reading import ROOT
from tests.house.test_documents import TARGETS

WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
STAGES = ("staging", "prod")
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


@cache
def _workflow() -> dict[str, Any]:
    # every value as text: to YAML 1.1 the key "on" is true
    loaded: dict[str, Any] = yaml.load(WORKFLOW.read_text(encoding="utf-8"), yaml.BaseLoader)  # noqa: S506  -- makes texts
    return loaded


def _steps() -> Iterator[dict[str, Any]]:
    for job in _workflow()["jobs"].values():
        yield from job["steps"]


def test_every_action_is_pinned_by_its_commit_with_the_release_beside_it() -> None:
    used = re.findall(r"uses: (.*)", WORKFLOW.read_text(encoding="utf-8"))

    assert used
    assert not [one for one in used if not PINNED.fullmatch(one)]


def test_every_command_is_a_target_or_a_program_of_the_repository() -> None:
    for command in (step["run"] for step in _steps() if "run" in step):
        program, *arguments = command.split()
        assert arguments[0] in TARGETS if program == "make" else (ROOT / program).exists(), command


def test_a_job_may_read_and_nothing_else_unless_it_deploys() -> None:
    assert _workflow()["permissions"] == {"contents": "read"}
    for name, job in _workflow()["jobs"].items():
        expected = {"contents": "read", "id-token": "write"} if name in STAGES else None
        assert job.get("permissions") == expected, name
    assert "secrets." not in WORKFLOW.read_text(encoding="utf-8")


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_is_deployed_by_a_role_of_its_own_environment(stage: str) -> None:
    job = _workflow()["jobs"][stage]
    [credentials] = [step["with"] for step in job["steps"] if "configure-aws-credentials" in step.get("uses", "")]

    assert job["environment"] == stage
    assert credentials == {"role-to-assume": "${{ vars.AWS_ROLE_ARN }}", "aws-region": "${{ vars.AWS_REGION }}"}
    assert job["steps"][-1]["run"] == f"make deploy STAGE={stage}"


def test_only_what_was_checked_tested_and_built_on_main_is_deployed() -> None:
    jobs = _workflow()["jobs"]

    assert set(jobs["staging"]["needs"]) == {"check", "test", "build"}
    assert "refs/heads/main" in jobs["staging"]["if"]
    assert jobs["prod"]["needs"] == "staging"
