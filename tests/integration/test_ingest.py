"""From an address to a stored text: a real PostgreSQL, a real loopback server, the real batch loop."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from psycopg.rows import dict_row

from siftline.contracts import JobType, Priority, Queue
from siftline.ingest.page_child import PageReader
from siftline.ingest.saving import SavedUrl, save_url, subject_of
from siftline.jobs import jobs_store as jobs
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.job_model import NewJob
from siftline.jobs.publish import Publisher
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.errors import PermanentError
from siftline.kit.ids import new_id
from siftline.net.http import HttpClient
from siftline.net.http_model import HttpLimits
from siftline.net.urls import canonical_url
from siftline.settings.functions import JobSettings
from tests.factories import FakeContext, make_content, make_user, sqs_event
from tests.fakes import FakeSender
from tests.ingesting import ingest_content
from tests.open_client import OpenClient
from tests.pdfs import endless
from tests.servers import Answer, LoopbackServer, serving

HTML = {"Content-Type": "text/html; charset=utf-8"}
SENTENCE = (
    "The harbour council met on Tuesday evening and agreed, after a long debate, to dredge the northern channel. "
)


def page(text: str = SENTENCE * 8, *, title: str = "Dredging agreed", head: str = "") -> Answer:
    body = f"<p>{text}</p>" if text else ""
    markup = f"<html lang=en><head><title>{title}</title>{head}</head><body><article>{body}</article></body></html>"
    return Answer(markup.encode(), headers=HTML)


class Bench:
    """The ingest function's consumer, its loopback site and its database at hand."""

    def __init__(
        self,
        database: Database,
        site: LoopbackServer,
        http: HttpClient,
        reader: PageReader,
        *,
        analysis: bool = True,
    ) -> None:
        self.database = database
        self.site = site
        self.sender = FakeSender()
        settings = JobSettings()
        work = ingest_content(database, http, reader, analysis=analysis)
        self.consumer = BatchConsumer(
            queues={
                "siftline-local-content-processing-queue": Queue.CONTENT_PROCESSING,
                "siftline-local-content-background-queue": Queue.CONTENT_BACKGROUND,
            },
            database=database,
            publisher=Publisher(database, self.sender, settings),
            sender=self.sender,
            processors=[work],
            subjects={JobType.INGEST_CONTENT: subject_of},
            settings=settings,
            clock=SystemClock(),
        )

    def save(self, path: str, *, user_id: UUID | None = None, **more: Any) -> SavedUrl:
        with self.database.transaction() as connection:
            user = user_id or make_user(connection)
            return save_url(connection, user, self.site.url(path), **more)

    def content(self, path: str, **columns: Any) -> UUID:
        """A content as a feed leaves it."""
        url = self.site.url(path)
        with self.database.transaction() as connection:
            content_id = make_content(connection, url=url, **{"url_key": canonical_url(url), **columns})
            job = NewJob(
                job_type=JobType.INGEST_CONTENT,
                subject_id=content_id,
                group_key="host:a",
                priority=Priority.UNDER_24_HOURS,
                queue=Queue.CONTENT_BACKGROUND,
            )
            jobs.enqueue(connection, [job])
        return content_id

    def again(self, content_id: UUID) -> dict[str, Any]:
        with self.database.transaction() as connection:
            holders = connection.execute("select user_id from items where content_id = %s", [content_id]).fetchall()
            tenant = f"user:{holders[0][0]}" if holders else "host:a"
            jobs.enqueue(connection, [NewJob(JobType.INGEST_CONTENT, content_id, tenant)])
        return self.work(content_id)

    def work(self, content_id: UUID) -> dict[str, Any]:
        """Work off the content's ingest job and return the row it left."""
        job_id = self.one("select id from jobs where subject_id = %s and state = 'pending'", content_id)["id"]
        assert self.knock({"job_type": "ingest_content", "job_id": job_id, "shared_content_id": content_id}) == []
        return self.row(content_id)

    def knock(self, *bodies: Any) -> list[str]:
        answer = self.consumer.handle(sqs_event("content-processing", *bodies), FakeContext())
        return [str(failure["itemIdentifier"]) for failure in answer["batchItemFailures"]]

    def row(self, content_id: UUID) -> dict[str, Any]:
        return self.one("select * from contents where id = %s", content_id)

    def one(self, query: str, *values: Any) -> dict[str, Any]:
        (row,) = self.all(query, *values)
        return row

    def all(self, query: str, *values: Any) -> list[dict[str, Any]]:
        with self.database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query, values).fetchall()

    def analyses(self, content_id: UUID) -> list[dict[str, Any]]:
        return self.all("select * from jobs where job_type = 'analyze_content' and subject_id = %s", content_id)

    def analysed(self, content_id: UUID) -> None:
        """Do what the analysis would."""
        with self.database.transaction() as connection:
            connection.execute(
                "update jobs set state = 'completed', finished_at = now() where subject_id = %s and state = 'pending'",
                (content_id,),
            )
            connection.execute("update contents set status = 'READY', topics = '[]' where id = %s", (content_id,))


