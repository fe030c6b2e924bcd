"""Addresses of files saved by hand: recordings stand by what is known of them, and what is not read says what it is."""

import pytest

from siftline.ingest.page_child import PageReader
from siftline.kit.db import Database
from siftline.net.http import HttpClient
from tests.ingesting import Works, ingest_content
from tests.servers import Answer, LoopbackServer


@pytest.fixture
def works(database: Database, once: HttpClient, page_reader: PageReader) -> Works:
    return Works(database, ingest_content(database, once, page_reader))


def file(media_type: str, body: bytes = b"\xff\xfb" * 2_000_000) -> Answer:
    return Answer(body, headers={"Content-Type": media_type})


@pytest.mark.parametrize(
    ("path", "media_type", "kind", "title"),
    [
        ("/pod/Harbour%20news%00.mp3?s=1", "audio/mpeg", "audio", "Harbour news.mp3"),
        ("/talk.mp4", "application/octet-stream", "video", "talk.mp4"),
        ("/stream", "video/webm", "video", "stream"),
        ("/pod/1.opus", "application/ogg", "audio", "1.opus"),
    ],
)
def test_a_recording_saved_by_hand_stands_by_what_is_known_of_it(
    works: Works, site: LoopbackServer, path: str, media_type: str, kind: str, title: str
) -> None:
    site.answers[path] = file(media_type)
    row = works.work(content_id := works.saved(site.url(path)))

    assert (row["status"], row["kind"], row["title"], row["text"]) == ("PENDING", kind, title, "")
    media = {key: row["media"][key] for key in ("url", "media_type", "duration_s", "transcript_state")}
    assert media == {"url": row["url"], "media_type": media_type, "duration_s": None, "transcript_state": "none"}
    assert works.live(content_id) == ["analyze_content"]


def test_two_recordings_without_words_are_no_duplicates(works: Works, site: LoopbackServer) -> None:
    for name in ("1", "2"):
        site.answers[f"/pod/{name}.mp3"] = file("audio/mpeg")
        works.work(works.saved(site.url(f"/pod/{name}.mp3")))
    assert works.rows("select from contents where duplicate_of is not null") == []


def test_a_recording_saved_by_hand_is_given_to_the_audio_model_where_there_is_one(
    database: Database, site: LoopbackServer, once: HttpClient, page_reader: PageReader
) -> None:
    works = Works(database, ingest_content(database, once, page_reader, generates=True))
    site.answers["/1.mp3"] = file("audio/mpeg")
    works.work(content_id := works.saved(site.url("/1.mp3")))
    assert works.live(content_id) == ["analyze_content", "transcribe_content"]


def test_a_page_named_like_a_recording_is_read(works: Works, site: LoopbackServer) -> None:
    site.answers["/about.mp3"] = Answer(
        b"<html><body><article><p>" + b"All about it. " * 30, headers={"Content-Type": "text/html"}
    )
    assert works.work(works.saved(site.url("/about.mp3")))["kind"] == "article"


@pytest.mark.parametrize("media_type", ["image/jpeg", "application/zip"])
def test_what_is_not_read_says_so_by_its_kind_until_a_page_is_there(
    works: Works, site: LoopbackServer, media_type: str
) -> None:
    site.answers["/x"] = file(media_type)
    row = works.work(content_id := works.saved(site.url("/x")))
    assert (row["status"], row["kind"], row["error_code"]) == ("FAILED", "unsupported", "unsupported_content_type")

    site.answers["/x"] = Answer(
        b"<html><body><article><p>" + b"All about it. " * 30, headers={"Content-Type": "text/html"}
    )
    assert works.saved(site.url("/x")) == content_id
    assert works.work(content_id)["kind"] == "article"


RSS = b"<?xml version='1.0'?><!-- made --><rss version='2.0'><channel><title>T</title></channel></rss>"


@pytest.mark.parametrize("media_type", ["application/rss+xml", "text/xml", "text/html", "application/feed+json"])
def test_a_feed_saved_as_a_page_says_how_it_is_followed(works: Works, site: LoopbackServer, media_type: str) -> None:
    site.answers["/feed"] = file(media_type, RSS)
    row = works.work(works.saved(site.url("/feed")))
    assert (row["status"], row["error_code"]) == ("FAILED", "unsupported_content_type")
    assert "Follow it instead: POST /v1/sources" in row["error_detail"]


@pytest.mark.parametrize("version", ["https://jsonfeed.org/version/1.1", "https:\\/\\/jsonfeed.org\\/version\\/1"])
def test_a_json_feed_that_is_sent_as_any_json_says_so_too(works: Works, site: LoopbackServer, version: str) -> None:
    body = f'{{"title": "T", "items": [], "version" : "{version}"}}'.encode()
    site.answers["/feed"] = file("application/json; charset=utf-8", body)
    assert "Follow it instead" in works.work(works.saved(site.url("/feed")))["error_detail"]
    site.answers["/data"] = file("application/json", b'{"version": "1.1", "items": []}')
    row = works.work(works.saved(site.url("/data")))
    assert row["error_detail"] == "The address returned application/json, which cannot be read as text."


def refreshing(content: str, body: str = "<p>Redirecting...</p>") -> Answer:
    markup = f'<html><head><meta http-equiv="Refresh" content="{content}"></head><body>{body}</body></html>'
    return Answer(markup.encode(), headers={"Content-Type": "text/html"})


@pytest.mark.parametrize("content", ["0; url=/story", "0;URL='/story'", "5,/story"])
@pytest.mark.parametrize("body", ["", "<p>Redirecting...</p>"], ids=["empty", "short"])
def test_a_page_that_only_sends_its_visitors_on_says_where(
    works: Works, site: LoopbackServer, content: str, body: str
) -> None:
    site.answers["/old"] = refreshing(content, body)
    row = works.work(works.saved(site.url("/old")))
    assert (row["status"], row["error_code"]) == ("FAILED", "page_only_redirects")
    assert row["error_detail"].endswith(site.url("/story"))
    assert site.asked("/story") == []


@pytest.mark.parametrize(
    "content", ["300", "600; url=/next", "0; url=/live#top", "0; url=http://[", "0; url=javascript:x"]
)
def test_a_page_that_only_loads_itself_anew_is_read(works: Works, site: LoopbackServer, content: str) -> None:
    site.answers["/live"] = refreshing(content, "<article><p>Half time: one to nil.</p></article>")
    assert works.work(works.saved(site.url("/live")))["status"] == "PENDING"
