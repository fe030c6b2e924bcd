"""Keeps vectors and archived pages as PostgreSQL says: content gone, models replaced, older texts.

The index is told of a deletion within a minute or two (``remove_deleted``), and so is the archive of raw pages in S3.
What comes into the index later all the same, from a worker that was at it, goes with the daily ``remove_ghosts``. An
index that was lost is written again from PostgreSQL within minutes (``restore_lost``).
"""

import math
import time
from collections.abc import Collection
from contextlib import closing
from typing import TYPE_CHECKING
from uuid import UUID

from botocore.exceptions import BotoCoreError, ClientError

from siftline.jobs.set_aside import checked, tell
from siftline.kit.aws import s3_client, secret
from siftline.kit.db import Database
from siftline.kit.errors import TransientError
from siftline.kit.log import logger
from siftline.models import embedding_store, vectors_store
from siftline.net.probe import count_points
from siftline.schedule import schedule_store
from siftline.settings.functions import ArchiveSettings, VectorSettings

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

    from siftline.models.vectors import VectorIndex

_PATIENCE_S = 5.0
PAGE = 1_000
_LOST_RATIO = 0.25
"""Of the vectors that PostgreSQL keeps: fewer points than this are no matter of a few that are under way."""
_RESTORE_S = 25.0
"""Of the time that a tick has."""
_ARCHIVED = 100  # each is asked for by itself
_log = logger("rank")  # the name under which operators know it


class ArchiveUnavailableError(TransientError):
    """The archive did not list or delete pages."""

    code = "archive_unavailable"


class ArchivedPages:
    """The pages in a bucket, each under its content's id."""

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def remove(self, content_ids: Collection[UUID]) -> None:
        """Delete all pages of these contents. Raises ``ArchiveUnavailableError``."""
        try:
            for content_id in content_ids:
                listed = self._client.list_objects_v2(Bucket=self._bucket, Prefix=f"pages/{content_id}/")
                for one in listed.get("Contents", []):
                    self._client.delete_object(Bucket=self._bucket, Key=one["Key"])
        except (BotoCoreError, ClientError) as error:
            raise ArchiveUnavailableError("The archive of raw pages returned an error.") from error


def archived_pages(settings: ArchiveSettings) -> ArchivedPages | None:
    """Return the archive that the settings name, if they do."""
    bucket = settings.page_archive_bucket
    return ArchivedPages(s3_client(_PATIENCE_S), bucket) if bucket else None


def remove_deleted(settings: VectorSettings, database: Database, archive: ArchivedPages | None = None) -> int:
    """Remove points and archived pages of contents that were deleted lately; returns how many contents.

    Where Qdrant or the archive is away they wait: they are removed again then, which does no harm. Raises
    ``VectorsUnavailableError``, ``ConfigurationError``, ``DatabaseUnavailableError``, and what the archive raises.
    """
    with database.transaction() as connection:
        ids = vectors_store.to_remove(connection, limit=_ARCHIVED if archive else PAGE)
    if not ids:
        return 0
    from siftline.models.vectors import open_collections  # noqa: PLC0415 - as below

    key = secret(settings.qdrant_api_key.get_secret_value())
    for index in open_collections(settings.qdrant_url, api_key=key):
        index.delete(ids)
    if archive is not None:
        archive.remove(ids)
    with database.transaction() as connection:
        vectors_store.removed(connection, ids)
    return len(ids)


def remove_ghosts(settings: VectorSettings, database: Database) -> int:
    """Remove every point without a content, and what is left of models that another has replaced; returns how many.

    Points that are of an older text than their vector in PostgreSQL are written again from there. Raises
    ``VectorsUnavailableError``, ``ConfigurationError`` or ``DatabaseUnavailableError``.
    """
    # A second or two and 100 MB, which only this one of schedule's ticks needs.
    from siftline.models.vectors import open_collections  # noqa: PLC0415 - for that reason

    key = secret(settings.qdrant_api_key.get_secret_value())
    drop_outdated(settings, database)
    removed = drop_orphans(settings, database)
    for index in open_collections(settings.qdrant_url, api_key=key):
        removed += remove_from(index, database)
    refresh_active(settings, database)
    return removed


