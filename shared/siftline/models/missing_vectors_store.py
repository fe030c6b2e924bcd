"""Contents that were read without a vector, because the model whose vectors count made none of them."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from siftline.kit.db import Connection

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
