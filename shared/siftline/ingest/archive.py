"""Raw pages kept in S3, where a bucket is set: what was read can be read again later, by better means.

The key is ``pages/<content id>/<SHA-256 of the bytes as fetched>.html.gz``, so that a page that changed is kept beside
what it was. An archive that does not take a page never fails its reading: that is logged and counted. Nothing here
deletes: the bucket's own lifecycle rule does, after as many days as whoever runs this wants (docs/settings.md).
"""

import hashlib
from typing import TYPE_CHECKING
from uuid import UUID

from botocore.exceptions import BotoCoreError, ClientError

from siftline.ingest.page_child import PageReader
from siftline.kit.errors import SiftlineError
from siftline.kit.log import logger
from siftline.kit.metrics import COUNT, emit

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_CONTENT_TYPE = "text/html; charset=utf-8"
_CONTENT_ENCODING = "gzip"
_log = logger("ingest")


class PageArchive:
    """Keeps pages in a bucket."""

    def __init__(self, client: "S3Client", bucket: str, reader: PageReader) -> None:
        self._client = client
        self._bucket = bucket
        self._reader = reader

    def keep(self, content_id: UUID, body: bytes, content_type: str) -> bool:
        """Put a page into the archive; returns whether it is there."""
        try:
            self._client.put_object(
                Bucket=self._bucket,
                Key=f"pages/{content_id}/{hashlib.sha256(body).hexdigest()}.html.gz",
                Body=self._reader.archived(body, content_type),
                ContentType=_CONTENT_TYPE,
                ContentEncoding=_CONTENT_ENCODING,
            )
        except (ClientError, BotoCoreError, SiftlineError) as error:
            code = error.error_code if isinstance(error, SiftlineError) else type(error).__name__
            _log.warning("page_not_archived", content_id=str(content_id), error_code=code)
            emit({"PagesNotArchived": (1, COUNT)}, {"error_code": code})
            return False
        return True
