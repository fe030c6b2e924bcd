"""Structured logs: Powertools JSON. Never bodies, prompts, tokens or mail addresses."""

import json
from functools import cache, partial
from typing import Literal

from aws_lambda_powertools import Logger

NAMESPACE = "Siftline"
# The dimension `service` of every metric, whichever function tells it: one alarm sees them all.
SERVICE = "siftline"
# In ASCII alone: what a log is read with need know nothing of line separators, directions or lone surrogates.
_SERIALIZE = partial(json.dumps, default=str, separators=(",", ":"), ensure_ascii=True)


@cache
def logger(service: str) -> Logger:
    """Return the JSON logger of one room or function."""
    try:
        return _logger(service)
    except ValueError:  # of an unknown level, which the settings refuse by its name: until then somebody must log
        return _logger(service, "INFO")


def _logger(service: str, level: Literal["INFO"] | None = None) -> Logger:
    return Logger(service, level, use_rfc3339=True, log_uncaught_exceptions=False, json_serializer=_SERIALIZE)
