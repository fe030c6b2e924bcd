"""PDFs: their text in paragraphs and what their document information says.

Read by pdfium, which is written in C++ and made for hostile files, in the child process all the same
(``siftline.ingest.page_child``): its time and memory are limited there. A PDF knows where letters stand, and nothing of
paragraphs, headers or hyphens.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from urllib.parse import unquote, urlsplit

import pypdfium2
from pypdfium2 import raw

from siftline.ingest.page.plain import clean_line, clean_text, count_words
from siftline.ingest.page_model import MAX_TEXT_CHARS, Page, PdfEncryptedError, PdfUnreadableError
from siftline.text.instants import claimed
from siftline.text.words import letters

# What a paragraph's distance from the last is at least, and its first line's indent, in lines' distances and heights.
_GAP_RATIO = 1.3
_INDENT_RATIO = 0.6
_SHORT_RATIO = 0.75
# With fewer distances than these, the usual one is told by the letters' size.
_STEPS_TELLING = 3
_LEADING_RATIO = 1.5
_RUNNING_LINES = 2
"""How many lines at the top and at the bottom of a page may be its header or footer."""
_RUNNING_PAGES = 3
_PAGE_NUMBER = re.compile(
    r"\W*(?:(?:page|seite|página|pagina|p\.|s\.)\s*)?(?:\d{1,4}|[ivxl]{1,7})(?:\s*(?:/|of|von|de|di|sur|-)\s*\d{1,4})?\W*$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"(?:[•‣◦▪●○■□\u2013\u2014*·-]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s")
_END = re.compile(r"[.!?:;…。\uff01\uff1f][\"'”\u2019»)\]]*$")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010]$")
_UNPARTED_END = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]$")

PAGES_MAX = 1_000
"""What stands on later pages is not read."""
CHARS_MAX = 2 * MAX_TEXT_CHARS
"""What comes after so many characters is not read: more than is kept, because headers and footers go."""
PDF_WITHOUT_TEXT = "pdf_without_text"
"""The notice of a PDF that holds only pictures of its pages, or signs that say nothing."""

_TITLE_MAX_CHARS = 500
_AUTHOR_MAX_CHARS = 300
_DESCRIPTION_MAX_CHARS = 2_000
# A stamp or a page number on each page is no text.
_LETTERS_A_PAGE = 20
# Formulas and tables full of lines have more signs than letters; what has fewer than this says nothing.
_LETTERS_MIN_RATIO = 0.2
_MARK = re.compile(rb"%PDF-\d")
_MARK_BYTES = 1_024
"""Readers look this far for it, for many a file begins with something else (ISO 32000-1, annex H, note 13)."""
# What word processors write by themselves.
_NO_TITLE = re.compile(r"(?:untitled|unbenannt|sans titre|document\d*|slide 1|powerpoint presentation)$", re.IGNORECASE)
_FILE_TITLE = re.compile(
    r"^microsoft (?:word|powerpoint) - |\.(?:docx?|pptx?|odt|rtf|indd|tex|dvi|pdf)$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page: its text, and where it begins, in points from the page's lower left corner."""

    text: str
    left: float
    bottom: float
    height: float


def paragraphs_of(pages: Sequence[Sequence[Line]]) -> list[str]:
    """Return the paragraphs of a document; what is repeated from page to page, and page numbers, are left out."""
    running = _running(pages)
    paragraphs: list[str] = []
    last = ""
    for page in pages:
        lines = [line for place, line in enumerate(page) if not _is_running(line, place, len(page), running)]
        if not lines:
            continue
        begins = [_begins_page(last, lines[0]), *_begins(lines)]
        for line, new in zip(lines, begins, strict=True):
            if new or not paragraphs:
                paragraphs.append(line.text)
            else:
                paragraphs[-1] = _joined(paragraphs[-1], line.text)
        last = lines[-1].text
    return paragraphs


def _begins(lines: Sequence[Line]) -> list[bool]:
    """Tell of each line but a page's first whether a paragraph begins with it."""
    if len(lines) < 2:
        return []
    steps = [above.bottom - line.bottom for above, line in pairwise(lines)]
    down = [step for step in steps if step > 0]
    pitch = median(down) if down else 0.0
    if len(down) < _STEPS_TELLING:
        pitch = min(pitch, _LEADING_RATIO * lines[0].height)
    left = Counter(round(line.left) for line in lines).most_common(1)[0][0]
    longest = max(len(line.text) for line in lines)
    return [
        bool(_BULLET.match(line.text))
        or step > _GAP_RATIO * pitch
        or (step <= 0 and bool(_END.search(above.text)))
        or (line.left - left > _INDENT_RATIO * line.height > above.left - left and step > 0)
        or (len(above.text) < _SHORT_RATIO * longest and bool(_END.search(above.text)))
        or abs(above.height - line.height) > 0.25 * max(above.height, line.height, 1.0)
        for (above, line), step in zip(pairwise(lines), steps, strict=True)
    ]


def _begins_page(last: str, line: Line) -> bool:
    return not last or bool(_END.search(last)) or bool(_BULLET.match(line.text)) or line.text[:1].isupper()


def _joined(above: str, line: str) -> str:
    if _HYPHEN.search(above) and line[:1].islower():
        return above[:-1] + line
    return above + line if _UNPARTED_END.search(above) else f"{above} {line}"


