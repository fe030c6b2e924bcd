"""What strangers wrote stands in headers, subjects and logs by way of one gate, as far as a program can tell."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.reading import FUNCTIONS, ROOT, SOURCE, imported, python_files, relative, tree

GATE = SOURCE / "kit" / "lines.py"
# Who looks at such characters for another end than a line.
OTHERS = {
    "shared/siftline/text/machine_talk.py": "what a model reads and nobody sees, to compare texts by",
    "shared/siftline/fetch/feed/sanitised.py": "HTML of many lines, as XML and PostgreSQL take it",
    "shared/siftline/api/http/problems.py": "JSON's own escapes",
    "shared/siftline/text/date_words.py": "words of dates, compared and never shown",
    "shared/siftline/net/http_body.py": "bytes, to tell a text from data",
}
_ACTING = re.compile(r"\\u(?:202[a-e89]|206[6-9])|\\x1b|\\x9b|[\u2028-\u202e\u2066-\u2069]", re.IGNORECASE)
# Whoever writes mails by Python's package: its folding decodes what strangers encoded.
_MAIL = re.compile(
    r"email\.(message\.EmailMessage|message\.MIMEPart|mime|header|headerregistry|generator|policy|charset)"
)
MAILERS = {
    "shared/siftline/kit/lines.py": "the gate writes encoded words by it",
    "shared/siftline/brief/mail.py": "only the parts of a mail; its head passes the gate",
}
# What may stand in a header without more: numbers and dates, what the gate let through, and what is ours.
_SAFE_CALLS = {"str", "int", "format_datetime", "formataddr", "line", "mail_text", "header_value", "signature", "join"}
_HEADER_NAMES = re.compile(
    r"[A-Z][A-Za-z0-9]*(?:-[A-Z][A-Za-z0-9]*)+|Subject|From|To|Cc|Bcc|Location|Vary|Allow|Date|ETag"
)


def files() -> list[Path]:
    return [path for path in python_files(SOURCE, FUNCTIONS, ROOT / "infra") if path != GATE]


def test_nobody_beside_the_gate_knows_what_acts_on_a_line() -> None:
    found = {relative(path) for path in files() if _ACTING.search(path.read_text(encoding="utf-8"))}
    found |= {relative(path) for path in files() if ".isprintable" in path.read_text(encoding="utf-8")}
    assert found - OTHERS.keys() == set()
    assert OTHERS.keys() - found == set()


def test_pythons_mail_package_writes_no_head() -> None:
    found = {relative(path) for path in [*files(), GATE] if any(_MAIL.match(name) for _, name in imported(path))}
    assert found == MAILERS.keys()
    text = (SOURCE / "brief" / "mail.py").read_text(encoding="utf-8")
    assert not re.search(r"""\w+\[["'][A-Za-z-]+["']\] = |add_header|replace_header""", text.replace("more[", ""))


def _headers(path: Path) -> Iterator[tuple[int, str, ast.expr]]:
    """Yield line, name and value of each header that a file writes as an entry of a mapping."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and _HEADER_NAMES.fullmatch(key.value):
                    yield node.lineno, key.value, value
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            key = node.targets[0].slice
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and _HEADER_NAMES.fullmatch(key.value):
                yield node.lineno, key.value, node.value


def _is_safe(value: ast.expr, ours: set[str]) -> bool:
    """Say whether a value is a constant, a number, what the gate let through, or one of ours."""
    if isinstance(value, ast.Constant):
        return True
    if isinstance(value, ast.Name):
        return value.id.isupper() or value.id.lstrip("_").isupper() or value.id in ours
    if isinstance(value, ast.IfExp):
        return _is_safe(value.body, ours) and _is_safe(value.orelse, ours)
    if isinstance(value, ast.Attribute):
        return value.attr in ours
    if isinstance(value, ast.Call):
        called = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
        return called in _SAFE_CALLS or called in ours
    if isinstance(value, ast.JoinedStr):
        return all(_is_safe(part.value, ours) for part in value.values if isinstance(part, ast.FormattedValue))
    return isinstance(value, ast.Dict)  # the description of a header


# What a header of ours is made of, where that is neither a constant nor the gate's: who wrote it.
WRITTEN = {
    "shared/siftline/api/http/auth.py": {"value": "a scope's name, out of an enumeration"},
    "shared/siftline/api/feed/atom.py": {"etag": "a digest"},
    "shared/siftline/api/http/routing.py": {"location": "a path with ids of ours"},
    "shared/siftline/brief/mail.py": {
        "edition_id": "an id",
        "briefing_id": "an id",
        "host": "of PUBLIC_URL",
        "link": "our address and a token",
        "mailed": "the operator's mailbox",
        "message_id": "a token of ours and the time",
        "to": "an address by text/mail_address.py",
        "_mailbox": "the gate's, around an address",
    },
    "shared/siftline/fetch/poll/answers.py": {
        "etag": "a server's, looked at where it is sent (net/http_model.py)",
        "last_modified": "as the one before",
    },
    "shared/siftline/brief/channels.py": {"timestamp": "a number"},
    "shared/siftline/api/http/document.py": {"policy": "digests of ours"},
    "shared/siftline/net/http.py": {"line": "a server's, read and not sent"},
}


@pytest.mark.parametrize("path", python_files(SOURCE), ids=relative)
def test_a_header_is_written_of_what_is_ours_or_what_the_gate_let_through(path: Path) -> None:
    ours = set(WRITTEN.get(relative(path), {}))
    assert [(line, name) for line, name, value in _headers(path) if not _is_safe(value, ours)] == []


def test_logs_are_written_in_ascii() -> None:
    makers = [
        relative(path)
        for path in python_files(SOURCE, FUNCTIONS)
        if any(name == "aws_lambda_powertools.Logger" for _, name in imported(path))
        and re.search(r"\bLogger\(", path.read_text(encoding="utf-8"))
    ]
    assert makers == ["shared/siftline/kit/log.py"]
