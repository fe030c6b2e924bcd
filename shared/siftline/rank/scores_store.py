"""What a scoring reads and writes: what is one user's own, the contents and sources behind it, and their briefings."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from psycopg.types.json import Jsonb

from siftline.catalog.replaced_topics_store import left_of
from siftline.catalog.usable_rows import entries_of
from siftline.kit.db import Connection, nearest
from siftline.rank.interest_profile import Habit, Liked
from siftline.rank.judge import HeldItem, Judgement, SourceTopics
from siftline.text.stored_scores import topic_scores

_BRIEFINGS = (
    "select id, interests from briefings where user_id = %(user_id)s and enabled and interests <> '' order by id"
)

# Only what its user holds and got lately; what was compared by other interests or another model is compared anew.
_UNCOMPARED = """
select c.id as content_id, c.lang, e.vector
from briefings b join items i on i.user_id = b.user_id join contents c on c.id = i.content_id
  join embeddings e on e.content_id = c.id and e.model_version = %(model_version)s
  left join briefing_likeness l on l.briefing_id = b.id and l.content_id = c.id
where b.id = %(briefing_id)s and c.status = 'READY'
  and greatest(i.created_at, c.ready_at) > now() - %(window)s and l.digest is distinct from %(digest)s
order by c.id limit %(limit)s
"""

_PUT_LIKENESS = """
insert into briefing_likeness (briefing_id, content_id, digest, value, about)
select %(briefing_id)s, new.content_id, %(digest)s, new.value, new.about
from unnest(%(content_ids)b::uuid[], %(values)b::float8[], %(abouts)b::text[]) as new (content_id, value, about)
where exists (select from briefings where briefings.id = %(briefing_id)s)
  and exists (select from contents where contents.id = new.content_id)
order by new.content_id
on conflict (briefing_id, content_id) do update set digest = excluded.digest, value = excluded.value,
  about = excluded.about
"""


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A profile as it is kept. ``applied``: whether all items had been judged by it; ``old``: made over a day ago."""

    id: UUID
    model_version: str
    recipe: str
    interests: str
    vectors: bytes
    details: Mapping[str, Any]
    evidence: float
    applied: bool
    old: bool


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What a user's profile is made of, beside their interests."""

    liked: Sequence[Liked]
    held: Sequence[tuple[str | None, bytes]]
    topics: Mapping[str, Habit]
    sources: Mapping[UUID | None, Habit]


