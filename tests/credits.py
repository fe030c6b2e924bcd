"""What must always be true of credits, asked of the database by SQL: for tests and fault runs."""

from siftline.kit.db import Connection

_RULES = {
    "a balance is not what its ledger adds up to": """
        select users.id::text || ': ' || users.credits || ' is not ' || ledger.total
        from users cross join lateral (
          select coalesce(sum(amount), 0) as total from credit_entries
          where user_id = users.id and state <> 'released') ledger
        where users.credits is not null and users.credits <> ledger.total""",
    "a balance is negative": "select id::text from users where credits < 0",
    "a job has more than one entry": """
        select job_id::text from credit_entries where job_id is not null group by job_id having count(*) > 1""",
    "a credit is reserved for no live job": """
        select entries.job_id::text from credit_entries entries where entries.state = 'reserved'
          and not exists (
            select from jobs where jobs.id = entries.job_id and jobs.state in ('pending', 'processing'))""",
    "a live analysis has nothing reserved": """
        select jobs.id::text from jobs join contents on contents.id = jobs.subject_id
        where jobs.job_type = 'analyze_content' and jobs.state in ('pending', 'processing')
          and not exists (select from credit_entries where job_id = jobs.id and state = 'reserved')""",
    "a finished analysis is not settled": """
        select jobs.id::text from jobs join contents on contents.id = jobs.subject_id
        where jobs.job_type = 'analyze_content' and jobs.state = 'completed' and not coalesce(result ? 'stale', false)
          and not exists (select from credit_entries where job_id = jobs.id and state = 'settled')""",
    "an analysis that did not come to an end is paid": """
        select jobs.id::text from jobs join credit_entries entries on entries.job_id = jobs.id
        where jobs.state in ('failed', 'cancelled') and entries.state <> 'released'""",
    "a version is paid twice": """
        select content_id || ' v' || content_version from credit_entries
        where kind = 'analysis' and state <> 'released' group by content_id, content_version having count(*) > 1""",
    "a content waits for credit and for a job": """
        select contents.id::text from contents join jobs on jobs.subject_id = contents.id
        where contents.notice_code = 'no_credit' and jobs.state in ('pending', 'processing')""",
    "a content waits for credit but is neither NEW nor READY with what an earlier text said": """
        select id::text || ' ' || status from contents
        where notice_code = 'no_credit' and status <> case when topics is null then 'NEW' else 'READY' end""",
}


def credit_violations(connection: Connection) -> list[str]:
    """Return a sentence for whatever breaks a rule of the credits; none where all is well."""
    return [f"{rule}: {found}" for rule, query in _RULES.items() for (found,) in connection.execute(query).fetchall()]
