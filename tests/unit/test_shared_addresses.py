"""Which address of a page all may see, whose pages a host may show, and which origin a person opens by typing."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftline.net.http_model import Requester
from siftline.net.urls import canonical_url, clean_url, origin_of, own_url, typed_origin

# By the makers' own documents, or as browsers strip them.
PERSONAL = (
    "mc_eid", "mc_cid", "utm_source", "utm_id", "fbclid", "gclid", "msclkid", "_hsenc", "_hsmi", "mkt_tok", "vero_id",
    "oly_enc_id", "oly_anon_id", "ml_subscriber", "ml_subscriber_hash", "ck_subscriber_id", "_ke", "_kx", "vgo_ee",
    "elqTrackId", "sfmc_id", "dm_i", "sc_uid", "trk_contact", "bsft_uid", "iterableEmailCampaignId", "PHPSESSID",
    "jsessionid", "CFTOKEN", "igshid", "ttclid", "_branch_match_id", "ceid", "mindbox-click-id", "__s", "wickedid",
)  # fmt: skip
SITES = ("https://a.example", "http://sub.b.co.uk:8080", "https://xn--bcher-kva.example", "https://c.example/deep/er")
GOOGLE = ("com", "de", "co.uk", "com.br", "com.au", "co.jp", "fr", "it", "es", "ca", "com.mx", "co.in", "pl", "cat")
STRANGERS = (
    "google.icu", "google.xyz", "google.app", "google.dev", "google.zip", "google.net", "google.org",
    "google.com.co.uk",
    "google.com.icu", "www.google.icu", "www.google.co.evil", "google.co.de", "google.com.de", "google.co", "google.uk",
    "amp.google.icu", "google.com.example", "notgoogle.com", "www.google.com.evil.example", "google.com-x.example",
    "cdn.ampproject.org.evil.example", "cdn-ampproject.org", "evilcdn.ampproject.org.example", "ampproject.org",
    "bing.com.example", "bing.icu", "m.bing.icu", "www.bing.de", "google-com.example", "goo.gl", "google.", "google",
)  # fmt: skip


@pytest.mark.parametrize("name", PERSONAL)
@pytest.mark.parametrize("site", SITES)
def test_what_tells_who_somebody_is_is_in_no_shared_address(site: str, name: str) -> None:
    for query, kept in (
        (f"?{name}=SECRET", ""),
        (f"?id=7&{name}=SECRET", "?id=7"),
        (f"?{name}=SECRET&id=7&{name.upper()}=SECRET", "?id=7"),
        (f"?id=7&amp;{name}=SECRET", "?id=7"),
        (f"?id=7&{name[0]}{name[1:].replace('_', '%5F')}=SECRET", "?id=7"),
    ):
        for fragment in ("", "#SECRET", "#:~:text=SECRET", "#part:~:text=SECRET"):
            url = f"{site}/one{query}{fragment}"
            assert clean_url(url) == f"{site}/one{kept}"
            assert canonical_url(clean_url(url)) == canonical_url(url)


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://a.example/one;jsessionid=0A1B.node1?x=1", "https://a.example/one?x=1"),
        ("https://a.example/x;PHPSESSID=1/two", "https://a.example/x/two"),
        ("https://a.example/(S(abc12))/two", "https://a.example/two"),
        ("https://a.example/(X(1)S(abc12))/two", "https://a.example/two"),
        ("https://a.example/#!/route", "https://a.example/#!/route"),
        ("https://a.example/#/route:~:text=SECRET", "https://a.example/#/route"),
        ("https://user:SECRET@a.example/", "https://a.example/"),
        # Whose spelling of an address it was.
        ("http://127.1:8711/a", "http://127.0.0.1:8711/a"),
        ("http://2130706433:8711/a", "http://127.0.0.1:8711/a"),
        ("http://0x7f.1./a", "http://127.0.0.1/a"),
        ("http://[::ffff:7f00:1]/a", "http://[::ffff:7f00:1]/a"),
        ("http://1.2.3.400/a", "http://1.2.3.400/a"),
        # What may choose the page stays as it is.
        ("https://a.example/one/?b=2&a=1&&ref=x&sid=9", "https://a.example/one/?b=2&a=1&&ref=x&sid=9"),
        ("http://m.a.example/One.amp", "http://m.a.example/One.amp"),
        ("https://a.example/one?", "https://a.example/one?"),
        ("https://www.youtube.com/watch?v=abc&si=SECRET", "https://www.youtube.com/watch?v=abc"),
    ],
)
def test_a_shared_address_is_the_one_that_was_given_without_its_giver(url: str, clean: str) -> None:
    assert clean_url(url) == clean
    assert canonical_url(clean) == canonical_url(url)


@given(st.text(alphabet="abc/?&=#:~!;%2F(S)mc_eid.amp", max_size=40))
def test_a_shared_address_is_stable_and_of_the_same_key(rest: str) -> None:
    url = f"https://a.example/{rest}"
    assert clean_url(clean_url(url)) == clean_url(url)
    assert canonical_url(clean_url(url)) == canonical_url(url)


# --- Who shows pages of others


@pytest.mark.parametrize("domain", GOOGLE)
@pytest.mark.parametrize("host", ["google.{}", "www.google.{}"])
def test_googles_viewer_shows_the_page_itself(host: str, domain: str) -> None:
    viewer = f"https://{host.format(domain)}/amp/s/victim.example/article"
    assert canonical_url(viewer) == clean_url(viewer) == "https://victim.example/article"


@pytest.mark.parametrize("host", STRANGERS)
@pytest.mark.parametrize("path", ["/amp/s/victim.example/a", "/c/s/victim.example/a", "/amp/victim.example/a"])
def test_whoever_is_called_like_google_shows_pages_of_their_own(host: str, path: str) -> None:
    """Case T30."""
    for url in (canonical_url(f"https://{host}{path}"), clean_url(f"https://{host}{path}")):
        assert "victim" not in str(urlsplit(url).hostname)


@pytest.mark.parametrize(
    ("url", "key", "asked"),
    [
        ("https://a.example/x?y", "https://a.example/x", "https://a.example/x?y"),
        ("https://m.a.example/x", "https://www.a.example/x", "https://m.a.example/x"),
        ("https://google.icu/amp/s/victim.example/a", "https://victim.example/a", "https://victim.example/a"),
        ("https://youtu.be/abc", "https://www.youtube.com/watch?v=abc", "https://www.youtube.com/watch?v=abc"),
        # Anybody can have a name below these.
        ("https://m.blogspot.com/x", "https://www.blogspot.com/x", "https://www.blogspot.com/x"),
        ("https://amp.github.io/x", "https://www.github.io/x", "https://www.github.io/x"),
        ("http://127.0.0.1:1/x", "http://127.0.0.1:1/x", "http://127.0.0.1:1/x"),
        ("https://files.example/a.mp3", "entry:1:2", "https://files.example/a.mp3"),
    ],
)
def test_a_page_is_asked_of_the_owner_of_its_key(url: str, key: str, asked: str) -> None:
    assert own_url(url, key) == asked


@pytest.mark.parametrize("host", ["m.blogspot.com", "amp.github.io", "mobile.web.app", "www.google.de", "youtu.be"])
@pytest.mark.parametrize("path", ["/x", "/amp/s/victim.example/a", "/abc"])
def test_nothing_that_is_asked_stands_under_another_owners_key(host: str, path: str) -> None:
    url = f"https://{host}{path}"
    key = canonical_url(url)
    assert own_url(key, key) == key
    assert own_url(own_url(clean_url(url), key), key) == own_url(clean_url(url), key)


# --- What a person types


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://127.0.0.1:8099/feed.xml?x#y", "http://127.0.0.1:8099"),
        ("http://127.1/", "http://127.0.0.1:80"),
        ("https://0x7f000001/", "https://127.0.0.1:443"),
        ("http://LOCALHOST.:80/x", "http://localhost:80"),
        ("http://a.localhost:1/", "http://a.localhost:1"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("https://news.example/", None),
        ("http://loop.nip.example:4566/", None),
        ("http://10.0.0.1/", None),
        ("http://169.254.169.254/", None),
        ("http://[fe80::1]/", None),
        ("http://printer.local/", None),
    ],
)
def test_only_what_is_seen_to_be_this_machine_is_opened_by_typing_it(url: str, origin: str | None) -> None:
    assert typed_origin(url) == origin


def test_a_typed_origin_is_scheme_host_and_port() -> None:
    requester = Requester(typed_origin=origin_of("http://127.0.0.1:8099/feed"))
    assert requester.typed("http://127.0.0.1:8099/other?x")
    assert requester.typed("http://127.1:8099/")
    others = ("https://127.0.0.1:8099/", "http://127.0.0.1/", "http://127.0.0.2:8099/", "http://localhost:8099/")
    assert not any(map(requester.typed, others))
    assert not Requester().typed("http://127.0.0.1:8099/")
