"""What counts as an address, and which addresses are one page."""

from collections.abc import Callable, Iterator
from time import thread_time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from siftline.kit.errors import PermanentError
from siftline.net import variants
from siftline.net.urls import MAX_KEY_LENGTH, MAX_URL_LENGTH, canonical_url, clean_url, same_site, validate_url
from siftline.net.variants import plain_path

PIECES = st.lists(
    st.sampled_from(
        [
            *"aZ0~-._!$'()*+,;:@&=?#/%[]|\\ äß日\u00ad💩",
            "%7E",
            "%2f",
            "%zz",
            "%%34%31",
            "..",
            "/./",
            "//",
            "utm_source=a",
            "&amp;",
            "gclid=1",
            *("/amp", "amp", ".amp", ".amp.html", "amp=1", "/amp/s/", "/c/s/", "e.com", "google.com", "v=", "shorts/"),
            *("comments/", "/r/", "a1", "/(S(a))", ";jsessionid=1", ";phpsessid=2", "/(A(b)S(c))", "/watch"),
        ]
    ),
    max_size=24,
).map("".join)
ADDRESSES = st.builds(
    "{}://{}{}{}{}".format,
    st.sampled_from(["http", "https", "HTTP"]),
    st.sampled_from(
        [
            *("e.com", "E.com.", "www.bücher.example", "u:p@e.com", "[::1]", "127.0.0.1", "X.com", "youtube.com"),
            *("m.e.com", "amp.e.co.uk", "m.m.e.com", "mobile.twitter.com", "www.google.com", "m.google.de", "bing.com"),
            *(
                "e-com.cdn.ampproject.org",
                "youtu.be",
                "amp.youtube.com",
                "redd.it",
                "old.reddit.com",
                "mobile.reddit.com",
            ),
            *("en.m.wikipedia.org", "m.m.wikipedia.org", "amp.m.wikipedia.org", "0x7f.1", "2130706433", "1.2.3.400"),
        ]
    ),
    st.sampled_from(["", ":", ":80", ":443", ":0080", ":8000"]),
    st.sampled_from(["/", "?", "#", "/?", "/#", "/#!"]),
    PIECES,
)


