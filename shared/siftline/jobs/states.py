"""States and kinds, as statements ask for them.

The states here are for jobs that are known by their ids: asked for in this way no partial index answers. Of what came
since the last ANALYZE the planner knows nothing: it would take an index over the jobs that wait for nearly empty, and
read all of them to find a few by their ids.
"""

from siftline.contracts import JobType, Queue

PENDING = "(select 'pending'::text)"
FAILED = "(select 'failed'::text)"
_TYPES = frozenset(one.value for one in JobType)
_ORDER = (
    JobType.RECORD_MAIL_EVENT,
    JobType.FETCH_SOURCE,
    JobType.INGEST_CONTENT,
    JobType.TRANSCRIBE_CONTENT,
    JobType.ANALYZE_CONTENT,
    JobType.CLUSTER_USER,
    JobType.JOIN_STORIES,
    JobType.LABEL_USER,
    JobType.NAME_CLUSTERS,
    JobType.SCORE_USER,
    JobType.RESOLVE_ENTITY,
    JobType.RUN_BRIEFING,
    JobType.DELIVER_BRIEFING,
    JobType.CONFIRM_ADDRESS,
)
"""In which jobs are taken: each type before those whose jobs its own make."""
_QUEUES = frozenset(one.value for one in Queue)


def known(table: str) -> str:
    """Return the condition that a row's job type and queue are ones that this code knows.

    Rows of others were written by a newer release, before somebody went back to this one. They are that release's:
    nothing here changes them, and no limit, share or cap counts them. Asked for in a way that no index answers: nearly
    all rows are known, and a list of types would have whole queues read in the order of their types.
    """
    return f"({table}.job_type || '' in ({_listed(_TYPES)}) and {table}.queue || '' in ({_listed(_QUEUES)}))"


def ordered(table: str = "jobs") -> str:
    """Return the order in which every transaction takes jobs, in one statement and from one to the next.

    A worker has its own job in hand when it makes those that follow from it: so they come after it for everybody else,
    too. Types that this code does not know come last.
    """
    order = ", ".join(f"'{one.value}'" for one in _ORDER)
    return f"array_position(array[{order}], {table}.job_type), {table}.job_type, {table}.subject_id"


def is_known(job_type: str, queue: str) -> bool:
    """Return whether a job is of a type and in a queue that this code knows."""
    return job_type in _TYPES and queue in _QUEUES


def _listed(names: frozenset[str]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names))
