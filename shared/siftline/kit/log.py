"""Structured logs: Powertools JSON. Never bodies, prompts, tokens or mail addresses."""

import json
from functools import cache, partial

from aws_lambda_powertools import Logger

NAMESPACE = "Siftline"
# The dimension `service` of every metric, whichever function tells it: one alarm sees them all.
SERVICE = "siftline"
# In ASCII alone: what a log is read with need know nothing of line separators, directions or lone surrogates.
_SERIALIZE = partial(json.dumps, default=str, separators=(",", ":"), ensure_ascii=True)


@cache
def logger(service: str) -> Logger:
    """Return the JSON logger of one room or function."""
    return Logger(service=service, use_rfc3339=True, log_uncaught_exceptions=False, json_serializer=_SERIALIZE)
