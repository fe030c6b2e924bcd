"""Handing out jobs after the commit that made them."""

from collections.abc import Sequence
from uuid import UUID

from aws_lambda_powertools import Logger

from siftline.jobs.publish import Publisher
from siftline.kit.errors import TransientError


class HandOut:
    """Publishes, and never fails the request by it: what was committed is accepted, and the sweep sends what waits."""

    def __init__(self, publisher: Publisher, log: Logger) -> None:
        self._publisher = publisher
        self._log = log

    def __call__(self, job_ids: Sequence[UUID]) -> None:
        """Hand out committed jobs."""
        if not job_ids:
            return
        try:
            self._publisher.publish(job_ids)
        except TransientError as error:
            self._log.warning("jobs_not_published", jobs=len(job_ids), error_code=error.error_code)
