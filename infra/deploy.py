"""``make deploy STAGE=prod``: migrates, deploys what was built, brings the model, tries it, and tells where it is.

It asks nothing.

Migrations are safe while the code before them runs, so they go first, except for a stage that is new.
"""

import io
import subprocess
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from infra.local.answer import run
from infra.package import stage_parameters
from infra.releases import remember, versions
from infra.smoke import smoke
from infra.stage import ROOT, Stage
from infra.upload_model import upload
from layers.model.assemble import assemble
from layers.model.wheel import AssemblyError
from siftline.models.model_folders import MANIFEST
from siftline.operate.command_line import Parser
from siftline.operate.set_up_error import SetUpError
from siftline.settings.functions import process_environment

BUILT = ROOT / ".aws-sam" / "build"
_SAM = ROOT / ".local" / "tools" / "bin" / "sam"
_MODEL = ROOT / ".local" / "model"


def zipped(folder: Path) -> bytes:
    """Return a folder as a zip that Lambda takes."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            archive.write(path, path.relative_to(folder))
    return written.getvalue()


def deploy(stage: Stage, built: Path, parameters: Mapping[str, str]) -> str:
    """Deploy what SAM built in a folder and return the API's address. ``parameters`` go before those of samconfig.toml.

    Raises ``SetUpError``.
    """
    is_new = not stage.outputs()
    parameters = {"Release": _release(), **parameters}
    before = {} if is_new else versions(stage)
    if not is_new:
        stage.renew_operate(zipped(built / "OperateFunction"))
        print(f"Before the new code: {stage.do('migrate').strip()}", flush=True)
    if any(found.live != found.deployed for found in before.values()):
        # CodeDeploy shifts only from the version that the stack takes for live.
        print(f"{stage.name} was rolled back: this release goes live at once, without a canary.", flush=True)
        parameters["ReleasePreference"] = "AllAtOnce"
    sam_deploy(stage, built, parameters, is_new=is_new)
    remember(stage, before)
    if is_new:
        print(stage.do("migrate").strip(), flush=True)
        if "DatabaseCluster" in stage.outputs():
            sam_deploy(stage, built, parameters)  # which protects the database, if it is to be protected
    return stage.outputs()["ApiUrl"]


def sam_deploy(stage: Stage, built: Path, parameters: Mapping[str, str], *, is_new: bool = False) -> None:
    """Have SAM deploy a folder's template, and no more. Raises ``SetUpError``.

    A new stack that fails is deleted, so that it can be tried again; a database that is protected would prevent it.
    """
    command = [str(_SAM), "deploy", "--template-file", str(built / "template.yaml"), "--config-env", stage.name]
    command += ["--config-file", str(ROOT / "samconfig.toml"), "--no-confirm-changeset", "--no-fail-on-empty-changeset"]
    # Those on a command line take the place of all in the file.
    every = {"Release": _release(), **stage_parameters(stage.name), **parameters}
    if is_new:
        command += ["--on-failure", "DELETE"]
        every["DatabaseDeletionProtection"] = "false"
    command += ["--parameter-overrides", *(f"{name}={value}" for name, value in every.items())]
    environment = {**process_environment(), "SAM_CLI_TELEMETRY": "0"}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False)  # noqa: S603  -- SAM, as written above
    if done.returncode:
        left = "Nothing of it is left" if is_new else "What ran before still runs"
        raise SetUpError(f"SAM did not deploy it: see above. {left}.")


def _release() -> str:
    """Return the number of a release. Each has ten digits, as many as SAM tells releases apart by."""
    return f"{time.time():.0f}"


def bring_model(stage: Stage, folder: Path) -> None:
    """Upload the model where the stage reads it from a bucket of its own that lacks it. Raises ``SetUpError``.

    It is assembled in ``folder`` first, if it is not there.
    """
    if not (uri := stage.outputs().get("ModelUri")):
        return
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    client = stage.client("s3")
    try:
        if client.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/{MANIFEST}")["KeyCount"]:
            return
        assemble(folder)
        upload(client, folder, bucket)
    except (AssemblyError, BotoCoreError, ClientError) as error:
        raise SetUpError(f"The model could not be brought to {uri}: {error}") from error
    print(f"The model is at {uri}", flush=True)


def first_token(stage: Stage) -> str | None:
    """Make an operator where there is no user at all, and return the token."""
    if len(stage.do("user", "--list").splitlines()) > 1:
        return None
    made = stage.do("user", "--name=operator", "--ops")
    return made.rpartition("token ")[2].strip()


def main(arguments: list[str]) -> int:
    """Deploy as the command line says; return the exit code."""
    parser = Parser(prog="make deploy", description=__doc__)
    parser.add_argument("--stage", required=True, help="a stage of samconfig.toml")
    parser.add_argument("--built", type=Path, default=BUILT, help="what sam build has built")
    parser.add_argument("--page", help="page that the smoke test saves; empty: no smoke test")
    chosen = parser.parse_args(arguments)
    stage = Stage(chosen.stage)
    url = deploy(stage, chosen.built, {})
    bring_model(stage, _MODEL)
    token = first_token(stage)
    print(f"Siftline {stage.name} is at {url}")
    if token:
        print(f"token  {token} (of the user operator; it is shown this once)")
    if chosen.page != "":
        smoke(stage, url, chosen.page)
    return 0


if __name__ == "__main__":
    run(main)
