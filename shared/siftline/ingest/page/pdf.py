"""PDFs: their text in paragraphs and what their document information says.

Read by pdfium, which is written in C++ and made for hostile files, in the child process all the same
(``siftline.ingest.page_child``): its time and memory are limited there.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import unquote, urlsplit

import pypdfium2
from pypdfium2 import raw

from siftline.ingest.page.pdf_paragraphs import Line, paragraphs_of
from siftline.ingest.page.plain import clean_line, clean_text, count_words
from siftline.ingest.page_errors import PdfEncryptedError, PdfUnreadableError
from siftline.ingest.readings import MAX_TEXT_CHARS, Page
from siftline.text.instants import claimed
from siftline.text.words import letters

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
