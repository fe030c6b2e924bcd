"""Figures for CloudWatch, in the embedded metric format (EMF): one line on standard output each."""

import json
import sys
from collections.abc import Mapping
from functools import cache

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from aws_lambda_powertools.metrics.functions import is_metrics_disabled

from siftline.kit.log import NAMESPACE, SERVICE
from siftline.settings.functions import StageSettings

COUNT, MILLISECONDS, SECONDS = MetricUnit.Count, MetricUnit.Milliseconds, MetricUnit.Seconds
PERCENT = MetricUnit.Percent
Figure = tuple[float, MetricUnit]


@cache
def stage() -> str:
    """Return the deployment that this process belongs to."""
    return StageSettings().siftline_stage


def emit(
    figures: Mapping[str, Figure], dimensions: Mapping[str, str], *, metadata: Mapping[str, object] | None = None
) -> None:
    """Tell figures of one moment, each a value and its unit, under these dimensions, `service` and `stage`.

    ``metadata`` is written beside them and is no dimension: it costs no metric of its own.
    """
    line = EphemeralMetrics(namespace=NAMESPACE, service=SERVICE)
    for name, value in {**dimensions, "stage": stage()}.items():
        line.add_dimension(name=name, value=value)
    for name, (number, unit) in figures.items():
        line.add_metric(name=name, unit=unit, value=number)
    for name, fact in (metadata or {}).items():
        line.add_metadata(key=name, value=fact)
    if not is_metrics_disabled():
        # At once with its end of line: between two writes another thread's would come, and join two lines.
        sys.stdout.write(json.dumps(line.serialize_metric_set(), separators=(",", ":")) + "\n")
