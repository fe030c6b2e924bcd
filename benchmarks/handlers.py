"""P10: what a function costs before any work. ``python -m benchmarks handlers``

The API's handler on a route that asks nobody, beside a resolver of Powertools with nothing around it that gives the
same answer: one that checks neither what is asked nor what is said, and one that does, as ours must. The difference
between these two is Powertools' own; ours adds admission, strict JSON, unknown parameters, safe headers, problems.

And the import of each function, in a fresh interpreter with warm files, beside what each must import anyway (boto3,
Powertools, psycopg), and beside the very libraries that it loads, without a line of ours.
"""

import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.openapi.params import Header, Query

from benchmarks.report import Report, in_turn, ratio
from infra.local.aws import CREDENTIALS, REGION
from infra.local.machine import ROOT
from siftline.api.ops.health import HealthReport
from siftline.contracts import Queue
from siftline.settings.functions import environment, process_environment
from tests.factories import FakeContext
from tests.http_events import http_event

CALLS = 1_000
WARM = 50
STARTS = 3
# What every function of such a kind imports: the clients, the batch loop or the resolver, the driver.
_BASE = (
    "import boto3, psycopg, psycopg_pool\n"
    "from aws_lambda_powertools import Logger, Metrics\n"
    "from aws_lambda_powertools.event_handler import APIGatewayHttpResolver\n"
    "from aws_lambda_powertools.utilities.batch import BatchProcessor, process_partial_response\n"
)
_IMPORT = "import time\nstarted = time.perf_counter()\n{}\nprint(time.perf_counter() - started)"
_LOADED = (
    "import json, sys\n"
    "print(json.dumps([n for n, m in sys.modules.items() if 'site-packages' in (getattr(m, '__file__', None) or '')"
    " and getattr(m, '__spec__', None) is not None and m.__spec__.name == n]))"
)
_Handler = Callable[[dict[str, Any], Any], dict[str, Any]]
FUNCTIONS = ("api", "authorize", "schedule", "fetch", "ingest", "analyze", "cluster", "search")


def main() -> None:
    report = Report("handlers")
    report.open(f"{CALLS:,} calls of a handler; {STARTS} imports of each function")
    event = http_event("GET", "/health")
    ways = {"ours": _ours(), "bare": _bare(validates=False), "bare with validation": _bare(validates=True)}
    report.table("GET /health, shallow: one call, reach p50 <= 2 x", [_calls(event, ways)])
    report.table(
        "import, medians in ms, reach <= 1.2 x: of the base, and of the very libraries that a function loads",
        _imports(),
    )
    report.table("what a function imports beyond the base: own ms of the largest packages", _beyond_the_base())
    report.keep()


def _beyond_the_base() -> list[dict[str, Any]]:
    base = _packages(_BASE)
    rows = []
    for name in FUNCTIONS:
        own = _packages(f"import functions.{name}.app")
        more = Counter({package: ms for package, ms in own.items() if package not in base}).most_common(6)
        told = ", ".join(f"{package} {ms:.0f}" for package, ms in more)
        rows.append({"function": name, "all ms": round(sum(own.values())), "not in the base": told})
    return rows


def _packages(program: str) -> Mapping[str, float]:
    """Return the milliseconds that each package's own modules took to import, in a fresh interpreter."""
    found: dict[str, float] = defaultdict(float)
    for line in _python("-X", "importtime", "-c", program).stderr.splitlines():
        columns = line.removeprefix("import time:").split("|")
        if len(columns) == 3 and columns[0].strip().isdigit():
            found[columns[2].strip().partition(".")[0]] += int(columns[0]) / 1000
    return found


def _calls(event: dict[str, Any], ways: Mapping[str, _Handler]) -> dict[str, Any]:
    assert len({json.dumps(json.loads(way(event, FakeContext())["body"])) for way in ways.values()}) == 1
    works = {name: partial(way, event, FakeContext()) for name, way in ways.items()}
    p50 = {name: median(taken) for name, taken in in_turn(works, CALLS, warm=WARM).items()}
    return {
        **{f"{name} us": round(taken_s * 1e6) for name, taken_s in p50.items()},
        "ours / bare": round(p50["ours"] / p50["bare"], 2),
        "ours / bare with validation": round(p50["ours"] / p50["bare with validation"], 2),
    }


def _ours() -> _Handler:
    """Return the function's own handler, put together as on Lambda; nothing is asked of these addresses."""
    names = {f"{queue.name}_QUEUE_URL": f"http://127.0.0.1:1/{queue}" for queue in Queue}
    names |= {f"{queue.name}_DLQ_URL": f"http://127.0.0.1:1/{queue}-dlq" for queue in Queue}
    names |= {**CREDENTIALS, "AWS_DEFAULT_REGION": REGION, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    names |= {"DATABASE_URL": "postgresql://127.0.0.1:1/none", "QDRANT_URL": "http://127.0.0.1:1"}
    with environment(names):
        from functions.api import app  # noqa: PLC0415  -- the handler, with the environment that it reads

        app.build()
    return app.handler


def _bare(*, validates: bool) -> _Handler:
    resolver = APIGatewayHttpResolver(enable_validation=validates)

    @resolver.get("/health")
    def show(
        deep: Annotated[bool, Query()] = False,  # noqa: FBT002  -- a query parameter
        authorization: Annotated[str | None, Header(alias="Authorization")] = None,  # noqa: ARG001  -- as ours has
    ) -> Response[HealthReport]:
        report = HealthReport(status="unavailable" if deep else "ok")
        body: Any = report if validates else report.model_dump_json()  # only what is validated is also written as JSON
        return Response(200, "application/json", body)

    return resolver.resolve


def _imports() -> list[dict[str, Any]]:
    works = {"": _BASE}
    for name in FUNCTIONS:
        own = f"import functions.{name}.app"
        works |= {
            name: own,
            f"{name}, libraries": f"{_BASE}import importlib\nfor n in {_libraries(own)}: importlib.import_module(n)",
        }
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for number in range(STARTS + 1):
        for name, work in works.items():
            taken_s = float(_python("-c", _IMPORT.format(work)).stdout)
            if number:
                seconds[name].append(taken_s)
    return [
        {
            "function": name,
            "ms": round(median(seconds[name]) * 1000),
            "base ms": round(median(seconds[""]) * 1000),
            "its libraries ms": round(median(seconds[f"{name}, libraries"]) * 1000),
            "/ base": ratio(seconds[name], seconds[""]),
            "/ its libraries": ratio(seconds[name], seconds[f"{name}, libraries"]),
        }
        for name in FUNCTIONS
    ]


def _libraries(work: str) -> list[str]:
    """Return every module that is not ours and not Python's, in the order in which they come."""
    return list(json.loads(_python("-c", f"{work}\n{_LOADED}").stdout))


def _python(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a fresh interpreter."""
    variables = {**process_environment(), "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    return subprocess.run(
        [sys.executable, *arguments], env=variables, check=True, capture_output=True, cwd=ROOT, text=True
    )