def drop_outdated(settings: VectorSettings, database: Database) -> list[str]:
    """Delete vectors and collections of models that were replaced longer ago than the grace; returns their versions.

    First the collection, then the rows, and the version's own row last: what breaks off is done by the next one.
    """
    from siftline.models.vectors import VectorIndex  # noqa: PLC0415 - as above

    key = secret(settings.qdrant_api_key.get_secret_value())
    with database.transaction() as connection:
        versions = embedding_store.outdated(connection, settings.embedding_keep_old_s)
    for version in versions:
        with closing(VectorIndex(settings.qdrant_url, model_version=version, dimensions=1, api_key=key)) as index:
            index.drop()
        while True:
            with database.transaction() as connection:
                if embedding_store.delete_vectors(connection, version, limit=PAGE) == 0:
                    embedding_store.delete_version(connection, version)
                    break
        _log.info("old_vectors_dropped", model_version=version)
    return versions


def drop_orphans(settings: VectorSettings, database: Database) -> int:
    """Drop collections of contents that are no known version's; returns how many points they had.

    A version's row stands before its collection is made. Nothing is dropped while no version is active.
    """
    from siftline.models.vectors import open_collections  # noqa: PLC0415 - as above

    key = secret(settings.qdrant_api_key.get_secret_value())
    found = open_collections(settings.qdrant_url, api_key=key)
    with database.transaction() as connection:
        if embedding_store.active(connection) is None:
            return 0
        known = {vectors_store.collection_name(version) for version in embedding_store.known(connection)}
    dropped = 0
    for index in found:
        if index.collection not in known:
            dropped += index.count()
            index.drop()
            _log.warning("orphan_collection_dropped", collection=index.collection)
    return dropped


def refresh_active(settings: VectorSettings, database: Database, *, budget_s: float = math.inf) -> int:
    """Write points again that are missing, or of an older text than their vector in PostgreSQL; returns how many.

    Points are written before vectors are, so that this finds something only where Qdrant lost points, or was put back
    to an earlier state. It ends after ``budget_s`` seconds, wherever it is then.
    """
    from siftline.models.vectors import Point, VectorIndex  # noqa: PLC0415 - as above

    until = time.monotonic() + budget_s
    with database.transaction() as connection:
        active = embedding_store.active(connection)
    if active is None:
        return 0
    key = secret(settings.qdrant_api_key.get_secret_value())
    index = VectorIndex(
        settings.qdrant_url, model_version=active.model_version, dimensions=active.dimensions, api_key=key
    )
    written, after = 0, UUID(int=0)
    with closing(index):
        while time.monotonic() < until:
            with database.transaction() as connection:
                kept = vectors_store.page(connection, active.model_version, after=after, limit=PAGE)
            if not kept:
                break
            present = index.versions([one.id for one in kept])
            old = [one for one in kept if (present.get(one.id) or 0) < one.version]
            good, aside = checked(old, vectors_store.Kept.point, row_id=lambda one: one.id, kind="content")
            if good:
                index.upsert([Point(*one.point()) for one in good])
            if old:
                with database.transaction() as connection:
                    tell(connection, "reindex", aside, [one.id for one in good])
            written, after = written + len(good), kept[-1].id
    return written


def restore_lost(settings: VectorSettings, database: Database) -> int:
    """Write the points again that a Qdrant lost, which came up empty or nearly so; returns how many.

    Asked every minute, it goes on where it has to: what is there again is passed over. Until all is there, searches
    find older texts by words. Raises ``NoAnswerError``, and what ``refresh_active`` raises.
    """
    with database.transaction() as connection:
        active, about = embedding_store.active(connection), vectors_store.about(connection)
        if active is None or not vectors_store.page(connection, active.model_version, after=UUID(int=0), limit=1):
            return 0
    key = secret(settings.qdrant_api_key.get_secret_value())
    points = count_points(settings.qdrant_url, vectors_store.collection_name(active.model_version), api_key=key)
    if points > about * _LOST_RATIO or (points > 0 and about == 0):
        return 0
    _log.warning("vectors_lost", points=points, kept_about=about)
    return refresh_active(settings, database, budget_s=_RESTORE_S)


def remove_from(points: "VectorIndex", database: Database, *, page: int = PAGE) -> int:
    """Remove the points without a content from one collection; returns how many.

    A content's row stands before its point is written and ids are never used again, so what is missing stays missing.
    """
    removed = 0
    after: UUID | None = None
    while True:
        ids, after = points.scroll(page, after)
        with database.transaction() as connection:
            gone = schedule_store.gone(connection, ids)
        points.delete(gone)
        removed += len(gone)
        if after is None:
            return removed
