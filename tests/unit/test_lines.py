"""What strangers wrote is one line of text wherever a line stands: nothing acts on others, nothing hides in it."""

import unicodedata
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.parser import BytesHeaderParser, BytesParser
from html import escape
from uuid import UUID

import pytest
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from siftline.api.feed.atom import Entry, entries_xml
from siftline.api.http.shapes import Label, Name
from siftline.api.sources import opml
from siftline.brief.deliveries_store import Delivery
from siftline.brief.edition import Links
from siftline.brief.mail import Letterhead, edition_mail
from siftline.kit.errors import PermanentError
from siftline.kit.lines import header_value, line, mail_text
from siftline.kit.log import logger

NOW = datetime(2026, 11, 28, 7, tzinfo=UTC)
# What has been used against mail programs, terminals, readers of code and of titles, and what it is mixed with.
PIECES = st.sampled_from([
    "\r\n", "\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", "\x00", "\x1b[31m", "\x9b31m", "\t", "\xa0",
    "\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\u200e", "\u200f",
    "\u061c", "\u200b", "\u200c", "\u200d", "\u2060", "\u2061", "\ufeff", "\u00ad", "\u034f", "\u180e", "\u3164",
    "\U000e0001", "\U000e0041", "\U000e007f", "\ud83d", "\udc00", "\ufffe", "\U0001ffff", "\ufdd0", "\ufe0f", "\ufe00",
    "\U000e0100", "\ufff9", "\ufffb", "\u0301", "\u0489", "\u20e3", "=?utf-8?q?a=0D=0ABcc:_x@evil.example?=",
    "=?utf-8?b?QmNjOiB4QGV2aWwuZXhhbXBsZQ0KDQo=?=", "=?us-ascii?q?=0A?=", "=?", "?=", "Bcc: x@evil.example",
    "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "क\u094d\u200dष", "ශ්\u200dරී", "👩\u200d🚀", "❤\ufe0f\u200d🔥", "שלום", "Łódź", "e\u0301", "日本", "1\ufe0f\u20e3",
    " ", "  ", "x", "-- ",
])  # fmt: skip
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=12).map("".join)
SIZES = st.integers(1, 60)


def _acts(sign: str) -> bool:
    """Say whether a sign turns, breaks or hides what stands around it, or can be no text."""
    if unicodedata.category(sign) in {"Cc", "Cs", "Zl", "Zp"}:
        return True
    return (
        sign in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u2060\ufeff"
        or "\U000e0000" <= sign < "\U000e0100"
    )


@given(TEXTS, SIZES)
def test_a_line_holds_nothing_that_acts_or_hides_and_no_more_than_it_may(text, most):
    shown = line(text, most)
    assert not any(map(_acts, shown))
    assert len(shown) <= most
    assert shown == shown.strip()
    assert "  " not in shown
    shown.encode()


@given(TEXTS, SIZES)
def test_a_line_of_a_line_is_the_same_line(text, most):
    assert line(line(text, most), most) == line(text, most)


@given(st.text(st.characters(categories=["L", "N", "P"], exclude_characters="\u3164\uffa0\u2800"), max_size=30))
def test_letters_numbers_and_punctuation_of_any_script_stay(text):
    assert line(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0628\u0631\u0648\u0645",
        "क\u094d\u200dष और र\u094d\u200d",
        "ශ්\u200dරී ලංකා",
        "👩\u200d👩\u200d👧\u200d👦 and ❤\ufe0f\u200d🔥",
        "1\ufe0f\u20e3 👍🏽",
        "שלום, C++\u200f!",
        "Tiếng Việt, e\u0301",
        "᠊ᠠ\u180eᠠ",
        "葛\U000e0100飾",
        "=?utf-8?q?Flood=0D=0ABcc:_x@evil.example?=",
    ],
)
def test_what_a_writing_needs_stays_as_it_is(text):
    assert line(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("so\r\nfar", "so far"),
        ("a\u2028b\u2029c\x85d\x0be", "a b c d e"),
        ("\x1b]0;owned\x07title", "]0;ownedtitle"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("a\u2066b\u2069c", "abc"),
        ("p\u200ba\u2060y\ufeffp\u00adal", "paypal"),
        ("pay\u200dpal\u200c", "paypal"),
        ("hi\U000e0049\U000e0067\U000e006e", "hi"),
        ("a" + "\ufe01\ufe02\ufe03" * 9, "a\ufe01"),
        ("Z" + "\u0301" * 60 + "!", "Z" + "\u0301" * 4 + "!"),
        ("lone \ud800 and \udfff", "lone and"),
        ("C\u200e++\u200f", "C++"),
        ("\u3164\u2800 \xa0", ""),
        ("👩\u200d rest", "👩 rest"),
    ],
)
def test_what_acts_or_hides_goes(text, shown):
    assert line(text) == shown


