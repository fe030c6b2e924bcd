"""Podcasts, videos and pictures: what entries bring beside their words, the same from every format."""

import json
from datetime import UTC, datetime

import pytest

from siftline.fetch.feed.entries import duration_s, size_bytes
from siftline.fetch.feed.feed_parser import parse
from siftline.fetch.feed.feeds import Enclosure, Feed, Transcript, recording_kind, recording_url
from tests.feed_judge import judged

URL = "https://site.example/feed.xml"
NAMESPACES = (
    "xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd' xmlns:media='http://search.yahoo.com/mrss/'"
    " xmlns:podcast='https://podcastindex.org/namespace/1.0' xmlns:atom='http://www.w3.org/2005/Atom'"
)


def read(text: str) -> Feed:
    """Read sound XML; feedparser says the same of it."""
    feed = parse(text.encode(), url=URL)
    assert feed == judged(text.encode(), url=URL)
    return feed


def rss(item: str, head: str = "") -> str:
    return f"<rss version='2.0' {NAMESPACES}><channel><title>T</title>{head}<item>{item}</item></channel></rss>"


PODCAST = rss(
    """<title>Episode 1</title><itunes:title>Short</itunes:title><guid isPermaLink="false">e1</guid>
    <itunes:duration>1:02:03</itunes:duration><itunes:author>Ann</itunes:author><itunes:explicit>no</itunes:explicit>
    <itunes:image href="https://cdn.example/e1.jpg"/><itunes:summary>All of what is said in it.</itunes:summary>
    <pubDate>Mon, 01 Jan 2024 10:00:00 -0500</pubDate>
    <enclosure url="https://cdn.example/e1.mp3" type="audio/mpeg" length="1234567"/>
    <podcast:transcript url="/e1.vtt" type="text/vtt" language="en" rel="captions"/>
    <podcast:transcript url="/e1.srt" type="application/srt"/><podcast:transcript type="text/html"/>
    <podcast:chapters url="/c.json" type="application/json+chapters"/>""",
    """<link>https://site.example/</link><itunes:author>Ann</itunes:author><itunes:image href="/cover.jpg"/>
    <itunes:owner><itunes:name>Owner</itunes:name><itunes:email>o@site.example</itunes:email></itunes:owner>
    <description>About &lt;b&gt;things&lt;/b&gt;</description><ttl>90</ttl>
    <skipHours><hour>0</hour><hour> 7 </hour><hour>24</hour><hour>99</hour><hour>x</hour></skipHours>
    <skipDays><day>Saturday</day><day>sunday</day><day>Someday</day></skipDays>""",
)


def test_a_podcast() -> None:
    feed = read(PODCAST)
    assert (feed.author, feed.image_url, feed.description) == ("Ann", "https://site.example/cover.jpg", "About things")
    assert (feed.ttl_minutes, feed.skip_hours, feed.skip_days) == (90, frozenset({0, 7}), frozenset({5, 6}))
    [entry] = feed.entries
    assert (entry.title, entry.author, entry.duration_s) == ("Episode 1", "Ann", 3_723)
    assert entry.image_url == "https://cdn.example/e1.jpg"
    assert entry.html == "All of what is said in it."
    assert entry.published_at == datetime(2024, 1, 1, 15, tzinfo=UTC)
    assert entry.enclosures == (Enclosure("https://cdn.example/e1.mp3", "audio/mpeg", 1_234_567),)
    assert entry.transcripts == (
        Transcript("https://site.example/e1.vtt", "text/vtt", "en"),
        Transcript("https://site.example/e1.srt", "application/srt"),
    )


def test_damage_costs_a_podcast_none_of_it() -> None:
    damaged = (
        PODCAST.replace("said in it", "said&nbsp;in it").replace("podcast:", "pod:").replace("xmlns:pod=", "xmlns:x=")
    )
    damaged = damaged.replace("xmlns:podcast=", "xmlns:pod=")
    [sound], [entry] = read(PODCAST).entries, parse(damaged.encode(), url=URL).entries
    assert (entry.transcripts, entry.duration_s, entry.enclosures) == (sound.transcripts, 3_723, sound.enclosures)
    assert parse(damaged.encode(), url=URL).skip_hours == {0, 7}