@pytest.mark.parametrize(
    ("given_url", "expected"),
    [
        ("  https://Example.COM/A?b=C#d \n", "https://example.com/A?b=C#d"),
        ("https://example.com", "https://example.com/"),
        ("HTTP://example.com/a b", "http://example.com/a%20b"),
        ("https://exam\tple.com/a\nb", "https://example.com/ab"),
        ("https://user:secret@example.com/a", "https://example.com/a"),
        ("https://münchen.de/straße?q=ü", "https://xn--mnchen-3ya.de/stra%C3%9Fe?q=%C3%BC"),
        ("https://straße.de/", "https://xn--strae-oqa.de/"),
        ("https://e\uff0e\uff43om/", "https://e.com/"),
        ("https://💩.la/", "https://xn--ls8h.la/"),
        ("https://my_blog.example.com/", "https://my_blog.example.com/"),
        ("http://[2001:DB8::0001]:8080/", "http://[2001:db8::1]:8080/"),
        ("https:\\\\example.com\\a?b\\c", "https://example.com/a?b%5Cc"),
        ("https://example.com\\@other.example/", "https://example.com/@other.example/"),
        ("https://ex%61mple.com:00443/%zz", "https://example.com:443/%25zz"),
    ],
)
def test_an_address_is_brought_into_the_form_in_which_it_is_fetched(given_url: str, expected: str) -> None:
    assert validate_url(given_url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com/page",
        "//example.com/page",
        "https://",
        "https:///page",
        "https://?q=1",
        "https:example.com",
        "http://[",
        "http://[::1",
        "http://[fe80::1%25eth0]/",
        "http://[nonsense]/",
        "http://a b/",
        "http://exa<mple.com/",
        "http://..",
        "http://a..b/",
        "http://%ff/",
        "http://example.com:0/",
        "http://example.com:65536/",
        "http://example.com:" + "9" * 5_000,
        "http://example.com:80a/",
        f"http://{'a' * 64}.com/",
        f"http://{'a.' * 130}com/",
        f"http://{'ä' * 200}/",
        "http://example.com/\x00a",
        "http://example.com/\ud800",
        f"https://example.com/{'a' * MAX_URL_LENGTH}",
        f"https://example.com/{'ä' * (MAX_URL_LENGTH // 2)}",
    ],
)
@pytest.mark.parametrize("function", [validate_url, canonical_url])
def test_what_is_no_address_is_refused(function, url: str) -> None:
    with pytest.raises(PermanentError) as caught:
        function(url)
    assert caught.value.error_code == "invalid_url"
    assert "address" in caught.value.detail


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "ftp://example.com/", "file:///etc/passwd", "data:,x", "mailto:a@b.c"]
)
def test_other_schemes_are_named_as_such(url: str) -> None:
    with pytest.raises(PermanentError) as caught:
        validate_url(url)
    assert caught.value.error_code == "unsupported_scheme"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://example.com/a", "https://EXAMPLE.com:443/a"),
        ("http://example.com:80/a", "https://example.com/a"),
        ("https://example.com", "https://example.com/"),
        ("https://example.com./a", "https://example.com/a"),
        ("https://example.com/a/", "https://example.com/a"),
        ("https://example.com/a/?id=7", "https://example.com/a?id=7"),
        ("https://example.com/a?", "https://example.com/a"),
        ("https://example.com/b/../a/./", "https://example.com/a"),
        ("https://example.com/%7euser/%e4%bd%a0", "https://example.com/~user/你"),
        ("https://example.com/a#part", "https://example.com/a"),
        ("https://example.com/a#:~:text=b", "https://example.com/a"),
        ("https://example.com/#!/a:~:text=b", "https://example.com/#!/a"),
        ("https://example.com/?utm_source=a&id=7", "https://example.com/?id=7"),
        ("https://example.com/?id=7&fbclid=x&utm%5Fmedium=y&GCLID=z&mc_cid=1&mc_eid=2", "https://example.com/?id=7"),
        ("https://example.com/?id=7&amp;utm_source=a", "https://example.com/?id=7"),
        ("https://www.youtube.com/watch?v=abc&feature=share&si=x", "https://www.youtube.com/watch?v=abc"),
        ("https://user@example.com/a", "https://example.com/a"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
    ],
)
def test_spellings_of_one_page_share_a_key(one: str, other: str) -> None:
    """Case C09: parameters that only track make no second page; unknown ones stay, in their order."""
    assert canonical_url(one) == canonical_url(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://n.example/a/story/amp", "https://n.example/a/story"),
        ("https://n.example/story/amp/?id=7", "https://n.example/story?id=7"),
        ("https://n.example/story.amp.html", "https://n.example/story.html"),
        ("https://n.example/news/world-123.amp", "https://n.example/news/world-123"),
        ("https://n.example/story?amp=1&id=7", "https://n.example/story?id=7"),
        ("https://n.example/story?amp", "https://n.example/story"),
        ("https://n.example/story?outputType=amp", "https://n.example/story"),
        ("https://n.example/story?noamp=mobile", "https://n.example/story"),
        ("https://amp.n.example/story", "https://www.n.example/story"),
        ("https://m.n.example/story", "https://www.n.example/story"),
        ("https://mobile.news.co.uk/story", "https://www.news.co.uk/story"),
        ("https://m.n.example/?p=7", "https://www.n.example/?p=7"),
        ("https://n-example.cdn.ampproject.org/c/s/n.example/story?usqp=x&id=7", "https://n.example/story?id=7"),
        ("https://cdn.ampproject.org/v/n.example/story/amp", "https://n.example/story"),
        ("https://www.google.com/amp/s/www.n.example/story.amp.html", "https://www.n.example/story.html"),
        ("https://www.google.co.uk/amp/s/amp.n.example/story", "https://www.n.example/story"),
        ("https://en.m.wikipedia.org/wiki/Ampere", "https://en.wikipedia.org/wiki/Ampere"),
        ("https://m.wikidata.org/wiki/Q1", "https://www.wikidata.org/wiki/Q1"),
        ("https://mobile.twitter.com/u/status/1", "https://twitter.com/u/status/1"),
        ("https://youtu.be/dQw4w9WgXcQ?si=x&t=3", "https://www.youtube.com/watch?v=dQw4w9WgXcQ"),
        ("https://www.youtube.com/shorts/dQw4w9WgXcQ", "https://www.youtube.com/watch?v=dQw4w9WgXcQ"),
        ("https://m.youtube.com/watch?app=desktop&v=dQw4w9WgXcQ", "https://www.youtube.com/watch?v=dQw4w9WgXcQ"),
        ("https://youtube.com/watch?v=dQw4w9WgXcQ&t=42&list=PL1", "https://www.youtube.com/watch?v=dQw4w9WgXcQ"),
        ("https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ", "https://www.youtube.com/watch?v=dQw4w9WgXcQ"),
        ("https://old.reddit.com/r/a/comments/1x2/title/", "https://www.reddit.com/r/a/comments/1x2/other"),
        ("https://redd.it/1x2", "https://www.reddit.com/r/a/comments/1x2/title/?share_id=y"),
        ("https://m.reddit.com/r/a/", "https://reddit.com/r/a"),
        ("https://youtu.be/c.amp", "https://www.youtube.com/watch?v=c"),
        ("https://youtu.be/v//amp", "https://www.youtube.com/watch?v=v"),
        ("https://redd.it/1x2.amp", "https://www.reddit.com/comments/1x2"),
        ("https://m.google.com/amp/s/n.example/story", "https://n.example/story"),
        ("https://n.example/a/(S(x));jsessionid=1/b", "https://n.example/a/b"),
        ("https://n.example/a/(S(x));jsessionid=1;phpsessid=2/(A(y))/b", "https://n.example/a/b"),
        ("https://m.owner.co.jp/story", "https://www.owner.co.jp/story"),
        ("http://0x7f.1/a", "http://127.0.0.1/a"),
        ("http://2130706433/a", "http://127.0.0.1/a"),
        ("http://0177.0.0.1/a", "http://127.0.0.1/a"),
    ],
)
def test_known_forms_of_one_page_share_a_key(one: str, other: str) -> None:
    """Case C09: AMP, mobile and short addresses, and numbers for addresses; what is fetched stays as it was given."""
    assert canonical_url(one) == canonical_url(other)
    assert validate_url(one) == one


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://github.com/owner/amp", "https://github.com/owner"),
        ("https://en.wikipedia.org/wiki/amp", "https://en.wikipedia.org/wiki"),
        ("https://n.example/tag/amp", "https://n.example/tag"),
        ("https://n.example/amp", "https://n.example/"),
        ("https://n.example/story/AMP", "https://n.example/story"),
        ("https://n.example/story?amp=60", "https://n.example/story"),
        ("https://amp.example/story", "https://www.example/story"),
        ("https://m.co.uk/story", "https://www.co.uk/story"),
        ("https://mobile.n.example/", "https://www.n.example/"),
        ("https://m.github.io/story", "https://www.github.io/story"),
        ("https://amp.netlify.app/story", "https://www.netlify.app/story"),
        ("https://m.blogspot.com/story", "https://www.blogspot.com/story"),
        ("https://m.blogspot.com.br/story", "https://www.blogspot.com.br/story"),
        ("https://m.gob.mx/story", "https://www.gob.mx/story"),
        ("https://mobile.go.jp/story", "https://www.go.jp/story"),
        ("https://m.a.n.example/story", "https://www.a.n.example/story"),
        ("https://m.n.example:8080/story", "https://www.n.example:8080/story"),
        ("https://n.example/amp/s/other.example/story", "https://other.example/story"),
        ("https://www.youtube.com/embed/videoseries?list=1", "https://www.youtube.com/embed/videoseries?list=2"),
        ("https://www.youtube.com/watch?v=dQw4w9WgXcQ", "https://www.youtube.com/watch?v=dQw4w9WgXcq"),
        ("https://www.reddit.com/r/a/comments/1x2/t/c1", "https://www.reddit.com/r/a/comments/1x2/t/c2"),
        ("https://www.reddit.com/r/a/comments/1x2/t/c1", "https://www.reddit.com/r/a/comments/1x2/t"),
    ],
)
def test_a_form_that_is_not_known_stays_apart(one: str, other: str) -> None:
    """Case C09: a wrong merge would lose a page, so what is not known for sure is kept."""
    assert canonical_url(one) != canonical_url(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://example.com/a", "https://example.com/A"),
        ("https://example.com/a", "https://www.example.com/a"),
        ("https://example.com/?a=1&b=2", "https://example.com/?b=2&a=1"),
        ("https://example.com/?a=1", "https://example.com/?a=1&a=1"),
        ("https://example.com/?a", "https://example.com/?a="),
        ("https://example.com/?ref=main", "https://example.com/"),
        ("https://example.com/?source=wire", "https://example.com/"),
        ("https://example.com/?si=1", "https://example.com/"),
        ("https://netflix.com/?t=1", "https://netflix.com/"),
        ("https://example.com/?utmost=1", "https://example.com/"),
        ("https://example.com/a%2Fb", "https://example.com/a/b"),
        ("https://example.com/a%3Fb", "https://example.com/a?b"),
        ("https://example.com/?a=1%262", "https://example.com/?a=1&2"),
        ("https://example.com/?q=a+b", "https://example.com/?q=a%2Bb"),
        ("https://example.com//a", "https://example.com/a"),
        ("https://example.com/#!/a", "https://example.com/#!/b"),
        ("https://example.com/#/a", "https://example.com/#/b"),
        ("https://example.com:8080/", "https://example.com/"),
        ("http://example.com:443/", "https://example.com/"),
        (f"https://example.com/{'a' * 4_000}", f"https://example.com/{'a' * 4_001}"),
    ],
)
def test_different_pages_keep_different_keys(one: str, other: str) -> None:
    assert canonical_url(one) != canonical_url(other)


