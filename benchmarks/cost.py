"""P14: what 1,000 articles and a month cost on AWS. ``python -m benchmarks cost``

The sample articles walk through the whole system as ``make run SAMPLES=1`` has them walk; how long each job took stands
in the timelines. What of that the worker and its children computed, by Linux's own count, is the time, for during the
rest other programs of this machine were at it; for PostgreSQL ``DATABASE_MS`` a job is added. That, times the memory
that ``template.yaml`` gives the function, times the list price (``aws_prices.toml``), plus requests. Where a function
has less than one processor (1,769 MB make one) all its time counts as computing and grows accordingly: an upper bound.
Every message counts as an invocation of its own and as three requests to SQS, though both come in batches.

Not in the articles' price: PostgreSQL, Qdrant, a NAT gateway and traffic, which cost by the month whatever is read, nor
an LLM. The month has them, by resource, idle and for so many users, and says which limit is met first
(``benchmarks.monthly_cost``).
"""

import statistics
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import walk
from benchmarks.monthly_cost import (
    ASSUMED,
    CROWD,
    CROWD_CONTENTS,
    FUNCTION_OF,
    USERS,
    Load,
    Unit,
    limits,
    month,
    nobody,
)
from benchmarks.report import Report
from infra.local.machine import ROOT
from siftline.worker.template import Template, load

ARTICLES = 1_000
REACH_USD = 0.03
POLLS = 1_000
"""Polls until so many articles have come: one each."""
REQUESTS = 1_100
"""Requests to the API: each article opened once, and lists of fifty, twice over."""
COLD_STARTS, MODEL_FILES = 10, 20
DATABASE_MS = 40.0
"""Ten round trips to a database in the same region."""
_MB_OF_ONE_PROCESSOR = 1_769
_FUNCTION_OF = {
    "fetch_source": "fetch",
    "ingest_content": "ingest",
    "analyze_content": "analyze",
    "cluster_user": "cluster",
}
_PER_REQUEST_MS = {"api": 20.0, "authorize": 5.0}
"""Upper bounds of what ``http`` and ``handlers`` measure, with a query."""
_LOG_BYTES_A_JOB = 1_500
_SEARCH_MS = 60.0
"""Upper bound of what ``search`` measures over 100,000 items."""
_JOB_MS = 250
"""For a job that the walk has none of."""


def main() -> None:
    report = Report("cost")
    report.open(f"{ARTICLES:,} articles on AWS, without a language model: reach <= {REACH_USD} USD")
    prices = tomllib.loads((Path(__file__).parent / "aws_prices.toml").read_text(encoding="utf-8"))
    report.tell({"prices of": f"{prices['region']}, set down {prices['set_down']}; check them"})
    measured, computing = _measured()
    report.tell({"computing": f"{computing:.0%} of the time that jobs took"})
    memory = {
        function.name: function.memory_mb for function in Template.read(ROOT / "template.yaml").functions.values()
    }
    rows = [_row(name, times, ms, memory[name], prices) for name, times, ms in _work(measured, computing)]
    report.table(f"functions, for {ARTICLES:,} articles", rows)
    requests = _requests(sum(row["invocations"] for row in rows), prices)
    report.table("requests and logs", [{"what": name, "usd": round(usd, 5)} for name, usd in requests.items()])
    totals = [
        {
            "architecture": architecture,
            "usd": round(sum(row[architecture] for row in rows) + sum(requests.values()), 4),
            "reach usd": REACH_USD,
        }
        for architecture in prices["lambda_gb_second"]
    ]
    report.table("all together", totals)
    report.tell({"not in it": "PostgreSQL, Qdrant, NAT, traffic, the clock's ticks, a language model"})
    _tell_months(report, measured, computing, memory, prices)
    report.keep()