def test_a_youtube_channel() -> None:
    feed = read(
        """<feed xmlns:yt="http://www.youtube.com/xml/schemas/2015" xmlns:media="http://search.yahoo.com/mrss/"
         xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="http://www.youtube.com/feeds/videos.xml?channel_id=C"/>
        <id>yt:channel:C</id><yt:channelId>C</yt:channelId><title>Channel</title>
        <link rel="alternate" href="https://www.youtube.com/channel/C"/><author><name>Channel</name><uri>u</uri></author>
        <entry><id>yt:video:V</id><yt:videoId>V</yt:videoId><title>Video</title>
        <link rel="alternate" href="https://www.youtube.com/watch?v=V"/>
        <published>2024-01-01T10:00:00+00:00</published><updated>2024-01-02T10:00:00+00:00</updated>
        <media:group><media:title>Video</media:title>
        <media:content url="https://www.youtube.com/v/V?version=3" type="application/x-shockwave-flash" width="640"/>
        <media:thumbnail url="https://i.ytimg.com/vi/V/hqdefault.jpg" width="480" height="360"/>
        <media:description>What it shows &amp; more.</media:description>
        <media:community><media:starRating count="1"/><media:statistics views="2"/></media:community>
        </media:group></entry></feed>"""
    )
    [entry] = feed.entries
    assert (entry.guid, entry.link) == ("yt:video:V", "https://www.youtube.com/watch?v=V")
    assert (entry.image_url, entry.html) == ("https://i.ytimg.com/vi/V/hqdefault.jpg", "What it shows &amp; more.")
    assert (entry.author, entry.enclosures, feed.site_url) == ("Channel", (), "https://www.youtube.com/channel/C")


@pytest.mark.parametrize(
    ("parts", "image"),
    [
        (
            "<media:content url='/s.jpg' type='image/jpeg' width='140'/><media:content url='/l.jpg' width='460'/>",
            "/l.jpg",
        ),
        ("<media:thumbnail url='/t.jpg'/>", "/t.jpg"),
        (
            "<media:group><media:content url='/a.mp4' medium='video'/><media:thumbnail url='/t.jpg'/></media:group>",
            "/t.jpg",
        ),
        ("<enclosure url='/e.png' type='image/png' length='1'/>", "/e.png"),
        ("<description>&lt;p>&lt;img src='/in.gif'>&lt;/p></description>", "/in.gif"),
        ("<itunes:image href='/own.jpg'/><description>&lt;img src='/in.gif'></description>", "/own.jpg"),
    ],
)
def test_the_picture_of_an_entry(parts: str, image: str) -> None:
    [entry] = read(rss(f"<title>A</title>{parts}")).entries
    assert entry.image_url == f"https://site.example{image}"


def test_files_after_media_rss_are_enclosures_too() -> None:
    item = """<title>A</title><enclosure url="/a.mp3" type="audio/mpeg"/>
    <media:content url="/a.mp3" type="audio/mpeg" fileSize="77" duration="61"/>
    <media:content url="/a.mp4" medium="video" duration="62.5"/><media:content url="/a.pdf" type="application/pdf"/>"""
    [entry] = read(rss(item)).entries
    assert entry.enclosures == (
        Enclosure("https://site.example/a.mp3", "audio/mpeg", 77, 61),
        Enclosure("https://site.example/a.mp4", None, None, 62),
    )
    assert entry.duration_s == 61


CDN = "https://cdn.example"


