"""What analysis reads with now, as it told when it was opened last: for whoever shows it, or plans to read again."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from psycopg.rows import scalar_row
from psycopg.types.json import Jsonb

from siftline.kit.db import Connection

_TELL = """
insert into reading_profile (profile) values (%(profile)s)
on conflict (singleton) do update set profile = excluded.profile, told_at = now()
where reading_profile.profile <> excluded.profile
"""
_PROFILE = "select profile from reading_profile"


@dataclass(frozen=True, slots=True)
class LlmProfile:
    """The language model that texts are read with besides, and what it costs."""

    model: str
    asked_for: str
    usd_per_million_in: float
    usd_per_million_out: float
    usd_per_day: float


@dataclass(frozen=True, slots=True)
class ReadingProfile:
    """What texts are read with."""

    topics: Sequence[Mapping[str, Any]]
    """The default topics: ``{"id", "descriptions": {language: text}}``."""
    versions: Mapping[str, Sequence[str]]
    """By kind of derived value, every version that may make it now."""
    label_digests: Sequence[str] = ()
    """What tells apart the sets of topics, and the languages, that texts are sorted with now."""
    llm: LlmProfile | None = None

    @property
    def topic_ids(self) -> frozenset[str]:
        """The default topics' ids."""
        return frozenset(topic["id"] for topic in self.topics)


def tell(connection: Connection, profile: ReadingProfile) -> None:
    """Say what texts are read with from now on; writes nothing where it is known."""
    connection.execute(_TELL, {"profile": Jsonb(_json(profile))})


def told(connection: Connection) -> ReadingProfile | None:
    """Return what texts are read with; ``None`` before the first analysis."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        found: dict[str, Any] | None = cursor.execute(_PROFILE).fetchone()
    if found is None:
        return None
    llm = found["llm"]
    return ReadingProfile(
        found["topics"], found["versions"], found["label_digests"], None if llm is None else LlmProfile(**llm)
    )


def _json(profile: ReadingProfile) -> dict[str, Any]:
    return {
        "topics": [dict(topic) for topic in profile.topics],
        "versions": {kind: list(versions) for kind, versions in profile.versions.items()},
        "label_digests": list(profile.label_digests),
        "llm": None if profile.llm is None else asdict(profile.llm),
    }
