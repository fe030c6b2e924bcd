"""Which addresses may be reached, and every way in which one can be spelled."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest

from siftline.net.ip_addresses import literal_address, name_refusal, refusal

REFUSED = [
    str(IPv4Address(0)), "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255",
    "127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.169.254", "169.254.170.2", "172.16.0.1",
    "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1",
    "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
    "255.255.255.255", "::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:a9fe:a9fe",
    "::ffff:10.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8", "100::1", "2001::1", "2001:0:7f00:1::", "2001:2::1",
    "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::", "3fff::1", "5f00::1",
    "fc00::1", "fd00:ec2::254", "fdff:ffff::1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "feff::1",
    "ff02::1", "ff0e::1", "4000::1", "2606:4700::1111%1",
]  # fmt: skip
PERMITTED = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
    "128.0.0.0", "169.253.255.255", "172.15.0.1", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0",
    "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001:80e::200e",
    "2001:4860:4860::8888", "2001:200::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_an_address_that_is_not_on_the_public_internet_is_refused_with_a_reason(text: str) -> None:
    assert refusal(ip_address(text))


@pytest.mark.parametrize("text", PERMITTED)
def test_a_public_address_is_permitted(text: str) -> None:
    assert refusal(ip_address(text)) is None


@pytest.mark.parametrize("text", ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])
def test_allow_loopback_opens_loopback(text: str) -> None:
    assert refusal(ip_address(text), allow_loopback=True) is None


LOOPBACK = {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"}


@pytest.mark.parametrize("text", [text for text in REFUSED if text not in LOOPBACK])
def test_allow_loopback_opens_nothing_else(text: str) -> None:
    assert refusal(ip_address(text), allow_loopback=True)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.1", "127.0.0.1"),
        ("10.1.258", "10.1.1.2"),
        ("2130706433", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("0177.0.0.01", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0X7F000001", "127.0.0.1"),
        ("0x7f.0x0.0x0.0x1", "127.0.0.1"),
        ("0xa9fea9fe", "169.254.169.254"),
        ("169.254.43518", "169.254.169.254"),
        ("00", str(IPv4Address(0))),
        ("0x", str(IPv4Address(0))),
        ("\uff11\uff12\uff17.0.0.1", "127.0.0.1"),
        ("\u2460\u2461\u2466.\u24ea.\u24ea.\u2460", "127.0.0.1"),
        ("127\u30020\u30020\u30021", "127.0.0.1"),
        ("127\uff0e0\uff0e0\uff0e1", "127.0.0.1"),
        ("[::1]", "::1"),
        ("::1", "::1"),
        ("[::ffff:a9fe:a9fe]", "::ffff:169.254.169.254"),
        ("[2002:7f00:1::]", "2002:7f00:1::"),
    ],
)
def test_every_spelling_of_an_address_is_read_as_browsers_read_it(host: str, address: str) -> None:
    assert literal_address(host) == ip_address(address)


@pytest.mark.parametrize(
    "host", ["example.com", "7f000001.nip.io", "127.0.0.1.example", "localhost", "a.1b", "1password.com", ""]
)
def test_a_name_is_no_address(host: str) -> None:
    assert literal_address(host) is None


@pytest.mark.parametrize(
    "host",
    ["1.2.3.400", "1.2.3.4.5", "256.1", "4294967296", "08.0.0.1", "0x100000000", "a.b.1", "1..1", "0x7g", "1.2.3.0x1_0",
     "[::g]", "1:2", "99999999999999999999999999999999999999", "\u0661.0.0.1"],
)  # fmt: skip
def test_what_can_only_be_meant_as_an_address_and_is_none_is_an_error(host: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the standard library's own, whatever it says
        literal_address(host)


def test_an_address_reads_as_itself() -> None:
    for address in (IPv4Address("8.8.8.8"), IPv6Address("2606:4700::1111")):
        assert literal_address(str(address)) == address


@pytest.mark.parametrize(
    "name",
    [
        "localhost", "LocalHost.", "a.localhost", "metadata.google.internal", "printer.local.", "router.home.arpa",
        "intranet", "com",
    ],
)  # fmt: skip
def test_a_name_that_no_public_host_has_is_refused_with_a_reason(name: str) -> None:
    assert name_refusal(name)


@pytest.mark.parametrize("name", ["example.org", "localhost.example.org", "internal.example", "home.arpa.example"])
def test_any_other_name_may_be_looked_up(name: str) -> None:
    assert name_refusal(name) is None


def test_allow_loopback_opens_localhost_and_no_other_name() -> None:
    assert name_refusal("localhost", allow_loopback=True) is None
    assert name_refusal("intranet", allow_loopback=True)