@pytest.mark.parametrize(
    ("parts", "kind", "url"),
    [
        ("<enclosure url='{}/e.mp3' length='123'/>", "audio", "/e.mp3"),
        ("<enclosure url='{}/e.mp3' type=''/>", "audio", "/e.mp3"),
        ("<enclosure url='{}/E.MP3?x=1&amp;y=a.html'/>", "audio", "/E.MP3?x=1&y=a.html"),
        ("<enclosure url='{}/e.m4a#t=5' length='x'/>", "audio", "/e.m4a#t=5"),
        ("<enclosure url='{}/e.mp3' type='text/html'/>", "audio", "/e.mp3"),
        ("<enclosure url='{}/e.mp3' type='text/plain'/>", "audio", "/e.mp3"),
        ("<enclosure url='{}/e.mp3' type='application/octet-stream'/>", "audio", "/e.mp3"),
        ("<enclosure url='{}/e.ogg' type='application/ogg'/>", "audio", "/e.ogg"),
        ("<enclosure url='{}/e.opus' type='mp3'/>", "audio", "/e.opus"),
        ("<enclosure url='{}/e' type='AUDIO/mpeg; charset=binary'/>", "audio", "/e"),
        ("<enclosure url='{}/e' type=' audio/x-m4a '/>", "audio", "/e"),
        ("<enclosure url='{}/e.mp4' type='application/octet-stream'/>", "video", "/e.mp4"),
        ("<enclosure url='{}/e.MOV'/>", "video", "/e.MOV"),
        ("<enclosure url='{}/e.mp4' type='audio/mp4'/>", "audio", "/e.mp4"),
        ("<enclosure url='{}/e.mp3/download'/>", "audio", "/e.mp3/download"),
        ("<enclosure url='{}/e.mp3;jsessionid=1'/>", "audio", "/e.mp3;jsessionid=1"),
        ("<enclosure url='{}/get.php?file=/pod/e.mp3&amp;n=2'/>", "audio", "/get.php?file=/pod/e.mp3&n=2"),
        ("<enclosure url='{}/stream/77'/><itunes:duration>31:05</itunes:duration>", "audio", "/stream/77"),
        ("<enclosure url='/local/e.mp3'/>", "audio", "https://site.example/local/e.mp3"),
        ("<enclosure href='{}/e.mp3'/>", "audio", "/e.mp3"),
        ("<atom:link rel='enclosure' href='{}/e.mp3'/>", "audio", "/e.mp3"),
        ("<atom:link rel='enclosure' type='audio/mpeg' href='{}/e'/>", "audio", "/e"),
        ("<media:content url='{}/e.mp3'/>", "audio", "/e.mp3"),
        ("<media:content url='{}/e.mp3' type='application/octet-stream'/>", "audio", "/e.mp3"),
        ("<media:content url='{}/v/9' medium='video'/>", "video", "/v/9"),
        ("<media:content url='{}/v/9' medium='Audio'/>", "audio", "/v/9"),
        ("<media:group><media:content url='{}/e.webm' fileSize='7'/></media:group>", "video", "/e.webm"),
        ("<enclosure url='{}/c.jpg' type='image/jpeg'/><enclosure url='{}/e.mp3'/>", "audio", "/e.mp3"),
        ("<enclosure url='{}/c.jpg'/><itunes:duration>9</itunes:duration>", None, None),
        ("<enclosure url='{}/c.mp3.jpg' type='image/jpeg'/>", None, None),
        ("<enclosure url='{}/cover.mp3' type='image/png'/>", None, None),
        ("<enclosure url='{}/e.mp4.torrent' type='application/x-bittorrent'/>", None, None),
        ("<enclosure url='{}/paper.pdf' type='application/pdf'/>", None, None),
        ("<enclosure url='{}/paper.pdf'/><itunes:duration>9</itunes:duration>", None, None),
        ("<enclosure url='{}/page.html' type='text/html'/>", None, None),
        ("<enclosure url='{}/stream/77'/>", None, None),
        ("<enclosure url='{}/mp3'/>", None, None),
        ("<media:content url='{}/e.mp4' medium='image'/>", None, None),
        ("<enclosure url='' type='audio/mpeg'/>", None, None),
    ],
)
def test_audio_and_video_are_known_by_their_type_or_their_name(parts: str, kind: str | None, url: str | None) -> None:
    """Case T18: types are left out, and wrong."""
    [entry] = read(rss(f"<title>A</title><link>/a</link>{parts.replace('{}', CDN)}")).entries
    at = url if url is None or url.startswith("https:") else CDN + url
    assert (recording_kind(entry), recording_url(entry)) == (kind, at)


