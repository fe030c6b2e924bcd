"""What other versions made, the run that has it read again, and what that costs, in PostgreSQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from siftline.catalog.reading_profile_store import ReadingProfile
from siftline.kit.db import Connection
from siftline.kit.ids import new_id

KINDS = ("language", "topics", "summary", "tags", "entities")
"""What is read again; vectors of another model are another matter."""

# Of a version that makes nothing now, or of the one that was named; topics also where another set of topics was meant.
_OUTDATED = """
made.kind = any(%(kinds)s::text[]) and (%(kind)s::text is null or made.kind = %(kind)s)
  and (%(older_than)s::timestamptz is null or made.made_at < %(older_than)s)
  and case when %(model_version)s::text is not null then made.model_version = %(model_version)s
    else not exists (select from unnest(%(told_kinds)s::text[], %(told_versions)s::text[]) as told (kind, model_version)
        where told.kind = made.kind and told.model_version = made.model_version)
      or (made.kind = 'topics' and made.details ? 'labels' and made.details ->> 'labels' <> all(%(digests)s::text[]))
    end
"""
_READABLE = "contents.id = made.content_id and contents.status = 'READY' and contents.text is not null"
_COUNTS = f"""
select made.kind, made.model_version, count(*)::int as contents
from derivations as made join contents on {_READABLE}
where {_OUTDATED} group by made.kind, made.model_version order by made.kind, made.model_version
"""  # noqa: S608  -- constants of ours
_CONTENTS = f"""
select count(distinct made.content_id)::int from derivations as made join contents on {_READABLE} where {_OUTDATED}
"""  # noqa: S608  -- constants of ours
_MEASURED = """
select
  (select avg(duration_ms)::float8 from (
    select events.duration_ms from job_events as events join jobs on jobs.id = events.job_id
    where jobs.job_type = 'analyze_content' and events.event = 'completed' and events.duration_ms is not null
    order by events.id desc limit 500) as newest) as ms,
  (select avg((details ? 'llm')::int)::float8 from (
    select details from derivations where kind = 'topics' limit 1000) as lately) as asked,
  calls.tokens_in, calls.tokens_out
from (
  select sum(tokens_in)::float8 / nullif(count(distinct job_id), 0) as tokens_in,
    sum(tokens_out)::float8 / nullif(count(distinct job_id), 0) as tokens_out
  from (select job_id, tokens_in, tokens_out from spendings
    where kind = 'llm' and state = 'settled' and tokens_in is not null order by made_at desc limit 1000) as newest
) as calls
"""
_START = """
insert into reprocess_runs (id, kind, model_version, older_than, at_most, planned)
values (%(id)s, %(kind)s, %(model_version)s, %(older_than)s, %(at_most)s, %(planned)s)
on conflict do nothing
returning id
"""
_RUN = """
select id, kind, model_version, older_than, at_most, state, planned, waits_for, started_at, finished_at,
  (select count(*)::int from reprocess_contents where run_id = runs.id) as enqueued,
  (select count(*)::int from reprocess_contents as sent join jobs on jobs.id = sent.job_id
    where sent.run_id = runs.id and jobs.state in ('pending', 'processing')) as live,
  (select count(*)::int from reprocess_contents as sent join jobs on jobs.id = sent.job_id
    where sent.run_id = runs.id and jobs.state in ('failed', 'cancelled')) as failed
from reprocess_runs as runs order by state = 'running' desc, started_at desc limit 1
"""
# Two ticks at once do not both send a slice.
_HOLD = "select id from reprocess_runs where state = 'running' for update skip locked"
_WAITS = (
    "update reprocess_runs set waits_for = %(waits_for)s where id = %(id)s and waits_for is distinct from %(waits_for)s"
)
_END = """
update reprocess_runs set state = %(state)s, finished_at = now(), waits_for = null where state = 'running' returning id
"""
_NEXT = f"""
select contents.id, contents.version
from derivations as made join contents on {_READABLE}
where {_OUTDATED} and made.made_at < %(started_at)s
  and not exists (select from reprocess_contents as sent
    where sent.run_id = %(run_id)s and sent.content_id = contents.id)
  and not exists (select from jobs where jobs.subject_id = contents.id and jobs.state in ('pending', 'processing'))
limit %(rows)s for no key update of contents skip locked
"""  # noqa: S608  -- constants of ours
_SENT = """
insert into reprocess_contents (run_id, content_id, job_id)
select %(run_id)s, subject_id, id from jobs where id = any(%(job_ids)b::uuid[])
order by subject_id on conflict do nothing
"""
_SPENT = """
select coalesce(sum(spendings.micro_usd), 0)::int8 from spendings
where spendings.kind = 'llm' and spendings.day = %(day)s and spendings.state <> 'released'
  and exists (select from reprocess_contents as sent where sent.job_id = spendings.job_id)
