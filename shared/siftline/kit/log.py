"""Structured logs and metrics: Powertools JSON and EMF. Never bodies, prompts, tokens or mail addresses."""

from functools import cache

from aws_lambda_powertools import Logger, Metrics

NAMESPACE = "Siftline"
# The dimension `service` of every metric, whichever function tells it: one alarm sees them all.
SERVICE = "siftline"


@cache
def logger(service: str) -> Logger:
    """Return the JSON logger of one room or function."""
    return Logger(service=service, use_rfc3339=True, log_uncaught_exceptions=False)


@cache
def metrics(service: str) -> Metrics:
    """Return the EMF metrics of one room or function, under the namespace ``Siftline``."""
    return Metrics(namespace=NAMESPACE, service=service)
