"""What an operator asks for from outside the network: one command in, what it printed out."""

from functools import cache
from pathlib import Path
from typing import Any

from siftline.operate.operate_service import Operator, Order
from siftline.settings.functions import OperateSettings


@cache
def build() -> Operator:
    """Put the parts together, once a warm environment."""
    settings = OperateSettings()
    return Operator(Path(__file__).resolve().parents[2] / "infra" / "migrations", f" STAGE={settings.siftline_stage}")


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda passes two
    """Run one command."""
    return build().run(Order.model_validate(event)).model_dump()
