"""One plain address, or none: nothing that is told to the mail system by way of it."""

import pytest

from siftline.text.mail_address import InvalidMailAddressError, mail_address, mailbox_key


@pytest.mark.parametrize(
    ("given", "sent_to"),
    [
        ("ada@news.example", "ada@news.example"),
        (" Ada+news@News.EXAMPLE ", "Ada+news@news.example"),
        ("o'brien.x@a-b.c1.example", "o'brien.x@a-b.c1.example"),
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
    ],
)
def test_an_address_is_kept_but_for_the_spelling_of_its_domain(given: str, sent_to: str) -> None:
    assert mail_address(given) == sent_to
    assert mailbox_key(sent_to) == sent_to.lower()


def test_letters_that_are_not_sent_are_told_so() -> None:
    with pytest.raises(InvalidMailAddressError, match="not supported"):
        mail_address("äda@news.example")


@pytest.mark.parametrize(
    "given",
    [
        "", "ada", "@news.example", "ada@", "ada@localhost", "ada@10.0.0.1", "ada@[10.0.0.1]", "ada@-a.example",
        "ada@a..example", "ada@.example", "a b@news.example", "ada@news.example\n",
        "ada@news.example\r\nBcc: x@y.example",
        "ada@news.example,x@y.example", "Ada <ada@news.example>", '"a b"@news.example', "äda@news.example",
        ".ada@news.example", "ada.@news.example", "a" * 65 + "@news.example", "ada@" + "a." * 130 + "example",
        "ada@news.example\x00", "ada@news_x.example", "ada@x@news.example",
    ],
)  # fmt: skip
def test_whatever_else_is_none(given: str) -> None:
    with pytest.raises(InvalidMailAddressError):
        mail_address(given)
