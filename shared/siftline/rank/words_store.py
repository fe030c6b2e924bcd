"""Full text in PostgreSQL: what a query's words are in the texts' grammars, and who of the caller's hold them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from siftline.kit.db import Connection
from siftline.kit.stop_words import STOP_WORDS
from siftline.rank.query import Query, Term
from siftline.rank.store import FILTERED, Bounds, Filters, values_of

CANDIDATES_MAX = 1_000
"""So many of the newest texts that match are compared with each other."""
_BEST = 200
_SIMILAR_MIN = 0.2
_SPELLINGS_MAX = 8

# The grammars that texts are read by, each found by one step in its index; then every term in each of them.
_PARSE = """
with recursive used (grammar) as (
  (select grammar from content_words order by grammar limit 1)
  union all
  select (select grammar from content_words where grammar > used.grammar order by grammar limit 1)
  from used where used.grammar is not null)
select used.grammar,
  array(select (case when single then to_tsquery('siftline_simple', replace(term, '"', '''') || ':*')
      else websearch_to_tsquery(used.grammar::regconfig, term) end)::text
    from unnest(%(terms)b::text[], %(singles)b::boolean[]) with ordinality as asked (term, single, place)
    order by place) as terms,
  tsvector_to_array(to_tsvector(used.grammar::regconfig, %(words)s)) as lexemes
from used where used.grammar is not null
"""

_MATCHED = f"""
with held as materialized (
  select c.id, c.sort_at {FILTERED} and c.id in (
    select content_id from content_words where content_words.words @@ %(query)s::tsquery)
  order by c.sort_at desc, c.id desc limit %(candidates)s)
select held.id
from held join content_words w on w.content_id = held.id
join unnest(%(grammars)b::text[], %(queries)b::text[]) as own (grammar, query)
  on own.grammar = w.grammar and w.words @@ own.query::tsquery
order by ts_rank(w.words, own.query::tsquery, 1) desc, held.sort_at desc, held.id desc limit %(limit)s
"""  # noqa: S608 - made of constants only

# What some of the words are in, by the share of them, of which a rare one is the more; a word that nothing holds is as
# rare as can be. No vector is read: the index answers for each word.
_FOUND = FILTERED.replace(
    "from items i",
    "from (select asked.place, w.content_id from asked join content_words w on w.words @@ asked.query) as found"
    " join items i on i.content_id = found.content_id",
    1,
)
_SOME = f"""
with asked as materialized (
  select place, query::tsquery as query from unnest(%(queries)b::text[]) with ordinality as asked (query, place)
  where query <> ''),
hits as materialized (
  select c.id, c.sort_at, found.place {_FOUND} and c.id <> all(%(exclude)b::uuid[])),
told as (
  select asked.place, count(hits.id) = 0 as missing,
    ln(1 + %(holdings)s::float8 / greatest(count(hits.id), 1)) as weight
  from asked left join hits on hits.place = asked.place group by asked.place),
best as (
  select hits.id, max(hits.sort_at) as sort_at, sum(told.weight) / (select sum(weight) from told) as share
  from hits join told on told.place = hits.place
  group by hits.id order by share desc, sort_at desc, hits.id desc limit %(best)s)
select best.id, best.share, array(select place::int - 1 from told where missing order by place) as missing
from best join content_words w on w.content_id = best.id
order by round(best.share::numeric, 4) desc, ts_rank(w.words, %(query)s::tsquery, 1) desc, best.sort_at desc,
  best.id desc limit %(limit)s
"""  # noqa: S608 - made of constants only

_SPELLINGS = """
select word from search_spellings where word %% %(word)s
order by similarity(word, %(word)s) desc, word limit %(limit)s
"""


@dataclass(frozen=True, slots=True)
class _Parsed:
    grammar: str
    terms: list[str]
    lexemes: list[str]


@dataclass(frozen=True, slots=True)
class Terms:
    """A query in the grammars of the texts. Each text in it is a ``tsquery``'s, empty for stop words."""

    grammars: Sequence[str] = ()
    whole: Sequence[str] = ()
    """By grammar: the query, without what is to be left out."""
    each: Sequence[str] = ()
    """By term: that term in any grammar."""
    bounds: Bounds = field(default_factory=Bounds)
    lexemes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By grammar: what words are reduced to, to be marked in a text."""


@dataclass(frozen=True, slots=True)
class Partly:
    """A content that holds some of the words. ``missing``: the places of words that nothing of the caller's holds."""

    id: UUID
    share: float
    missing: list[int]


def parse(connection: Connection, query: Query) -> Terms:
    """Read a query by the grammar of every language that texts are in."""
    asked = [*query.terms, *query.never]
    values = {
        "terms": [term.parsed for term in asked],
        "singles": [term.first for term in asked],
        "words": " ".join(term.parsed for term in query.terms),
    }
    with connection.cursor(row_factory=class_row(_Parsed), binary=True) as cursor:
        rows = cursor.execute(_PARSE, values).fetchall()
    size = len(query.terms)
    whole = [_any(_all(row.terms[place] for place in way) for way in query.alternatives) for row in rows]
    never = _any(term for row in rows for term in row.terms[size:])
    must = _any(_all(row.terms[place] for place in query.phrases) for row in rows)
    return Terms(
        grammars=[row.grammar for row in rows],
        whole=whole,
        each=["" if common else _any(row.terms[place] for row in rows) for place, common in enumerate(_common(query))],
        bounds=Bounds(must or None, never or None),
        lexemes={row.grammar: row.lexemes for row in rows},
    )


def matched(connection: Connection, user_id: UUID, filters: Filters, terms: Terms, *, limit: int) -> list[UUID]:
    """Return contents of the user's that hold all that is looked for, the best first."""
    query = _any(terms.whole)
    if not query:
        return []
    values = {
        **values_of(filters, terms.bounds),
        "user_id": user_id,
        "query": query,
        "grammars": list(terms.grammars),
        "queries": list(terms.whole),
        "candidates": CANDIDATES_MAX,
        "limit": limit,
    }
    with connection.cursor(row_factory=scalar_row, binary=True) as cursor:
        return cursor.execute(_MATCHED, values).fetchall()


def partly(
    connection: Connection,
    user_id: UUID,
    filters: Filters,
    terms: Terms,
    *,
    holdings: int,
    limit: int,
    exclude: Collection[UUID] = (),
) -> list[Partly]:
    """Return contents of the user's that hold some of the terms, those with the greatest share of them first.

    ``holdings``: about how many contents the user has, for how rare a word is.
    """
    if not any(terms.each):
        return []
    values = {
        **values_of(filters, terms.bounds),
        "user_id": user_id,
        "queries": list(terms.each),
        "query": _any(terms.each),
        "holdings": max(holdings, 1),
        "best": max(limit, _BEST),
        "exclude": list(exclude),
        "limit": limit,
    }
    with connection.cursor(row_factory=class_row(Partly), binary=True) as cursor:
        return cursor.execute(_SOME, values).fetchall()


def spellings(connection: Connection, term: Term) -> list[str]:
    """Return words that are written much like a term, the most alike first. In a transaction."""
    connection.execute("select set_config('pg_trgm.similarity_threshold', %s, true)", [str(_SIMILAR_MIN)])
    values = {"word": term.typed.casefold(), "limit": _SPELLINGS_MAX}
    with connection.cursor(row_factory=scalar_row, binary=True) as cursor:
        return cursor.execute(_SPELLINGS, values).fetchall()


def _common(query: Query) -> list[bool]:
    """Say of each term whether it is too common to count: in other grammars than its own it is a word like another."""
    common = [not term.phrase and term.typed.casefold() in STOP_WORDS for term in query.terms]
    return [False] * len(common) if all(common) else common


def _all(queries: Iterator[str]) -> str:
    return " & ".join(dict.fromkeys(f"({query})" for query in queries if query))


def _any(queries: Iterator[str] | Sequence[str]) -> str:
    return " | ".join(dict.fromkeys(f"({query})" for query in queries if query))