@settings(deadline=None)
@given(ADDRESSES)
def test_a_key_is_its_own_key_and_an_address_its_own_address(url: str) -> None:
    address = validate_url(url)
    key = canonical_url(url)
    assert validate_url(address) == address
    assert canonical_url(address) == key
    assert canonical_url(key) == key
    assert validate_url(key) == key
    assert key.isascii()
    assert len(key) <= MAX_KEY_LENGTH


_HOSTS = ("m.google.com", "www.google.com", "amp.bing.com", "youtu.be", "m.youtube.com", "redd.it", "m.reddit.com")
_MORE_HOSTS = ("e.com", "m.e.com", "amp.github.io", "m.blogspot.com.br", "e-com.cdn.ampproject.org", "m.wikidata.org")
_STEPS = (
    *("/amp", "/amp/s/", "/c/s/", "/v/", "/comments/1x2", "/watch", "/shorts/c", "/c", ".amp", ".amp.html", "/", "//"),
    *("/..", "/.", "/(S(a))", "/(A(b)S(c))", ";jsessionid=1", ";phpsessid=2"),
)
_QUERIES = ("", "?v=c", "?utm_source=a&v=c", "?amp=1", "?amp;v=c&outputType=amp", "#/a", "#!b:~:text=c")
FORMS = st.builds(
    "https://{}{}{}".format,
    st.sampled_from((*_HOSTS, *_MORE_HOSTS)),
    st.lists(st.sampled_from((*_STEPS, *_HOSTS, *_MORE_HOSTS)), max_size=7).map("".join).map("/{}".format),
    st.sampled_from(_QUERIES),
)


