"""``make destroy STAGE=staging``: deletes a stage's stack, after one question.

What the stack did not make itself is kept, as are a last snapshot of the database that it made, and its models.
"""

import subprocess

from infra.local.answer import run
from infra.stage import ROOT, Stage
from siftline.operate.command_line import Parser
from siftline.operate.set_up_error import SetUpError
from siftline.operate.user_command import confirm
from siftline.settings.functions import process_environment

_SAM = ROOT / ".local" / "tools" / "bin" / "sam"


def fate(stage: Stage) -> str:
    """Return what becomes of what there is. Raises ``SetUpError`` where the database is protected."""
    outputs = stage.outputs()
    gone = ["its API, functions, queues with their messages, and logs"]
    kept = ["what it was only given"]
    if cluster := outputs.get("DatabaseCluster"):
        if stage.parameters()["DatabaseDeletionProtection"] == "true":
            raise SetUpError(
                f"The database {cluster} is protected. Deploy {stage.name} with DatabaseDeletionProtection=false first."
            )
        gone.append(f"the database {cluster} with its automated backups")
        kept.append("a last snapshot of the database")
    if bucket := outputs.get("ModelBucket"):
        kept.append(f"the models' bucket {bucket}")
    return f"Deleted: {'; '.join(gone)}.\nKept: {'; '.join(kept)}."


def main(arguments: list[str]) -> int:
    """Delete the stage that the command line names; return the exit code."""
    parser = Parser(prog="make destroy", description=__doc__)
    parser.add_argument("--stage", required=True, help="a stage of samconfig.toml")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    chosen = parser.parse_args(arguments)
    stage = Stage(chosen.stage)
    if not stage.outputs():
        raise SetUpError(f"{stage.stack} is not deployed: there is nothing to delete.")
    print(fate(stage))
    if not chosen.yes:
        confirm(f"This deletes the stack {stage.stack}.", "YES=1")
    command = [str(_SAM), "delete", "--no-prompts", "--stack-name", stage.stack, "--region", stage.region]
    environment = {**process_environment(), "SAM_CLI_TELEMETRY": "0"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode  # noqa: S603  -- SAM, as written


if __name__ == "__main__":
    run(main)