@pytest.fixture(scope="module")
def http() -> Iterator[HttpClient]:
    client = OpenClient(limits=HttpLimits(retries=0))
    yield client
    client.close()


@pytest.fixture
def site() -> Iterator[LoopbackServer]:
    with serving() as server:
        yield server


@pytest.fixture
def bench(database: Database, site: LoopbackServer, http: HttpClient, page_reader: PageReader) -> Bench:
    return Bench(database, site, http, page_reader)


# --- A saved address


def test_a_saved_page_is_read_stored_and_handed_on_to_its_analysis(bench: Bench) -> None:
    head = '<meta property="og:site_name" content="Harbour News"><meta name="author" content="A. Writer">'
    head += '<meta property="article:published_time" content="2026-11-20T08:00:00+01:00">'
    bench.site.answers["/a"] = page(head=head)
    saved = bench.save("/a", tags=["port"], note="for later")
    assert (saved.status, saved.created) == ("PENDING", True)
    row = bench.work(saved.content_id)
    assert row["status"] == "PENDING"
    assert row["text"] == (SENTENCE * 8).strip()
    assert (row["title"], row["site_name"], row["author"]) == ("Dredging agreed", "Harbour News", "A. Writer")
    assert (row["http_status"], row["kind"], row["lang"], row["version"]) == (200, "article", "en", 1)
    assert row["published_at"] == row["sort_at"] == datetime(2026, 11, 20, 7, tzinfo=UTC)
    assert row["word_count"] == len(row["text"].split())
    (analysis,) = bench.analyses(saved.content_id)
    ingest = bench.one("select * from jobs where job_type = 'ingest_content'")
    assert ingest["state"] == "completed"
    assert (ingest["priority"], ingest["queue"]) == (Priority.SAVED, "content-processing")
    assert (analysis["priority"], analysis["queue"], analysis["state"]) == (Priority.SAVED, "analysis", "pending")
    assert analysis["group_key"] == ingest["group_key"]
    assert analysis["group_key"].startswith("user:")
    assert len(bench.sender.sent[Queue.ANALYSIS]) == 1


def test_the_same_page_in_another_spelling_is_the_same_item(bench: Bench) -> None:
    with bench.database.transaction() as connection:
        user = make_user(connection)
    first = bench.save("/a?id=7", user_id=user, tags=["one"], note="first")
    second = bench.save("/a/?utm_source=mail&id=7#top", user_id=user, tags=["two", "one"])
    assert (second.item_id, second.content_id) == (first.item_id, first.content_id)
    assert (first.created, second.created, second.status) == (True, False, "PENDING")
    item = bench.one("select tags, note, saved from items")
    assert item == {"tags": ["one", "two"], "note": "first", "saved": True}
    assert len(bench.all("select id from jobs")) == 1


def test_a_page_that_another_reader_has_looks_new_and_only_looks_for_its_story(bench: Bench) -> None:
    bench.site.answers["/a"] = page()
    first = bench.save("/a")
    bench.work(first.content_id)
    bench.analysed(first.content_id)
    second = bench.save("/a")
    assert (second.content_id, second.status, second.created) == (first.content_id, "PENDING", True)
    waiting = bench.all("select job_type from jobs where state = 'pending'")
    assert waiting == [{"job_type": "join_stories"}]


