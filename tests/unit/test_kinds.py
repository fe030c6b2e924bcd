"""Articles, lists, videos and audios told apart, and what is kept of each."""

import pytest

from siftline.ingest.page.page import read_page
from siftline.ingest.page_model import Page, Track
from siftline.kit.errors import PermanentError

SITE = "https://news.example"
URL = f"{SITE}/politics/7"
SENTENCE = "The harbour council met on Tuesday evening and agreed, after a long debate, to dredge the northern channel."
STORY = "".join(f"<p>Part {word}. {SENTENCE} {SENTENCE}</p>" for word in ("one", "two", "three", "four"))
HEADLINES = [f"Council agrees on the budget of quarter {number}" for number in range(1, 41)]
LINKS = "".join(f"<li><a href='/{n}'>{line}</a></li>" for n, line in enumerate(HEADLINES))
SHORT = f"<main><h1>T</h1><p>{SENTENCE}</p></main><ul>{LINKS}</ul>"
CARDS = "".join(
    f"<div class=card><h2><a href='/{n}'>{line}</a></h2><p>{SENTENCE}</p></div>" for n, line in enumerate(HEADLINES)
)


def read(body: str, head: str = "", url: str = URL) -> Page:
    markup = f"<html lang=en><head><title>T</title>{head}</head><body>{body}</body></html>"
    return read_page(markup.encode(), "text/html; charset=utf-8", url)


def linked(data: str) -> str:
    return f'<script type="application/ld+json">{data}</script>'


@pytest.mark.parametrize(
    ("body", "url"),
    [
        (f"<main><h1>Politics</h1><ul>{LINKS}</ul></main>", URL),
        (f"<main><h1>Politics</h1>{CARDS}</main>", URL),
        (f"<div id=content>{CARDS}</div><footer>Imprint</footer>", f"{SITE}/"),
        (f"<main>{CARDS[: CARDS.index('quarter 8')]}</a></h2></div></main>", f"{SITE}?page=2"),
    ],
)
def test_a_page_of_teasers_is_a_list_with_a_short_text(body: str, url: str) -> None:
    page = read(body, '<meta name=description content="All of the politics.">', url)
    assert page.kind == "list"
    assert page.text.startswith(f"All of the politics.\n\n{HEADLINES[0]}\n{HEADLINES[1]}")
    assert len(page.text.split("\n")) <= 22
    assert page.title == "Politics" if "<h1>" in body else "T"


@pytest.mark.parametrize(
    ("body", "head", "url"),
    [
        (f"<main><h1>T</h1>{STORY}</main><div>{CARDS}</div>", "", URL),
        (
            f"<main><h1>T</h1><p>{SENTENCE}</p></main><ul>{LINKS}</ul>",
            '<meta property="og:type" content="article">',
            URL,
        ),
        (SHORT, linked('{"@type": "NewsArticle"}'), f"{SITE}/"),
        (SHORT, "", f"{SITE}/council-agrees-to-dredge-channel"),
        (f"<main><h1>T</h1>{STORY}</main><nav><ul>{LINKS}</ul></nav><aside>{CARDS}</aside>", "", URL),
        (f"<h1>T</h1>{STORY}<p>See <a href=/a>what the council said of it</a> and more.</p>" * 6, "", f"{SITE}/"),
    ],
)
def test_an_article_among_teasers_is_an_article(body: str, head: str, url: str) -> None:
    page = read(body, head, url)
    assert page.kind == "article"
    assert SENTENCE in page.text


def test_a_page_that_says_that_it_is_a_collection_is_a_list_with_few_teasers() -> None:
    body = f"<main>{CARDS[: CARDS.index('quarter 7')]}</a></h2></div></main>"
    assert read(body, linked('{"@type": "CollectionPage"}')).kind == "list"
    assert read(body).kind == "article"


@pytest.mark.parametrize(
    ("head", "body", "kind"),
    [
        ('<meta property="og:type" content="video.other">', "", "video"),
        ('<meta property="og:type" content="music.song">', "", "audio"),
        (linked('{"@type": "VideoObject", "name": "V"}'), "", "video"),
        (linked('{"@graph": [{"@type": "WebPage"}, {"@type": ["PodcastEpisode"], "name": "E"}]}'), "", "audio"),
        (linked('{"@type": "WebPage", "mainEntity": {"@type": "AudioObject"}}'), "", "audio"),
        ("", '<div itemscope itemtype="https://schema.org/VideoObject"><meta itemprop=name content=V></div>', "video"),
        ("", "<video controls src=/a.mp4></video>", "video"),
        ("", "<audio src=/a.mp3></audio>", "audio"),
        ('<meta property="og:audio" content="https://cdn.example/a.mp3">', "", "audio"),
    ],
)
def test_a_page_about_a_video_or_audio_is_one_even_without_a_word(head: str, body: str, kind: str) -> None:
    page = read(body, head)
    assert (page.kind, page.text, page.word_count) == (kind, "", 0)
    described = read(body, f'{head}<meta property="og:description" content="What it is about.">')
    assert (described.kind, described.text, described.notice_code) == (kind, "What it is about.", None)


