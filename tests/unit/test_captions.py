"""Caption files of every form become the same plain paragraphs."""

import json
from contextlib import suppress

import pytest

from siftline.ingest.media.captions import Cue, joined, read_captions
from siftline.ingest.page_model import CaptionsUnreadableError

VTT = """\
WEBVTT - a title
Kind: captions

STYLE
::cue { color: red }

NOTE a remark of the maker's

intro
00:00:01.000 --> 00:00:04.000 align:start position:0%
<v Ann>Welcome to the &lt;harbour&gt; council.</v>

NOTE another remark

00:00:04.000 --> 00:00:06.000
[Music]

2
00:00:06.000 --> 00:00:09.000
<v.loud Bob><c.yellow>We dredge</c> <00:00:07.000>the channel</v>
- (applause)
♪

00:00:09.000 --> 00:00:11.000
<v Bob>from May.
"""
SRT = """\
1
00:00:01,000 --> 00:00:03,000
<i>The council met.</i>

2
00:00:03,000 --> 00:00:05,000 X1:10 Y1:20
{\\an8}It agreed &amp; left.

3
00:00:20,000 --> 00:00:22,000
Later that day it rained.
"""
TTML = """\
<?xml version="1.0" encoding="UTF-8"?>
<tt xmlns="http://www.w3.org/ns/ttml" xmlns:ttm="http://www.w3.org/ns/ttml#metadata" xml:lang="en">
 <head><metadata><ttm:agent xml:id="a1" type="person"><ttm:name>Ann</ttm:name></ttm:agent></metadata></head>
 <body><div>
  <p begin="10000t" end="20000t" ttm:agent="a1">The council<br/>met &amp;
     agreed.</p>
  <p begin="00:00:02:12" end="00:00:03:00"><span>It</span> left.</p>
 </div></body>
</tt>
"""


def words(text: str | bytes, content_type: str = "") -> str:
    return read_captions(text if isinstance(text, bytes) else text.encode(), content_type).text


def test_webvtt_keeps_speakers_and_drops_notes_styles_names_of_cues_tags_and_sounds() -> None:
    assert words(VTT, "text/vtt") == "Ann: Welcome to the <harbour> council.\n\nBob: We dredge the channel from May."


def test_subrip_is_read_with_markup_gone_and_a_pause_parts_paragraphs() -> None:
    assert words(SRT, "application/x-subrip") == "The council met. It agreed & left.\n\nLater that day it rained."


def test_ttml_is_read_whatever_its_times_count_in() -> None:
    assert words(TTML, "application/ttml+xml") == "Ann: The council met & agreed.\n\nIt left."


def test_an_older_ttml_is_read_too() -> None:
    older = (
        '<tt xmlns="http://www.w3.org/2006/10/ttaf1"><body><div><p begin="1s" end="2s">Old words.</p></div></body></tt>'
    )
    assert words(older) == "Old words."


def test_lines_that_automatic_captions_show_twice_are_said_once() -> None:
    rolling = """WEBVTT

00:00:00.000 --> 00:00:02.000
so<00:00:00.500><c> the council</c>

00:00:02.000 --> 00:00:02.010
so the council

00:00:02.010 --> 00:00:04.000
so the council
met<00:00:02.500><c> on tuesday</c>

00:00:04.000 --> 00:00:04.010
met on tuesday

00:00:04.010 --> 00:00:06.000
met on tuesday
and agreed
"""
    assert words(rolling) == "so the council met on tuesday and agreed"


def test_a_line_that_grows_is_said_once() -> None:
    grown = [Cue("the council", 0, 1), Cue("the council met", 1, 2), Cue("the council met today", 2, 3)]
    assert joined(grown) == "the council met today"


def test_what_is_really_said_again_later_stays() -> None:
    assert joined([Cue("No!", 0, 1), Cue("Yes.", 1, 2), Cue("Why?", 2, 2.5), Cue("No!", 2.5, 3)]) == "No! Yes. Why? No!"


def test_who_speaks_is_named_where_it_changes() -> None:
    cues = [Cue("One.", speaker="Ann"), Cue("Two.", speaker="Ann"), Cue("Three.", speaker="Bob"), Cue(">> Four.")]
    assert joined(cues) == "Ann: One. Two.\n\nBob: Three.\n\nFour."


