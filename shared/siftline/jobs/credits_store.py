"""Credits: an analysis is reserved when its job is made, settled when it is done, given back when it ends otherwise.

One row of ``credit_entries`` a job, whoever pays; a user's balance is the sum of their amounts, released ones left out.
The functions work in the caller's transaction, so that job, content and credit change together or not at all. A version
of a content is paid once: by the tenant its job was made for, where they hold it; else by who saved it, first come
first; else by who follows the source that brought it, longest first; else by any other holder. A job whose payload
says ``free_version`` costs nobody, as long as the text is of that version. Rereading what was
analysed before is nobody's cost but of who asked: that user, or, for a feed, who follows it, longest first. What was
analysed elsewhere, in the very same words, is taken over from there and costs nobody. Users whose ``credits`` is null
are not metered: their amounts are 0. What nobody holds (a message sent by hand) costs nobody.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from psycopg.rows import class_row

from siftline.jobs.states import PENDING, ordered
from siftline.kit.db import Connection
from siftline.kit.errors import PermanentError
from siftline.kit.ids import new_id

NO_CREDIT = "no_credit"
NO_CREDIT_DETAIL = (
    "Analysing this page costs one credit, and you have none left. It continues automatically when you have credit."
)


class UnknownUserError(PermanentError):
    """There is no such user."""

    code = "unknown_user"


class NotMeteredError(PermanentError):
    """Whoever is not metered has no credits that could be taken."""

    code = "not_metered"


@dataclass(frozen=True, slots=True)
class Payable:
    """A content that waited for credit, and the holder who can pay for it now."""

    content_id: UUID
    user_id: UUID
    saved: bool
    """Whether they saved it by hand."""


@dataclass(frozen=True, slots=True)
class _Charge:
    job_id: UUID
    content_id: UUID
    content_version: int
    kind: str
    user_id: UUID | None
    amount: int
    unpaid: bool


# Who may pay for a content of which ``asker.group_key`` asked for the reading, and whose turn it is.
_PAYERS = """
  select user_id, saved, credits from content_payers
  where content_id = contents.id and (contents.topics is null
    or case when asker.group_key like 'user:%%' then asker.group_key = 'user:' || user_id
      else follows_since is not null end)
  order by asker.group_key = 'user:' || user_id desc, case when contents.topics is not null then follows_since end,
    saved desc, since nulls last, item_id limit 1
"""

_CHARGES = f"""
select asker.id as job_id, contents.id as content_id, contents.version as content_version, asked.kind,
  case when free.reread then null when asked.kind = 'repeat' then paid.user_id else payer.user_id end as user_id,
  case when payer.credits is not null then -1 else 0 end as amount,
  asked.kind <> 'repeat' and payer.user_id is null
    and exists (select from items where items.content_id = contents.id) as unpaid
from jobs asker join contents on contents.id = asker.subject_id
left join lateral (
  select entries.id, entries.user_id from credit_entries entries
  where entries.content_id = contents.id and entries.content_version = contents.version
    and entries.state <> 'released' and entries.job_id <> asker.id
  order by entries.created_at limit 1) paid on true
cross join lateral (
  select coalesce(asker.payload ->> 'free_version' = contents.version::text, false) as reread) free
cross join lateral (
  select case when free.reread then 'repeat'
    when asker.id = any(%(asked)b::uuid[]) then case when paid.id is null then 'analysis' else 'reprocess' end
    when paid.id is not null or exists (select from analysed_twins where content_id = contents.id) then 'repeat'
    else 'analysis' end as kind) asked
left join lateral ({_PAYERS}) payer on asked.kind <> 'repeat'
where asker.id = any(%(ids)b::uuid[]) and asker.job_type = 'analyze_content' and asker.state = {PENDING}
  and not exists (
    select from credit_entries own where own.job_id = asker.id and own.state <> 'released'
      and not (own.kind = 'repeat' and own.content_version < contents.version))
order by payer.user_id, asker.id
"""  # noqa: S608  -- constants of ours

_DEBIT = "update users set credits = credits - 1 where id = %(user_id)s and credits >= 1"

# A job that was redriven reserves again in its own row.
_RESERVE = """
insert into credit_entries (id, user_id, kind, job_id, content_id, content_version, amount, state)
select id, user_id, kind, job_id, content_id, content_version, amount, 'reserved'
from unnest(%(ids)b::uuid[], %(user_ids)b::uuid[], %(kinds)b::text[], %(job_ids)b::uuid[], %(content_ids)b::uuid[],
            %(versions)b::int4[], %(amounts)b::int8[])
  as new (id, user_id, kind, job_id, content_id, content_version, amount)
