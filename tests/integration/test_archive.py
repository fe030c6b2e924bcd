"""Raw pages in S3, as moto plays it to the real client."""

import gzip
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING
from uuid import UUID

import boto3
import pytest
from moto import mock_aws

from siftline.ingest.archive import PageArchive
from siftline.ingest.page_child import PageReader
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.net.http import HttpClient
from siftline.schedule.reconcile import ArchivedPages, ArchiveUnavailableError, remove_deleted
from siftline.settings.functions import VectorSettings
from tests.ingesting import Works, ingest_content
from tests.servers import Answer, LoopbackServer

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET = "pages-of-a-test"
TEXT = "港湾評議会は火曜日に開かれ、長い討論の末、北水路の浚渫に同意した。" * 5
HEAD = '<meta charset="Shift_JIS"><title>浚渫</title>'
PAGE = f"<html><head>{HEAD}</head><body><article><p>{TEXT}</p></article></body></html>"


@pytest.fixture
def s3() -> Iterator["S3Client"]:
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
        client.create_bucket(Bucket=BUCKET)
        yield client


def keys(s3: "S3Client", prefix: str) -> list[str]:
    return [one["Key"] for one in s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])]


def test_a_page_is_kept_in_utf_8_with_its_own_word_on_it_made_true(s3: "S3Client", page_reader: PageReader) -> None:
    """Case X04: the stale declaration of a legacy charset is replaced when the page is saved."""
    content_id, archive = new_id(), PageArchive(s3, BUCKET, page_reader)
    assert archive.keep(content_id, PAGE.encode("shift_jis"), "text/html")

    [key] = keys(s3, f"pages/{content_id}/")
    kept = s3.get_object(Bucket=BUCKET, Key=key)
    assert (kept["ContentType"], kept["ContentEncoding"]) == ("text/html; charset=utf-8", "gzip")
    assert gzip.decompress(kept["Body"].read()).decode() == PAGE.replace("Shift_JIS", "utf-8")


def test_a_page_read_twice_is_kept_once_and_a_changed_one_beside_it(s3: "S3Client", page_reader: PageReader) -> None:
    content_id, archive = new_id(), PageArchive(s3, BUCKET, page_reader)
    for body in (b"<p>One.", b"<p>One.", b"<p>Two."):
        assert archive.keep(content_id, body, "text/html")
    assert len(keys(s3, f"pages/{content_id}/")) == 2


def test_an_archive_that_fails_fails_no_page(
    s3: "S3Client",
    page_reader: PageReader,
    database: Database,
    once: HttpClient,
    site: LoopbackServer,
    capfd: pytest.CaptureFixture[str],
) -> None:
    site.answers["/page"] = Answer(PAGE.encode("shift_jis"), headers={"Content-Type": "text/html"})
    rows = {
        bucket: Works(
            database, ingest_content(database, once, page_reader, archive=PageArchive(s3, bucket, page_reader))
        )
        for bucket in ("no-such-bucket", BUCKET)
    }
    content_id = rows["no-such-bucket"].saved(site.url("/page"))
    row = rows["no-such-bucket"].work(content_id)
    assert (row["status"], row["error_code"]) == ("PENDING", None)
    assert '"PagesNotArchived":[1.0]' in capfd.readouterr().out
    assert keys(s3, f"pages/{content_id}/") == []

    site.answers["/other"] = site.answers["/page"]
    content_id = rows[BUCKET].saved(site.url("/other"))
    assert rows[BUCKET].work(content_id)["status"] == "PENDING"
    assert len(keys(s3, f"pages/{content_id}/")) == 1


def test_the_archived_pages_of_deleted_contents_go_and_the_others_stay(s3: "S3Client") -> None:
    gone, kept = new_id(), new_id()
    for content_id in (gone, kept):
        for name in ("a", "b"):
            s3.put_object(Bucket=BUCKET, Key=f"pages/{content_id}/{name}.html.gz", Body=b"")
    with pytest.raises(ArchiveUnavailableError):
        ArchivedPages(s3, "no-such-bucket").remove([gone])
    archive = ArchivedPages(s3, BUCKET)
    for _ in range(2):
        archive.remove([gone])
    assert keys(s3, f"pages/{gone}/") == []
    assert len(keys(s3, f"pages/{kept}/")) == 2


class _Away(ArchivedPages):
    """An archive that does not answer at first, then keeps a list of what it deleted."""

    def __init__(self) -> None:
        self.away = True
        self.removed: list[UUID] = []

    def remove(self, content_ids: Collection[UUID]) -> None:
        if self.away:
            raise ArchiveUnavailableError("It is away.")
        self.removed += content_ids


def test_a_deleted_content_waits_for_the_archive_as_it_does_for_qdrant(database: Database, qdrant: str) -> None:
    gone = new_id()
    with database.transaction() as connection:
        connection.execute("insert into unindexed (content_id) values (%s)", (gone,))
    settings, archive = VectorSettings(qdrant_url=qdrant), _Away()
    with pytest.raises(ArchiveUnavailableError):
        remove_deleted(settings, database, archive)
    archive.away = False
    assert remove_deleted(settings, database, archive) == 1
    assert archive.removed == [gone]
    assert remove_deleted(settings, database, archive) == 0
