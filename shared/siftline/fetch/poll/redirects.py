"""Where a source has moved to. Temporary redirects never count; permanent ones once they held for polls and days.

Until then every poll starts at the address that was given, as it does again when the new one fails. Where the address
that was given goes first, its last permanent redirect was its word for where to ask from now on.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from siftline.fetch.poll.health_store import Moved, Source
from siftline.kit.errors import SiftlineError

ADOPT_POLLS = 5
ADOPT_AFTER = timedelta(days=7)
"""A permanent redirect must hold for so many polls in a row, and so long: many are set by mistake and taken back."""
_PERMANENT = frozenset({301, 308})


def moved(source: Source, redirects: Sequence[tuple[int, str]], now: datetime) -> Moved:
    """Return where a poll that went well says its source is; ``redirects`` are its hops (status, target)."""
    target = _target(source.polled_url, redirects) or source.adopted_url
    if target is None:
        return Moved()
    held = target == source.resolved_url and source.resolved_since is not None
    since = source.resolved_since if held and source.resolved_since else now
    polls = source.resolved_polls + 1 if held else 1
    proven = polls >= ADOPT_POLLS and now - since >= ADOPT_AFTER
    return Moved(target, since, polls, target if proven else source.adopted_url)


def strayed(source: Source, error: SiftlineError) -> bool:
    """Return whether a poll failed before it came to where the source had moved to."""
    moved_to = source.resolved_url
    return moved_to is not None and moved_to != source.polled_url and error.at not in {None, moved_to}


def _target(asked: str, redirects: Sequence[tuple[int, str]]) -> str | None:
    """Return where the permanent hops at the beginning lead; the way from https to http is nobody's move."""
    target = asked
    for status, url in redirects:
        if status not in _PERMANENT or (target.startswith("https:") and not url.startswith("https:")):
            break
        target = url
    return None if target == asked else target
