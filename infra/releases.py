"""Which version of each function is live, and which was before: its aliases ``live`` and ``previous``.

The template publishes versions and moves ``live``. ``previous`` is moved here, once a deployment has succeeded: by its
number alone a version that an alarm threw out looks like any other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.stage import Stage, answered

LIVE, PREVIOUS = "live", "previous"


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of one function."""

    live: str
    previous: str | None
    """What was live before the last deployment that succeeded; none before the second."""
    deployed: str | None
    """What its stack takes for live. Another one than ``live`` after ``make rollback``."""

    def can_go_back(self) -> bool:
        """Whether there is a version to go back to."""
        return self.previous not in {None, self.live}


def versions(stage: Stage) -> dict[str, Versions]:
    """Return the versions of each function that has the alias ``live``, by its name. Raises ``SetUpError``."""
    deployed = dict(arn.split(":")[-2:] for arn in stage.resources("AWS::Lambda::Version"))
    client, found = stage.client("lambda"), {}
    for function in stage.resources("AWS::Lambda::Function"):
        with answered(client, f"The aliases of {function} cannot be looked at"):
            listed = client.list_aliases(FunctionName=function)["Aliases"]
            aliases = {alias["Name"]: alias["FunctionVersion"] for alias in listed}
        if LIVE in aliases:
            found[function] = Versions(aliases[LIVE], aliases.get(PREVIOUS), deployed.get(function))
    return found


def remember(stage: Stage, before: Mapping[str, Versions]) -> None:
    """Point ``previous`` to what was live before a deployment, where it no longer is, and delete what was before that.

    Lambda would keep every version, and has room for some hundred releases. Raises ``SetUpError``.
    """
    client, now = stage.client("lambda"), versions(stage)
    for function, old in before.items():
        if function in now and now[function].live != old.live:
            put = client.update_alias if old.previous else client.create_alias
            with answered(client, f"The alias {PREVIOUS} of {function} could not be moved"):
                put(FunctionName=function, Name=PREVIOUS, FunctionVersion=old.live)
                _delete_unnamed(client, function)


def _delete_unnamed(client: Any, function: str) -> None:
    """Delete the versions that no alias names."""
    named = {alias["FunctionVersion"] for alias in client.list_aliases(FunctionName=function)["Aliases"]}
    pages = client.get_paginator("list_versions_by_function").paginate(FunctionName=function)
    published = {version["Version"] for page in pages for version in page["Versions"]} - {"$LATEST"}
    for version in published - named:
        client.delete_function(FunctionName=function, Qualifier=version)


def go_back(stage: Stage, function: str, to: str) -> None:
    """Make another version of a function live, at once and for all invocations. Raises ``SetUpError``."""
    client = stage.client("lambda")
    with answered(client, f"{function} could not be moved to version {to}"):
        client.update_alias(
            FunctionName=function, Name=LIVE, FunctionVersion=to, RoutingConfig={"AdditionalVersionWeights": {}}
        )