order by job_id on conflict (job_id) do update set user_id = excluded.user_id, kind = excluded.kind,
  content_version = excluded.content_version, amount = excluded.amount, state = 'reserved', settled_at = null
"""

_HOLD_BACK = f"""
with unpaid as (
  select id from jobs where id = any(%(ids)b::uuid[]) and state = {PENDING}
  order by {ordered()} for no key update),
held as (
  update jobs set state = 'cancelled', finished_at = now(), again = false, waits_for = null, error_code = %(code)s,
    error_message = %(detail)s, updated_at = now()
  from unpaid where jobs.id = unpaid.id
  returning jobs.id, jobs.subject_id, jobs.attempts),
event as (
  insert into job_events (job_id, event, attempt, error_code, detail)
  select id, 'cancelled', attempts, %(code)s, %(detail)s from held),
unread as (
  select contents.id from contents join held on held.subject_id = contents.id
  order by contents.url_key for no key update of contents)
update contents set status = case when topics is null then 'NEW' else 'READY' end, notice_code = %(code)s,
  reading_notice_code = coalesce(nullif(notice_code, %(code)s), reading_notice_code),
  error_code = null, error_detail = null, updated_at = now()
from unread
where contents.id = unread.id
  and not exists (select from jobs live where live.subject_id = contents.id and live.id <> all(%(ids)b::uuid[])
    and live.state in ('pending', 'processing'))
"""  # noqa: S608  -- constants of ours

# The text may have changed between reservation and work; what was analysed is what stands there now.
_SETTLE = """
update credit_entries set state = 'settled', settled_at = now(),
  content_version = case when kind = 'repeat' then content_version
    else coalesce((select version from contents where contents.id = content_id), content_version) end
where job_id = %(job_id)s and state = 'reserved'
"""

_WAIVE = """
with mine as (
  select id, user_id, amount from credit_entries
  where job_id = %(job_id)s and kind = 'analysis' and state <> 'released' for update),
waived as (update credit_entries set kind = 'repeat', amount = 0 from mine where credit_entries.id = mine.id)
update users set credits = credits - mine.amount from mine where users.id = mine.user_id and mine.amount <> 0
"""

# Users are locked in order, so that two releases of many wait for each other instead of deadlocking.
_RELEASE = """
with reserved as (
  select id from credit_entries where job_id = any(%(job_ids)b::uuid[]) and state = 'reserved'
  order by job_id for no key update),
ended as (
  update credit_entries set state = 'released', settled_at = now()
  from reserved where credit_entries.id = reserved.id
  returning credit_entries.user_id, credit_entries.amount),
owed as (select user_id, -sum(amount) as credits from ended where amount <> 0 group by user_id),
locked as (
  select id from users where id in (select user_id from owed) order by id for no key update)
update users set credits = users.credits + owed.credits
from owed join locked on locked.id = owed.user_id where users.id = owed.user_id
"""

# Oldest first, and of each payer no more than their credit reaches. What is to be read again is whose who asked last.
_PAYABLE = f"""
select content_id, user_id, saved
from (
  select contents.id as content_id, contents.first_seen_at, payer.user_id, payer.saved, payer.credits,
    row_number() over (partition by payer.user_id order by contents.first_seen_at, contents.id) as place
  from contents left join lateral (
    select group_key from jobs
    where subject_id = contents.id and job_type = 'analyze_content' and state = 'cancelled'
      and error_code = '{NO_CREDIT}'
    order by finished_at desc, id desc limit 1) asker on true
  cross join lateral ({_PAYERS}) payer
  where contents.notice_code = 'no_credit' and contents.status in ('NEW', 'READY')) waiting