def _running(pages: Sequence[Sequence[Line]]) -> frozenset[str]:
    """Return the headers and footers: what stands at the edge of half of the pages, whatever its numbers."""
    seen: Counter[str] = Counter()
    for page in pages:
        if len(page) <= _RUNNING_LINES:
            continue  # a slide of a few words is all text
        seen.update({_form(line.text) for line in [*page[:_RUNNING_LINES], *page[-_RUNNING_LINES:]]})
    # Even and odd pages have their own.
    least = max(_RUNNING_PAGES, len(pages) * 0.4)
    return frozenset(form for form, count in seen.items() if count >= least)


def _is_running(line: Line, place: int, count: int, running: Iterable[str]) -> bool:
    if _RUNNING_LINES <= place < count - _RUNNING_LINES:
        return False
    return _form(line.text) in running or (place in {0, count - 1} and _PAGE_NUMBER.match(line.text) is not None)


def _form(text: str) -> str:
    return re.sub(r"\d+", "#", text).casefold().strip()


def is_pdf(body: bytes) -> bool:
    """Tell whether a body is a PDF by its mark; behind markup it is a word of a page."""
    match = _MARK.search(body[:_MARK_BYTES])
    return match is not None and b"<" not in body[: match.start()]


def read_pdf(body: bytes, url: str) -> Page:
    """Return what a PDF holds; one without text, scanned or of signs alone, has the notice ``pdf_without_text``.

    Raises ``PdfEncryptedError`` and ``PdfUnreadableError``.
    """
    try:
        with closing(pypdfium2.PdfDocument(body)) as document:
            stated = {name: _stated(document, name) for name in ("Title", "Author", "Subject", "CreationDate")}
            pages = list(_pages(document))
            count = len(document)
    except pypdfium2.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            raise PdfEncryptedError("The PDF is password-protected.") from error
        raise PdfUnreadableError("The PDF is damaged and cannot be read.") from error
    paragraphs = [text for paragraph in paragraphs_of(pages) if (text := clean_text(paragraph))]
    if not _says_something(paragraphs, count):
        paragraphs = []
    text = "\n\n".join(paragraphs)
    published = claimed(stated["CreationDate"])
    return Page(
        kind="pdf",
        title=_title(stated["Title"]) or _first_line(pages if paragraphs else []) or _file_name(url),
        author=clean_line(stated["Author"], _AUTHOR_MAX_CHARS),
        description=clean_line(stated["Subject"], _DESCRIPTION_MAX_CHARS),
        published_at=published.at,
        published_claim=published.written,
        undated_code=published.undated_code,
        undated_claim=published.claim,
        text=text,
        word_count=count_words(text),
        notice_code=None if paragraphs else PDF_WITHOUT_TEXT,
    )


def _stated(document: pypdfium2.PdfDocument, name: str) -> str:
    """Return an entry of the metadata; nothing where it is no UTF-16, for the text does not depend on it."""
    try:
        value: str = document.get_metadata_value(name)
    except UnicodeDecodeError:
        return ""
    return value


def _says_something(paragraphs: list[str], pages: int) -> bool:
    """Return whether this is text: fonts that do not say which letters their signs are give signs without end."""
    signs = sum(len(text) - text.count(" ") - text.count("\n") for text in paragraphs)
    said = sum(letters(text) + sum(map(str.isdigit, text)) for text in paragraphs)
    return said >= max(_LETTERS_A_PAGE * min(pages, 10), _LETTERS_MIN_RATIO * signs)


def _pages(document: pypdfium2.PdfDocument) -> Iterator[list[Line]]:
    left = CHARS_MAX
    for place in range(min(len(document), PAGES_MAX)):
        with closing(document[place]) as page, closing(page.get_textpage()) as text:
            lines = list(_lines(text, left))
        yield lines
        left -= sum(len(line.text) for line in lines)
        if left <= 0:
            break


def _lines(text: pypdfium2.PdfTextPage, chars: int) -> Iterator[Line]:
    content = text.get_text_range(0, min(text.count_chars(), chars)) if text.count_chars() > 0 else ""
    for match in re.finditer(r"[^\r\n]+", content):
        line = match[0]
        start = match.start() + len(line) - len(line.lstrip())
        # A word parted at a line's end comes as one word with this letter in it.
        line = re.sub("[\ufffe\x02\xad]", "", line).strip()
        if line:
            place = raw.FPDFText_GetCharIndexFromTextIndex(text, start)
            left, bottom, _, top = text.get_charbox(place, loose=True) if place >= 0 else (0.0, 0.0, 0.0, 0.0)
            yield Line(line, left, bottom, top - bottom)


def _title(stated: str) -> str | None:
    title = _FILE_TITLE.sub("", clean_line(stated, _TITLE_MAX_CHARS) or "").strip()
    return None if _NO_TITLE.match(title) else title or None


def _first_line(pages: list[list[Line]]) -> str | None:
    """Return the first line of the first page that is set as large as any of its lines."""
    lines = next((lines for lines in pages if lines), [])
    largest = max((line.height for line in lines), default=0.0)
    return next((clean_line(line.text, _TITLE_MAX_CHARS) for line in lines if line.height >= largest), None)


def _file_name(url: str) -> str | None:
    return clean_line(unquote(urlsplit(url).path.rpartition("/")[2]).removesuffix(".pdf"), _TITLE_MAX_CHARS)