_VIEWERS = ("www.google.com", "google.co.uk", "bing.com", "e-com.cdn.ampproject.org")
_SOUP = ("a", ".", "%61mp", "%2F", "%2f", "%zz", "%", "(S(a))", "%28S(a)%29", ";%6Asessionid=1", ";x=1", "amp=1", ":80")
VIEWED = st.builds(
    "http://{}{}/{}{}{}{}".format,
    st.sampled_from(_VIEWERS),
    st.sampled_from(("", "/(S(a))", "//.")),
    st.sampled_from(("amp/", "amp/s/", "amp;jsessionid=1/s/", "%61mp/s/", "c/s/", "c;sessionid=1/")),
    st.sampled_from((*_HOSTS, *_MORE_HOSTS, *_VIEWERS, "mobile.google.com")),
    st.lists(st.sampled_from((*_STEPS, *_SOUP)), max_size=6).map("".join),
    st.sampled_from(_QUERIES),
)


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://www.google.com/amp/s/x.example;jsessionid=1/story", "https://x.example/story"),
        ("http://bing.com/(S(a))/amp/s/x.example/story", "https://x.example/story"),
        ("http://bing.com/amp;JSESSIONID=1/s/x.example/story?v=1", "https://x.example/story?v=1"),
        (
            "http://google.co.uk/amp/mobile.google.com;phpsessid=a%61mp(S(a))amp=1utm_source=x%2F/amp",
            "http://mobile.google.com/amp",
        ),
    ],
)
def test_a_viewer_is_seen_through_its_visitors_session(url: str, clean: str) -> None:
    assert clean_url(url) == clean
    assert clean_url(clean) == clean
    assert canonical_url(url) == canonical_url(clean)


