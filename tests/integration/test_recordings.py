"""What a feed brings of audio and video: the file is kept with the content, and nobody speaks for another's page."""

import pytest

from siftline.fetch.kinds.readers import FeedReader
from siftline.ingest.saving import save_url
from siftline.kit.db import Database
from siftline.net.urls import canonical_url
from tests.factories import make_user
from tests.polling import Poller, item, rows, rss, subscribed
from tests.servers import Answer, LoopbackServer

ENCLOSURE = '<enclosure url="https://cdn.example/e1.mp3" length="1000" type="audio/mpeg"/>'


@pytest.fixture
def poller(database: Database, feed_reader: FeedReader) -> Poller:
    return Poller(database, feed_reader)


def episode(link: str | None, enclosure: str = ENCLOSURE, title: str = "Episode") -> str:
    return item(1, link=link, title=title).replace("</item>", f"{enclosure}</item>")


def test_an_episode_is_audio_with_its_file(database: Database, site: LoopbackServer, poller: Poller) -> None:
    site.answers["/feed"] = Answer(rss(episode(site.url("/episode"))))
    poller.poll(subscribed(database, site))

    [content] = rows(database, "select kind, url, media from contents")
    assert (content["kind"], content["url"]) == ("audio", site.url("/episode"))
    assert content["media"]["url"] == "https://cdn.example/e1.mp3"
    assert content["media"]["media_type"] == "audio/mpeg"


@pytest.mark.parametrize(
    "enclosure",
    [
        '<enclosure url="https://cdn.example/e1.mp3" length="123"/>',
        '<enclosure url="https://cdn.example/e1.mp3?token=1" type="text/html"/>',
        '<media:content xmlns:media="http://search.yahoo.com/mrss/" url="https://cdn.example/e1.mp3"/>',
    ],
    ids=["no type", "wrong type", "Media RSS without a type"],
)
def test_an_episode_is_audio_by_the_name_of_its_file(
    database: Database, site: LoopbackServer, poller: Poller, enclosure: str
) -> None:
    """Case T18."""
    site.answers["/feed"] = Answer(rss(episode(site.url("/episode"), enclosure)))
    poller.poll(subscribed(database, site))

    [content] = rows(database, "select kind, url, media ->> 'url' as file from contents")
    assert (content["kind"], content["url"]) == ("audio", site.url("/episode"))
    assert content["file"].partition("?")[0] == "https://cdn.example/e1.mp3"


def test_an_episode_without_a_page_is_found_at_its_file(
    database: Database, site: LoopbackServer, poller: Poller
) -> None:
    site.answers["/feed"] = Answer(rss(episode(None)))
    poller.poll(subscribed(database, site))

    assert rows(database, "select kind, url from contents") == [{"kind": "audio", "url": "https://cdn.example/e1.mp3"}]


@pytest.mark.parametrize("page", ["none", "elsewhere", "the file itself"])
def test_a_file_on_the_feeds_own_site_is_one_content_however_it_comes(
    database: Database, site: LoopbackServer, poller: Poller, page: str
) -> None:
    """The same address saved by hand and brought by a feed: the feed's words are told of what was saved."""
    file = site.url("/pod/1.mp3")
    link = {"none": None, "elsewhere": "https://news.example/story", "the file itself": file}[page]
    site.answers["/feed"] = Answer(rss(episode(link, ENCLOSURE.replace("https://cdn.example/e1.mp3", file))))
    with database.transaction() as connection:
        saved = save_url(connection, make_user(connection), f"{file}#t=10").content_id
        connection.execute("update contents set status = 'READY', kind = 'audio', title = '1.mp3', text = ''")
        connection.execute("update jobs set state = 'completed', finished_at = now()")
    poller.poll(subscribed(database, site))

    [content] = rows(database, "select id, url_key, kind, title, entry_html is not null as described from contents")
    assert (content["id"], content["url_key"], content["kind"]) == (saved, canonical_url(file), "audio")
    assert (content["title"], content["described"]) == ("Episode", True)
    live = "select job_type from jobs where state = 'pending' and subject_id = (select id from contents)"
    assert rows(database, live) == [{"job_type": "ingest_content"}]
    assert len(rows(database, "select from items")) == 2


