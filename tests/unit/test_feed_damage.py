"""What a damaged feed loses is counted; what it does not lose is not."""

import pytest

from siftline.fetch.feed.feeds import Feed, parse

ENTRIES = 10


def _item(number: int, body: str | None = None) -> str:
    body = f"<![CDATA[<p>Hello {number}</p>]]>" if body is None else body
    return (
        f"<item><title>T{number}</title><link>https://site.example/{number}</link><guid>g{number}</guid>"
        f"<description>{body}</description></item>"
    )


def _read(fourth: str, *, damaged: bool = False) -> Feed:
    items = [_item(number) for number in range(ENTRIES)]
    items[4] = fourth
    rest = "<b>&" if damaged else ""
    head = "<?xml version='1.0' encoding='utf-8'?><rss version='2.0'><channel><title>T</title>"
    body = f"{head}{''.join(items)}{rest}</channel></rss>"
    return parse(body.encode(), url="https://site.example/feed", content_type="application/rss+xml")


@pytest.mark.parametrize(
    ("fourth", "kept", "skipped"),
    [
        pytest.param(_item(4, "<p>Hello").replace("</description>", ""), 9, 1, id="a text without its end"),
        pytest.param(f"<!-- {_item(4)}", 4, 6, id="a comment that never ends"),
        pytest.param(_item(4).replace("]]>", "]>"), 9, 1, id="a CDATA section that never ends"),
        pytest.param(_item(4).replace("</title>", ""), 9, 1, id="a title that never ends"),
        pytest.param(_item(4).replace("</item>", ""), 10, 0, id="an entry without its end"),
        pytest.param(_item(4, "a & b < c"), 10, 0, id="bare characters"),
    ],
)
def test_what_goes_down_is_counted(fourth: str, kept: int, skipped: int) -> None:
    feed = _read(fourth, damaged=True)
    assert (len(feed.entries), feed.skipped) == (kept, skipped)


@pytest.mark.parametrize(
    "fourth",
    [
        pytest.param(
            _item(4, "<![CDATA[Write <item>one</item> <item>two</item> like this]]>"), id="a sample in a text"
        ),
        pytest.param(_item(4, "Write &lt;item&gt; like this"), id="an escaped sample"),
        pytest.param(f"{_item(4)}<!-- {_item(44)} -->", id="an entry that was commented out"),
    ],
)
@pytest.mark.parametrize("damaged", [False, True])
def test_what_is_no_entry_is_not_counted(fourth: str, *, damaged: bool) -> None:
    feed = _read(fourth, damaged=damaged)
    assert (len(feed.entries), feed.skipped) == (ENTRIES, 0)
