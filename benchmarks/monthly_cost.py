"""What a month costs by resource for so many users, and which limit they meet first: on paper, from what was measured.

Schedules, queues, alarms, memory and concurrency are counted in the template. What users do is assumed (``ASSUMED``),
and so is what a database and a vector engine take; all of it is printed with the answer.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from siftline.contracts import BACKGROUND_OF, QUEUE_OF, JobType, Queue, Tick
from siftline.settings.functions import JobSettings, ScheduleSettings
from siftline.worker.template import Template

USERS = (1, 100, 10_000)
CROWD, CROWD_CONTENTS = 1_000_000, 100_000_000
"""For whom limits are looked at besides."""
DAYS, HOURS = 30, 730
MINUTES = HOURS * 60

ASSUMED: Mapping[str, float] = {
    "sources that a user follows": 40,
    "power by which different sources grow with users": 0.7,
    "polls of a source a day": 12,
    "articles of a source a day": 2,
    "requests of a user a day": 60,
    "searches among them": 3,
    "mails to a user a day": 1,
    "share of mails in the busiest hour": 0.5,
    "busiest hour to the average": 3,
    "times a day that a user's new items are scored and joined": 40,
    "months that are kept": 12,
    "kB of an article in PostgreSQL": 30,
    "kB of a user's item, with its place in a story": 1,
    "share of it that is read often": 0.1,
    "bytes of a vector in Qdrant": 384 * 4 * 1.5,
    "kB of a page": 100,
    "kB of a poll": 5,
    "kB of an answer": 15,
    "ms of a tick": 60,
    "log bytes of a tick": 4_000,
    "database I/O of a job": 20,
    "jobs/s of a PostgreSQL core": 150,  # `jobs`: 252 by two workers on two busy cores that they shared with the server
    "cores of an ACU": 0.25,
    "GB of an ACU": 2,
    "model GB in S3": 0.15,
}
_POLLERS, _WAIT_S = 5, 20
"""Lambda keeps so many long polls on an empty queue (Lambda Developer Guide, "Polling and batching behavior")."""
_DEPTHS_A_MINUTE = 20
"""Questions for a queue's depth: all sixteen by the sweep, four by the ticks that fill one."""
_TRACED_A_SECOND, _TRACED_SHARE = 1, 0.05
"""X-Ray's default sampling rule."""
_SERVERLESS_ACU_LEAST, _PROXY_ACU_LEAST = 0.5, 8.0
_QDRANT_LEAST_VCPU, _QDRANT_LEAST_GB = 0.5, 1.0
_SQS_IN_FLIGHT = 120_000
_SES_MAILS_A_SECOND = 14
"""An account's first quota outside the sandbox."""
_ACU_MOST = 256
_FARGATE_MOST_GB = 120
_PERIODS = {"minute": 1, "hour": 60, "day": 1_440}
FUNCTION_OF = {
    JobType.FETCH_SOURCE: "fetch",
    JobType.INGEST_CONTENT: "ingest",
    JobType.ANALYZE_CONTENT: "analyze",
    JobType.SCORE_USER: "analyze",
    JobType.JOIN_STORIES: "cluster",
    JobType.CLUSTER_USER: "cluster",
    JobType.RUN_BRIEFING: "brief",
    JobType.DELIVER_BRIEFING: "brief",
    "api": "api",
    "search": "search",
    "authorize": "authorize",
    "schedule": "schedule",
}
"""Which function does what is counted: jobs, requests, ticks."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What one job, request or tick takes: seconds of a function, and US dollars without the request."""

    seconds: float
    usd: float


