"""Siftline under the killer: its own worker, job type, database and queue; the sweep from its own schedule."""

import json
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.killing.crew import Command
from benchmarks.killing.trial import SLOTS, WORKERS, Plan
from infra.local.aws import CREDENTIALS
from infra.local.machine import ROOT
from infra.local.queues import create_queues, sqs_client
from siftline.ingest.saving import save_url
from siftline.kit.db import SingleConnection
from siftline.kit.ids import new_id
from siftline.settings.functions import process_environment
from siftline.worker.cloudformation import Reference, load
from siftline.worker.template import Template

# Every time that a page's text is written counts, whatever was written before.
_COUNTED = r"""
create function count_effect() returns trigger language plpgsql as
  $$ begin insert into effects (page) values ((regexp_match(new.url, '/page/(\d+)$'))[1]::integer); return new; end $$;
create trigger effects after update of text on contents for each row execute function count_effect()
"""
_PAGES = "job_type = 'ingest_content'"  # what a user's scores and stories ask for besides comes when it comes
_FINISHED = f"select count(*) from jobs where {_PAGES} and state in ('completed', 'failed', 'cancelled')"  # noqa: S608 - made of constants only
_RETURNS = r"""
select (regexp_match(contents.url, '/page/(\d+)$'))[1]::integer, extract(epoch from job_events.at)::float8
from job_events join jobs on jobs.id = job_events.job_id join contents on contents.id = jobs.subject_id
where job_events.event in ('lease_expired', 'claimed')
"""
_AUDIT = {
    "jobs did not complete": f"select count(*) from jobs where {_PAGES} and state <> 'completed'",  # noqa: S608 - made of constants only
    "jobs hold a lease": "select count(*) from jobs where lease_token is not null",
    "jobs have not exactly one completion in their timeline": f"""
        select count(*) from jobs where {_PAGES} and 1 <> (
          select count(*) from job_events where job_events.job_id = jobs.id and job_events.event = 'completed')
        """,  # noqa: S608 - made of constants only
    "contents are not READY with their text": """
        select count(*) from contents where status <> 'READY' or text is null or version <> 1""",
    "contents have another status than their job": """
        select count(*) from contents join jobs on jobs.subject_id = contents.id
        where (contents.status = 'READY') <> (jobs.state = 'completed')""",
    "contents have not exactly one item": """
        select count(*) from contents
        where 1 <> (select count(*) from items where items.content_id = contents.id)""",
}


class Siftline:
    """A tool of the trial. ``aws_url`` is where SQS answers; each run makes queues of its own there."""

    name = "Siftline"
    pool = False

    def __init__(self, aws_url: str) -> None:
        self._aws_url = aws_url
        self._database_url = ""
        self._folder = Path()
        self._variables: Mapping[str, str] = {}
        self._urls: Mapping[str, str] = {}

    @contextmanager
    def open(self, plan: Plan, folder: Path, database_url: str) -> Iterator[None]:
        """Make the queues, and templates that hold only the functions that take part."""
        whole = Template.read(ROOT / "template.yaml", {"Stage": f"kills-{secrets.token_hex(4)}"})
        sqs = sqs_client(self._aws_url)
        self._urls = create_queues(sqs, whole.queues())
        sqs.close()
        self._database_url, self._folder = database_url, folder
        self._variables = self._environment(whole, plan)
        _write_template(folder / "workers.json", "IngestFunction")
        _write_template(folder / "sweep.json", "ScheduleFunction", only="Sweep", every_s=plan.sweep_s)
        yield

    def workers(self) -> Sequence[Command]:
        """Return real workers of the ingest function, without schedules."""
        return [
            self._command("workers.json", "--no-ticks", HTTP_CONTACT=f"worker-{number}") for number in range(WORKERS)
        ]

    def keepers(self) -> Sequence[Command]:
        """Return a real worker that has one schedule: the sweep."""
        return [self._command("sweep.json")]

    def enqueue(self, urls: Sequence[str]) -> None:
        """Save the pages for a user, as the API does; the sweep hands them out, as if the API had died before."""
        user_id = new_id()
        database = SingleConnection(self._database_url)
        with database.transaction() as connection:
            connection.execute(_COUNTED)
            connection.execute("insert into users (id, name) values (%s, %s::text)", [user_id, user_id])
            for url in urls:
                save_url(connection, user_id, url)
        database.close()

    def finished(self) -> int:
        """Return how many jobs ended, well or badly."""
        return self._count(_FINISHED)

    def returns(self) -> Sequence[tuple[int, float]]:
        """Return when jobs were handed out again, as their timelines say."""
        with psycopg.connect(self._database_url) as connection:
            return connection.execute(_RETURNS).fetchall()

    def faults(self) -> list[str]:
        """Return which invariants do not hold, with how many rows break them."""
        counts = {what: self._count(query) for what, query in _AUDIT.items()}
        return [f"{count} {what}" for what, count in counts.items() if count]

    def _count(self, query: str) -> int:
        with psycopg.connect(self._database_url) as connection:
            row = connection.execute(query).fetchone()
        assert row is not None
        return int(row[0])

    def _command(self, template: str, *options: str, **variables: str) -> Command:
        arguments = [sys.executable, "-m", "siftline.worker", "--template", str(self._folder / template), *options]
        return Command(arguments, {**process_environment(), **self._variables, **variables}, ROOT)

    def _environment(self, whole: Template, plan: Plan) -> dict[str, str]:
        queues = {
            variable: self._urls[reference.logical_id]
            for function in whole.functions.values()
            for variable, reference in function.references.items()
            if reference in {Reference(name) for name in self._urls}
        }
        return {
            **CREDENTIALS,
            **queues,
            "AWS_ENDPOINT_URL": self._aws_url,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "NO_PROXY": "127.0.0.1,localhost",
            "DATABASE_URL": self._database_url,
            "DATABASE_POOL_SIZE": str(SLOTS + 1),
            "QDRANT_URL": "http://127.0.0.1:9",  # a setting of the schedule function; the sweep never asks it
            "HTTP_ALLOW_LOOPBACK": "true",
            "SIFTLINE_ANALYSIS_ENABLED": "false",
            "WORKER_THREADS": json.dumps({"ingest": SLOTS}),
            "WORKER_POLL_S": "2",
            "JOB_LEASE_S": str(plan.lease_s),
            # A fifth of the lease, as in the defaults: it brings back what a killed worker held and had not begun.
            "JOB_QUIET_S": str(max(plan.lease_s // 5, 1)),
            "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}",
        }


def _write_template(file: Path, function: str, *, only: str = "", every_s: int = 0) -> None:
    """Write template.yaml with one function and all queues; with ``only``, that event alone, at this rate."""
    document: dict[str, Any] = load(ROOT / "template.yaml")
    kept = {
        name: body
        for name, body in document["Resources"].items()
        if name == function or body["Type"] == "AWS::SQS::Queue"
    }
    if only:
        event = kept[function]["Properties"]["Events"][only]
        event["Properties"] |= {"ScheduleExpression": f"rate({every_s} second{'s' if every_s > 1 else ''})"}
        kept[function]["Properties"]["Events"] = {only: event}
    file.write_text(json.dumps({**document, "Resources": kept}), encoding="utf-8")
