"""Reads a response body under a cap that counts decoded bytes, so that a compression bomb dies early.

gzip and deflate only, on purpose: brotli and zstd would take another parser of strangers' bytes in C (the standard
library of Python 3.11 to 3.13 has neither), whose output must be capped in mid-call as zlib's is; and they would save a
sixth of the bytes of a gzipped page at servers that all know gzip. A server that sends one unasked is refused by name.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from siftline.kit.http_errors import ConnectionFailedError, InvalidResponseError, TooLargeError

ACCEPT_ENCODING = "gzip, deflate"
"""What is asked for: exactly what can be decoded here."""

_ENCODINGS_MAX = 2


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

    Raises as ``read_body`` does, for an encoding that is not known at once.
    """
    stages: list[_Stage] = [_Plain()]
    stages += [_stage(encoding) for encoding in reversed(_encodings(headers))]
    stream = iter(chunks)
    for stage in stages:
        stream = _capped(stage, stream, max_bytes)
    return stream


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


def _stage(encoding: str) -> _Stage:
    if encoding in {"gzip", "x-gzip"}:
        return _Zlib(gzip=True)
    if encoding == "deflate":
        return _Zlib(gzip=False)
    raise InvalidResponseError(f"The server sent its answer encoded as {encoding[:20]!r}, which was not asked for.")


def _encodings(headers: Mapping[str, str]) -> list[str]:
    names = [name.strip().lower() for name in headers.get("content-encoding", "").split(",")]
    encodings = [name for name in names if name not in {"", "identity"}]
    if len(encodings) > _ENCODINGS_MAX:
        raise InvalidResponseError("The server compressed its answer too many times.")
    return encodings


def _too_large(max_bytes: int) -> TooLargeError:
    return TooLargeError(f"The answer is larger than {max_bytes:,} bytes.")
