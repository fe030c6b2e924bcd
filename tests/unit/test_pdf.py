"""What is read out of PDFs: paragraphs, what the document says of itself, and why one cannot be read."""

from datetime import UTC, datetime

import pytest

from siftline.ingest.page.page import read_page
from siftline.ingest.page.pdf import PAGES_MAX, Line, paragraphs_of
from siftline.ingest.page_model import Page
from siftline.kit.errors import PermanentError
from tests.pdfs import document, stream

URL = "https://library.example/papers/dredging%20report.pdf"
SENTENCE = "The harbour council met on Tuesday and agreed to dredge the northern channel before the winter storms."


def pdf(*pages: list[str], info: str = "", encrypt: str = "", packed: bool = False) -> bytes:
    """Return a PDF of these lines a page; an empty line leaves its space."""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{' '.join(f'{5 + 2 * n} 0 R' for n in range(len(pages)))}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        f"<< {info} >>",
    ]
    for number, lines in enumerate(pages):
        shown = "\n".join(f"({line}) Tj T*" for line in lines)
        text = f"BT /F1 11 Tf 14 TL 56 780 Td\n{shown}\nET".encode("latin-1")
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >>"
            f" /Contents {6 + 2 * number} 0 R >>"
        )
        objects.append(stream(text, packed=packed))
    return document(objects, f" /Info 4 0 R {encrypt}")


def read(body: bytes, content_type: str = "application/pdf") -> Page:
    return read_page(body, content_type, URL)


def failure(body: bytes, content_type: str = "application/pdf") -> str:
    with pytest.raises(PermanentError) as caught:
        read(body, content_type)
    assert caught.value.detail.endswith(".")
    return caught.value.error_code


