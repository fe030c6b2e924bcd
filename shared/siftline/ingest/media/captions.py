"""Caption files into plain paragraphs: WebVTT, SubRip, TTML/DFXP, YouTube's XML and JSON, podcast JSON, text, HTML.

Runs in a child process (``siftline.ingest.page_child``): strangers wrote the files. WebVTT and SubRip are taken apart
by pysubs2; TTML is not, for pysubs2 refuses frames and ticks, which most published TTML counts in, and the older names
of the format. What follows is the same for all: repeated lines of rolling captions, sound tags and markup go, a speaker
stays as ``Name: ``, and lines become paragraphs.
"""

import html
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pysubs2
from lxml import etree

from siftline.ingest.page.charset import decode
from siftline.ingest.page.page_tree import parse
from siftline.ingest.page.plain import clean_text, count_words, paragraphs
from siftline.ingest.page_model import MAX_TEXT_CHARS, CaptionsUnreadableError, EntryText

CUES_MAX = 50_000
"""What a file holds beyond this is left out: a cue a second for fourteen hours."""
_CUE_LINES_MAX = 50
_PAUSE_S = 3.0
_ROLLING_S = 0.25
_PARAGRAPH_CHARS = 600
_PARAGRAPH_MAX_CHARS = 1_500

_VOICE = re.compile(r"<v(?:\.[\w.-]*)?[ \t]+([^<>\n]{1,80})>")
_TAG = re.compile(r"</?[A-Za-z0-9:.][^<>]*>|\{\\[^{}]*\}")
_SOUND = re.compile(r"\[[^\[\]\n]{1,80}\]|^[\s-]*\([^()\n]{1,80}\)\s*$|[♪♫♬♩]+", re.MULTILINE)
_CHANGE = re.compile(r"^\s*(?:>>+|&gt;&gt;+)\s*")
_NAMED = re.compile(r"^([A-Z][\w.'\u2019 -]{0,40}):\s+(?=\S)")
_SENTENCE_END = re.compile(r"""[.!?\u2026\u3002\uff01\uff1f]["'\u201d\u2019)\u00bb]*$""")
_NO_SPACE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff00-\uffef\u3000-\u303f]")
_STAMPS = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?[.,]\d{1,3}[ \t]*-->")
_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{2}(?:\.\d+)?)")
_OFFSET = re.compile(r"(\d+(?:\.\d+)?)(h|m|s|ms)")
_UNIT_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Cue:
    """What is shown at a time. Times in seconds, ``None`` where the file counts in what cannot be told in seconds."""

    text: str
    start_s: float | None = None
    end_s: float | None = None
    speaker: str | None = None


def read_captions(body: bytes, content_type: str = "") -> EntryText:
    """Return the words of a caption or transcript file, in paragraphs; ``""`` where it holds none.

    ``content_type`` is the header as sent, or the media type as a page or feed states it; the bytes themselves have the
    first word on what they are. Raises ``CaptionsUnreadableError``.
    """
    text = decode(body, content_type).lstrip("\ufeff \t\r\n").replace("\r\n", "\n").replace("\r", "\n")
    media_type = content_type.split(";", maxsplit=1)[0].strip().lower()
    words = _plain(text, media_type)
    if words is None:
        words = joined(islice(_cues(text), CUES_MAX))
    words = clean_text(words)[:MAX_TEXT_CHARS]
    return EntryText(words, count_words(words))


def joined(cues: Iterable[Cue]) -> str:
    """Return cues as paragraphs parted by an empty line."""
    writer = _Paragraphs()
    for cue in cues:
        for line in _lines(cue):
            writer.add(line)
    return writer.text()


def _plain(text: str, media_type: str) -> str | None:
    """Return what is no list of cues: a transcript as a page, or as a plain text."""
    if media_type in {"text/html", "application/xhtml+xml"} or re.match(
        r"<(?:!doctype html|html)\b", text[:99], re.IGNORECASE
    ):
        return "\n\n".join(paragraphs(parse(text).root))
    head = text[:20_000]
    if media_type == "text/plain" and not _STAMPS.search(head) and text[:1] not in {"<", "{", "["}:
        return text
    return None