"""
_SPENT_BY_ALL = """
select coalesce(sum(micro_usd), 0)::int8 from spending_days where kind = 'llm' and day = %(day)s and user_id is null
"""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be read again: of this kind, by this version, older than this; ``None``: whatever is outdated."""

    kind: str | None = None
    model_version: str | None = None
    older_than: datetime | None = None
    at_most: int | None = None


@dataclass(frozen=True, slots=True)
class Outdated:
    """How many contents have a value of a kind that a version made."""

    kind: str
    model_version: str
    contents: int


@dataclass(frozen=True, slots=True)
class Measured:
    """What reading a text took and cost lately; ``None`` where nothing is known."""

    ms: float | None
    asked: float | None
    """The share of texts that the language model was asked about."""
    tokens_in: float | None
    tokens_out: float | None


@dataclass(frozen=True, slots=True)
class Run:
    """A run, and how far it has come, in contents."""

    id: UUID
    kind: str | None
    model_version: str | None
    older_than: datetime | None
    at_most: int | None
    state: str
    planned: int
    waits_for: str | None
    started_at: datetime
    finished_at: datetime | None
    enqueued: int
    live: int
    failed: int

    @property
    def order(self) -> Order:
        """What it reads again."""
        return Order(self.kind, self.model_version, self.older_than, self.at_most)


def outdated(connection: Connection, profile: ReadingProfile, order: Order) -> list[Outdated]:
    """Return what would be read again, by kind and version."""
    with connection.cursor(row_factory=class_row(Outdated)) as cursor:
        return cursor.execute(_COUNTS, _values(profile, order)).fetchall()


def contents(connection: Connection, profile: ReadingProfile, order: Order) -> int:
    """Return how many contents would be read again."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        found = int(cursor.execute(_CONTENTS, _values(profile, order)).fetchone() or 0)
    return found if order.at_most is None else min(found, order.at_most)


def measured(connection: Connection) -> Measured:
    """Return what reading took and cost lately."""
    with connection.cursor(row_factory=class_row(Measured)) as cursor:
        [row] = cursor.execute(_MEASURED).fetchall()
    return row


def start(connection: Connection, order: Order, planned: int) -> bool:
    """Begin a run; returns whether none was going."""
    values = {
        "id": new_id(),
        "kind": order.kind,
        "model_version": order.model_version,
        "older_than": order.older_than,
        "at_most": order.at_most,
        "planned": planned,
    }
    return connection.execute(_START, values).fetchone() is not None


def run(connection: Connection) -> Run | None:
    """Return the run that is going, or else the last one."""
    with connection.cursor(row_factory=class_row(Run)) as cursor:
        return cursor.execute(_RUN).fetchone()


def hold(connection: Connection) -> bool:
    """Hold the run that is going until the transaction ends; false where there is none, or another holds it."""
    return connection.execute(_HOLD).fetchone() is not None


def waits(connection: Connection, run_id: UUID, waits_for: str | None) -> None:
    """Say what a run waits for."""
    connection.execute(_WAITS, {"id": run_id, "waits_for": waits_for})


def end(connection: Connection, state: str) -> bool:
    """End the run that is going; returns whether there was one."""
    return connection.execute(_END, {"state": state}).fetchone() is not None


def following(connection: Connection, profile: ReadingProfile, going: Run, limit: int) -> dict[UUID, int]:
    """Return the next contents of a run with their versions, at most ``limit``, held until the transaction ends.

    Each is sent once a run; who is on their way already, and who was read since it began, is left alone.
    """
    values = {
        **_values(profile, going.order),
        "run_id": going.id,
        "started_at": going.started_at,
        "rows": limit * len(KINDS),
    }
    found = dict(connection.execute(_NEXT, values).fetchall())
    return dict(list(found.items())[:limit])


def sent(connection: Connection, run_id: UUID, job_ids: Sequence[UUID]) -> None:
    """Note that a run made these jobs."""
    connection.execute(_SENT, {"run_id": run_id, "job_ids": list(job_ids)})


def spent_micro_usd(connection: Connection, day: date) -> tuple[int, int]:
    """Return what the language model cost on a day: for what was read again, and for all."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        own = int(cursor.execute(_SPENT, {"day": day}).fetchone() or 0)
        return own, int(cursor.execute(_SPENT_BY_ALL, {"day": day}).fetchone() or 0)


def _values(profile: ReadingProfile, order: Order) -> Mapping[str, Any]:
    told = [(kind, version) for kind, versions in profile.versions.items() for version in versions]
    return {
        "kinds": list(KINDS),
        "kind": order.kind,
        "model_version": order.model_version,
        "older_than": order.older_than,
        "told_kinds": [kind for kind, _ in told],
        "told_versions": [version for _, version in told],
        "digests": list(profile.label_digests),
    }
