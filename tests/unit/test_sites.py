"""Who may speak for whom."""

import pytest

from siftline.net.urls import speaks_for


@pytest.mark.parametrize(
    ("speaker", "url", "may"),
    [
        ("https://example.com/feed", "http://www.example.com:8080/b", True),
        ("https://www.example.com/feed", "https://blog.example.com/b", True),
        ("https://example.com./feed", "https://example.com/b", True),
        ("https://evil.tumblr.com/rss", "https://www.tumblr.com/victim/1", False),
        ("https://gist.github.com/feed", "https://github.com/victim", False),
        ("https://a.example.com/feed", "https://b.example.com/b", False),
        ("https://notexample.com/feed", "https://example.com/b", False),
        ("https://github.io/feed", "https://victim.github.io/b", False),
        ("https://blogspot.com.br/feed", "https://victim.blogspot.com.br/b", False),
        ("https://co.uk/feed", "https://victim.co.uk/b", False),
        ("http://127.0.0.1:8099/feed", "http://127.0.0.1/b", True),
        ("http://1/feed", "http://127.0.0.1/b", False),
    ],
)
def test_a_site_speaks_for_itself_and_for_what_is_below_it(speaker: str, url: str, may: bool) -> None:
    assert speaks_for([speaker], url) is may


def test_a_word_that_passed_through_another_site_is_that_ones_too() -> None:
    mine, other = "https://example.com/out?to=x", "https://mallory.example/feed"

    assert speaks_for([mine], "https://example.com/a")
    assert not speaks_for([mine, other], "https://example.com/a")
