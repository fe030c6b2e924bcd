"""What the write of a poll is made of, statement by statement, beside the bare insert of the same rows."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.profile import Executed, largest, parts


def rows(size: int, ours: Sequence[Executed], raw: Sequence[Executed]) -> list[dict[str, Any]]:
    """Return a row a statement, those of one name together."""
    mine, bare = _by_name(ours), _by_name(raw)
    return [
        {
            "entries": size,
            "statement": name,
            "ms": _ms(mine.get(name, [])),
            "raw ms": _ms(bare.get(name, [])),
            "rows and index entries": _records(mine.get(name, [])),
            "raw rows and index entries": _records(bare.get(name, [])),
            "WAL kB": _kilobytes(mine.get(name, [])),
            "raw WAL kB": _kilobytes(bare.get(name, [])),
            "most of the ms": largest(parts(mine.get(name, [])), count=3),
        }
        for name in {**mine, **bare}
    ]


def why(size: int, times_s: tuple[float, float], ours: Sequence[Executed], raw: Sequence[Executed]) -> str:
    """Say where the difference of the two times lies; both were taken while the server told its plans."""
    more = {
        name: _ms(_by_name(ours).get(name, [])) - _ms(_by_name(raw).get(name, []))
        for name in {**_by_name(ours), **_by_name(raw)}
    }
    executing = [_ms(ours), _ms(raw)]
    outside = [round(whole_s * 1000 - ms, 1) for whole_s, ms in zip(times_s, executing, strict=True)]
    return (
        f"{size:,}: write : raw {times_s[0] * 1000:.0f} : {times_s[1] * 1000:.0f} ms, of it executing "
        f"{executing[0]:.0f} : {executing[1]:.0f}, client, wire and commit {outside[0]:.0f} : {outside[1]:.0f}; "
        f"rows and index entries {_records(ours):,} : {_records(raw):,}; ms more than raw: {largest(more)}"
    )


def _by_name(statements: Sequence[Executed]) -> Mapping[str, list[Executed]]:
    found: dict[str, list[Executed]] = defaultdict(list)
    for statement in statements:
        found[statement.name].append(statement)
    return found


def _ms(statements: Sequence[Executed]) -> float:
    return round(sum(statement.ms for statement in statements), 1)


def _records(statements: Sequence[Executed]) -> int:
    return sum(statement.wal_records for statement in statements)


def _kilobytes(statements: Sequence[Executed]) -> int:
    return round(sum(statement.wal_bytes for statement in statements) / 1000)
