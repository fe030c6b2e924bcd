"""The one failure the local commands show to a person."""

from pydantic import ValidationError

from siftline.settings.fault_words import sentence
from siftline.settings.functions import faults


class SetUpError(Exception):
    """Something on this machine stands in the way; the message is one line that says what to do about it."""


def check_settings() -> None:
    """Raise ``SetUpError`` if the environment sets what nothing can use: a line for each setting."""
    if wrong := faults():
        raise SetUpError("\n  ".join(["These settings cannot be used; see docs/settings.md.", *wrong]))


def settings_fault(error: ValidationError) -> SetUpError:
    """Return what is wrong with the environment: which value and why, and what is missing."""
    found = error.errors(include_url=False, include_input=False)
    named = sorted((".".join(map(str, one["loc"])).upper(), one["type"], sentence(one)) for one in found)
    said = [f"{name}: {why}." for name, kind, why in named if kind != "missing"]
    if missing := [name for name, kind, _ in named if kind == "missing"]:
        said.append(f"Set {', '.join(missing)}, or start `make run` once.")
    return SetUpError(" ".join(said))