def _cues(text: str) -> Iterator[Cue]:
    if text.startswith("WEBVTT"):
        return _subtitles(text, "vtt")
    if text[:1] in {"{", "["}:
        return _from_json(text)
    if text[:1] == "<":
        return _from_xml(text)
    if _STAMPS.search(text[:20_000]):
        return _subtitles(text, "srt")
    raise CaptionsUnreadableError("The captions are in an unsupported format.")


def _subtitles(text: str, form: str) -> Iterator[Cue]:
    try:
        events = pysubs2.SSAFile.from_string(_short(text), format_=form, keep_html_tags=True).events
    except (pysubs2.Pysubs2Error, ValueError, OverflowError) as error:
        raise CaptionsUnreadableError("The captions could not be read.") from error
    for event in events:
        shown = event.text.replace("\\N", "\n")
        if form == "vtt":  # an empty line ends a cue: what follows is the next one's name, or a note
            shown = re.split(r"\n[ \t]*\n", shown, maxsplit=1)[0]
        yield Cue(shown, event.start / 1000, event.end / 1000)


def _short(text: str) -> str:
    """Return a subtitle file without what no screen could show: pysubs2 takes the square of a cue's lines."""
    kept, lines = [], 0
    for line in text.split("\n"):
        lines = 0 if "-->" in line else lines + 1
        if lines <= _CUE_LINES_MAX:
            kept.append(line)
    return "\n".join(kept)


def _from_json(text: str) -> Iterator[Cue]:
    """Read YouTube's ``json3`` (``events``) and the podcast namespace's JSON (``segments``)."""
    try:
        read = json.loads(text)
        rows = read.get("segments", read.get("events")) if isinstance(read, dict) else read
        if not isinstance(rows, list):
            raise CaptionsUnreadableError("The captions are in an unsupported format.")
        return iter([cue for row in rows[:CUES_MAX] if isinstance(row, dict) for cue in _json_cue(row)])
    except (ValueError, TypeError, RecursionError) as error:
        raise CaptionsUnreadableError("The captions could not be read.") from error


def _json_cue(row: dict[str, Any]) -> Iterator[Cue]:
    if isinstance(row.get("segs"), list):
        words = "".join(str(part.get("utf8", "")) for part in row["segs"] if isinstance(part, dict))
        start_s = float(row.get("tStartMs", 0)) / 1000
        yield Cue(words, start_s, start_s + float(row.get("dDurationMs", 0)) / 1000)
        return
    words = next((row[name] for name in ("body", "text") if isinstance(row.get(name), str)), "")
    speaker = row.get("speaker")
    shown = (row.get("startTime", row.get("start")), row.get("endTime", row.get("end")))
    times = [float(value) if isinstance(value, int | float) else None for value in shown]
    yield Cue(words, times[0], times[1], speaker.strip()[:80] if isinstance(speaker, str) else None)