def test_a_page_that_failed_is_tried_anew_when_saved_again(bench: Bench) -> None:
    with bench.database.transaction() as connection:
        user = make_user(connection)
    saved = bench.save("/a", user_id=user)
    assert bench.work(saved.content_id)["status"] == "FAILED"
    bench.site.answers["/a"] = page()
    again = bench.save("/a", user_id=user)
    assert (again.item_id, again.status, again.created) == (saved.item_id, "PENDING", False)
    assert bench.work(saved.content_id)["text"]


def test_an_entry_stored_unread_at_a_first_import_is_read_when_someone_saves_it(bench: Bench) -> None:
    with bench.database.transaction() as connection:
        content_id = make_content(connection, url=bench.site.url("/a"), status="READY", title="From the feed")
    bench.site.answers["/a"] = page()
    saved = bench.save("/a")
    assert (saved.content_id, saved.status) == (content_id, "PENDING")
    assert bench.work(content_id)["text"]


def test_a_save_lifts_a_page_out_of_the_background_without_a_second_job(bench: Bench) -> None:
    content_id = bench.content("/a")
    with bench.database.transaction() as connection:
        connection.execute("update jobs set published_at = now()")
    saved = bench.save("/a")
    assert (saved.content_id, saved.status) == (content_id, "PENDING")
    assert bench.all("select queue, priority, published_at from jobs") == [
        {"queue": "content-processing", "priority": 20, "published_at": None}
    ]


def test_two_readers_saving_one_page_at_once_share_one_content_and_one_job(bench: Bench) -> None:
    with ThreadPoolExecutor(8) as pool:
        saved = list(pool.map(lambda _: bench.save("/a"), range(8)))
    assert len({one.content_id for one in saved}) == 1
    assert len({one.item_id for one in saved}) == 8
    assert len(bench.all("select id from jobs")) == 1


def test_many_saves_of_pages_that_are_there_wait_for_one_another_and_deadlock_nowhere(bench: Bench) -> None:
    """Some find no job yet and make it, others find it: neither must wait for the other crosswise."""
    [before] = bench.all("select deadlocks from pg_stat_database where datname = current_database()")
    for _ in range(8):
        bench.save("/a")
        with bench.database.transaction() as connection:
            connection.execute("delete from jobs")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: bench.save("/a"), range(16)))
        assert len(bench.all("select id from jobs")) == 1
    assert bench.all("select deadlocks from pg_stat_database where datname = current_database()") == [before]


def test_a_page_deleted_while_it_is_saved_is_made_again(bench: Bench) -> None:
    def delete() -> None:
        for _ in range(30):
            time.sleep(0.02)
            with bench.database.transaction() as connection:
                connection.execute("delete from jobs")
                connection.execute(
                    "delete from contents where not exists (select from items where content_id = contents.id)"
                )
                connection.execute("delete from items")

    with ThreadPoolExecutor(5) as pool:
        deleting = pool.submit(delete)
        saved = list(pool.map(lambda _: bench.save("/a"), range(120)))
        deleting.result()
    assert all(one.status == "PENDING" for one in saved)


@pytest.mark.parametrize(("url", "code"), [("ftp://example.com/a", "unsupported_scheme"), ("nonsense", "invalid_url")])
def test_what_is_no_address_is_not_saved(database: Database, url: str, code: str) -> None:
    with pytest.raises(PermanentError) as caught, database.transaction() as connection:
        save_url(connection, make_user(connection), url)
    assert caught.value.error_code == code


# --- Pages that cannot be had


