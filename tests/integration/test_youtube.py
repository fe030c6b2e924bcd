"""YouTube's videos, by the real library through the real client over TLS, against a YouTube on loopback."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from siftline.ingest.media.media import TranscriptState
from siftline.ingest.media.youtube import YouTube, video_id
from siftline.net.http_model import Requester
from tests.servers import Answer
from tests.youtube import BOT, HTML, PRIVATE, REMOVED, FakeYouTube, youtube

ID = "abcdefghijk"


@pytest.fixture
def tube(tmp_path: Path) -> Iterator[FakeYouTube]:
    with youtube(tmp_path) as running:
        yield running


def look(tube: FakeYouTube) -> YouTube:
    return YouTube(tube)


@pytest.mark.parametrize(
    "url",
    [
        f"https://www.youtube.com/watch?v={ID}&t=3s",
        f"https://m.youtube.com/watch?list=PL1&v={ID}",
        f"https://music.youtube.com/watch?v={ID}",
        f"http://youtube.com/shorts/{ID}",
        f"https://www.youtube.com/live/{ID}?si=x",
        f"https://www.youtube-nocookie.com/embed/{ID}",
        f"https://youtu.be/{ID}?t=1",
    ],
)
def test_a_video_is_known_by_any_of_its_addresses(url: str) -> None:
    assert video_id(url) == ID


@pytest.mark.parametrize(
    "url",
    [
        "https://www.youtube.com/@ann",
        "https://www.youtube.com/watch?v=short",
        f"https://youtube.com.evil.example/watch?v={ID}",
        f"https://evil.example/watch?v={ID}",
        "https://www.youtube.com/playlist?list=PL1",
        "http://[",
    ],
)
def test_no_other_address_is_taken_for_a_video(url: str) -> None:
    assert video_id(url) is None


def test_captions_come_with_what_the_video_says_of_itself(tube: FakeYouTube) -> None:
    tube.shows(ID, written={"en": ["It's the <i>council</i>", "that met."]})
    video = look(tube).video(ID, Requester())
    assert video.words.state is TranscriptState.YOUTUBE
    assert [segment.text for segment in video.segments] == ["It's the council", "that met."]
    assert (video.words.language, video.title, video.channel) == ("en", "The talk", "Ann's channel")
    assert (video.duration_s, video.image_url) == (1800, "https://i.ytimg.com/big.jpg")
    assert video.page is not None
    assert tube.server.asked(tube.oembed(ID)) == []
    assert {request.headers["user-agent"] for request in tube.server.requests} == {"Siftline/0.1"}


def test_the_language_that_is_spoken_is_read_and_a_person_goes_before_a_machine(tube: FakeYouTube) -> None:
    tube.shows(ID, written={"en": ["English"], "de-DE": ["Deutsch"]}, heard={"de": ["deutsch"]})
    assert [one.text for one in look(tube).video(ID, Requester()).segments] == ["Deutsch"]
    tube.shows(ID, written={"en": ["English"]}, heard={"de": ["deutsch"]})
    assert [one.text for one in look(tube).video(ID, Requester()).segments] == ["deutsch"]
    tube.shows(ID, written={"fr": ["français"], "en": ["English"]})
    assert [one.text for one in look(tube).video(ID, Requester()).segments] == ["français"]


def test_why_there_are_no_words_is_told_apart(tube: FakeYouTube) -> None:
    """Case X07: requests refused, captions that are not there and a video that is not for us are three things."""

    def state() -> TranscriptState | None:
        video = look(tube).video(ID, Requester())
        assert video.segments == ()
        return video.words.state

    tube.shows(ID)
    assert state() is TranscriptState.NONE
    tube.shows(ID, playability=BOT)
    assert state() is TranscriptState.BLOCKED
    tube.shows(ID, playability={**BOT, "reason": "Sign in to confirm you're not a bot"})
    assert state() is TranscriptState.BLOCKED
    for gone in (
        PRIVATE,
        REMOVED,
        {"status": "LOGIN_REQUIRED", "reason": "This video may be inappropriate for some users."},
    ):
        tube.shows(ID, playability=gone)
        assert state() is TranscriptState.PRIVATE


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (Answer(status=429, headers={"Retry-After": "900"}), TranscriptState.BLOCKED),
        (Answer(status=403), TranscriptState.BLOCKED),
        (Answer(b'<html><div class="g-recaptcha"></div></html>', headers=HTML), TranscriptState.BLOCKED),
        (Answer(b'<form action="https://consent.youtube.com/s">', headers=HTML), TranscriptState.BLOCKED),
        (Answer(b"<html>something else</html>", headers=HTML), TranscriptState.BLOCKED),
        (Answer(status=503), None),
        (Answer(status=404), TranscriptState.PRIVATE),
    ],
    ids=["429", "403", "captcha", "consent", "unknown", "503", "404"],
)
def test_refusals_of_the_page_itself_are_no_lack_of_captions(
    tube: FakeYouTube, answer: Answer, state: TranscriptState | None
) -> None:
    """Case X07: what the provider refuses, by status or by page, is `blocked`, and the title is still had."""
    tube.shows(ID, written={"en": ["words"]})
    tube.server.answers[f"/watch?v={ID}"] = answer
    video = look(tube).video(ID, Requester())
    assert video.words.state is state
    assert video.title == "The talk"
    assert video.words.retry_after_s == (900 if answer.status == 429 else None)


def test_a_caption_file_that_is_refused_or_damaged_is_blocked(tube: FakeYouTube) -> None:
    tube.shows(ID, written={"en": ["words"]})
    path = f"/api/timedtext?v={ID}&lang=en&kind="
    for answer in (Answer(status=429), Answer(b""), Answer(b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>")):
        tube.server.answers[path] = answer
        assert look(tube).video(ID, Requester()).words.state is TranscriptState.BLOCKED


def test_a_youtube_that_cannot_be_reached_says_nothing(tube: FakeYouTube) -> None:
    tube.server.stop()
    video = look(tube).video(ID, Requester())
    assert (video.words.state, video.title) == (None, None)