def test_the_work_of_a_long_text_ends_with_the_line_that_is_kept():
    class Counted(str):
        __slots__ = ()
        taken = 0

        def __iter__(self):
            for sign in str.__iter__(self):
                Counted.taken += 1
                yield sign

    assert line(Counted("\ttab" * 100_000), 10) == "tab tab ta"
    assert Counted.taken < 100


def _read_in_every_way(raw: bytes) -> list[str]:
    """Return the subject as several parsers read it."""
    old = message_from_bytes(raw)
    return [
        *(
            str(BytesParser(policy=one).parsebytes(raw)["Subject"])
            for one in (policy.default, policy.SMTP, policy.HTTP)
        ),
        str(make_header(decode_header(old["Subject"]))),
        str(BytesHeaderParser(policy=policy.strict).parsebytes(raw)["Subject"]),
    ]


def _mail(name: str, title: str, mail_from: str = "Siftline <news@siftline.example>") -> bytes:
    document = {"briefing": {"name": name}, "stories": [{"title": title}]}
    delivery = Delivery(
        id=UUID(int=1),
        edition_id=UUID(int=2),
        briefing_id=UUID(int=3),
        user_id=UUID(int=4),
        channel="email",
        destination="reader@news.example",
        state="pending",
        unanswered=0,
        document=document,
        html="<p>One story.</p>",
        plain="One story.\n",
        unsubscribe_token="t" * 43,
        signing_key=None,
        made_at=NOW,
        stopped_code=None,
        suppressed=None,
        confirmed=True,
    )
    return edition_mail(delivery, "reader@news.example", Letterhead(mail_from, Links("https://news.example")), NOW)


HEADERS = [
    "From", "Subject", "To", "Date", "Auto-Submitted", "Message-ID", "X-Edition-Id", "List-Id", "List-Unsubscribe",
    "List-Unsubscribe-Post", "Content-Type", "MIME-Version",
]  # fmt: skip


@pytest.mark.parametrize(
    "title",
    [
        "=?utf-8?q?Flood=0D=0ABcc:_x@evil.example=0D=0A=0D=0AVerify:_//evil.example?=",
        "=?utf-8?b?Rmxvb2QNCkJjYzogeEBldmlsLmV4YW1wbGUNCg0KVmVyaWZ5OiAvL2V2aWwuZXhhbXBsZQ==?=",
        "=?us-ascii?Q?a=0ABcc=3A_x@evil.example?= =?us-ascii?Q?=0A=0Abody?=",
        "Flood =?utf-8?q?=0D=0ABcc:_x@evil.example?= and more",
        "Flood\r\nBcc: x@evil.example\r\n\r\nVerify: //evil.example",
        "=?utf-8*en?q?=0D=0ABcc:_x@evil.example?=",
        "Überschwemmung =?utf-8?q?=0D=0ABcc:_x@evil.example?=",
    ],
)
def test_a_title_is_a_subject_and_no_header_nor_body_of_a_mail(title):
    """Case T27."""
    raw = _mail("Morning", title)
    head, _, body = raw.partition(b"\r\n\r\n")
    for one in (policy.default, policy.compat32, policy.SMTP):
        mail = BytesParser(policy=one).parsebytes(raw)
        assert sorted(mail.keys()) == sorted(HEADERS)
        assert not mail.defects
        again = BytesParser(policy=one).parsebytes(mail.as_bytes())
        assert sorted(again.keys()) == sorted(HEADERS)
    assert b"\nVerify" not in raw
    assert b"\nBcc" not in head
    assert body.startswith(b"--")
    assert set(_read_in_every_way(raw)) == {f"Morning: {line(title, 90)}"}


