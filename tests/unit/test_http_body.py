"""Reading a body: decoded, capped by decoded bytes, dying early."""

import gzip
import tracemalloc
import zlib
from collections.abc import Iterator
from functools import cache

import pytest

from siftline.net.http_body import read_body
from siftline.net.http_model import ConnectionFailedError, InvalidResponseError, TooLargeError

TEXT = b"The quick brown fox. " * 500


@cache
def bomb() -> bytes:
    """Two hundred megabytes of nothing, packed."""
    return gzip.compress(bytes(200_000_000), compresslevel=9)


def split(data: bytes, size: int = 100) -> Iterator[bytes]:
    return (data[place : place + size] for place in range(0, len(data), size))


def raw_deflate(data: bytes) -> bytes:
    encoder = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return encoder.compress(data) + encoder.flush()


@pytest.mark.parametrize(
    ("encoding", "sent"),
    [
        ("", TEXT),
        ("identity", TEXT),
        ("gzip", gzip.compress(TEXT)),
        ("x-gzip", gzip.compress(TEXT)),
        ("GZIP", gzip.compress(TEXT)),
        ("gzip", gzip.compress(TEXT[:5000]) + gzip.compress(TEXT[5000:])),
        ("gzip", gzip.compress(TEXT) + b"\0" * 300),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("deflate, gzip", gzip.compress(zlib.compress(TEXT))),
    ],
)
def test_a_body_is_decoded(encoding: str, sent: bytes) -> None:
    assert read_body(split(sent), {"content-encoding": encoding}, len(TEXT)) == TEXT


@pytest.mark.parametrize(
    "encoding",
    [
        "UTF-8", "utf8", "iso-8859-1", "none", "identity", "", " ", ",", "text/html", "text/html; charset=utf-8",
        "binary", "8bit", "7bit", "base64", "chunked", "aws-chunked", "amz-1.0", "*", "default", "unknown", "gzip",
        "x-gzip", "deflate", "UTF-8, gzip", "gzip, deflate",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "plain",
    [
        b"<?xml version='1.0'?><rss/>",
        b"\xef\xbb\xbf\n<rss>" + "Grüße".encode() * 200,
        b"<p>Gr\xfc\xdfe</p>" * 40,
        "\ufeff<rss/>".encode("utf-16"),
        b'{"version": "https://jsonfeed.org/version/1"}',
        "Xylophones; x-rays, 日本語。".encode() * 30,
        b"x^2 + y^2",
        b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
        b"a",
    ],
    ids=["xml", "marked", "latin", "wide", "json", "text", "like zlib", "pdf", "short"],
)
def test_a_body_that_is_not_compressed_is_read_as_it_is_whatever_it_is_called(encoding: str, plain: bytes) -> None:
    """Case T20: ``Content-Encoding: UTF-8``, and all that servers write there."""
    for size in (1, 7, 10_000):
        assert read_body(split(plain, size), {"content-encoding": encoding}, 10_000) == plain


@pytest.mark.parametrize(
    ("encoding", "sent"),
    [
        ("", gzip.compress(TEXT)),
        ("UTF-8", gzip.compress(TEXT)),
        ("none", gzip.compress(gzip.compress(TEXT))),
        ("gzip", gzip.compress(gzip.compress(TEXT))),
        ("deflate", gzip.compress(TEXT)),
        ("gzip", zlib.compress(TEXT)),
        ("gzip, gzip", gzip.compress(TEXT)),
        ("utf-8, gzip", gzip.compress(TEXT)),
        ('"gzip"', gzip.compress(TEXT)),
        ("gzip;q=1.0", gzip.compress(TEXT)),
    ],
)
def test_a_body_that_is_compressed_otherwise_than_it_says_is_decoded(encoding: str, sent: bytes) -> None:
    for size in (1, 100, 100_000):
        assert read_body(split(sent, size), {"content-encoding": encoding}, len(TEXT)) == TEXT


@pytest.mark.parametrize("encoding", ["", "UTF-8", "gzip", "deflate", "br-free"])
def test_a_bomb_under_a_false_name_is_refused_without_being_unpacked(encoding: str) -> None:
    twice = gzip.compress(bomb())
    tracemalloc.start()
    with pytest.raises(TooLargeError):
        read_body([twice], {"content-encoding": encoding}, 1_000_000)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 8_000_000


def test_an_empty_body_that_claims_to_be_compressed_is_empty() -> None:
    assert read_body([], {"content-encoding": "gzip"}, 10) == b""


@pytest.mark.parametrize(
    ("encoding", "sent"), [("", TEXT), ("gzip", gzip.compress(TEXT)), ("deflate", zlib.compress(TEXT))]
)
def test_the_cap_counts_decoded_bytes(encoding: str, sent: bytes) -> None:
    with pytest.raises(TooLargeError):
        read_body(split(sent), {"content-encoding": encoding}, len(TEXT) - 1)


def test_a_declared_length_over_the_cap_is_refused_before_anything_is_read() -> None:
    def never() -> Iterator[bytes]:
        yield pytest.fail("read")

    with pytest.raises(TooLargeError):
        read_body(never(), {"content-length": "11"}, 10)


def test_a_bomb_is_refused_without_being_unpacked() -> None:
    twice = gzip.compress(bomb())
    tracemalloc.start()
    for encoding, sent in (("gzip", bomb()), ("gzip, gzip", twice)):
        with pytest.raises(TooLargeError):
            read_body([sent], {"content-encoding": encoding}, 1_000_000)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 8_000_000


def test_an_endless_stream_that_decodes_to_nothing_is_refused() -> None:
    def endless() -> Iterator[bytes]:
        yield gzip.compress(b"")[:10]
        while True:
            yield b"\x00\x00\x00\xff\xff" * 1000  # empty stored blocks

    with pytest.raises(TooLargeError):
        read_body(endless(), {"content-encoding": "gzip"}, 100_000)


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, gzip, gzip", "gzip, br"])
def test_an_encoding_that_was_not_asked_for_is_refused(encoding: str) -> None:
    with pytest.raises(InvalidResponseError):
        read_body([TEXT], {"content-encoding": encoding}, 1_000_000)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_damaged_data_is_refused(encoding: str) -> None:
    with pytest.raises(InvalidResponseError):
        read_body([b"\x78\xff not compressed at all"], {"content-encoding": encoding}, 1_000_000)


def test_compressed_data_that_ends_too_early_may_be_whole_next_time() -> None:
    with pytest.raises(ConnectionFailedError):
        read_body([gzip.compress(TEXT)[:-20]], {"content-encoding": "gzip"}, 1_000_000)
