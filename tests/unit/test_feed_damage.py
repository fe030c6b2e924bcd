"""A damaged feed loses no entry, and counts none that was never there."""

import pytest

from siftline.fetch.feed.feed_parser import parse
from siftline.fetch.feed.feeds import Feed

ENTRIES = 10


def _item(number: int, body: str | None = None) -> str:
    body = f"<![CDATA[<p>Hello {number}</p>]]>" if body is None else body
    return (
        f"<item><title>T{number}</title><link>https://site.example/{number}</link>"
        f"<guid isPermaLink='false'>g{number}</guid><description>{body}</description></item>"
    )


def _read(fourth: str, *, damaged: bool = False) -> Feed:
    items = [_item(number) for number in range(ENTRIES)]
    items[4] = fourth
    rest = "<b>&" if damaged else ""
    head = "<?xml version='1.0' encoding='utf-8'?><rss version='2.0'><channel><title>T</title>"
    body = f"{head}{''.join(items)}{rest}</channel></rss>"
    return parse(body.encode(), url="https://site.example/feed", content_type="application/rss+xml")


@pytest.mark.parametrize(
    "fourth",
    [
        pytest.param(_item(4, "<p>Hello").replace("</description>", ""), id="a text without its end"),
        pytest.param(f"<!-- {_item(4)}", id="a comment that never ends"),
        pytest.param(_item(4).replace("]]>", "]>"), id="a CDATA section that never ends"),
        pytest.param(_item(4).replace("</title>", ""), id="a title that never ends"),
        pytest.param(_item(4).replace("</guid>", "").replace("</link>", ""), id="parts that never end"),
        pytest.param(_item(4).replace("</item>", ""), id="an entry without its end"),
        pytest.param(_item(4, "a & b < c"), id="bare characters"),
        pytest.param(_item(4, "<p title='a\"b>Hello</p>"), id="quotes out of step"),
        pytest.param(_item(4).replace("<guid", "<enclosure url='/a.mp3'><guid"), id="an enclosure that never ends"),
    ],
)
def test_damage_costs_no_entry(fourth: str) -> None:
    feed = _read(fourth, damaged=True)
    assert [(entry.title, entry.guid, entry.link) for entry in feed.entries] == [
        (f"T{number}", f"g{number}", f"https://site.example/{number}") for number in range(ENTRIES)
    ]
    assert feed.skipped == 0


@pytest.mark.parametrize(
    "fourth",
    [
        pytest.param(
            _item(4, "<![CDATA[Write <item>one</item> <item>two</item> like this]]>"), id="a sample in a text"
        ),
        pytest.param(_item(4, "<![CDATA[End it with </item> and then </channel>]]>"), id="ends in a text"),
        pytest.param(_item(4, "Write &lt;item&gt; like this"), id="an escaped sample"),
        pytest.param(f"{_item(4)}<!-- {_item(44)} -->", id="an entry that was commented out"),
    ],
)
@pytest.mark.parametrize("damaged", [False, True])
def test_what_is_no_entry_is_not_counted(fourth: str, *, damaged: bool) -> None:
    feed = _read(fourth, damaged=damaged)
    assert (len(feed.entries), feed.skipped) == (ENTRIES, 0)
