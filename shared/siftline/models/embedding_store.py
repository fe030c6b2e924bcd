"""Which model's vectors count: one row is active, for all processes at once; another may be in the making.

Who writes a vector holds the active row until its transaction ends (``hold``); who switches seals it first, so that
between the last vector of the old version and the switch there is no other. Beside them stand the contents that were
read without a vector, because the model whose vectors count made none of them.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from siftline.kit.db import Connection
from siftline.kit.errors import NotTriedError

SCHEME = "api:"
"""Before the name of a model that is asked over its API, where models are named by where they are opened from."""
_ACTIVE = "select model_version, uri, chunks, dimensions from embedding_versions where state = 'active'"
_ADOPT = """
insert into embedding_versions (model_version, uri, chunks, dimensions, state, activated_at)
select %(model_version)s, %(uri)s, %(chunks)s, %(dimensions)s, 'active', now()
where not exists (select from embedding_versions where state = 'active')
on conflict do nothing
"""
_NAME_URI = """
update embedding_versions set uri = %(uri)s where model_version = %(model_version)s and uri = '' and %(uri)s <> ''
"""
_HOLD = """
select model_version, coalesce(sealed_until > now(), false) as sealed from embedding_versions
where state = 'active' for share
"""
_ABANDON = """
update embedding_versions set state = 'retired', retired_at = now()
where state = 'building' and model_version <> %(model_version)s
"""
_BEGIN = """
insert into embedding_versions (model_version, uri, chunks, dimensions, state)
values (%(model_version)s, %(uri)s, %(chunks)s, %(dimensions)s, 'building')
on conflict (model_version) do update
set uri = excluded.uri, chunks = excluded.chunks, dimensions = excluded.dimensions, state = 'building',
  retired_at = null, started_at = case when embedding_versions.state = 'building' then embedding_versions.started_at
    else now() end
where embedding_versions.state <> 'active'
"""
_SEAL = "update embedding_versions set sealed_until = now() + %(time)s where state = 'active'"
_LOCK = "select model_version from embedding_versions where state in ('active', 'building') order by state for update"
_MISSING = """
select exists (
  select from embeddings old
  left join embeddings new on new.content_id = old.content_id and new.model_version = %(new)s
  left join embedding_refusals refused on refused.content_id = old.content_id and refused.model_version = %(new)s
  where old.model_version = %(old)s
    and (new.content_id is null or new.text_version is distinct from old.text_version)
    and (refused.content_id is null or refused.text_version is distinct from old.text_version))
"""
_RETIRE = """
update embedding_versions set state = 'retired', retired_at = now(), sealed_until = null where state = 'active'
"""
_ACTIVATE = """
update embedding_versions set state = 'active', activated_at = now() where model_version = %(model_version)s
"""
_KNOWN = "select model_version from embedding_versions"
_OUTDATED = """
select model_version from embedding_versions where state = 'retired' and retired_at <= now() - %(grace)s
order by model_version
"""
_DELETE_VECTORS = """
delete from embeddings where model_version = %(model_version)s and content_id in (
  select content_id from embeddings where model_version = %(model_version)s
  order by content_id limit %(limit)s for update skip locked)
"""
_OWN_REFUSALS = "select content_id from embedding_refusals where model_version = %(model_version)s"
_DELETE_REFUSALS = f"""
delete from embedding_refusals where model_version = %(model_version)s and content_id in (
  {_OWN_REFUSALS} order by content_id for update)
"""  # noqa: S608  -- constants of ours
# Of what has no vector at all it goes on being known, for the version that counts is still to make one.
_FORGET_REFUSALS = f"""
delete from embedding_refusals where model_version = %(model_version)s and content_id in (
  {_OWN_REFUSALS} and exists (select from embeddings where embeddings.content_id = embedding_refusals.content_id)
  order by content_id for update)
"""  # noqa: S608  -- constants of ours
_DELETE_MEANS = """
delete from topic_means where model_version = %(model_version)s and (lang, topic) in (
  select lang, topic from topic_means where model_version = %(model_version)s order by lang, topic for update)
"""
_DELETE_VERSION = "delete from embedding_versions where model_version = %(model_version)s and state = 'retired'"
_OF_USER = """
select e.model_version
from items i join contents c on c.id = i.content_id join embeddings e on e.content_id = c.id
where i.user_id = %(user_id)s and c.status = 'READY'
group by e.model_version
order by coalesce(e.model_version = (select model_version from embedding_versions where state = 'active'), false) desc,
  count(*) desc, max(e.made_at) desc, e.model_version limit 1
"""

_REFUSE = """
insert into embedding_refusals (content_id, model_version, text_version, error_code)
values (%(id)s, %(model_version)s, %(text_version)s, %(error_code)s)
on conflict (content_id, model_version) do update
set tries = case when embedding_refusals.text_version = excluded.text_version then embedding_refusals.tries + 1
    else 1 end,
  text_version = excluded.text_version, error_code = excluded.error_code, made_at = now()
"""

_MADE = """
delete from embedding_refusals where content_id = %(id)s and model_version in (
  select model_version from embedding_refusals where content_id = %(id)s
    and model_version not in (select model_version from embedding_versions where state = 'building')
  order by model_version for update)
