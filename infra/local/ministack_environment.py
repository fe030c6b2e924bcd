"""MiniStack's own virtual environment: it pins a botocore of its own, so it cannot share ours."""

from collections.abc import Callable
from pathlib import Path

from infra.local.locked_environment import is_ready, locked_python

LOCK = Path(__file__).resolve().parents[1] / "locks" / "ministack.txt"


def ministack_python(folder: Path, say: Callable[[str], None] = lambda _: None) -> Path:
    """Return the interpreter of the environment in ``folder``, made on first use. Raises ``SetUpError``."""
    if not is_ready(folder, LOCK):
        say("Installing MiniStack (SQS, SES and CloudWatch on this machine) …")
    return locked_python(folder, LOCK)