def test_entries_that_name_the_same_file_stay_apart(database: Database, site: LoopbackServer, poller: Poller) -> None:
    file = ENCLOSURE.replace("https://cdn.example/e1.mp3", site.url("/pod/1.mp3"))
    twice = [item(n, link=None, title=f"Episode {n}").replace("</item>", f"{file}</item>") for n in (1, 2)]
    site.answers["/feed"] = Answer(rss(*twice))
    poller.poll(subscribed(database, site))

    contents = rows(database, "select title, url from contents order by title")
    assert contents == [{"title": f"Episode {n}", "url": site.url("/pod/1.mp3")} for n in (1, 2)]


def test_an_episode_whose_page_is_on_another_site_is_a_content_of_its_own(
    database: Database, site: LoopbackServer, poller: Poller
) -> None:
    """Contents are shared: what a feed says of its recording must not stand at another site's page."""
    site.answers["/feed"] = Answer(rss(episode("https://news.example/story")))
    source_id = subscribed(database, site)
    poller.poll(source_id)
    site.answers["/feed"] = Answer(rss(episode("https://news.example/story", title="Episode, again")))
    poller.poll(source_id)

    [content] = rows(database, "select kind, url, url_key, entry_html is not null as described from contents")
    assert content["url_key"].startswith(f"entry:{source_id}:")
    assert (content["kind"], content["url"], content["described"]) == ("audio", "https://cdn.example/e1.mp3", True)


def test_a_picture_that_comes_along_makes_no_recording(
    database: Database, site: LoopbackServer, poller: Poller
) -> None:
    picture = '<enclosure url="https://cdn.example/e1.jpg" length="1000" type="image/jpeg"/>'
    site.answers["/feed"] = Answer(rss(episode(site.url("/story"), picture)))
    poller.poll(subscribed(database, site))

    assert rows(database, "select kind, media from contents") == [{"kind": "article", "media": None}]


def test_an_edit_brings_a_new_file_and_leaves_what_reading_found(
    database: Database, site: LoopbackServer, poller: Poller
) -> None:
    source_id = subscribed(database, site)
    site.answers["/feed"] = Answer(rss(episode(site.url("/episode"))))
    poller.poll(source_id)
    with database.transaction() as connection:
        connection.execute("""update contents set media = media || '{"transcript_state": "feed"}'""")
    site.answers["/feed"] = Answer(rss(episode(site.url("/episode"), ENCLOSURE.replace("e1", "e2"), "Renamed")))
    poller.poll(source_id)

    [content] = rows(database, "select title, media from contents")
    assert (content["title"], content["media"]["url"]) == ("Renamed", "https://cdn.example/e2.mp3")
    assert content["media"]["transcript_state"] == "feed"


def test_the_transcripts_that_a_feed_names_are_kept_with_the_recording(
    database: Database, site: LoopbackServer, poller: Poller
) -> None:
    transcript = '<podcast:transcript url="https://cdn.example/e1.vtt" type="text/vtt" language="en"/>'
    body = rss(episode(site.url("/episode"), f"{ENCLOSURE}{transcript}<itunes:duration>1:00:30</itunes:duration>"))
    names = 'xmlns:podcast="https://podcastindex.org/namespace/1.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
    site.answers["/feed"] = Answer(body.replace(b"<rss ", f"<rss {names} ".encode()))
    poller.poll(subscribed(database, site))

    [content] = rows(database, "select media from contents")
    [track] = content["media"]["feed_tracks"]
    assert (track["url"], track["media_type"], track["language"]) == ("https://cdn.example/e1.vtt", "text/vtt", "en")
    assert content["media"]["duration_s"] == 3_630