@pytest.mark.parametrize(
    ("answer", "code", "http_status"),
    [
        (Answer(b"", status=404), "not_found", 404),
        (Answer(b"", status=410), "gone", 410),
        (Answer(b"", status=403), "forbidden", 403),
        (Answer(b"PNG", headers={"Content-Type": "image/png"}), "unsupported_content_type", None),
        (Answer(bytes(range(256)) * 40, headers=HTML), "unsupported_content_type", None),
        (Answer(b'{"a": 1}', headers={"Content-Type": "application/json"}), "unsupported_content_type", None),
        (Answer(b"<rss></rss>", headers={"Content-Type": "application/xml"}), "unsupported_content_type", None),
        (page(""), "empty_content", None),
        (Answer(b"", headers=HTML), "empty_content", None),
        (Answer(b"x" * 10_000_001, headers=HTML), "too_large", None),
        (Answer(b"<div>" * 100_000, headers=HTML), "page_too_complex", None),
        (Answer(status=302, headers={"Location": "http://10.0.0.1/"}), "address_refused", None),
    ],
)
def test_a_page_that_will_never_be_readable_fails_once_with_a_code_and_a_sentence(
    bench: Bench, answer: Answer, code: str, http_status: int | None
) -> None:
    bench.site.answers["/a"] = answer
    row = bench.work(bench.save("/a").content_id)
    assert (row["status"], row["error_code"], row["http_status"]) == ("FAILED", code, http_status)
    assert row["error_detail"].endswith(".")
    job = bench.one("select state, attempts from jobs")
    assert job == {"state": "failed", "attempts": 1}
    assert not bench.analyses(row["id"])


ENDLESS = Answer(endless(), headers={"Content-Type": "application/pdf"})
LARGE = Answer(b"<html><body>" + b"<p>" + b"words " * 160_000, headers=HTML)


@pytest.mark.parametrize(
    ("answer", "page_read_s", "memory_bytes", "code"),
    [
        (ENDLESS, 3.0, 512 * 1024 * 1024, "page_too_slow"),
        (LARGE, 60.0, 4 * 1024 * 1024, "page_too_much_memory"),
    ],
)
def test_a_page_made_to_hang_or_to_swell_fails_alone_and_the_worker_goes_on(
    database: Database,
    site: LoopbackServer,
    http: HttpClient,
    answer: Answer,
    page_read_s: float,
    memory_bytes: int,
    code: str,
) -> None:
    with PageReader(page_read_s=page_read_s, memory_bytes=memory_bytes) as reader:
        bench = Bench(database, site, http, reader)
        site.answers["/hostile"] = answer
        site.answers["/good"] = page()
        hostile, good = bench.save("/hostile").content_id, bench.save("/good").content_id
        rows = [bench.work(content_id) for content_id in (hostile, good)]
    assert [(row["status"], row["error_code"]) for row in rows] == [("FAILED", code), ("PENDING", None)]
    assert rows[0]["error_detail"].startswith("The page ")
    job = bench.one("select state, attempts from jobs where subject_id = %s", hostile)
    assert job == {"state": "failed", "attempts": 1}


def test_a_page_that_is_away_for_now_is_tried_again_later(bench: Bench) -> None:
    bench.site.answers["/a"] = Answer(status=503, headers={"Retry-After": "600"})
    row = bench.work(bench.save("/a").content_id)
    assert (row["status"], row["error_code"], row["http_status"]) == ("PENDING", None, 503)
    job = bench.one("select state, error_code, attempts, extract(epoch from due_at - now())::int as wait_s from jobs")
    assert (job["state"], job["error_code"], job["attempts"]) == ("pending", "http_503", 0)
    assert job["wait_s"] > 500


def test_a_page_with_little_text_is_stored_and_left_to_the_analysis(bench: Bench) -> None:
    bench.site.answers["/a"] = page("Back soon.")
    row = bench.work(bench.save("/a").content_id)
    assert (row["text"], row["status"], row["word_count"]) == ("Back soon.", "PENDING", 2)
    assert len(bench.analyses(row["id"])) == 1


def test_a_content_deleted_before_its_work_ends_the_job(bench: Bench) -> None:
    content_id = new_id()
    with bench.database.transaction() as connection:
        (job_id,) = jobs.enqueue(connection, [NewJob(JobType.INGEST_CONTENT, content_id, "user:a")])
    assert bench.knock({"job_type": "ingest_content", "job_id": job_id, "shared_content_id": content_id}) == []
    job = bench.one("select state, error_code from jobs")
    assert job == {"state": "failed", "error_code": "content_deleted"}


