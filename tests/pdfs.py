"""PDF files for tests (ISO 32000-1, section 7.5)."""

import zlib
from collections.abc import Sequence


def stream(content: bytes, entries: str = "", *, packed: bool = False) -> str:
    """Return a stream object with further entries in its dictionary."""
    data = zlib.compress(content) if packed else content
    packing = " /Filter /FlateDecode" if packed else ""
    return f"<< /Length {len(data)}{packing}{entries} >>\nstream\n{data.decode('latin-1')}\nendstream"


def document(objects: Sequence[str], trailer: str = "") -> bytes:
    """Return a file of these objects, numbered from 1; the first is the catalogue."""
    body, places = "%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R{trailer} >>"
    return f"{body}{end}\nstartxref\n{len(body)}\n%%EOF\n".encode("latin-1")


def endless() -> bytes:
    """Return a small file whose one page draws a form a hundred times that draws one a hundred times, four levels deep.

    The innermost holds a million bytes, and each of its hundred million times is read anew: days for any machine, while
    hardly anything is kept.
    """
    form, often = " /Type /XObject /Subtype /Form /BBox [0 0 9 9]", b"/F Do " * 100
    resources = "/Resources << /XObject << /F {} 0 R >> >>".format
    forms = [stream(often, f"{form} {resources(number + 1)}") for number in (5, 6, 7)]
    return document(
        [
            "<< /Type /Catalog /Pages 2 0 R >>",
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R {resources(5)} >>",
            stream(often),
            *forms,
            stream(b"q Q " * 250_000, form, packed=True),
        ]
    )
