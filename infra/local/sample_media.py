"""Samples that are no articles: a talk as a video with captions, and a report as a PDF. No sockets here."""

import html
import json
import textwrap

from infra.local.sample_library import SAMPLES_DIR

TALK, CAPTIONS, VIDEO, REPORT = "/media/talk", "/media/talk.vtt", "/media/talk.mp4", "/media/report.pdf"
TITLES = {TALK: "The quietest crane in the harbour: a talk", REPORT: "Tide Mill of Lower Pelham: Annual Report"}
_LINE_CHARS, _LINES_A_PAGE = 88, 50


def talk_page(base_url: str) -> str:
    """Return the talk's page: a video and its captions, and no word of what is said in it."""
    title = TITLES[TALK]
    linked_data = {
        "@context": "https://schema.org",
        "@type": "VideoObject",
        "name": title,
        "contentUrl": base_url + VIDEO,
        "duration": "PT1M3S",
        "author": {"@type": "Person", "name": "Marisol Achterberg"},
        "inLanguage": "en",
    }
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
        f'<meta property="og:type" content="video.other"><meta property="og:title" content="{html.escape(title)}">\n'
        f'<script type="application/ld+json">{json.dumps(linked_data)}</script></head>\n'
        f"<body><h1>{html.escape(title)}</h1>\n"
        f'<video controls src="{base_url}{VIDEO}">'
        f'<track kind="captions" srclang="en" label="English" src="{base_url}{CAPTIONS}"></video>\n'
        "</body></html>\n"
    )


def captions() -> bytes:
    """Return what is said in the talk, as WebVTT."""
    return (SAMPLES_DIR / "media" / "talk.vtt").read_bytes()


def report_pdf() -> bytes:
    """Return the report as a PDF (1.4, one of the fourteen standard fonts, nothing compressed)."""
    paragraphs = (SAMPLES_DIR / "media" / "report.txt").read_text(encoding="utf-8").strip().split("\n\n")
    lines = [line for paragraph in paragraphs for line in [*textwrap.wrap(paragraph, _LINE_CHARS), ""]]
    pages = [lines[start : start + _LINES_A_PAGE] for start in range(0, len(lines), _LINES_A_PAGE)]
    numbers = [4 + 2 * place for place in range(len(pages))]
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, page in zip(numbers, pages, strict=True):
        shown = "\n".join(f"({_escaped(line)}) Tj T*" for line in page)
        stream = f"BT /F1 11 Tf 14 TL 56 780 Td\n{shown}\nET"
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >>"
            f" /Contents {number + 1} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    title = f"<< /Title ({_escaped(paragraphs[0])}) /Author (The Trustees) >>"
    return _document([*objects, title], info=len(objects) + 1)


def _document(objects: list[str], *, info: int) -> bytes:
    """Put numbered objects, their cross-reference table and the trailer together (ISO 32000-1, section 7.5)."""
    body, places = "%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R /Info {info} 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode("ascii")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