"""

# The model that counts is asked again ever later, but about a text that it does not take only by ``make reindex``;
# another model than the one that made none, at once.
_DUE = """
select contents.id, contents.version
from embedding_versions active
join embedding_refusals refused on true
join contents on contents.id = refused.content_id and contents.status = 'READY' and contents.text is not null
where active.state = 'active'
  and case when refused.model_version = active.model_version
    then refused.error_code <> 'embedding_refused'
      and refused.made_at <= now() - least(%(first)s * power(2, least(refused.tries, 30) - 1), %(longest)s)
    else not exists (select from embedding_refusals own
        where own.content_id = contents.id and own.model_version = active.model_version)
      and not exists (select from embeddings
        where embeddings.content_id = contents.id and embeddings.model_version = active.model_version) end
  and not exists (select from jobs where jobs.subject_id = contents.id and jobs.state in ('pending', 'processing'))
order by refused.made_at, contents.id limit %(limit)s for no key update of contents skip locked
"""


class ModelSwitchedError(NotTriedError):
    """The model was, or is about to be, changed for another while this text was read; it is read again at once."""

    code = "model_switched"


@dataclass(frozen=True, slots=True)
class Version:
    """A model's vectors: what made them, and where that is opened from. ``chunks``: parts of a text it reads."""

    model_version: str
    uri: str
    chunks: int
    dimensions: int

    @property
    def over_api(self) -> bool:
        """Whether its model is asked over an API."""
        return self.uri.startswith(SCHEME)


def active(connection: Connection) -> Version | None:
    """Return the version whose vectors count; ``None`` before the first vector."""
    with connection.cursor(row_factory=class_row(Version)) as cursor:
        return cursor.execute(_ACTIVE).fetchone()


def adopt(connection: Connection, version: Version) -> None:
    """Make a version the active one where none is; and note where it is opened from, where that was not known."""
    values = asdict(version)
    connection.execute(_ADOPT, values)
    connection.execute(_NAME_URI, values)


def hold(connection: Connection, version: Version) -> None:
    """Keep the active version from being switched until this transaction ends; adopts it where there is none.

    Raises ``ModelSwitchedError`` where another one is active, or is about to be.
    """
    row = connection.execute(_HOLD).fetchone()
    if row is None:
        adopt(connection, version)
        row = connection.execute(_HOLD).fetchone()
    if row is None or row[0] != version.model_version or row[1]:
        raise ModelSwitchedError(
            "The embedding model is being changed; the text is processed again.", retry_after_s=2.0
        )


def begin(connection: Connection, version: Version) -> None:
    """Have the vectors of a version made; one that was begun before and is another is given up.

    What this version made no vector of before is tried again.
    """
    connection.execute(_DELETE_REFUSALS, {"model_version": version.model_version})
    connection.execute(_ABANDON, {"model_version": version.model_version})
    connection.execute(_BEGIN, asdict(version))


def seal(connection: Connection, seconds: float) -> None:
    """Let no vector of the active version be written for so long, or until the switch; waits for those under way."""
    connection.execute(_SEAL, {"time": timedelta(seconds=seconds)})


def switch(connection: Connection, new: str) -> bool:
    """Make the version in the making the active one if its vectors are all there; returns whether they were."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        locked: list[str] = cursor.execute(_LOCK).fetchall()
        if len(locked) != 2 or locked[1] != new:
            return False
        if cursor.execute(_MISSING, {"old": locked[0], "new": new}).fetchone():
            return False
        cursor.execute(_RETIRE)
        cursor.execute(_ACTIVATE, {"model_version": new})
    return True


def known(connection: Connection) -> list[str]:
    """Return all versions whose vectors may be there: what is left of the others is nobody's."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_KNOWN).fetchall()


def outdated(connection: Connection, grace_s: float) -> list[str]:
    """Return the versions that were retired longer ago than the grace."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_OUTDATED, {"grace": timedelta(seconds=grace_s)}).fetchall()


def delete_vectors(connection: Connection, model_version: str, *, limit: int) -> int:
    """Delete at most so many of a version's vectors; returns how many were deleted."""
    return connection.execute(_DELETE_VECTORS, {"model_version": model_version, "limit": limit}).rowcount


def delete_version(connection: Connection, model_version: str) -> None:
    """Forget a retired version whose vectors are gone, with its means and refusals."""
    for statement in (_FORGET_REFUSALS, _DELETE_MEANS, _DELETE_VERSION):
        connection.execute(statement, {"model_version": model_version})


def of_user(connection: Connection, user_id: UUID) -> str | None:
    """Return the version whose vectors of a user's contents are to be compared: the active one.

    Where the user has none of it, that which covers most of what the user holds; ``None`` where there are none.
    """
    with connection.cursor(row_factory=scalar_row) as cursor:
        version: str | None = cursor.execute(_OF_USER, {"user_id": user_id}).fetchone()
        return version


def refuse(connection: Connection, content_id: UUID, model_version: str, text_version: int, error_code: str) -> None:
    """Note that a model made no vector of this version of a content's text."""
    values = {
        "id": content_id,
        "model_version": model_version,
        "text_version": text_version,
        "error_code": error_code,
    }
    connection.execute(_REFUSE, values)


def made(connection: Connection, content_id: UUID) -> None:
    """Forget that a content had no vector: it has one now."""
    connection.execute(_MADE, {"id": content_id})


def due(connection: Connection, *, first_s: float, longest_s: float, limit: int) -> Mapping[UUID, int]:
    """Return contents that are to be asked about again, with their versions, held until the transaction ends.

    ``first_s`` after the first time, twice as long after each further one, ``longest_s`` at most.
    """
    values = {"first": timedelta(seconds=first_s), "longest": timedelta(seconds=longest_s), "limit": limit}
    return dict(connection.execute(_DUE, values).fetchall())