# --- Feed entries

ENOUGH = f"<p>{SENTENCE * 10}</p><p>{SENTENCE * 10}</p>"
SOME = f"<p>{SENTENCE * 3}</p>"


def test_an_entry_that_brings_enough_text_of_its_own_is_not_fetched(bench: Bench) -> None:
    published = datetime(2026, 11, 1, tzinfo=UTC)
    row = bench.work(bench.content("/a", entry_html=ENOUGH, title="Feed's title", published_at=published))
    assert not bench.site.requests
    assert row["text"] == "\n\n".join([(SENTENCE * 10).strip()] * 2)
    assert (row["title"], row["http_status"], row["notice_code"]) == ("Feed's title", None, None)
    assert row["published_at"] == row["sort_at"] == published
    (analysis,) = bench.analyses(row["id"])
    assert (analysis["priority"], analysis["group_key"]) == (Priority.UNDER_24_HOURS, "host:a")


def test_a_note_without_a_page_of_its_own_is_read_from_its_feed_and_nothing_is_fetched(bench: Bench) -> None:
    note = bench.content("/feed.xml", kind="note", entry_html=f"<p>{SENTENCE}</p>")
    assert bench.work(note)["text"] == SENTENCE.strip()
    bare = bench.content("/other.xml", kind="note")
    assert bench.work(bare)["error_code"] == "empty_content"
    assert bench.site.requests == []


def test_an_entry_with_a_teaser_is_fetched_and_keeps_what_the_feed_says_of_it(bench: Bench) -> None:
    head = '<meta property="article:published_time" content="2026-11-20T08:00:00Z"><meta name=author content=Page>'
    bench.site.answers["/a"] = page(title="The page's title", head=head)
    published = datetime(2026, 11, 1, tzinfo=UTC)
    content_id = bench.content("/a", entry_html="<p>Teaser</p>", title="Feed's title", published_at=published)
    row = bench.work(content_id)
    assert (row["title"], row["author"], row["published_at"]) == ("Feed's title", "Page", published)
    assert row["text"] == (SENTENCE * 8).strip()


def test_an_entry_whose_page_is_gone_falls_back_on_its_own_text_and_says_so(bench: Bench) -> None:
    row = bench.work(bench.content("/a", entry_html=SOME))
    assert (row["text"], row["notice_code"]) == ((SENTENCE * 3).strip(), "page_unavailable")
    assert (row["status"], row["error_code"], row["http_status"]) == ("PENDING", None, 404)


def test_a_fallback_is_forgotten_once_the_page_is_there_again(bench: Bench) -> None:
    content_id = bench.content("/a", entry_html=SOME)
    bench.work(content_id)
    bench.analysed(content_id)
    bench.site.answers["/a"] = page()
    row = bench.again(content_id)
    assert (row["notice_code"], row["text"], row["version"]) == (None, (SENTENCE * 8).strip(), 2)


def test_an_entry_whose_page_is_gone_stands_by_however_little_it_brings_and_fails_by_nothing(bench: Bench) -> None:
    row = bench.work(bench.content("/a", entry_html="<p>Teaser</p>"))
    assert (row["text"], row["error_code"], row["notice_code"]) == ("Teaser", None, "page_unavailable")
    row = bench.work(bench.content("/b", entry_html="<p><img src='/i.png'></p>"))
    assert (row["status"], row["error_code"]) == ("FAILED", "not_found")


def test_an_entry_that_says_more_than_its_page_is_believed(bench: Bench) -> None:
    bench.site.answers["/a"] = page("Please enable JavaScript to go on reading.")
    row = bench.work(bench.content("/a", entry_html=SOME))
    assert (row["text"], row["http_status"]) == ((SENTENCE * 3).strip(), 200)