@pytest.mark.parametrize(
    "body",
    [
        f"<h1>T</h1><video autoplay muted loop src=/background.mp4></video><p>{SENTENCE}</p>",
        f"<h1>T</h1><video controls src=/a.mp4></video>{STORY}",
        f"<h1>T</h1><audio controls src=/read-aloud.mp3></audio>{STORY}",
    ],
)
def test_an_article_with_a_player_or_a_moving_background_is_an_article(body: str) -> None:
    assert read(body).kind == "article"
    assert read(body, linked('{"@type": "NewsArticle", "video": {"@type": "VideoObject"}}')).kind in {
        "article",
        "video",
    }


@pytest.mark.parametrize(
    ("head", "body", "url"),
    [
        (linked('{"@type": "VideoObject", "contentUrl": "/v.mp4?a=1"}'), "", f"{SITE}/v.mp4?a=1"),
        (linked('{"@type": "PodcastEpisode", "associatedMedia": {"contentUrl": "/e.mp3"}}'), "", f"{SITE}/e.mp3"),
        ("", "<video controls><source src='//cdn.example/v.webm'></video>", "https://cdn.example/v.webm"),
        ("", "<audio src=e.ogg></audio>", f"{SITE}/politics/e.ogg"),
        (
            '<meta property="og:video" content="/v"><meta property="og:video:type" content="video/mp4">',
            "<video></video>",
            f"{SITE}/v",
        ),
        (
            '<meta property="og:video" content="/player?v=1"><meta property="og:video:type" content="text/html">',
            "<video></video>",
            None,
        ),
        ("", "<video src='http://['></video>", None),
        ("", "<video src='blob:https://news.example/1'></video>", None),
        ("", "<video><source src=/live.m3u8><source src=/v.mp4></video>", f"{SITE}/v.mp4"),
    ],
)
def test_the_file_of_a_video_or_audio_is_known(head: str, body: str, url: str | None) -> None:
    assert read(body, head).media_url == url


def test_caption_tracks_are_known() -> None:
    body = """<video controls src=/v.mp4><track kind=captions src=/en.vtt srclang=en label="English (CC)">
        <track src=/de.vtt srclang=de><track kind=Subtitles src=/en.vtt><track kind=chapters src=/c.vtt>
        <track kind=captions src='http://['><track kind=captions></video>"""
    caption = '{"@type": "MediaObject", "contentUrl": "/fr.srt", "encodingFormat": "application/x-subrip; x=y"}'
    head = linked(f'{{"@type": "VideoObject", "caption": [{caption}, "text"]}}')
    head += '<link rel=alternate type="text/vtt" href="/it.vtt" hreflang=it title="Italiano">'
    assert read(body, head).tracks == (
        Track(f"{SITE}/en.vtt", None, "en", "English (CC)"),
        Track(f"{SITE}/de.vtt", None, "de", None),
        Track(f"{SITE}/fr.srt", "application/x-subrip", None, None),
        Track(f"{SITE}/it.vtt", "text/vtt", "it", "Italiano"),
    )


def test_no_more_than_a_pages_worth_of_tracks_is_kept() -> None:
    body = "<video controls>" + "".join(f"<track src=/{n}.vtt>" for n in range(1_000)) + "</video>"
    assert len(read(body).tracks) == 50


def test_a_transcript_that_the_page_states_is_known() -> None:
    page = read("", linked('{"@type": "VideoObject", "transcript": "Good evening.\\n\\nThe tide &amp; the mill."}'))
    assert (page.kind, page.transcript) == ("video", "Good evening.\n\nThe tide & the mill.")


@pytest.mark.parametrize("media_type", ["image/png", "video/mp4", "application/zip", "application/json", "text/css"])
def test_what_is_no_page_is_not_supported_and_says_so(media_type: str) -> None:
    with pytest.raises(PermanentError) as caught:
        read_page(b"\x00", media_type, URL)
    assert caught.value.error_code == "unsupported_content_type"
    assert media_type in caught.value.detail