_INTERESTS = "select interests from users where id = %(user_id)s"
_KEPT = """
select id, model_version, recipe, interests, vectors, details, evidence, applied_at is not null as applied,
  made_at < now() - interval '1 day' as old
from score_profiles where user_id = %(user_id)s
"""
_LIKED = f"""
select i.starred_at is not null as starred,
  extract(epoch from now() - {nearest("greatest(i.starred_at, i.read_at)")})::float8 as age_s, c.lang, e.vector
from items i join contents c on c.id = i.content_id
  join embeddings e on e.content_id = c.id and e.model_version = %(model_version)s
where i.user_id = %(user_id)s and greatest(i.starred_at, i.read_at) > now() - %(window)s
order by i.starred_at is not null desc, greatest(i.starred_at, i.read_at) desc, i.id desc limit %(limit)s
"""  # noqa: S608 - made of constants only
_HELD = """
select c.lang, e.vector
from items i join contents c on c.id = i.content_id
  join embeddings e on e.content_id = c.id and e.model_version = %(model_version)s
where i.user_id = %(user_id)s and c.status = 'READY'
order by i.id desc limit %(limit)s
"""
_COUNTS = """
count(i.starred_at)::int as starred, count(i.read_at) filter (where i.starred_at is null)::int as read,
  count(*)::int as brought
"""
# What an item is about for its user.
_ABOUT = f"""
case when r.topics is null or (r.topics = '[]' and not r.replaces) then {left_of("c.topics")}
  when r.replaces then r.topics else r.topics || coalesce({left_of("c.topics")}, '[]') end
"""
_HAS_READ = "left join readings r on r.user_id = i.user_id and r.content_id = i.content_id and r.made_at is not null"
_TOPICS = f"""
select said.topic, {_COUNTS}
from items i join contents c on c.id = i.content_id {_HAS_READ}
  cross join lateral (select {_ABOUT} as topics) about
  cross join lateral {entries_of("about.topics")} as one (said)
  cross join lateral (select one.said ->> 'topic' as topic) said
where i.user_id = %(user_id)s and i.created_at > now() - %(window)s and jsonb_typeof(c.topics) = 'array'
  and said.topic is not null
group by said.topic order by said.topic
"""  # noqa: S608 - made of constants only
_SOURCES = f"""
select i.source_id, {_COUNTS} from items i
where i.user_id = %(user_id)s and i.created_at > now() - %(window)s group by i.source_id order by i.source_id
"""  # noqa: S608 - made of constants only
# Only in place of the profile that was looked at: of two who make one at once, one is heard, and both go on with that.
_PUT = """
insert into score_profiles as kept (user_id, id, model_version, recipe, interests, vectors, details)
select users.id, %(id)s, %(model_version)s, %(recipe)s, %(interests)s, %(vectors)b, %(details)s
from users where users.id = %(user_id)s for key share of users
on conflict (user_id) do update set id = excluded.id, model_version = excluded.model_version,
  recipe = excluded.recipe, interests = excluded.interests, vectors = excluded.vectors, details = excluded.details,
  evidence = greatest(kept.evidence - %(evidence)s, 0), made_at = now(), applied_at = null
where kept.id = %(instead_of)s::uuid
"""
_SAID = f"""
select s.id, {left_of("s.granular_topics")} as learnt, coalesce(b.topics, '[]') as given
from sources s cross join lateral (select s.id as source_id, null::uuid as content_id) i
  left join subscriptions b on b.source_id = s.id and b.user_id = %(user_id)s
where (s.granular_topics <> '[]' or b.topics <> '[]')
  and exists (select from items i where i.user_id = %(user_id)s and i.source_id = s.id)
"""  # noqa: S608 - made of constants only
_BLOCK = f"""
select i.id, i.content_id, i.source_id, i.saved, i.score_wanted as wanted, c.lang, e.vector,
  c.status = 'FAILED' as failed, {_ABOUT} as topics
from items i join contents c on c.id = i.content_id {_HAS_READ}
  left join embeddings e on e.content_id = c.id and e.model_version = %(model_version)s
where i.user_id = %(user_id)s and c.status in ('READY', 'FAILED') and {{due}}
  and (%(after)s::uuid is null or i.content_id > %(after)s)
order by i.content_id limit %(limit)s
"""  # noqa: S608 - made of constants only
_DUE = _BLOCK.format(due="i.score_wanted <> i.score_made")
_ALL_DUE = _BLOCK.format(due="(i.score_wanted <> i.score_made or i.scored_with is distinct from %(profile_id)s)")
_HOLD = "select id from score_profiles where user_id = %(user_id)s for no key update"
_WRITE = """
with own as (
  select id from items where id = any(%(ids)b::uuid[]) and user_id = %(user_id)s order by id for no key update)
update items set score = new.score, score_reasons = new.reasons::jsonb, scored_with = %(profile_id)s,
  score_made = new.wanted
from unnest(%(ids)b::uuid[], %(scores)b::float8[], %(reasons)b::jsonb[], %(wanted)b::int4[])
  as new (id, score, reasons, wanted) join own using (id)
where items.id = new.id
"""
_APPLIED = """
update score_profiles set applied_at = now() where user_id = %(user_id)s and id = %(profile_id)s and applied_at is null
"""


def interests(connection: Connection, user_id: UUID) -> str | None:
    """Return what a user says they are interested in; ``None`` where there is no such user."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        text: str | None = cursor.execute(_INTERESTS, {"user_id": user_id}).fetchone()
        return text


def kept(connection: Connection, user_id: UUID) -> Kept | None:
    """Return a user's profile as it is kept."""
    with connection.cursor(row_factory=class_row(Kept)) as cursor:
        return cursor.execute(_KEPT, {"user_id": user_id}).fetchone()


def evidence(
    connection: Connection, user_id: UUID, model_version: str, *, window: timedelta, liked_max: int, held_max: int
) -> Evidence:
    """Return what was starred and read within the window, stars first, and how that is spread over what came in it."""
    values = {"user_id": user_id, "model_version": model_version, "window": window}
    with connection.cursor(row_factory=class_row(Liked), binary=True) as cursor:
        liked = cursor.execute(_LIKED, {**values, "limit": liked_max}).fetchall()
    with connection.cursor(binary=True) as cursor:
        topics = {topic: Habit(*counts) for topic, *counts in cursor.execute(_TOPICS, values).fetchall()}
        sources = {source_id: Habit(*counts) for source_id, *counts in cursor.execute(_SOURCES, values).fetchall()}
    return Evidence(liked, held(connection, user_id, model_version, limit=held_max), topics, sources)


def held(connection: Connection, user_id: UUID, model_version: str, *, limit: int) -> list[tuple[str | None, bytes]]:
    """Return languages and vectors of what a user holds, the newest ``limit``."""
    values = {"user_id": user_id, "model_version": model_version, "limit": limit}
    with connection.cursor(binary=True) as cursor:
        return [(lang, vector) for lang, vector in cursor.execute(_HELD, values).fetchall()]


