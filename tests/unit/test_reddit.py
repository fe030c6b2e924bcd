"""Reddit's listings and posts, in every spelling and both forms."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from siftline.fetch.feed.feeds import Entry, Feed
from siftline.fetch.kinds.reddit import NotAListingError, from_atom, posts
from siftline.net.reddit_address import Listing, listing_of

PYTHON = Listing("python")
PERMALINK = "/r/Python/comments/abc/a_post/"


def post(**more: Any) -> dict[str, Any]:
    return {
        "name": "t3_abc",
        "title": "A <post> & more",
        "author": "ann",
        "permalink": PERMALINK,
        "url": "https://news.example/story?utm_source=reddit",
        "is_self": False,
        "selftext": "",
        "selftext_html": None,
        "created_utc": 1_764_000_000.0,
        "edited": False,
        "over_18": False,
        "thumbnail": "default",
        "subreddit_name_prefixed": "r/Python",
        **more,
    }


def read(*raws: dict[str, Any], kind: str = "t3") -> Feed:
    body = {"kind": "Listing", "data": {"children": [{"kind": kind, "data": raw} for raw in raws]}}
    return posts(json.dumps(body).encode(), listing=PYTHON)


def one(**more: Any) -> Entry:
    [entry] = read(post(**more)).entries
    return entry


class TestAddresses:
    @pytest.mark.parametrize(
        "text",
        [
            "r/python",
            "/r/Python/",
            " R/python ",
            "https://www.reddit.com/r/python",
            "http://old.reddit.com/r/Python/",
            "https://m.reddit.com/r/python/?utm_source=x",
            "https://reddit.com/r/python/.rss",
            "https://de.reddit.com/r/python.json?limit=5",
            "https://WWW.REDDIT.COM./r/python#top",
        ],
    )
    def test_of_a_subreddit_are_one(self, text: str) -> None:
        found = listing_of(text)
        assert found == PYTHON
        assert found.url == "https://www.reddit.com/r/python/"

    @pytest.mark.parametrize(
        ("text", "url"),
        [
            ("r/python/new", "https://www.reddit.com/r/python/new/"),
            ("https://www.reddit.com/r/python/top/?t=week", "https://www.reddit.com/r/python/top/?t=week"),
            ("https://www.reddit.com/r/python/top/.rss?t=WEEK&limit=9", "https://www.reddit.com/r/python/top/?t=week"),
            ("https://www.reddit.com/r/python/hot?t=week", "https://www.reddit.com/r/python/hot/"),
            ("r/python/top?t=week", "https://www.reddit.com/r/python/top/?t=week"),
            ("/r/python+rust/top/?t=week", "https://www.reddit.com/r/python+rust/top/?t=week"),
            ("u/ann?sort=top&t=all", "https://www.reddit.com/user/ann/submitted/?sort=top&t=all"),
            ("r/python+rust", "https://www.reddit.com/r/python+rust/"),
            ("u/Ann-b", "https://www.reddit.com/user/ann-b/submitted/"),
            ("https://www.reddit.com/user/ann/submitted/?sort=top&t=all",
             "https://www.reddit.com/user/ann/submitted/?sort=top&t=all"),
            ("https://www.reddit.com/r/u_ann/", "https://www.reddit.com/r/u_ann/"),
        ],
    )  # fmt: skip
    def test_keep_their_order_and_period(self, text: str, url: str) -> None:
        found = listing_of(text)
        assert found is not None
        assert found.url == url
        assert listing_of(url) == found

    @pytest.mark.parametrize(
        "text",
        [
            "python",
            "r/",
            "r/a",
            "r/python/comments/abc/a_post",
            "https://www.reddit.com/",
            "https://www.reddit.com/r/python/comments/abc/",
            "https://www.reddit.com/r/python/wiki",
            "https://www.reddit.com/user/ann/comments",
            "https://reddit.com.evil.example/r/python",
            "https://evilreddit.com/r/python",
            "ftp://www.reddit.com/r/python",
            "https://[reddit.com/r/python",
            "r/pyt hon",
            "r/python/top?t=we ek",
            "r/?t=week",
            "r/../../x",
        ],
    )
    def test_of_other_things_are_none(self, text: str) -> None:
        assert listing_of(text) is None


class TestJson:
    def test_a_link_post_is_about_the_page_it_links_to(self) -> None:
        entry = one(link_flair_text="News", over_18=True, author="ann", edited=1_764_000_100.0)
        assert entry == Entry(
            guid="t3_abc",
            link="https://news.example/story?utm_source=reddit",
            title="A <post> & more",
            author="ann",
            published_at=datetime.fromtimestamp(1_764_000_000, UTC),
            updated_at=datetime.fromtimestamp(1_764_000_100, UTC),
            tags=("News", "over_18"),
            comments_url=f"https://www.reddit.com{PERMALINK}",
        )

    def test_a_text_post_is_a_page_of_its_own_with_a_sanitised_body(self) -> None:
        html = "<!-- SC_OFF --><div class='md'><p>Hi <a href='/r/rust'>r</a><script>x</script></p></div><!-- SC_ON -->"
        entry = one(is_self=True, selftext="Hi", selftext_html=html, url=f"https://www.reddit.com{PERMALINK}")
        assert entry.link == entry.comments_url == f"https://www.reddit.com{PERMALINK}"
        assert "https://www.reddit.com/r/rust" in entry.html
        assert "script" not in entry.html
        assert entry.description == "Hi r"

    def test_pictures_and_videos_on_reddit_are_found_at_their_post(self) -> None:
        preview = {"images": [{"source": {"url": "https://preview.redd.it/x.png?width=9&s=1"}}]}
        picture = one(url="https://i.redd.it/x.png", preview=preview)
        assert picture.link == f"https://www.reddit.com{PERMALINK}"
        assert 'src="https://i.redd.it/x.png"' in picture.html
        assert picture.image_url == "https://preview.redd.it/x.png?width=9&s=1"
        media = {"reddit_video": {"fallback_url": "https://v.redd.it/x/DASH_480.mp4", "duration": 12}}
        [video] = one(url="https://v.redd.it/x", secure_media=media).enclosures
        assert (video.url, video.duration_s) == ("https://v.redd.it/x/DASH_480.mp4", 12)
        assert one(thumbnail="https://b.thumbs.redditmedia.com/x.jpg").image_url is not None
        assert one(thumbnail="nsfw").image_url is None

    def test_a_crosspost_is_about_what_the_first_post_is_about(self) -> None:
        first = post(url="https://news.example/first")
        assert one(url="/r/rust/comments/x/", crosspost_parent_list=[first]).link == "https://news.example/first"
        text = post(is_self=True, selftext_html="<p>Said</p>", permalink="/r/rust/comments/x/")
        entry = one(crosspost_parent_list=[text])
        assert (entry.link, entry.html) == ("https://www.reddit.com/r/rust/comments/x/", "<p>Said</p>")
        assert entry.guid == "t3_abc"

    @pytest.mark.parametrize(
        "more",
        [
            {"removed_by_category": "moderator"},
            {"removed_by_category": "deleted"},
            {"is_self": True, "selftext": "[removed]"},
            {"promoted": True},
        ],
        ids=str,
    )
    def test_what_was_removed_or_is_paid_for_is_left_out(self, more: dict[str, Any]) -> None:
        feed = read(post(**more))
        assert (feed.entries, feed.skipped) == ((), 0)

    def test_what_is_pinned_or_without_an_author_is_a_post_like_others(self) -> None:
        assert one(stickied=True, author="[deleted]").author is None

    @pytest.mark.parametrize(
        "more",
        [
            {"name": None},
            {"permalink": 5},
            {"permalink": "javascript:x"},
        ],
        ids=str,
    )
    def test_a_broken_post_costs_only_itself(self, more: dict[str, Any]) -> None:
        feed = read(post(**more), post())
        assert (len(feed.entries), feed.skipped) == (1, 1)

    def test_odd_values_cost_nothing(self) -> None:
        odd = {"title": 7, "author": [], "url": {}, "created_utc": "x", "edited": True, "preview": [], "tags": None}
        entry = one(**odd, link_flair_text={}, thumbnail=3, selftext_html=9, crosspost_parent_list=[None])
        assert (entry.title, entry.published_at, entry.link) == ("", None, f"https://www.reddit.com{PERMALINK}")
        assert one(created_utc=1e300).published_at is None

    def test_comments_of_a_user_are_no_posts(self) -> None:
        assert read(post(), kind="t1").entries == ()

    def test_it_is_called_as_its_posts_call_it(self) -> None:
        assert read(post()).title == "r/Python"
        assert read(post(subreddit_name_prefixed="r/other")).title == "r/python"
        assert (read().title, read().site_url) == ("r/python", "https://www.reddit.com/r/python/")

    @pytest.mark.parametrize(
        "body", [b"", b"<html>", b"[]", b"{}", b'{"data": {"children": [1]}}', b"[" * 100_000], ids=len
    )
    def test_what_is_no_listing_says_so(self, body: bytes) -> None:
        with pytest.raises(NotAListingError):
            posts(body, listing=PYTHON)

    def test_there_are_no_more_than_the_cap(self) -> None:
        children = [{"kind": "t3", "data": post(name=f"t3_{number}")} for number in range(5)]
        feed = posts(json.dumps({"data": {"children": children}}).encode(), listing=PYTHON, max_entries=2)
        assert (len(feed.entries), feed.skipped) == (2, 3)


class TestAtom:
    TAIL = (
        ' submitted by <a href="https://www.reddit.com/user/ann"> /u/ann </a><br>'
        '<span><a href="{}">[link]</a></span> <span><a href="https://www.reddit.com/r/Python/comments/abc/a_post/">'
        "[comments]</a></span>"
    )

    def entry(self, html: str) -> Entry:
        raw = Entry("t3_abc", f"https://www.reddit.com{PERMALINK}", "A <post> & more", author="/u/ann", html=html)
        [entry] = from_atom(Feed("r/Python", None, (raw,)), listing=PYTHON).entries
        return entry

    def test_a_link_post_says_the_same_as_in_json(self) -> None:
        picture = '<table><tbody><tr><td><a href="/x"><img src="https://b.thumbs/x.jpg"></a></td><td>'
        entry = self.entry(picture + self.TAIL.format("https://news.example/story?utm_source=reddit&amp;a=1"))
        expected = one(url="https://news.example/story?utm_source=reddit&a=1")
        for name in ("guid", "link", "title", "author", "html", "description", "comments_url"):
            assert getattr(entry, name) == getattr(expected, name)

    def test_a_text_post_says_the_same_as_in_json(self) -> None:
        permalink = f"https://www.reddit.com{PERMALINK}"
        entry = self.entry("<div><p>Hi there</p></div>" + self.TAIL.format(permalink))
        expected = one(is_self=True, url=permalink, selftext_html="<div class='md'><p>Hi there</p></div>")
        assert (entry.link, entry.html, entry.description) == (permalink, expected.html, expected.description)

    def test_a_picture_says_the_same_as_in_json(self) -> None:
        entry = self.entry("<table><tbody><tr><td>" + self.TAIL.format("https://i.redd.it/x.png"))
        expected = one(url="https://i.redd.it/x.png")
        assert (entry.link, entry.html) == (expected.link, expected.html)