def _from_xml(text: str) -> Iterator[Cue]:
    """Read TTML of any version (``p``) and YouTube's ``srv3`` (``p`` with ``t``, ``d``) and ``srv1`` (``text``)."""
    stripped = re.sub(r"^<\?xml[^>]*\?>", "", text, count=1)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True, remove_comments=True
    )
    try:
        root = etree.fromstring(stripped.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise CaptionsUnreadableError("The captions could not be read.") from error
    if root is None:
        raise CaptionsUnreadableError("The captions could not be read.")
    agents = _agents(root)
    for element in root.iter("{*}p", "{*}text"):
        if element.getparent() is None:
            continue
        attributes = {etree.QName(name).localname: value for name, value in element.attrib.items()}
        start_s, end_s = _times(attributes)
        yield Cue(_words(element), start_s, end_s, agents.get(attributes.get("agent", "")))


def _agents(root: etree._Element) -> dict[str, str]:
    names = {}
    for agent in root.iter("{*}agent"):
        name = " ".join("".join(agent.itertext()).split())[:80]
        key = next((value for key, value in agent.attrib.items() if etree.QName(key).localname == "id"), None)
        if key and name:
            names[key] = name
    return names


def _words(element: etree._Element) -> str:
    """Return an element's text; a ``br`` is a line break, white space of the file's own lines is none."""
    pieces: list[str] = []
    for event, node in etree.iterwalk(element, events=("start", "end")):
        if event == "start":
            if isinstance(node.tag, str) and etree.QName(node).localname == "br":
                pieces.append("\n")
            pieces.append(_SPACE.sub(" ", node.text or ""))
        elif node is not element:
            pieces.append(_SPACE.sub(" ", node.tail or ""))
    return "".join(pieces)


def _times(attributes: dict[str, str]) -> tuple[float | None, float | None]:
    if "t" in attributes:
        return _span(attributes["t"], attributes.get("d", ""), 1000)
    if "start" in attributes:
        return _span(attributes["start"], attributes.get("dur", ""), 1)
    return _seconds(attributes.get("begin", "")), _seconds(attributes.get("end", ""))


def _span(start: str, length: str, unit: int) -> tuple[float | None, float | None]:
    try:
        return float(start) / unit, (float(start) + float(length or 0)) / unit
    except ValueError:
        return None, None


def _seconds(expression: str) -> float | None:
    """Return a TTML time in seconds; frames and ticks, which depend on rates stated elsewhere, are ``None``."""
    if offset := _OFFSET.fullmatch(expression):
        return float(offset[1]) * _UNIT_S[offset[2]]
    if clock := _CLOCK.fullmatch(expression):
        return int(clock[1] or 0) * 3600 + int(clock[2]) * 60 + float(clock[3])
    return None


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    start_s: float | None
    end_s: float | None
    speaker: str | None
    changes: bool


def _lines(cue: Cue) -> Iterator[_Line]:
    """Yield the lines of a cue as they read, each with who says it."""
    speaker = cue.speaker
    for raw in cue.text.split("\n"):
        voice = _VOICE.search(raw)
        if voice:
            speaker = html.unescape(voice[1]).strip()
        bare, changed = _CHANGE.subn("", _TAG.sub("", raw), count=1)
        bare = _SPACE.sub(" ", _SOUND.sub(" ", html.unescape(bare))).strip()
        # What is left of "- [laughs]" says nothing.
        if bare.strip("-\u2013\u2014\u2022 "):
            named = _NAMED.match(bare)
            yield _Line(bare, cue.start_s, cue.end_s, speaker, bool(changed or (named and not speaker)))


class _Paragraphs:
    """Puts lines together."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._open = ""
        self._shown: list[str] = []
        self._end_s: float | None = None
        self._speaker: str | None = None

    def add(self, line: _Line) -> None:
        gap_s = None if line.start_s is None or self._end_s is None else line.start_s - self._end_s
        if line.end_s is not None:
            self._end_s = line.end_s if self._end_s is None else max(self._end_s, line.end_s)
        if self._rolls(line, gap_s):
            return
        if line.changes or line.speaker != self._speaker or (gap_s or 0) >= _PAUSE_S or self._full():
            self._close()
        if line.speaker and line.speaker != self._speaker:
            self._open = f"{line.speaker}:"
        self._speaker = line.speaker
        self._open += _parting(self._open, line.text) + line.text
        self._shown = [*self._shown[-2:], line.text]

    def _rolls(self, line: _Line, gap_s: float | None) -> bool:
        """Tell whether a line was on the screen just before, as rolling captions show each line twice or more."""
        if gap_s is not None and gap_s > _ROLLING_S:
            return False
        if line.text in self._shown[-2:]:
            return True
        last = self._shown[-1] if self._shown else ""
        if last and len(last) > 3 and line.text.startswith(f"{last} ") and self._open.endswith(last):
            self._open += line.text[len(last) :]  # the same line, grown by what was said since
            self._shown[-1] = line.text
            return True
        return False

    def _full(self) -> bool:
        length = len(self._open)
        return length >= _PARAGRAPH_MAX_CHARS or (length >= _PARAGRAPH_CHARS and bool(_SENTENCE_END.search(self._open)))

    def _close(self) -> None:
        if self._open:
            self._done.append(self._open)
        self._open = ""

    def text(self) -> str:
        self._close()
        return "\n\n".join(self._done)


def _parting(before: str, after: str) -> str:
    """Return what parts two lines: nothing in scripts without spaces."""
    if not before or (_NO_SPACE.match(before[-1]) and _NO_SPACE.match(after)):
        return ""
    return " "