where credits is null or place <= credits
order by first_seen_at, content_id limit %(limit)s
"""  # noqa: S608  -- constants of ours

# Asked for as ``siftline.jobs.states`` does, and why.
_TAKE_WAITING = """
select from contents where id = %(id)s and status in ('NEW', 'READY') and notice_code = (select 'no_credit'::text)
for no key update skip locked
"""

_BALANCE = "select credits from users where id = %(user_id)s for no key update"
_LEDGER_SUM = """
select coalesce(sum(amount), 0)::int8 from credit_entries where user_id = %(user_id)s and state <> 'released'
"""
_SET_BALANCE = "update users set credits = %(credits)s where id = %(user_id)s"
_GRANT = """
insert into credit_entries (id, user_id, kind, amount, state, settled_at)
values (%(id)s, %(user_id)s, 'grant', %(amount)s, 'settled', now())
"""


def reserve(connection: Connection, job_ids: Sequence[UUID], *, asked: Sequence[UUID] = ()) -> None:
    """Reserve a credit for each of these jobs that analyses, waits, and has none reserved yet.

    ``asked`` are those that a person asked for although the version may be paid: they cost again. A job that nobody can
    pay for is cancelled, and its content has the notice ``no_credit`` until somebody can: it is ``NEW``, or, where an
    earlier text was analysed, ``READY`` with what was found then.
    """
    if not job_ids:
        return
    reserved: list[_Charge] = []
    unpaid: list[UUID] = []
    for charge in _charges(connection, job_ids, asked):
        paid = _debited(connection, charge, asked)
        if paid is not None:
            reserved.append(paid)
        else:
            unpaid.append(charge.job_id)
    if reserved:
        connection.execute(_RESERVE, _columns(reserved))
    if unpaid:
        release(connection, unpaid)
        connection.execute(_HOLD_BACK, {"ids": unpaid, "code": NO_CREDIT, "detail": NO_CREDIT_DETAIL})


def settle(connection: Connection, job_id: UUID) -> None:
    """Make a finished job's reservation final."""
    connection.execute(_SETTLE, {"job_id": job_id})


def waive(connection: Connection, job_id: UUID) -> None:
    """Give back what a job reserved or paid, for its work was done before and is only taken over."""
    connection.execute(_WAIVE, {"job_id": job_id})


def release(connection: Connection, job_ids: Sequence[UUID]) -> None:
    """Give back what these jobs reserved; each reservation is given back once."""
    if job_ids:
        connection.execute(_RELEASE, {"job_ids": list(job_ids)})


def payable(connection: Connection, *, limit: int) -> list[Payable]:
    """Return contents that waited for credit and that a holder can pay for now, oldest first.

    Where an earlier text was analysed, only who asked last for the reading pays: that user, or who follows the feed.
    """
    with connection.cursor(row_factory=class_row(Payable)) as cursor:
        return cursor.execute(_PAYABLE, {"limit": limit}).fetchall()


def take_waiting(connection: Connection, content_id: UUID) -> bool:
    """Lock a content that still waits for credit; false where it no longer does or another is at it."""
    return connection.execute(_TAKE_WAITING, {"id": content_id}).fetchone() is not None


def grant(connection: Connection, user_id: UUID, amount: int | None) -> int | None:
    """Add to a user's credits (a negative amount takes, down to 0), or stop metering them: ``None``.

    Giving to who is not metered begins to meter them, with that amount.
    Returns the new balance, ``None`` for not metered. The ledger's line is the difference to what the ledger said, so
    that it adds up to the balance whatever was reserved or released while the user was not metered. Raises
    ``UnknownUserError``, and ``NotMeteredError`` where there is nothing to take from.
    """
    row = connection.execute(_BALANCE, {"user_id": user_id}).fetchone()
    if row is None:
        raise UnknownUserError(f"There is no user {user_id}.")
    if row[0] is None and amount is not None and amount < 0:
        raise NotMeteredError("This user is unmetered and has no credits to take. Add credits to start metering.")
    balance = None if amount is None else max((row[0] or 0) + amount, 0)
    [(known,)] = connection.execute(_LEDGER_SUM, {"user_id": user_id}).fetchall()
    connection.execute(_SET_BALANCE, {"user_id": user_id, "credits": balance})
    connection.execute(_GRANT, {"id": new_id(), "user_id": user_id, "amount": (balance or 0) - known})
    return balance


def _charges(connection: Connection, job_ids: Sequence[UUID], asked: Sequence[UUID]) -> list[_Charge]:
    with connection.cursor(row_factory=class_row(_Charge)) as cursor:
        return cursor.execute(_CHARGES, {"ids": list(job_ids), "asked": list(asked)}).fetchall()


def _debited(connection: Connection, charge: _Charge, asked: Sequence[UUID]) -> _Charge | None:
    """Take the credit from who is to pay; where other work took their last one meanwhile, from who is next."""
    while charge.amount and not connection.execute(_DEBIT, {"user_id": charge.user_id}).rowcount:
        charge = next(iter(_charges(connection, [charge.job_id], asked)), replace(charge, amount=0, unpaid=True))
    return None if charge.unpaid else charge


def _columns(charges: Sequence[_Charge]) -> dict[str, object]:
    return {
        "ids": [new_id() for _ in charges],
        "user_ids": [charge.user_id for charge in charges],
        "kinds": [charge.kind for charge in charges],
        "job_ids": [charge.job_id for charge in charges],
        "content_ids": [charge.content_id for charge in charges],
        "versions": [charge.content_version for charge in charges],
        "amounts": [charge.amount for charge in charges],
    }
