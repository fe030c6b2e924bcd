"""One Lambda function hosted in this process: its handler, built under its own environment, invoked with a context."""

import importlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pydantic import ValidationError

from siftline.kit.errors import SiftlineError
from siftline.kit.lines import line
from siftline.kit.log import logger
from siftline.settings.fault_words import sentence
from siftline.settings.functions import environment, process_environment
from siftline.worker.template import Function

Handler = Callable[[Any, Any], Any]
_log = logger("worker")


class InvocationError(SiftlineError):
    """The handler could not be built, or raised; what Lambda reports as a function error."""

    code = "function_error"


@dataclass(frozen=True, slots=True)
class Context:
    """The context object of one invocation, as Lambda's Python runtime hands it over."""

    function_name: str
    memory_limit_in_mb: int
    deadline: float
    """In seconds of ``time.monotonic``."""
    aws_request_id: str = field(default_factory=lambda: str(uuid4()))
    function_version: str = "$LATEST"
    log_stream_name: str = "local"

    @property
    def invoked_function_arn(self) -> str:
        """The function's ARN; outside Lambda region and account mean nothing."""
        return f"arn:aws:lambda:us-east-1:000000000000:function:{self.function_name}"

    @property
    def log_group_name(self) -> str:
        """The log group's name."""
        return f"/aws/lambda/{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds left of the function's timeout, never below 0."""
        return max(0, round((self.deadline - time.monotonic()) * 1000))


class HostedFunction:
    """Loads a handler once and invokes it from any thread."""

    def __init__(self, function: Function) -> None:
        self.function = function
        # Taken before any function is built: no other function's variables are in it.
        self._given = process_environment()
        self._handler: Handler | None = None
        self.unbuildable: str | None = None
        """Why it could not be built when that was last tried, without the values it was given; ``None`` if it can."""
        self._lock = threading.Lock()

    def load(self) -> Handler:
        """Import the handler and build what it needs, unless that is done. Raises ``InvocationError``.

        Variables that the process was started with win over the template's values.
        """
        with self._lock:
            if self._handler is None:
                self._handler = self._load()
            return self._handler

    def invoke(self, event: Mapping[str, Any]) -> Any:
        """Run the handler on one event and return its answer. Raises ``InvocationError``."""
        handler = self.load()
        context = Context(
            function_name=self.function.name,
            memory_limit_in_mb=self.function.memory_mb,
            deadline=time.monotonic() + self.function.timeout_s,
        )
        try:
            return handler(event, context)
        except Exception as error:
            _log.exception("function_failed", function=self.function.name, request_id=context.aws_request_id)
            raise InvocationError(f"{self.function.name} raised {type(error).__name__}.") from error

    def _load(self) -> Handler:
        module_name, _, attribute = self.function.handler.rpartition(".")
        own = {name: value for name, value in self.function.environment.items() if name not in self._given}
        with environment(own):
            try:
                module = importlib.import_module(module_name)
                handler: Handler = getattr(module, attribute)
                # A handler's parts are made once, by its module's cached build(): now, while this environment holds.
                build = getattr(module, "build", None)
                if build is not None:
                    build()
            except Exception as error:
                self.unbuildable = reason_of(error)
                _log.exception("function_not_ready", function=self.function.name)
                raise InvocationError(f"{self.function.name} cannot be started: {self.unbuildable}") from error
        self.unbuildable = None
        return handler


def reason_of(error: Exception) -> str:
    """Return in one line why something could not be built: of settings their names, never what they hold."""
    if isinstance(error, ValidationError):
        faults = error.errors(include_url=False, include_input=False)
        named = [(".".join(map(str, fault["loc"])).upper() or error.title, sentence(fault)) for fault in faults]
        return "; ".join(f"{name}: {said}" for name, said in named)
    if isinstance(error, SiftlineError):
        return error.detail
    return line(f"{type(error).__name__}: {error}", 300)