def _tell_months(
    report: Report,
    measured: Mapping[str, Sequence[int]],
    computing: float,
    memory: Mapping[str, int],
    prices: Mapping[str, Any],
) -> None:
    """Say what a month costs idle and for so many users, and how much of each limit they need."""
    template = Template.read(ROOT / "template.yaml")
    stacks = [load(ROOT / name)["Resources"] for name in ("template.yaml", "infra/observability.yaml")]
    alarms = sum(body["Type"] == "AWS::CloudWatch::Alarm" for resources in stacks for body in resources.values())
    api = stacks[0]["HttpApi"]["Properties"]
    through = api["DefaultRouteSettings"]["ThrottlingRateLimit"]
    assumed = {**_PER_REQUEST_MS, "schedule": ASSUMED["ms of a tick"], "search": _SEARCH_MS}
    units = {}
    for kind, function in FUNCTION_OF.items():
        ms = assumed.get(kind) or DATABASE_MS + computing * statistics.fmean(measured.get(kind) or [_JOB_MS])
        row = _row(function, 1_000_000, ms, memory[function], prices)
        units[kind] = Unit(row["billed ms"] / 1000, row["x86_64"] / 1e6)
    report.table("ms of a job", [{"job": kind, "billed ms": round(units[kind].seconds * 1000)} for kind in units])
    loads = [nobody(), *(Load.of(users) for users in USERS)]
    months = [month(one, template, alarms, units, prices) for one in loads]
    heads = ["idle", *(f"{users:,} user{'s' * (users > 1)}" for users in USERS)]
    table = [
        {"resource": name, **{head: round(usd[name], 2) for head, usd in zip(heads, months, strict=True)}}
        for name in months[0]
    ]
    sums = {head: round(sum(usd.values()), 2) for head, usd in zip(heads, months, strict=True)}
    report.table("US dollars a month", [*table, {"resource": "together", **sums}])
    crowd = Load.of(CROWD, CROWD_CONTENTS)
    report.table(
        "share of a limit in the busiest hour", limits([*loads[1:], crowd], template, units, requests_per_s=through)
    )
    report.tell({**ASSUMED, "contents of the last column": f"{CROWD_CONTENTS:,}"})


def _measured() -> tuple[Mapping[str, Sequence[int]], float]:
    """Return how long each job of the sample articles' walk took, in ms, by job type; and what share was computing."""
    walked = walk.walk()
    whole_ms = sum(map(sum, walked.durations_ms.values()))
    return walked.durations_ms, min(walked.computed_ms / max(whole_ms, 1), 1.0)


def _work(measured: Mapping[str, Sequence[int]], computing: float) -> list[tuple[str, int, float]]:
    """Return each function, how often it works for so many articles, and for how many ms each time."""
    times = {"fetch_source": POLLS, "ingest_content": ARTICLES, "analyze_content": ARTICLES}
    times["cluster_user"] = ARTICLES // 20
    work = [
        (
            _FUNCTION_OF[kind],
            times[kind],
            DATABASE_MS + computing * (statistics.fmean(measured[kind]) if measured.get(kind) else 0.0),
        )
        for kind in _FUNCTION_OF
    ]
    return [*work, *((name, REQUESTS, ms) for name, ms in _PER_REQUEST_MS.items())]


def _row(name: str, times: int, ms: float, memory_mb: int, prices: Mapping[str, Any]) -> dict[str, Any]:
    billed_ms = ms * max(1.0, _MB_OF_ONE_PROCESSOR / memory_mb)
    gb_seconds = times * billed_ms / 1000 * memory_mb / 1024
    return {
        "function": name,
        "invocations": times,
        "ms": round(ms, 1),
        "memory MB": memory_mb,
        "billed ms": round(billed_ms, 1),
        "GB-s": round(gb_seconds, 1),
        **{architecture: round(gb_seconds * price, 5) for architecture, price in prices["lambda_gb_second"].items()},
    }


def _requests(invocations: int, prices: Mapping[str, Any]) -> dict[str, float]:
    messages = POLLS + 2 * ARTICLES + ARTICLES // 20
    per_sqs = (prices["sqs_million_requests"] + prices["sqs_fair_million_requests"]) / 1e6
    return {
        "Lambda requests": invocations * prices["lambda_million_requests"] / 1e6,
        "SQS requests": 3 * messages * per_sqs,
        "API Gateway": REQUESTS * prices["http_api_million_requests"] / 1e6,
        "S3 gets of the model": COLD_STARTS * MODEL_FILES * prices["s3_thousand_gets"] / 1e3,
        "logs": messages * _LOG_BYTES_A_JOB / 1e9 * prices["logs_gb"],
    }
