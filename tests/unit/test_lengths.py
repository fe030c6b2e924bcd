"""An address is refused by its length before it is worked on: the work never grows faster than what was sent."""

from functools import partial

import pytest

from siftline.api.http.destinations import check_destination
from siftline.api.sources.source_addresses import address_of
from siftline.catalog.source_kinds import SourceKind
from siftline.kit.errors import PermanentError
from siftline.net.ip_addresses import literal_address
from siftline.net.reddit_address import listing_of
from siftline.net.urls import InvalidUrlError, canonical_url, host_of, validate_url
from siftline.text.machine_talk import folded
from siftline.text.mail_address import InvalidMailAddressError, mail_address
from tests.steps import steps

CJK = "".join(chr(0x4E00 + 7 * place) for place in range(1_000))
"""A thousand characters, each another one: what punycode takes the longest for."""
ADDRESSES = [
    f"https://{CJK}.example/",
    f"https://www.{CJK}.example/",
    f"https://{'.'.join([CJK[:64]] * 3)}.example/",
    f"https://{'.'.join([CJK[:50]] * 60)}.example/",
    f"https://{''.join(f'%{byte:02X}' for byte in CJK[:600].encode())}.example/",
    f"https://{'ﷺ' * 60}.example/",
    f"https://{chr(0x3002).join([CJK[:63]] * 5)}.example/",
    f"https://user:{CJK}@{CJK}.example:443/",
    f"https://{'a' * 64}.example/",
    f"https://{'.'.join('a' * 130)}.example/",
    f"http://[{'a' * 4_000}]/",
]


@pytest.mark.parametrize("url", ADDRESSES)
def test_a_host_that_is_too_long_is_refused_before_it_is_worked_on(url: str) -> None:
    """Case T31."""
    for parse in (validate_url, canonical_url, host_of, lambda url: check_destination(url, allow_loopback=False)):
        with pytest.raises(InvalidUrlError):
            parse(url)
        assert steps(partial(parse, url), passing=PermanentError) < 10_000


@pytest.mark.parametrize("host", ["{}.example", "www.{}", "a.{0}.b.{0}", "xn--{}.example", "{0}@{0}.example"])
def test_the_work_for_a_label_does_not_grow_with_it_once_it_is_too_long(host: str) -> None:
    """Case T31."""
    short, long = (f"https://{host.format(CJK[:length])}/" for length in (100, 800))
    few = steps(lambda: validate_url(short), passing=PermanentError)
    assert steps(lambda: validate_url(long), passing=PermanentError) <= few + 20  # a sign more is a step more at least


@pytest.mark.parametrize(
    "url",
    [
        f"https://{'a' * 63}.example/",
        f"https://{'.'.join(['a' * 49] * 5)}.com/",
        f"https://{'.'.join(['a' * 49] * 5)}.com./",
        f"https://{CJK[:15]}.example/",
        "https://bücher.example/",
    ],
)
def test_a_host_of_the_greatest_length_is_a_host(url: str) -> None:
    assert validate_url(validate_url(url)) == validate_url(url)


@pytest.mark.parametrize("kind", [None, SourceKind.RSS, SourceKind.WEB])
def test_a_source_is_refused_by_its_length_before_anything_else(kind: SourceKind | None) -> None:
    long = "https://news.example/" + "a" * 2_000_000
    with pytest.raises(InvalidUrlError):
        address_of(long, kind=kind, allow_loopback=False)


def test_an_address_of_numbers_is_none_where_it_is_longer_than_hosts_are() -> None:
    with pytest.raises(ValueError, match="longer"):
        literal_address("1." * 1_000_000)


@pytest.mark.parametrize("domain", [f"{CJK}.example", ".".join([CJK[:60]] * 9), "a" * 64 + ".example"])
def test_a_mail_address_is_refused_by_its_length_before_it_is_worked_on(domain: str) -> None:
    """Case T31."""
    with pytest.raises(InvalidMailAddressError):
        mail_address(f"ada@{domain}")
    assert steps(lambda: mail_address(f"ada@{domain}"), passing=PermanentError) < 1_000


def test_marks_upon_marks_are_not_put_in_order_by_the_square_of_their_number() -> None:
    marks = chr(0x301) + chr(0x316)
    assert len(folded("a" + marks * 5_000)) < 100
    listed = f"https://{marks * 4_000}.example/r/python"
    assert listing_of(listed) is None
    assert steps(lambda: listing_of(listed)) < 10


@pytest.mark.parametrize("local", ["=?utf-8?q?a=0D=0ABcc?=", "=?us-ascii?b?QQ==?=", "a=?b"])
def test_a_mail_address_that_looks_like_an_encoded_word_is_none(local: str) -> None:
    with pytest.raises(InvalidMailAddressError):
        mail_address(f"{local}@news.example")