@dataclass(frozen=True, slots=True)
class Load:
    """What users bring in a month."""

    users: int
    sources: float
    contents: float
    """That are held by then, once for all who have them."""

    @classmethod
    def of(cls, users: int, contents: float | None = None) -> "Load":
        """Return the load of so many users, with so many contents or what comes in the months that are kept."""
        power = ASSUMED["power by which different sources grow with users"]
        sources = ASSUMED["sources that a user follows"] * users**power
        kept = sources * ASSUMED["articles of a source a day"] * DAYS * ASSUMED["months that are kept"]
        return cls(users, sources, kept if contents is None else contents)

    @property
    def articles(self) -> float:
        """Articles that come."""
        return self.sources * ASSUMED["articles of a source a day"] * DAYS

    @property
    def work(self) -> dict[str, float]:
        """How often what is done, but for the clock's ticks."""
        daily = {
            "api": ASSUMED["requests of a user a day"] - ASSUMED["searches among them"],
            "search": ASSUMED["searches among them"],
            "authorize": ASSUMED["requests of a user a day"],
            JobType.SCORE_USER: ASSUMED["times a day that a user's new items are scored and joined"],
            JobType.JOIN_STORIES: ASSUMED["times a day that a user's new items are scored and joined"],
            JobType.CLUSTER_USER: 1,
            JobType.RUN_BRIEFING: ASSUMED["mails to a user a day"],
            JobType.DELIVER_BRIEFING: ASSUMED["mails to a user a day"],
        }
        return {
            JobType.FETCH_SOURCE: self.sources * ASSUMED["polls of a source a day"] * DAYS,
            JobType.INGEST_CONTENT: self.articles,
            JobType.ANALYZE_CONTENT: self.articles,
            **{kind: self.users * times * DAYS for kind, times in daily.items()},
        }

    @property
    def jobs(self) -> float:
        """Jobs, each a message."""
        return sum(times for kind, times in self.work.items() if kind in QUEUE_OF)

    @property
    def jobs_per_s(self) -> float:
        """Jobs a second in the busiest hour."""
        return self.jobs / (DAYS * 86_400) * ASSUMED["busiest hour to the average"]

    @property
    def database_gb(self) -> float:
        """Size of the database: contents once, and an item for each user who has one."""
        months = self.contents / self.articles if self.articles else 0.0
        brought = ASSUMED["sources that a user follows"] * ASSUMED["articles of a source a day"] * DAYS
        items = self.users * brought * months
        kb = self.contents * ASSUMED["kB of an article in PostgreSQL"]
        return (kb + items * ASSUMED["kB of a user's item, with its place in a story"]) / 1e6

    @property
    def vectors_gb(self) -> float:
        """Memory that Qdrant needs."""
        return _QDRANT_LEAST_GB + self.contents * ASSUMED["bytes of a vector in Qdrant"] / 1e9

    @property
    def acu(self) -> float:
        """Aurora's capacity, by its processors or by its memory."""
        by_cores = self.jobs_per_s / ASSUMED["jobs/s of a PostgreSQL core"] / ASSUMED["cores of an ACU"]
        by_memory = self.database_gb * ASSUMED["share of it that is read often"] / ASSUMED["GB of an ACU"]
        return max(_SERVERLESS_ACU_LEAST, by_cores, by_memory)


def ticks(template: Template) -> float:
    """Return how often the clock's schedules run in a month, those that are on by default."""
    found = 0.0
    for schedule in template.schedules():
        rate = re.fullmatch(r"rate\((\d+) (\w+?)s?\)", schedule.expression)
        found += MINUTES / (int(rate[1]) * _PERIODS[rate[2]]) if rate else DAYS
    return found


def month(
    load: Load, template: Template, alarms: int, units: Mapping[str, Unit], prices: Mapping[str, Any]
) -> dict[str, float]:
    """Return US dollars of a month by resource: with no user, of an idle deployment. ``units`` by kind of work."""
    clock = ticks(template)
    work = {**load.work, "schedule": clock}
    requests, mails, polls = (load.work[kind] for kind in ("authorize", JobType.DELIVER_BRIEFING, JobType.FETCH_SOURCE))
    invocations = sum(work.values())
    traces = min(invocations, HOURS * 3600 * _TRACED_A_SECOND + _TRACED_SHARE * invocations)
    sqs = len(template.queue_sources()) * _POLLERS * HOURS * 3600 / _WAIT_S + _DEPTHS_A_MINUTE * MINUTES + 3 * load.jobs
    # by queue, tick and stage while nothing happens (docs/operating.md); by job type and outcome where something does
    metrics = 5 * len(Queue) + len(Tick) + 5 + (6 * len(JobType) if load.users else 0)
    log_bytes = clock * ASSUMED["log bytes of a tick"] + load.jobs * 1_500 + requests * 800
    fetched_gb = (load.articles * ASSUMED["kB of a page"] + polls * ASSUMED["kB of a poll"]) / 1e6
    vcpu = max(_QDRANT_LEAST_VCPU, load.vectors_gb / 8)
    return {
        "Lambda": sum(times * units[name].usd for name, times in work.items())
        + invocations * prices["lambda_million_requests"] / 1e6,
        "SQS": sqs * prices["sqs_million_requests"] / 1e6 + load.jobs * prices["sqs_fair_million_requests"] / 1e6,
        "API Gateway": requests * prices["http_api_million_requests"] / 1e6,
        "CloudWatch metrics": metrics * prices["metric_month"],
        "CloudWatch alarms": alarms * prices["alarm_month"] + prices["dashboard_month"],
        "logs": log_bytes / 1e9 * prices["logs_gb"],
        "X-Ray": traces / 1e6 * prices["xray_million_traces"],
        "SES": mails / 1e3 * prices["ses_thousand_mails"],
        "S3, secret, traffic": ASSUMED["model GB in S3"] * prices["s3_gb_month"]
        + prices["secret_month"]
        + requests * ASSUMED["kB of an answer"] / 1e6 * prices["traffic_gb"],
        "Aurora": load.acu * HOURS * prices["aurora_acu_hour"]
        + load.database_gb * prices["aurora_gb_month"]
        + (load.jobs * ASSUMED["database I/O of a job"] + clock * 5) / 1e6 * prices["aurora_million_io"],
        "RDS Proxy": max(_PROXY_ACU_LEAST, load.acu) * HOURS * prices["proxy_acu_hour"],
        "Qdrant on Fargate": HOURS * (vcpu * prices["fargate_vcpu_hour"] + load.vectors_gb * prices["fargate_gb_hour"]),
        "NAT gateway": HOURS * prices["nat_hour"] + fetched_gb * prices["nat_gb"],
    }


