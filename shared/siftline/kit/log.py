"""Structured logs and metrics: Powertools JSON and EMF. Never bodies, prompts, tokens or mail addresses."""

from functools import cache

from aws_lambda_powertools import Logger

NAMESPACE = "Siftline"
# The dimension `service` of every metric, whichever function tells it: one alarm sees them all.
SERVICE = "siftline"


@cache
def logger(service: str) -> Logger:
    """Return the JSON logger of one room or function."""
    return Logger(service=service, use_rfc3339=True, log_uncaught_exceptions=False)
