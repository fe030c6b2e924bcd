"""Whether an address is that of an audio or video file, by its name and by what is said of it."""

from urllib.parse import parse_qsl, urlsplit

AUDIO, VIDEO = "audio", "video"
KINDS = frozenset({AUDIO, VIDEO})
_ENDINGS = {
    **dict.fromkeys(
        ("mp3", "m4a", "m4b", "aac", "oga", "ogg", "opus", "flac", "wav", "weba", "wma", "mp2", "mpga", "aif", "aiff",
         "amr", "mka", "spx"),
        AUDIO,
    ),
    **dict.fromkeys(
        ("mp4", "m4v", "mov", "webm", "ogv", "mkv", "mpg", "mpeg", "mpe", "avi", "wmv", "flv", "3gp", "3g2"), VIDEO
    ),
}  # fmt: skip
# Of names that say nothing of a file: of a program that hands it out, or none at all.
_SAY_NOTHING = frozenset({"", "php", "asp", "aspx", "cgi", "pl", "jsp", "do", "ashx"})
# What is no recording, whatever its name: a feed that says so knows.
_OTHERS = ("image/", "font/", "application/pdf", "application/zip", "application/epub+zip", "application/x-bittorrent")


def named_kind(url: str) -> str | None:
    """Return ``audio`` or ``video`` where the path of an address ends like such a file; ``None`` for no address."""
    try:
        return _ENDINGS.get(_ending(urlsplit(url).path))
    except ValueError:
        return None


def said_kind(url: str, media_type: str | None, *, runs: bool = False) -> str | None:
    """Return ``audio`` or ``video`` for a file that a feed brings along, ``None`` for others.

    The type counts where it is one of these, else the name: types are left out, and wrong (``text/html``,
    ``application/octet-stream``). Where a counting or handing-out address holds the name, that is within its path or
    its query. ``runs``: it has a running time, and is audio where nothing says more.
    """
    said = (media_type or "").strip().lower()
    if said.partition("/")[0] in KINDS:
        return said.partition("/")[0]
    if said.startswith(_OTHERS):
        return None
    try:
        parts = urlsplit(url)
        names = [parts.path, *reversed(parts.path.split("/")), *(value for _, value in parse_qsl(parts.query))]
    except ValueError:
        return None
    kind = next((found for name in names if (found := _ENDINGS.get(_ending(name)))), None)
    return AUDIO if kind is None and runs and _ending(parts.path) in _SAY_NOTHING else kind


def _ending(path: str) -> str:
    """Return the ending of a path's last name, without parameters; empty where it has none."""
    _, dot, ending = path.rpartition("/")[2].partition(";")[0].rpartition(".")
    return ending.lower() if dot else ""
