"""Names of character sets as files and servers give them, and the codecs of Python's that read them.

Labels are read as browsers read them (WHATWG Encoding: ``gb2312`` is GB 18030, ``iso-8859-1`` is Windows-1252).
"""

import codecs
import contextlib
import re

# Labels of browsers that Python has no codec by.
_LABELS = {"windows-31j": "cp932", "windows-949": "cp949", "windows-874": "cp874"}
# Python's codec for a label that browsers read as a wider one.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}
_SEVERAL_BYTES = frozenset(
    {"utf-8", "utf-16-le", "utf-16-be", "gb18030", "big5hkscs", "cp932", "cp949", "euc_jp", "iso2022_jp"}
)
# What Python makes of the bytes that begin nothing in Shift_JIS.
_NO_LETTERS = re.compile("[\uf8f1-\uf8f3]")
_WITH_SIGNS = "siftline.signs"
_SIGNS_MAX = 100_000
_ROW_0 = 0xA0
ONE_BYTE = frozenset(
    {
        *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
        *(f"cp{page}" for page in (866, 874, *range(1250, 1259))),
        *("koi8-r", "koi8-u", "mac-roman", "mac-cyrillic"),
    }
)
"""Codecs of one byte a character: any bytes are valid in them."""


def codec(label: str) -> str | None:
    """Return the Python codec for a label, or ``None`` when browsers know none."""
    plain = label.strip(" \"'").lower().removeprefix("x-").removesuffix("-i")
    try:
        name = codecs.lookup(_LABELS.get(plain, plain)).name
    except (LookupError, ValueError):
        return None
    name = _WIDER.get(name, name)
    return name if name in _SEVERAL_BYTES or name in ONE_BYTE else None


def decoded(body: bytes, name: str) -> str:
    """Return bytes as text; what a codec cannot read becomes U+FFFD. Raises ``LookupError`` where there is no such."""
    text = body.decode(name, "replace")
    # Each fault costs a call; what has so many is no EUC-JP.
    if name == "euc_jp" and 0 < text.count("\ufffd") <= _SIGNS_MAX:
        return body.decode(name, _WITH_SIGNS)
    return _NO_LETTERS.sub("\ufffd", text) if name == "cp932" else text


def _sign(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return the character that stands in a row of EUC-JP which JIS leaves empty: NEC's signs (①) and kanji."""
    if isinstance(error, UnicodeDecodeError):
        pair = error.object[error.start : error.start + 2]
        if len(pair) == 2 and min(pair) > _ROW_0 and max(pair) < 0xFF:
            row, cell = pair[0] - _ROW_0, pair[1] - _ROW_0
            first = (row - 1) // 2 + (0x81 if row <= 62 else 0xC1)
            second = cell + (0x9E if row % 2 == 0 else 0x3F if cell < 64 else 0x40)
            with contextlib.suppress(UnicodeDecodeError):
                return bytes((first, second)).decode("cp932"), error.start + 2
            return "\ufffd", error.start + 2
    return codecs.replace_errors(error)


codecs.register_error(_WITH_SIGNS, _sign)
