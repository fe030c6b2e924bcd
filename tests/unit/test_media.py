"""What is stored of a video or audio, read back without trust; and which caption track is tried first."""

import pytest

from siftline.ingest.media.media import Media, TranscriptState, Words, text_with_words
from siftline.ingest.media.transcripts import ordered
from siftline.ingest.page_model import MAX_TEXT_CHARS, Track


def test_a_row_is_read_back_as_it_was_written() -> None:
    track = Track("https://a.example/t.vtt", "text/vtt", "en", "English")
    media = Media(url="https://a.example/talk.mp3", media_type="audio/mpeg", duration_s=60.0, tracks=(track,))
    told = media.told(Words(TranscriptState.CAPTIONS, "words", 1, "en", track.url))
    assert Media.of(told.row()) == told
    assert (told.state, told.source, told.language) == ("captions", track.url, "en")


@pytest.mark.parametrize(
    "row",
    [
        {"url": "file:///etc/passwd", "duration_s": -1, "feed_tracks": "no"},
        {"url": 7, "duration_s": "long", "feed_tracks": [7, {"url": "javascript:x"}, {}]},
        {"feed_tracks": None, "tracks": {}},
    ],
    ids=["schemes", "kinds", "nothing"],
)
def test_what_cannot_be_used_is_left_out(row: dict[str, object]) -> None:
    assert Media.of({"media_type": "audio/mpeg", **row}) == Media(media_type="audio/mpeg")


def test_no_row_is_no_media() -> None:
    assert Media.of(None) is None


def test_the_words_follow_the_notes_within_a_texts_length() -> None:
    words = Words(TranscriptState.FEED, "x" * MAX_TEXT_CHARS, 1)
    text, word_count = text_with_words("Notes.", 1, words)
    assert (text[:9], len(text), word_count) == ("Notes.\n\nx", MAX_TEXT_CHARS, 2)
    assert text_with_words("", 0, Words(TranscriptState.NONE)) == ("", 0)


def test_a_track_in_the_contents_language_goes_first_then_the_form_that_says_when() -> None:
    plain, html = Track("https://a.example/t.txt", "text/plain", "en"), Track("https://a.example/t", "text/html", "en")
    vtt, german = Track("https://a.example/t.vtt", None, "en"), Track("https://a.example/d.srt", None, "de_DE")
    assert ordered([plain, html, german, vtt, plain], None) == [vtt, german, html, plain]
    assert ordered([plain, html, german, vtt], "de") == [german, vtt, html, plain]