@given(TEXTS, TEXTS)
def test_whatever_a_briefing_and_a_story_are_called_a_mail_has_its_own_headers(name, title):
    raw = _mail(name, title)
    head = raw.partition(b"\r\n\r\n")[0]
    names = [one.partition(b":")[0].decode() for one in head.split(b"\r\n") if not one.startswith(b" ")]
    assert sorted(names) == sorted(HEADERS)
    assert all(len(one) <= 78 for one in head.split(b"\r\n") if not one.startswith(b"List-"))
    assert head.isascii()


@given(TEXTS)
def test_what_is_read_from_a_header_is_the_line_that_was_written(text):
    raw = b"Subject: " + mail_text("Subject", text, 200).encode("ascii") + b"\r\n\r\n"
    assert {one.strip() for one in _read_in_every_way(raw)} == {line(text, 200)}


@pytest.mark.parametrize(
    ("mail_from", "name"),
    [
        ("Siftline <news@siftline.example>", "Siftline"),
        ("news@siftline.example", ""),
        ('"News, daily" <news@siftline.example>', "News, daily"),
        ("Nachrichten für Łódź <news@siftline.example>", "Nachrichten für Łódź"),
        ("=?utf-8?q?a=0D=0AX-Evil=3A_1?= <news@siftline.example>", "=?utf-8?q?a=0D=0AX-Evil=3A_1?="),
    ],
)
def test_the_name_that_mails_are_from_is_one_name_of_one_address(mail_from, name):
    mail = BytesParser(policy=policy.default).parsebytes(_mail("Morning", "News", mail_from))
    [sender] = mail["From"].addresses
    assert (sender.display_name, sender.addr_spec) == (name, "news@siftline.example")
    assert sorted(mail.keys()) == sorted(HEADERS)


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: x", "a\nb", "a\x00b", "für", "a\u2028b", "a\x7f"])
def test_a_value_that_would_be_two_headers_is_refused(value):
    with pytest.raises(ValueError, match="not allowed in a header"):
        header_value(value)


def test_what_an_error_tells_is_one_line():
    error = PermanentError("The server said:\r\n\x1b[2Jnothing\u202e.")
    assert (error.detail, str(error)) == ("The server said: [2Jnothing.",) * 2


@pytest.mark.parametrize("kind", [Name, Label])
def test_what_a_user_names_is_a_line_that_can_be_seen(kind):
    adapter = TypeAdapter(kind)
    assert adapter.validate_python(" Mor\u202ening\r\nnews ") == "Morning news"
    with pytest.raises(ValidationError):
        adapter.validate_python("\u200b\u2060\u202e")


def test_a_log_holds_ascii_alone_whatever_was_told():
    formatter = logger("lines_test").registered_formatter
    assert isinstance(formatter, LambdaPowertoolsFormatter)
    written = formatter.serialize({"message": "a\u2028b\u202e\ud800\n", "of": "Łódź"})
    assert written.isascii()
    assert "\n" not in written


def test_titles_of_atom_and_opml_are_lines():
    title = "Flood\u202e\r\n\x1b[2J =?utf-8?q?=0D=0ABcc:_x?="
    moment = datetime(2026, 11, 28, tzinfo=UTC)
    entry = Entry(
        id=UUID(int=1), title=title, url="https://n.example/", author=title, updated_at=moment, published_at=moment
    )
    shown = "Flood [2J =?utf-8?q?=0D=0ABcc:_x?="
    assert entries_xml([entry], max_bytes=10_000).count(f">{shown}<") == 2
    body = f'<opml><body><outline xmlUrl="https://n.example/" text="{escape(title)}"/></body></opml>'
    [outline] = opml.read(body.replace("\x1b", "").encode(), encoding=None, most=10).outlines
    assert outline.title == shown.replace("\x1b", "")
