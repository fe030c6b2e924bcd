"""Reads a response body under a cap that counts decoded bytes, so that a compression bomb dies early.

gzip and deflate only, on purpose: brotli and zstd would take another parser of strangers' bytes in C (the standard
library of Python 3.11 to 3.13 has neither), whose output must be capped in mid-call as zlib's is; and they would save a
sixth of the bytes of a gzipped page at servers that all know gzip. A server that sends one unasked is refused by name.

What a server says of its encoding is often wrong: a character set (``UTF-8``) or a media type where a coding belongs,
gzip that is plain, plain that is gzip. So the data decides, as far as it can be told by its beginning.
"""

import codecs
import itertools
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from siftline.net.http_model import ConnectionFailedError, InvalidResponseError, TooLargeError

ACCEPT_ENCODING = "gzip, deflate"
"""What is asked for: exactly what can be decoded here."""

_ENCODINGS_MAX = 2
_DECODED = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate"}
_REFUSED = frozenset({"br", "zstd", "compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip"})
"""The other codings that there are (IANA, HTTP Content Coding Registry); whatever else is named is none."""
_GZIP = b"\x1f\x8b"
_GZIP_DEFLATED = b"\x1f\x8b\x08"
_LOOKED_AT_BYTES = 512
_TEXT_BEGINS = (b"<", b"{", b"[", b"%PDF-", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\f\r\x1b")


def read_body(chunks: Iterable[bytes], headers: Mapping[str, str], max_bytes: int) -> bytes:
    """Return the decoded body.

    Raises ``TooLargeError`` as soon as the body, as sent or at any stage of its decoding, is larger than ``max_bytes``,
    ``InvalidResponseError`` for an encoding that was not asked for or damaged data, and ``ConnectionFailedError`` for
    compressed data that ends too early.
    """
    declared = headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > max_bytes:
        raise _too_large(max_bytes)
    return b"".join(decoded(chunks, headers, max_bytes))


def decoded(chunks: Iterable[bytes], headers: Mapping[str, str], max_bytes: int) -> Iterator[bytes]:
    """Return the decoded body piece by piece, at most ``max_bytes`` of it; then, or where it is at fault, it raises.

    Raises as ``read_body`` does, for an encoding that cannot be decoded at once.
    """
    encodings = _encodings(headers)
    stream = _capped(_Plain(), iter(chunks), max_bytes)
    # What is compressed once more than it says is decoded as often as anything may be.
    for encoding in [*reversed(encodings), *[""] * (_ENCODINGS_MAX - len(encodings))]:
        stream = _decoded_once(encoding, stream, max_bytes)
    return stream


def _decoded_once(encoding: str, chunks: Iterator[bytes], max_bytes: int) -> Iterator[bytes]:
    """Return what chunks decode to that are said to be of an encoding, ``""`` for none."""
    start = b""
    for chunk in chunks:
        start += chunk
        if _is_telling(encoding, start):
            break
    yield from _capped(_stage(encoding, start), itertools.chain([start] if start else [], chunks), max_bytes)


def _is_telling(encoding: str, start: bytes) -> bool:
    """Return whether the beginning of a body is long enough to tell its encoding."""
    if start.startswith(_GZIP) or not encoding:
        return len(start) >= len(_GZIP_DEFLATED) or not _GZIP_DEFLATED.startswith(start)
    return len(start) >= _LOOKED_AT_BYTES


class _Stage(Protocol):
    def feed(self, data: bytes, max_bytes: int) -> bytes:
        """Return what ``data`` decodes to, at most ``max_bytes`` and one more to show that it is too much."""
        ...

    def end(self) -> None:
        """Raise when the data may not end here."""
        ...


def _capped(stage: _Stage, chunks: Iterator[bytes], max_bytes: int) -> Iterator[bytes]:
    left = max_bytes
    for chunk in chunks:
        piece = stage.feed(chunk, left)
        left -= len(piece)
        if left < 0:
            yield piece[:left]
            raise _too_large(max_bytes)
        if piece:
            yield piece
    stage.end()


class _Plain:
    def feed(self, data: bytes, max_bytes: int) -> bytes:
        return data[: max_bytes + 1]

    def end(self) -> None:
        """Anything may end here."""


class _Zlib:
    """gzip (RFC 1952, members one after another) and deflate (RFC 1950; raw RFC 1951, as some servers send it)."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._decoder = zlib.decompressobj(zlib.MAX_WBITS | 16) if gzip else None
        self._started = False

    def feed(self, data: bytes, max_bytes: int) -> bytes:
        output = bytearray()
        try:
            while data and len(output) <= max_bytes:
                decoder = self._next(data)
                if decoder is None:
                    break
                output += decoder.decompress(data, max_bytes + 1 - len(output))
                data = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
        except zlib.error as error:
            raise InvalidResponseError("The server's compressed answer is damaged.") from error
        return bytes(output)

    def end(self) -> None:
        if self._started and self._decoder is not None and not self._decoder.eof:
            raise ConnectionFailedError("The server's compressed answer ended too early.")

    def _next(self, data: bytes) -> "zlib._Decompress | None":
        """Return the decoder for what comes next, ``None`` when only padding follows the last member."""
        self._started = True
        if self._decoder is None:
            self._decoder = zlib.decompressobj(zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS)
        elif self._decoder.eof:
            if not (self._gzip and data[0] == 0x1F):
                return None
            self._decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
        return self._decoder


def _stage(encoding: str, start: bytes) -> _Stage:
    """Return what decodes a body that begins like this and is said to be of an encoding."""
    if start.startswith(_GZIP if encoding else _GZIP_DEFLATED):
        return _Zlib(gzip=True)
    if not encoding or not start or _is_plain(start[:_LOOKED_AT_BYTES]):
        return _Plain()
    if encoding == "deflate" or (start[0] & 0x0F == 8 and int.from_bytes(start[:2], "big") % 31 == 0):
        return _Zlib(gzip=False)
    raise InvalidResponseError("The server's compressed answer is damaged.")


def _is_plain(start: bytes) -> bool:
    """Return whether a body that is said to be compressed begins like text, or like a PDF."""
    if start.startswith(_WIDE_MARKS):
        return True
    if len(start.translate(None, _CONTROLS)) < len(start):
        return False
    if start.lstrip().startswith(_TEXT_BEGINS):
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return True


def _encodings(headers: Mapping[str, str]) -> list[str]:
    """Return the codings that a body is said to be of; what is no coding counts nothing."""
    named = [name.partition(";")[0].strip(" \t\"'").lower() for name in headers.get("content-encoding", "").split(",")]
    if refused := [name for name in named if name in _REFUSED]:
        raise InvalidResponseError(f"The server encoded its answer as {refused[0]!r}, which was not requested.")
    encodings = [_DECODED[name] for name in named if name in _DECODED]
    if len(encodings) > _ENCODINGS_MAX:
        raise InvalidResponseError("The server compressed its answer too many times.")
    return encodings


def _too_large(max_bytes: int) -> TooLargeError:
    return TooLargeError(f"The answer is larger than {max_bytes:,} bytes.")
