"""Raw pages in S3 go with their contents: what was deleted from PostgreSQL is not kept in the archive."""

from collections.abc import Collection
from typing import TYPE_CHECKING
from uuid import UUID

from botocore.exceptions import BotoCoreError, ClientError

from siftline.kit.aws import s3_client
from siftline.kit.errors import TransientError
from siftline.settings.functions import ArchiveSettings

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_PATIENCE_S = 5.0


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
