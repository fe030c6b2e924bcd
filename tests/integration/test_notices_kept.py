"""What a reading says of its page is still said once the analysis has been: the real walk, for every notice."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from siftline.analyze.analyze_service import AnalyzeContent, ReadingSetup
from siftline.analyze.article_reader import Reader
from siftline.analyze.text.language import LanguageDetector
from siftline.analyze.topics.anchors import AnchorCache
from siftline.analyze.topics.topic_list import labels_of
from siftline.api.items import items_store
from siftline.contracts import JobType
from siftline.ingest.page_child import PageReader
from siftline.jobs import jobs_store
from siftline.jobs.credits_store import grant
from siftline.jobs.job_model import NewJob
from siftline.jobs.sweep import resume_waiting
from siftline.kit.db import Database
from siftline.net.http import HttpClient
from siftline.net.http_model import HttpLimits
from tests.ingesting import Works, ingest_content
from tests.models import WordEmbedder
from tests.open_client import OpenClient
from tests.pdfs import document, stream
from tests.reading import forgetting
from tests.servers import Answer, LoopbackServer, serving

HTML = {"Content-Type": "text/html; charset=utf-8"}
TEXT = (
    "The harbour council met on Tuesday evening and agreed, after a long debate, to dredge the northern channel. " * 4
)
CONSENT = (
    "<p>We value your privacy. We and our 812 partners store and/or access information on a device, such as cookies,"
    " and process personal data.</p><p>With your consent we and our partners may use precise geolocation data. You may"
    " accept or reject our processing, including legitimate interest, or manage your preferences at any time.</p>"
)
NOT_FREE = (
    '<script type="application/ld+json">{"@context": "https://schema.org", "@type": "NewsArticle",'
    ' "isAccessibleForFree": false}</script>'
)
KNOWN = (
    '<script type="application/ld+json">{"@context": "https://schema.org", "@type": "NewsArticle",'
    f' "headline": "Dredging agreed", "description": "{TEXT.strip()}"}}</script>'
)
CHECK = "<title>Just a moment...</title><body><script>window._cf_chl_opt={cvId:'3'};</script><p>Verify.</p>"
PICTURES = document(
    [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R >>",
        stream(b""),
    ]
)


def html(body: str, head: str = "", status: int = 200) -> Answer:
    return Answer(f"<html><head>{head}</head><body>{body}</body></html>".encode(), status=status, headers=HTML)


PAGES = {
    "/paywalled": html(f"<article><h1>T</h1><p>{TEXT}</p></article>", NOT_FREE),
    "/teaser": html("<article><h1>T</h1><p>It met.</p></article>", NOT_FREE),
    "/consent_wall": html(f"<div class=consent>{CONSENT}<button>Accept all</button></div><div id=root></div>", KNOWN),
    "/pdf_without_text": Answer(PICTURES, headers={"Content-Type": "application/pdf"}),
    "/page_unavailable": Answer(b"", status=404),
    "/blocked_by_site": Answer(CHECK.encode(), status=403, headers=HTML),
    "/short": html("<article><h1>T</h1><p>A word.</p></article>"),
}


@pytest.fixture(scope="module")
def http() -> Iterator[HttpClient]:
    client = OpenClient(limits=HttpLimits(retries=0))
    yield client
    client.close()


@pytest.fixture
def site() -> Iterator[LoopbackServer]:
    with serving() as server:
        server.answers.update(PAGES)
        yield server


@pytest.fixture
def works(database: Database, http: HttpClient, page_reader: PageReader, tmp_path: Path) -> Works:
    embedder = WordEmbedder()
    labels = labels_of({"sport": "team, match, goal", "economy": "bank, inflation, money"})
    news = {"en": ["The team won a match.", "A bank fears inflation.", "It rained again."]}
    reader = Reader(embedder, AnchorCache(embedder, labels, news, lambda: [tmp_path]), LanguageDetector())
    setup = ReadingSetup.of(reader, forgetting())
    return Works(database, ingest_content(database, http, page_reader), AnalyzeContent(database, lambda: setup))


def notice(works: Works, content_id: UUID) -> tuple[str, str | None]:
    """Read the content and analyse it; return its status and its notice."""
    works.work(content_id)
    row = works.work(content_id, JobType.ANALYZE_CONTENT)
    return row["status"], row["notice_code"]


def ask(works: Works, content_id: UUID, job_type: JobType) -> None:
    (holder,) = works.rows("select user_id from items where content_id = %s", content_id)
    with works.database.transaction() as connection:
        jobs_store.enqueue(connection, [NewJob(job_type, content_id, f"user:{holder['user_id']}")])


@pytest.mark.parametrize("code", ["paywalled", "consent_wall", "pdf_without_text"])
def test_what_a_page_keeps_back_is_still_said_of_a_ready_item(works: Works, site: LoopbackServer, code: str) -> None:
    assert notice(works, works.saved(site.url(f"/{code}"))) == ("READY", code)


@pytest.mark.parametrize("code", ["page_unavailable", "blocked_by_site"])
def test_that_a_feed_stands_in_for_a_page_is_still_said_of_a_ready_item(
    works: Works, site: LoopbackServer, code: str
) -> None:
    content_id = works.saved(site.url(f"/{code}"), entry_html=f"<p>{TEXT}</p>")
    assert notice(works, content_id) == ("READY", code)


def test_why_a_text_is_short_goes_before_that_it_is(works: Works, site: LoopbackServer) -> None:
    assert notice(works, works.saved(site.url("/teaser"))) == ("READY", "paywalled")
    assert notice(works, works.saved(site.url("/short"))) == ("READY", "insufficient_content")


def test_what_a_page_keeps_back_is_still_said_once_its_credit_has_come(works: Works, site: LoopbackServer) -> None:
    content_id = works.saved(site.url("/paywalled"))
    (holder,) = works.rows("select user_id from items where content_id = %s", content_id)
    with works.database.transaction() as connection:
        grant(connection, holder["user_id"], 0)
    row = works.work(content_id)
    assert (row["status"], row["notice_code"], row["reading_notice_code"]) == ("NEW", "no_credit", "paywalled")
    item_id = works.rows("select id from items where content_id = %s", content_id)[0]["id"]
    with works.database.transaction() as connection:
        item = items_store.find_item(connection, holder["user_id"], item_id)
    assert item is not None
    assert item.notice is not None
    assert (item.notice.code, item.notice_code) == ("paywalled", "no_credit")
    with works.database.transaction() as connection:
        grant(connection, holder["user_id"], 1)
    assert resume_waiting(works.database, limit=10, max_attempts=4) == 1
    row = works.work(content_id, JobType.ANALYZE_CONTENT)
    assert (row["status"], row["notice_code"], row["reading_notice_code"]) == ("READY", "paywalled", None)


def test_an_analysis_clears_its_own_notice_and_no_other(works: Works, site: LoopbackServer) -> None:
    walled, short = works.saved(site.url("/paywalled")), works.saved(site.url("/short"))
    assert notice(works, walled) == ("READY", "paywalled")
    assert notice(works, short) == ("READY", "insufficient_content")

    ask(works, walled, JobType.ANALYZE_CONTENT)
    assert works.work(walled, JobType.ANALYZE_CONTENT)["notice_code"] == "paywalled"
    site.answers["/short"] = site.answers["/paywalled"] = html(f"<article><h1>T</h1><p>{TEXT * 2}</p></article>")
    for content_id in (walled, short):
        ask(works, content_id, JobType.INGEST_CONTENT)
        assert notice(works, content_id) == ("READY", None)


def test_a_short_page_that_is_read_again_unchanged_keeps_its_notice(works: Works, site: LoopbackServer) -> None:
    content_id = works.saved(site.url("/short"))
    notice(works, content_id)
    ask(works, content_id, JobType.INGEST_CONTENT)
    row = works.work(content_id)
    assert (row["status"], row["notice_code"]) == ("READY", "insufficient_content")


def test_the_same_text_elsewhere_takes_no_notice_of_another_page(works: Works, site: LoopbackServer) -> None:
    assert notice(works, works.saved(site.url("/paywalled")))[1] == "paywalled"
    site.answers["/free"] = html(f"<article><h1>T</h1><p>{TEXT}</p></article>")
    assert notice(works, works.saved(site.url("/free"))) == ("READY", None)
