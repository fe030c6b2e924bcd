"""The one failure the local commands show to a person."""

from pydantic import ValidationError


class SetUpError(Exception):
    """Something on this machine stands in the way; the message is one line that says what to do about it."""


def settings_fault(error: ValidationError) -> SetUpError:
    """Return what is wrong with the environment: which value and why, and what is missing."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    named = sorted((".".join(map(str, one["loc"])).upper(), one["type"], one["msg"]) for one in faults)
    said = [f"{name}: {why.removeprefix('Value error, ')}." for name, kind, why in named if kind != "missing"]
    if missing := [name for name, kind, _ in named if kind == "missing"]:
        said.append(f"Set {', '.join(missing)}, or start `make run` once.")
    return SetUpError(" ".join(said))