def test_a_published_time_in_the_future_does_not_sort_above_today(bench: Bench) -> None:
    row = bench.work(bench.content("/a", entry_html=ENOUGH, published_at=datetime(2100, 1, 1, tzinfo=UTC)))
    assert row["sort_at"] == row["first_seen_at"]
    assert row["published_at"].year == 2100


# --- The same text again


def test_unchanged_text_that_was_analysed_is_ready_at_once(bench: Bench) -> None:
    bench.site.answers["/a"] = page()
    content_id = bench.save("/a").content_id
    bench.work(content_id)
    bench.analysed(content_id)
    row = bench.again(content_id)
    assert (row["status"], row["version"]) == ("READY", 1)
    assert [job["state"] for job in bench.analyses(content_id)] == ["completed"]


def test_unchanged_text_that_was_never_analysed_is_analysed(bench: Bench) -> None:
    bench.site.answers["/a"] = page()
    content_id = bench.save("/a").content_id
    bench.work(content_id)
    with bench.database.transaction() as connection:
        connection.execute("update jobs set state = 'failed', finished_at = now() where job_type = 'analyze_content'")
    assert bench.again(content_id)["status"] == "PENDING"
    assert sorted(job["state"] for job in bench.analyses(content_id)) == ["failed", "pending"]


def test_edited_text_becomes_a_new_version_and_the_old_one_a_revision(bench: Bench) -> None:
    bench.site.answers["/a"] = page(title="Old title")
    content_id = bench.save("/a").content_id
    bench.work(content_id)
    bench.analysed(content_id)
    bench.site.answers["/a"] = page(SENTENCE * 9, title="New title")
    row = bench.again(content_id)
    assert (row["status"], row["version"], row["title"]) == ("PENDING", 2, "New title")
    revision = bench.one("select version, title, text from content_revisions")
    assert revision == {"version": 1, "title": "Old title", "text": (SENTENCE * 8).strip()}


def test_without_analysis_a_page_is_ready_when_it_is_read(
    database: Database, site: LoopbackServer, http: HttpClient, page_reader: PageReader
) -> None:
    bench = Bench(database, site, http, page_reader, analysis=False)
    site.answers["/a"] = page()
    row = bench.work(bench.save("/a").content_id)
    assert (row["status"], row["topics"]) == ("READY", None)
    assert not bench.analyses(row["id"])


# --- Duplicates


def test_the_same_text_elsewhere_points_to_the_oldest_and_stays_so(bench: Bench) -> None:
    bench.site.answers.update({"/a": page(title="One"), "/b": page(title="Two"), "/c": page(title="Three")})
    oldest, second, third = (bench.save(path).content_id for path in ("/a", "/b", "/c"))
    assert [bench.work(content_id)["duplicate_of"] for content_id in (oldest, second, third)] == [None, oldest, oldest]
    for content_id in (oldest, second, third):
        bench.analysed(content_id)
    assert [bench.again(content_id)["duplicate_of"] for content_id in (third, second, oldest)] == [oldest, oldest, None]


def test_a_duplicate_is_analysed_all_the_same(bench: Bench) -> None:
    bench.site.answers.update({"/a": page(), "/b": page()})
    for path in ("/a", "/b"):
        content_id = bench.save(path).content_id
        bench.work(content_id)
        assert len(bench.analyses(content_id)) == 1


def test_a_short_notice_under_two_titles_makes_no_duplicate(bench: Bench) -> None:
    bench.site.answers.update(
        {"/a": page("Subscribe to go on.", title="A"), "/b": page("Subscribe to go on.", title="B")}
    )
    bench.work(bench.save("/a").content_id)
    assert bench.work(bench.save("/b").content_id)["duplicate_of"] is None


def test_a_page_that_names_another_page_of_its_site_as_canonical_points_to_it(bench: Bench) -> None:
    bench.site.answers["/story"] = page()
    link = f'<link rel=canonical href="{bench.site.url("/story")}?utm_source=x">'
    bench.site.answers["/story/print"] = page(SENTENCE * 7, head=link)
    story = bench.save("/story").content_id
    bench.work(story)
    assert bench.work(bench.save("/story/print").content_id)["duplicate_of"] == story