def put(connection: Connection, user_id: UUID, profile: Kept, *, instead_of: Kept | None) -> bool:
    """Keep a profile in place of the one that was looked at; says whether that was still there, and the user is.

    What the user starred and read while it was made stays evidence.
    """
    values = {
        **asdict(profile),
        "user_id": user_id,
        "details": Jsonb(profile.details),
        "evidence": instead_of.evidence if instead_of else 0.0,
        "instead_of": instead_of.id if instead_of else None,
    }
    return connection.execute(_PUT, values).rowcount == 1


def source_topics(connection: Connection, user_id: UUID) -> dict[UUID, SourceTopics]:
    """Return what the sources of a user's items are said to write about, where something is said."""
    with connection.cursor(binary=True) as cursor:
        rows = cursor.execute(_SAID, {"user_id": user_id}).fetchall()
    return {id_: SourceTopics(topic_scores(learnt), _words(given)) for id_, learnt, given in rows}


def _words(stored: Any) -> list[str]:
    return [one for one in stored if isinstance(one, str)] if isinstance(stored, list) else []


def due(connection: Connection, user_id: UUID, profile: Kept, *, after: UUID | None, limit: int) -> Sequence[HeldItem]:
    """Return the next items to be judged, in the order of their contents behind ``after``.

    Those of which something changed, and until a profile has been applied to all, every one that was judged by another.
    """
    values = {
        "user_id": user_id,
        "model_version": profile.model_version,
        "profile_id": profile.id,
        "after": after,
        "limit": limit,
    }
    with connection.cursor(row_factory=class_row(HeldItem), binary=True) as cursor:
        return cursor.execute(_DUE if profile.applied else _ALL_DUE, values).fetchall()


def write(
    connection: Connection, user_id: UUID, profile_id: UUID, items: Sequence[HeldItem], judged: Sequence[Judgement]
) -> bool:
    """Write judgements, if the profile is still the user's; returns whether it is.

    Two runs take turns at a user. An item that is gone is left out, and one whose content changed since it was read
    stays due.
    """
    with connection.cursor(row_factory=scalar_row) as cursor:
        if cursor.execute(_HOLD, {"user_id": user_id}).fetchone() != profile_id:
            return False
    connection.execute(
        _WRITE,
        {
            "user_id": user_id,
            "profile_id": profile_id,
            "ids": [item.id for item in items],
            "scores": [judgement.score for judgement in judged],
            "reasons": [Jsonb(judgement.reasons) for judgement in judged],
            "wanted": [item.wanted for item in items],
        },
    )
    return True


def applied(connection: Connection, user_id: UUID, profile_id: UUID) -> None:
    """Note that all of a user's items have been judged by this profile."""
    connection.execute(_APPLIED, {"user_id": user_id, "profile_id": profile_id})


@dataclass(frozen=True, slots=True)
class About:
    """A briefing with interests of its own."""

    id: UUID
    interests: str


@dataclass(frozen=True, slots=True, eq=False)
class Uncompared:
    """A content with its vector (float32, little-endian)."""

    content_id: UUID
    lang: str | None
    vector: bytes


@dataclass(frozen=True, slots=True)
class Likeness:
    """How near a content lies, in [0, 1], to the interest of a briefing that is nearest to it."""

    content_id: UUID
    value: float
    about: str


def briefings(connection: Connection, user_id: UUID) -> Sequence[About]:
    """Return the user's briefings that have interests of their own."""
    with connection.cursor(row_factory=class_row(About)) as cursor:
        return cursor.execute(_BRIEFINGS, {"user_id": user_id}).fetchall()


def uncompared(
    connection: Connection, briefing_id: UUID, model_version: str, digest: str, *, window: timedelta, limit: int
) -> Sequence[Uncompared]:
    """Return contents of the last ``window`` that have not been compared by what ``digest`` stands for."""
    values = {
        "briefing_id": briefing_id,
        "model_version": model_version,
        "digest": digest,
        "window": window,
        "limit": limit,
    }
    with connection.cursor(row_factory=class_row(Uncompared), binary=True) as cursor:
        return cursor.execute(_UNCOMPARED, values).fetchall()


def put_likeness(connection: Connection, briefing_id: UUID, digest: str, found: Sequence[Likeness]) -> None:
    """Write how near contents lie; what went meanwhile is left out."""
    connection.execute(
        _PUT_LIKENESS,
        {
            "briefing_id": briefing_id,
            "digest": digest,
            "content_ids": [one.content_id for one in found],
            "values": [one.value for one in found],
            "abouts": [one.about for one in found],
        },
    )
