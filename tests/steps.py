"""How much work a call is, told in lines of Python that it runs: the same on every machine, however busy."""

import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

Trace = Callable[[FrameType, str, Any], Any]


def steps(call: Callable[[], object], *, passing: type[Exception] = Exception) -> int:
    """Return how many lines of Python a call runs, those of libraries among them; it may raise ``passing``."""
    counted = 0

    def trace(_: FrameType, event: str, __: object) -> Trace:
        nonlocal counted
        counted += event == "line"
        return trace

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()  # what others left behind is not this call's work
    sys.settrace(trace)
    try:
        with suppress(passing):
            call()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return counted
