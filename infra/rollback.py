"""``make rollback STAGE=prod``: makes the release before live again, within seconds, after one question.

It moves the functions' aliases and nothing else. The database keeps the newer schema, under which the release before
ran while it was deployed. The function ``operate`` keeps the newer code.
"""

from infra.local.answer import run
from infra.releases import go_back, versions
from infra.stage import Stage
from siftline.operate.command_line import Parser
from siftline.operate.set_up_error import SetUpError
from siftline.operate.user_command import confirm


def roll_back(stage: Stage, *, yes: bool) -> None:
    """Move every function to its version before; asks first unless ``yes``. Raises ``SetUpError``."""
    if stage.is_updating():
        raise SetUpError(
            f"A deployment of {stage.stack} is under way. To stop it: "
            f"aws cloudformation cancel-update-stack --stack-name {stage.stack} --region {stage.region}"
        )
    functions = versions(stage)
    back = {name: found for name, found in functions.items() if found.can_go_back()}
    if not back:
        raise SetUpError(
            f"There is no release of {stage.name} to go back to: only make deploy notes one, and a rollback uses it up."
        )
    for name, found in functions.items():
        print(f"{name}: version {found.live} " + (f"→ {found.previous}" if name in back else "stays"), flush=True)
    print("The database keeps its schema; migrations are safe for the release before.", flush=True)
    if not yes:
        confirm(f"This makes the release before live at {stage.name}.", "YES=1")
    for name, found in back.items():
        go_back(stage, name, str(found.previous))
    print(f"The release before is live. The next make deploy STAGE={stage.name} goes forward again.")


def main(arguments: list[str]) -> int:
    """Roll back the stage that the command line names; return the exit code."""
    parser = Parser(prog="make rollback", description=__doc__)
    parser.add_argument("--stage", required=True, help="a stage of samconfig.toml")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    chosen = parser.parse_args(arguments)
    roll_back(Stage(chosen.stage), yes=chosen.yes)
    return 0


if __name__ == "__main__":
    run(main)