def nobody() -> Load:
    """Return the load of an idle deployment."""
    return Load(0, 0.0, 0.0)


def limits(
    loads: Sequence[Load], template: Template, units: Mapping[str, Unit], *, requests_per_s: int
) -> list[dict[str, Any]]:
    """Return what each load needs in its busiest hour as a share of a limit: above 1 it waits, or breaks.

    ``requests_per_s``: what the HTTP API lets through.
    """
    polls_a_tick = ScheduleSettings.model_fields["due_sources_per_tick"].default
    mails_a_tick = ScheduleSettings.model_fields["due_briefings_per_tick"].default
    peak = ASSUMED["busiest hour to the average"]

    def busy(queue: Queue, at_once: int) -> Callable[[Load], float]:
        """Return how much of the functions that a queue may have at once a load keeps busy."""
        kinds = [kind for kind in FUNCTION_OF if kind in QUEUE_OF and _background(QUEUE_OF[JobType(kind)]) == queue]
        return lambda load: (
            sum(load.work[kind] * units[kind].seconds for kind in kinds) / (DAYS * 86_400) * peak / at_once
        )

    def mails_per_minute(load: Load) -> float:
        return load.work[JobType.RUN_BRIEFING] / DAYS * ASSUMED["share of mails in the busiest hour"] / 60

    def in_flight(_: Load) -> float:
        outstanding: int = JobSettings.model_fields["job_outstanding_max"].default
        return len(Queue) * outstanding / _SQS_IN_FLIGHT

    rows: dict[str, Callable[[Load], float]] = {
        f"polls a tick (DueSourcesPerTick {polls_a_tick})": lambda load: (
            load.work[JobType.FETCH_SOURCE] / MINUTES / polls_a_tick
        ),
        f"editions a tick (DueBriefingsPerTick {mails_a_tick})": lambda load: mails_per_minute(load) / mails_a_tick,
        **{
            f"{queue} queue ({at_once} functions)": busy(queue, at_once)
            for queue in (Queue.FETCH, Queue.CONTENT_BACKGROUND, Queue.ANALYSIS_BACKGROUND, Queue.CLUSTERING)
            for at_once in [_at_once(template, queue)]
        },
        f"API ({requests_per_s} requests/s)": lambda load: (
            load.work["authorize"] / (DAYS * 86_400) * peak / requests_per_s
        ),
        f"PostgreSQL (Aurora, {_ACU_MOST} ACU)": lambda load: load.acu / _ACU_MOST,
        f"Qdrant (one task, {_FARGATE_MOST_GB} GB)": lambda load: load.vectors_gb / _FARGATE_MOST_GB,
        f"SES ({_SES_MAILS_A_SECOND} mails/s)": lambda load: mails_per_minute(load) / 60 / _SES_MAILS_A_SECOND,
        f"SQS ({_SQS_IN_FLIGHT:,} in flight)": in_flight,
    }
    return [{"limit": name, **{f"{load.users:,}": _share(need(load)) for load in loads}} for name, need in rows.items()]


def _background(queue: Queue) -> Queue:
    """Return the queue of work that nobody waits for, as what feeds bring is."""
    return BACKGROUND_OF.get(queue, queue)


def _at_once(template: Template, queue: Queue) -> int:
    """Return how many functions the template lets work on a queue at once."""
    logical_id = "".join(word.title() for word in queue.split("-")) + "Queue"
    [concurrency] = [source.concurrency for source in template.queue_sources() if source.queue == logical_id]
    return concurrency or 1


def _share(value: float) -> float:
    return round(value, 3) if value < 10 else round(value)