def test_an_atom_entry_and_a_json_item_are_known_alike() -> None:
    atom = f"""<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title><entry><title>A</title><id>urn:a</id>
    <link href='/a'/><link rel='enclosure' href='{CDN}/e.mp3'/></entry></feed>"""
    item = {"id": "1", "title": "A", "url": "/a", "attachments": [{"url": f"{CDN}/e.mp3"}]}
    json_feed = json.dumps({"version": "https://jsonfeed.org/version/1", "title": "T", "items": [item]}).encode()
    for entry in (read(atom).entries[0], parse(json_feed, url=URL).entries[0]):
        assert (recording_kind(entry), recording_url(entry)) == ("audio", f"{CDN}/e.mp3")


def test_an_enclosure_without_a_type_that_is_named_like_a_picture_is_the_entrys_picture() -> None:
    [entry] = read(rss(f"<title>A</title><enclosure url='{CDN}/c.jpg?w=9' length='5'/>")).entries
    assert entry.image_url == f"{CDN}/c.jpg?w=9"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("5", 5),
        (" 5 ", 5),
        ("1231.08", 1_231),
        ("", None),
        ("-1", None),
        ("5 MB", None),
        ("1e5", None),
        ("9" * 99, None),
    ],
)
def test_sizes(text: str, size: int | None) -> None:
    assert size_bytes(text) == size


def test_where_an_entry_is_discussed() -> None:
    [entry] = read(rss("<title>A</title><comments>/talk</comments>")).entries
    assert entry.comments_url == "https://site.example/talk"
    links = "<atom:link rel='replies' type='application/atom+xml' href='/f'/><atom:link rel='replies' href='/talk'/>"
    [entry] = read(rss(f"<title>A</title>{links}")).entries
    assert entry.comments_url == "https://site.example/talk"


def test_authors_are_named_once_and_without_their_mail_address() -> None:
    item = "<title>A</title><author>ann@site.technology (Ann)</author><itunes:author>Ann</itunes:author>"
    assert read(rss(item)).entries[0].author == "Ann"
    assert read(rss("<title>A</title><author>ann@site.example</author>")).entries[0].author == "ann@site.example"
    atom = "<feed xmlns='http://www.w3.org/2005/Atom'><author><name>All</name></author><entry><title>A</title>{}</entry></feed>"
    assert read(atom.format("")).entries[0].author == "All"
    two = "<author><name>Ann</name></author><author><name>Bob</name></author>"
    assert read(atom.format(two)).entries[0].author == "Ann, Bob"


def test_an_item_picture_is_no_part_of_its_words() -> None:
    item = "<title>A</title><description>D</description><image><title>Logo</title><link>/l</link><url>/i</url></image>"
    [entry] = read(rss(f"{item}<link>/a</link>")).entries
    assert (entry.title, entry.link, entry.html) == ("A", "https://site.example/a", "D")


def test_a_json_feed_with_files() -> None:
    item = {
        "id": "1",
        "title": "A",
        "attachments": [{"url": "/a.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 5, "duration_in_seconds": 90}],
    }
    top = {"title": "T", "description": "D", "icon": "/i.png", "author": {"name": "Ann"}}
    feed = parse(json.dumps({"version": "https://jsonfeed.org/version/1", **top, "items": [item]}).encode(), url=URL)
    assert (feed.description, feed.image_url, feed.author) == ("D", "https://site.example/i.png", "Ann")
    [entry] = feed.entries
    assert entry.enclosures == (Enclosure("https://site.example/a.mp3", "audio/mpeg", 5, 90),)
    assert (entry.duration_s, entry.author) == (90, "Ann")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90), ("1:30", 90), ("01:01:30", 3_690), ("90.7", 90), (" 5 ", 5), ("", None), ("0", None), ("x", None),
        ("1:2:3:4", None), ("-5", None), ("99999999", None), ("1h", None), ("٣", None),
    ],
)  # fmt: skip
def test_running_times(text: str, seconds: int | None) -> None:
    assert duration_s(text) == seconds