@settings(deadline=None, max_examples=500)
@given(st.one_of(FORMS, VIEWED, ADDRESSES))
def test_a_key_has_no_other_key_and_a_clean_address_keeps_it(url: str) -> None:
    key, clean = canonical_url(url), clean_url(url)
    assert canonical_url(key) == key
    assert canonical_url(clean) == key
    assert clean_url(clean) == clean


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    for url in (text, f"https://{text}", f"https://example.com/{text}"):
        try:
            key = canonical_url(url)
        except PermanentError:
            continue
        assert canonical_url(key) == key


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://example.com/a", "http://www.example.com:8080/b", True),
        ("https://m.example.com/a", "https://www.example.com/a", True),
        ("https://example.com/", "https://example.com./", True),
        ("https://notexample.com/", "https://example.com/", False),
        ("https://a.example.com/", "https://b.example.com/", False),
        ("https://example.com/", "https://com/", False),
    ],
)
def test_a_site_is_a_host_and_its_sub_domains(one: str, other: str, same: bool) -> None:
    assert same_site(one, other) is same_site(other, one) is same


WORDS = st.text("abcxyz019-_.", min_size=1, max_size=8).filter(lambda word: word.strip("."))


@settings(deadline=None)
@given(st.lists(WORDS, max_size=4), st.lists(st.tuples(WORDS, WORDS), max_size=4), st.data())
def test_a_changed_path_or_parameter_changes_the_key(
    path: list[str], query: list[tuple[str, str]], data: st.DataObject
) -> None:
    assume(not any(name.startswith(("utm_", "_", "at_")) for name, _ in query))
    parts = [*path, *(f"{name}={value}" for name, value in query)]
    assume(parts)

    def url(pieces: list[str]) -> str:
        return f"https://example.com/{'/'.join(pieces[: len(path)])}?{'&'.join(pieces[len(path) :])}"

    at = data.draw(st.integers(0, len(parts) - 1))
    changed = [*parts[:at], parts[at] + "q", *parts[at + 1 :]]
    assert canonical_url(url(parts)) != canonical_url(url(changed))


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("/x.amp.amp.html", "/x.html"),
        ("/x.amp.html.amp", "/x.html"),
        ("/x.amp/amp/amp.amp", "/x"),
        ("/x//amp//amp", "/x"),
        ("//amp/amp", "//amp"),
        ("/a/.amp.amp", "/a/.amp"),
        ("/a/~.amp", "/a/~.amp"),
        ("/wiki/amp.amp", "/wiki/amp"),
    ],
)
def test_every_sign_of_amp_at_the_end_goes(path: str, plain: str) -> None:
    assert plain_path("e.com", path) == plain


def cpu_s(act: Callable[[], object]) -> float:
    """Return the least CPU time that it takes this thread."""

    def times() -> Iterator[float]:
        for _ in range(5):
            before = thread_time()
            act()
            yield thread_time() - before

    return min(times())


@pytest.mark.parametrize(
    "path", [lambda n: "/x" + ".amp" * n, lambda n: "/x" + "/amp" * n, lambda n: "/x" + ".amp.html" * n + ".ampx"]
)
def test_sixteen_times_as_much_amp_costs_no_square_of_that(path: Callable[[int], str]) -> None:
    short, long = path(250), path(4_000)
    # 16 times where it is read once, 256 times where it is read again for each.
    assert cpu_s(lambda: plain_path("e.com", long)) < 100 * cpu_s(lambda: plain_path("e.com", short))


def test_a_host_is_looked_up_once_not_for_each_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Counting(dict[str, frozenset[str]]):
        def get(self, key: str, default: object = None) -> object:  # type: ignore[override]  # as it is called
            asked.append(key)
            return super().get(key, default)

    monkeypatch.setattr(variants, "NAMES_BY_HOST", Counting(variants.NAMES_BY_HOST))
    labels = 100
    url = f"https://{'b.' * labels}youtu.be/x?{'a=1&' * 1_500}si=2"
    assert canonical_url(url) == canonical_url(url.removesuffix("&si=2"))
    clean_url(url)
    assert len(asked) < 10 * labels