@pytest.mark.parametrize(
    "content_type",
    [
        *("application/pdf", "application/pdf; x=y", "application/octet-stream", ""),
        *(
            "text/html",
            "text/html; charset=utf-8",
            "text/plain",
            "application/xhtml+xml",
            "application/json",
            "image/png",
        ),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_pdf_is_read_whatever_it_is_sent_as(content_type: str, packed: bool) -> None:
    page = read(pdf([SENTENCE, "", SENTENCE[:40]], packed=packed), content_type)
    assert page.text == f"{SENTENCE}\n\n{SENTENCE[:40].strip()}"
    assert (page.kind, page.notice_code, page.lang_hint) == ("pdf", None, None)
    assert page.word_count == len(page.text.split())


def test_a_pdf_says_who_wrote_it_and_when() -> None:
    info = "/Title (Dredging) /Author (A. Writer) /Subject (Of channels) /CreationDate (D:20261120093000+01'30')"
    page = read(pdf([SENTENCE], info=info))
    assert (page.title, page.author, page.description) == ("Dredging", "A. Writer", "Of channels")
    assert page.published_at == datetime(2026, 11, 20, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("info", "title"),
    [
        ("/Title (Microsoft Word - Final report.docx)", "Final report"),
        ("/Title (untitled)", SENTENCE),
        ("/Title ()", SENTENCE),
        ("/CreationDate (D:20261399) /Title (T)", "T"),
    ],
)
def test_a_title_that_a_word_processor_made_up_is_none(info: str, title: str) -> None:
    page = read(pdf([SENTENCE, ""], info=info))
    assert (page.title, page.published_at) == (title, None)


@pytest.mark.parametrize("name", ["Title", "Author", "Subject", "CreationDate", "Keywords", "Producer"])
@pytest.mark.parametrize("value", ["(\xfe\xff\xd8\x00)", "<FEFFD800>", "<FEFFDC00D800>"])
def test_a_pdf_with_metadata_that_is_no_text_is_read_without_it(name: str, value: str) -> None:
    page = read(pdf([SENTENCE, ""], info=f"/{name} {value}"))
    assert SENTENCE in page.text
    assert page.author is None
    assert page.published_at is None


def test_a_scanned_pdf_keeps_what_is_known_of_it() -> None:
    page = read(pdf([], ["12"], info="/Author (A. Writer)"))
    assert (page.text, page.word_count, page.notice_code) == ("", 0, "pdf_without_text")
    assert (page.title, page.author, page.kind) == ("dredging report", "A. Writer", "pdf")


@pytest.mark.parametrize(
    "junk", ["~ # % $ @ ! = + * ^ ~~ ## %%", "\x95 \x86 \x87 \xa7 \xb6 \xa4"], ids=["ascii", "signs"]
)
def test_a_pdf_of_signs_that_say_nothing_is_one_without_text(junk: str) -> None:
    page = read(pdf([f"{junk} " * 4] * 30, [f"{junk} abc"] * 30))
    assert (page.text, page.word_count, page.notice_code) == ("", 0, "pdf_without_text")
    assert page.title == "dredging report"


@pytest.mark.parametrize("line", ["12 34 56 | 78 90 12 | 34 56", "f(x) = a + b * c - (d / e) ** 2 + {[g]} <> h"])
def test_tables_and_formulas_are_text(line: str) -> None:
    assert read(pdf([line] * 12)).notice_code is None


def test_a_pdf_behind_a_password_says_so() -> None:
    encrypt = f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{'41' * 32}> /U <{'42' * 32}> >> /ID [<00> <00>]"
    assert failure(pdf([SENTENCE], encrypt=encrypt)) == "pdf_encrypted"


@pytest.mark.parametrize("body", [b"%PDF-1.7", b"%PDF-1.4\n%%EOF", pdf([SENTENCE])[:300], b"no PDF"], ids=str)
def test_a_pdf_that_is_none_or_damaged_says_so(body: bytes) -> None:
    assert failure(body) == "pdf_unreadable"


@pytest.mark.parametrize("junk", [b"\r\n\r\n", b"\xef\xbb\xbf", b"junk of a server\n"])
def test_what_stands_before_a_pdf_does_not_hide_it(junk: bytes) -> None:
    assert read(junk + pdf([SENTENCE]), "text/html").kind == "pdf"


def test_a_page_that_is_sent_as_a_pdf_is_read() -> None:
    assert read(f"<html><body><p>{SENTENCE}</p></body></html>".encode()).text == SENTENCE


def test_a_pdf_without_its_table_is_mended() -> None:
    assert read(pdf([SENTENCE]).replace(b"startxref\n", b"startxref\n9")).text == SENTENCE


def test_headers_footers_and_page_numbers_are_not_the_text() -> None:
    pages = [
        [f"Harbour Council {page + 1} of 4", "", f"Part {word}. {SENTENCE}", "", "Confidential", str(page + 1)]
        for page, word in enumerate(["one", "two", "three", "four"])
    ]
    text = read(pdf(*pages)).text
    assert text.split("\n\n") == [f"Part {word}. {SENTENCE}" for word in ("one", "two", "three", "four")]


def test_words_parted_at_a_lines_end_are_whole() -> None:
    page = read(pdf(["The council agreed to dredge the nor-", "thern channel of the harbour in spring."]))
    assert page.text == "The council agreed to dredge the northern channel of the harbour in spring."


def lines(*texts: str, left: float = 50, top: float = 700, pitch: float = 14) -> list[Line]:
    return [Line(text, left, top - pitch * place, 11) for place, text in enumerate(texts)]


def test_lines_are_joined_to_paragraphs() -> None:
    first = lines("A first paragraph that runs over", "two lines and ends here.")
    second = [Line("A second one, whose first line is indented,", 70, 672, 11), Line("goes on as well", 50, 658, 11)]
    after = lines("to the next page. The end of it.", "• one point", "• another point", "港湾委員会は", "決めた")
    assert paragraphs_of([[*first, *second], after]) == [
        "A first paragraph that runs over two lines and ends here.",
        "A second one, whose first line is indented, goes on as well to the next page. The end of it.",
        "• one point",
        "• another point 港湾委員会は決めた",
    ]


def test_a_heading_in_larger_letters_is_a_paragraph_of_its_own() -> None:
    page = [
        Line("Of channels", 50, 700, 20),
        Line("The text below it that goes on", 50, 680, 11),
        *lines("and on.", top=666),
    ]
    assert paragraphs_of([page]) == ["Of channels", "The text below it that goes on and on."]


def test_very_many_pages_are_read_to_a_limit() -> None:
    text = read(pdf(*[[f"{SENTENCE} This is leaf {place:05}."] for place in range(PAGES_MAX + 2)])).text
    assert text.endswith(f"This is leaf {PAGES_MAX - 1:05}.")
