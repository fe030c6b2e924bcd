"""Deletes accounts: asked for at once, done in batches of short transactions that any process may go on with.

``begin`` ends what the user can do: tokens, name, briefings. ``work`` then takes what is theirs, batch by batch, until
nothing is left: with what only they held, and without a trace in what they shared. It is a step of the tick
``background``, so that no message can be lost and no size of an account is too much; killed, the next tick goes on.
"""

from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from siftline.contracts import JobType
from siftline.jobs import deletions_store as store
from siftline.jobs import followers_store
from siftline.jobs import jobs_store as jobs
from siftline.kit.db import Connection, Database
from siftline.kit.log import logger

_log = logger("jobs")
_JOBS = 500
_SOURCES = 100
_SOURCES_DROPPED = 10  # each with its ledger of entries
_ITEMS = 200
_LINES = 2_000
_UNNAMED = 5_000
_READ_BY = (JobType.INGEST_CONTENT, JobType.TRANSCRIBE_CONTENT, JobType.ANALYZE_CONTENT)


def begin(connection: Connection, user_id: UUID) -> bool:
    """End what a user can do, from the commit on, and let the rest go; says whether there is such a user.

    Their live jobs are cancelled, their tokens are gone and so is their name, which somebody else may take.
    """
    # Jobs before their subjects, as workers take them.
    if subjects := store.with_jobs(connection, user_id, limit=_JOBS):
        jobs.cancel(connection, subjects)
    store.forget_mail(connection, user_id)
    return store.ask(connection, user_id)


def work(database: Database) -> int:
    """Take one batch of who is being deleted; returns how many rows it took.

    0: nobody is, or all that is left is in work by others for a moment yet.
    """
    with database.transaction() as connection:
        users = store.asked(connection)
    return next((taken for user_id in users if (taken := work_on(database, user_id))), 0)


def work_on(database: Database, user_id: UUID) -> int:
    """Take one batch of a user who is being deleted; 0: they are gone, or wait for what others have in work."""
    for step in _STEPS:
        with database.transaction() as connection:
            if taken := step(connection, user_id):
                return taken
    with database.transaction() as connection:
        store.forget_mail(connection, user_id)
    with database.transaction() as connection:
        if store.is_named(connection, user_id):
            return 0  # somebody else's page is being read in their turn: once that is done
        if not store.drop_user(connection, user_id):
            return 1  # something came in meanwhile
    _log.info("user_deleted")
    return 0


def _jobs(connection: Connection, user_id: UUID) -> int:
    subjects = store.with_jobs(connection, user_id, limit=_JOBS)
    if not subjects:
        return 0
    jobs.cancel(connection, subjects)
    return store.forget_jobs(connection, subjects)


def _unfollow(connection: Connection, user_id: UUID) -> int:
    followed = store.followed(connection, user_id, limit=_SOURCES)
    if not followed:
        return 0
    if lone := jobs.take(
        connection, lambda: followed, lambda: store.unfollow(connection, user_id, followed), JobType.FETCH_SOURCE
    ):
        jobs.cancel(connection, lone)
    followers_store.settle_refresh(connection, followed)
    return len(followed)


def _items(connection: Connection, user_id: UUID) -> int:
    held = store.held(connection, user_id, limit=_ITEMS)
    if not held:
        return 0
    jobs.hold(connection, held, *_READ_BY)
    if gone := store.let_go(connection, user_id, held):
        jobs.cancel(connection, gone)
        store.forget_jobs(connection, gone)
    return len(held)


def _sources(connection: Connection, user_id: UUID) -> int:
    noted = store.noted_sources(connection, user_id, limit=_SOURCES_DROPPED)
    if not noted:
        return 0
    if gone := jobs.take(
        connection, lambda: noted, lambda: store.drop_sources(connection, user_id, noted), JobType.FETCH_SOURCE
    ):
        jobs.cancel(connection, gone)
        store.forget_jobs(connection, gone)
    return len(noted)


_STEPS: Sequence[Callable[[Connection, UUID], int]] = (
    _jobs,
    _unfollow,
    store.forget_own,
    _items,
    _sources,
    partial(store.unname_money, limit=_LINES),
    partial(store.unname_jobs, limit=_UNNAMED),
)
"""Each takes one batch and returns how many rows that was; in the order of locks."""