def test_an_address_that_redirects_to_a_known_page_points_to_it(bench: Bench) -> None:
    bench.site.answers["/story"] = [page(), page(SENTENCE * 7)]
    bench.site.answers["/short"] = Answer(status=301, headers={"Location": "/story"})
    story = bench.save("/story").content_id
    bench.work(story)
    assert bench.work(bench.save("/short").content_id)["duplicate_of"] == story


def test_a_canonical_address_of_another_site_is_not_believed(bench: Bench) -> None:
    with bench.database.transaction() as connection:
        make_content(connection, url="https://elsewhere.example/story")
    bench.site.answers["/a"] = page(head='<link rel=canonical href="https://elsewhere.example/story">')
    assert bench.work(bench.save("/a").content_id)["duplicate_of"] is None


def test_the_same_text_read_twice_at_once_still_has_one_original(bench: Bench) -> None:
    bench.site.answers.update({f"/{n}": page(title=str(n)) for n in range(6)})
    contents = [bench.save(f"/{n}").content_id for n in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(bench.work, contents))
    found = [bench.row(content_id)["duplicate_of"] for content_id in contents]
    assert found == [None, *contents[:1] * 5]


def test_an_older_page_that_is_read_later_takes_the_originals_place(bench: Bench) -> None:
    bench.site.answers.update({f"/{n}": page(title=str(n)) for n in range(3)})
    oldest, second, third = (bench.save(f"/{n}").content_id for n in range(3))
    for content_id in (third, second, oldest):
        bench.work(content_id)
    assert [bench.row(content_id)["duplicate_of"] for content_id in (oldest, second, third)] == [None, oldest, oldest]


# --- Messages put straight on the queue


def test_a_plain_message_with_an_unknown_content_makes_it_and_reads_it(bench: Bench) -> None:
    bench.site.answers["/a"] = page()
    content_id = new_id()
    message = {"job_type": "ingest_content", "shared_content_id": content_id, "url": bench.site.url("/a")}
    assert bench.knock(message) == []
    assert bench.row(content_id)["text"]
    assert len(bench.analyses(content_id)) == 1


def test_a_plain_message_for_an_address_that_is_known_reads_the_known_content(bench: Bench) -> None:
    bench.site.answers["/a"] = page()
    known = bench.save("/a").content_id
    message = {"job_type": "ingest_content", "shared_content_id": new_id(), "url": bench.site.url("/a#top")}
    assert bench.knock(message) == []
    assert bench.row(known)["text"]
    assert len(bench.all("select id from contents")) == 1


def test_a_plain_message_for_a_known_content_needs_no_address(bench: Bench) -> None:
    bench.site.answers["/a"] = page()
    known = bench.save("/a").content_id
    assert bench.knock({"job_type": "ingest_content", "shared_content_id": known}) == []
    assert bench.row(known)["text"]


@pytest.mark.parametrize(("more", "code"), [({}, "unknown_subject"), ({"url": "nonsense"}, "invalid_url")])
def test_a_plain_message_that_names_nothing_is_parked(bench: Bench, more: dict[str, str], code: str) -> None:
    assert bench.knock({"job_type": "ingest_content", "shared_content_id": new_id(), **more}) == []
    (parked,) = bench.sender.dead[Queue.CONTENT_PROCESSING]
    assert parked.attributes is not None
    assert parked.attributes["error_code"] == code
    assert not bench.all("select id from contents")


def test_a_revision_goes_with_its_content(bench: Bench) -> None:
    bench.site.answers["/a"] = [page(), page(SENTENCE * 9)]
    content_id = bench.save("/a").content_id
    bench.work(content_id)
    bench.analysed(content_id)
    bench.again(content_id)
    with bench.database.transaction() as connection:
        connection.execute("delete from contents where id = %s", (content_id,))
    assert not bench.all("select version from content_revisions")


def test_an_entry_that_brings_no_text_is_named_by_its_page(bench: Bench) -> None:
    bench.site.answers["/a"] = page(title="The page's title")
    content_id = bench.content("/a", title="What some feed calls it")
    assert bench.work(content_id)["title"] == "The page's title"