def test_a_name_in_the_text_begins_a_paragraph() -> None:
    assert joined([Cue("ANN: One."), Cue("BOB: Two.")]) == "ANN: One.\n\nBOB: Two."


def test_a_long_talk_is_parted_at_sentence_ends_or_else_somewhere() -> None:
    told = joined(Cue(f"Sentence number {number} is said.", number, number + 1) for number in range(200)).split("\n\n")
    assert len(told) > 5
    assert all(len(paragraph) < 700 and paragraph.endswith(".") for paragraph in told)
    endless = joined(Cue(f"word {number}", number, number + 1) for number in range(1000)).split("\n\n")
    assert max(map(len, endless)) < 1_600


def test_scripts_without_spaces_are_joined_without() -> None:
    assert joined([Cue("港湾評議会は"), Cue("火曜日に開かれた。")]) == "港湾評議会は火曜日に開かれた。"


def test_youtubes_own_forms_are_read() -> None:
    srv3 = '<timedtext format="3"><body><p t="0" d="900"><s>The</s><s t="200"> council</s></p>'
    srv3 += '<p t="900" d="1">met.</p></body></timedtext>'
    srv1 = '<transcript><text start="0" dur="1">The council&amp;#39;s</text>'
    srv1 += '<text start="1" dur="1">word.</text></transcript>'
    json3 = {
        "events": [
            {"id": 1},
            {"tStartMs": 0, "segs": [{"utf8": "The "}, {"utf8": "council\n"}]},
            {"segs": [{"utf8": "met."}]},
        ]
    }
    assert words(srv3) == "The council met."
    assert words(srv1) == "The council's word."
    assert words(json.dumps(json3)) == "The council met."


def test_a_podcasts_json_is_read_with_its_speakers() -> None:
    segments = [
        {"speaker": "Ann", "startTime": 0, "endTime": 1, "body": "Hello."},
        {"speaker": "Ann", "body": "There."},
    ]
    assert words(json.dumps({"version": "1.0.0", "segments": segments}), "application/json") == "Ann: Hello. There."


def test_a_transcript_may_be_a_page_or_plain_text() -> None:
    assert words("<p>One.</p><p>Two.</p>", "text/html") == "One.\n\nTwo."
    assert words("One.\n\nTwo.", "text/plain; charset=utf-8") == "One.\n\nTwo."


def test_the_bytes_have_the_first_word_on_what_they_are() -> None:
    assert words(VTT, "text/plain").startswith("Ann: Welcome")
    assert words(SRT, "text/vtt").startswith("The council met.")


@pytest.mark.parametrize("charset", ["utf-8-sig", "utf-16", "cp1252"])
def test_captions_are_read_in_the_charset_they_are_in(charset: str) -> None:
    declared = "application/x-subrip; charset=windows-1252" if charset == "cp1252" else "application/x-subrip"
    text = "1\n00:00:01,000 --> 00:00:03,000\nDer Rat möchte Übersicht.\n"
    assert words(text.encode(charset), declared) == "Der Rat möchte Übersicht."


def test_an_entity_bomb_is_not_resolved_and_damaged_xml_is_read_as_far_as_it_goes() -> None:
    bomb = '<!DOCTYPE tt [<!ENTITY a "boom"><!ENTITY b "&a;&a;">]><tt><body><p>one &b;</p><p>two</p><p>three'
    assert "boom" not in words(bomb)


@pytest.mark.parametrize(
    "body", [b"\x00\x01binary", b"{not json", b"{}", b"<", b"[1]" * 3, b"<tt/><tt/>", b""], ids=[*"abcdefg"]
)
def test_what_is_no_captions_is_refused_or_says_nothing(body: bytes) -> None:
    with suppress(CaptionsUnreadableError):
        assert read_captions(body).text == ""


def test_words_are_counted() -> None:
    read = read_captions(SRT.encode())
    assert read.word_count == 11


def test_a_cue_of_endless_lines_is_read_as_far_as_a_screen_could_show_it() -> None:
    """pysubs2 takes the square of a cue's lines: so many would take it minutes."""
    assert words("WEBVTT\n\n00:00.000 --> 00:01.000\nfirst\n" + "1\n" * 500_000).startswith("first 1")
