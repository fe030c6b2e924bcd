import pytest

from siftline.api.http.destinations import AddressRefusedError, check_destination
from siftline.net.urls import InvalidUrlError, UnsupportedSchemeError, clean_url, host_of_url


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://100.64.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://10.0.0.1./",
        "http://LOCALHOST/",
        "http://a.localhost/",
        "http://metadata.google.internal/computeMetadata/v1/",
        "http://printer.local./",
        "http://router.home.arpa/",
        "http://intranet/",
        "http://user:pw@192.168.1.1/",
        "http://①②⑦.⓪.⓪.①/",
    ],
)
def test_a_visibly_private_address_is_refused(url: str) -> None:
    with pytest.raises(AddressRefusedError) as caught:
        check_destination(url, allow_loopback=False)
    assert caught.value.error_code == "address_refused"


# What an AMP viewer or cache shows is asked for itself.
WRAPPED = (
    "https://www.google.com/amp/{}/x", "https://google.com/amp/{}/x", "http://google.co.uk./amp/{}/x",
    "https://www.google.com/amp/s/{}/x", "https://bing.com/amp/{}/x", "https://www.bing.com/amp/s/{}/x",
    "https://x.cdn.ampproject.org/c/{}/x", "https://cdn.ampproject.org/v/{}/x", "https://cdn.ampproject.org/wp/s/{}/x",
    "https://user:pw@www.google.com:443/amp/{}/x", "https://www.google.com/amp/user:pw@{}/x", "www.google.com/amp/{}/x",
    "HTTPS://WWW.GOOGLE.COM/%61mp/{}", "https://www.google.com/x/../amp/{}/x?y#z",
    "https:\\\\www.google.com\\amp\\{}\\x",
)  # fmt: skip
INSIDE = (
    "127.0.0.1:19002", "127.0.0.1", "127.1", "0x7f.1", "10.0.0.1", "169.254.169.254", "192.168.1.1:8080", "127.0.0.1.",
    "a.localhost:1", "metadata.google.internal", "printer.local", "[::ffff:127.0.0.1]", "①②⑦.⓪.⓪.①",
)  # fmt: skip


@pytest.mark.parametrize("allow_loopback", [False, True])
@pytest.mark.parametrize("wrapped", WRAPPED)
def test_what_a_viewer_shows_is_judged_as_if_it_was_typed_and_opens_no_loopback(
    wrapped: str, *, allow_loopback: bool
) -> None:
    for host in INSIDE:
        with pytest.raises(AddressRefusedError):
            check_destination(wrapped.format(host), allow_loopback=allow_loopback)
    shown = check_destination(wrapped.format("news.example"), allow_loopback=allow_loopback)
    assert host_of_url(clean_url(shown)) == "news.example"


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/", "http://127.1./", "http://localhost/", "http://[::1]/"])
def test_loopback_passes_where_it_is_open(url: str) -> None:
    assert check_destination(url, allow_loopback=True) == url


@pytest.mark.parametrize("url", ["https://example.org/", "http://8.8.8.8/", "http://localhost.example.org/"])
def test_any_other_address_passes_without_a_name_being_looked_up(url: str) -> None:
    assert check_destination(url, allow_loopback=False) == url


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("example.org", "https://example.org/"),
        (" example.org/story?a=1#b ", "https://example.org/story?a=1#b"),
        ("//example.org/story", "https://example.org/story"),
        ("news.example.org:8443/feed", "https://news.example.org:8443/feed"),
        ("EXAMPLE.org", "https://example.org/"),
        ("bücher.example", "https://xn--bcher-kva.example/"),
        ("example.org?id=7", "https://example.org/?id=7"),
        ("example.org:8080/x", "https://example.org:8080/x"),
        ("8.8.8.8:8080/x", "https://8.8.8.8:8080/x"),
        ("[2606:4700::1111]:8080/x", "https://[2606:4700::1111]:8080/x"),
    ],
)
def test_what_has_no_scheme_is_taken_as_https(typed: str, meant: str) -> None:
    assert check_destination(typed, allow_loopback=False) == meant


@pytest.mark.parametrize(
    "typed", ["news", "mailto:a@b.example", "javascript:alert(1)", "user:pw@example.org", "a b.example", "tel:123456"]
)
def test_what_only_looks_like_a_host_gets_no_scheme(typed: str) -> None:
    with pytest.raises((InvalidUrlError, UnsupportedSchemeError)):
        check_destination(typed, allow_loopback=False)


@pytest.mark.parametrize(
    "typed", ["169.254.169.254/latest", "intranet:8080/x", "localhost:18931/a", "127.0.0.1:18931/a", "[::1]:80"]
)
def test_no_scheme_opens_no_private_address(typed: str) -> None:
    with pytest.raises(AddressRefusedError):
        check_destination(typed, allow_loopback=False)


@pytest.mark.parametrize("typed", ["localhost:18931/a", "localhost", "127.0.0.1:18931/a", "[::1]:18931"])
def test_loopback_is_typed_with_its_scheme(typed: str) -> None:
    with pytest.raises(InvalidUrlError, match="put http:// in front of it"):
        check_destination(typed, allow_loopback=True)
    assert check_destination(f"http://{typed}", allow_loopback=True).startswith(f"http://{typed}")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "The address is empty"),
        (" ", "The address is empty"),
        ("example", "not a web address"),
        ("example/page", "not a web address"),
        ("user@example.org", "an email address"),
    ],
)
def test_what_is_no_address_is_told_in_words_that_fit(typed: str, said: str) -> None:
    with pytest.raises(InvalidUrlError, match=said):
        check_destination(typed, allow_loopback=False)


def test_what_is_no_address_is_refused_as_such() -> None:
    with pytest.raises(InvalidUrlError):
        check_destination("http://1.2.3.400/", allow_loopback=False)
    with pytest.raises(UnsupportedSchemeError):
        check_destination("file:///etc/passwd", allow_loopback=False)
