"""Full text in PostgreSQL: what a query's words are in the texts' grammars, and who of the caller's hold them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from psycopg.rows import class_row, scalar_row, tuple_row

from siftline.kit.db import Connection
from siftline.rank.held_store import Bounds, Filters, filtered, values_of
from siftline.rank.query import Query, Term, one_letter_off, slips_of
from siftline.rank.rarity import telling
from siftline.text.stop_words import STOP_WORDS

CANDIDATES_MAX = 1_000
"""So many of the newest texts that match are compared with each other."""
_BEST = 200
COUNTED_MAX = 5_000
"""So many texts that hold a word are counted: it is no rarer for being in more."""
_SIMILAR_MIN = 0.2
_SPELLINGS_MAX = 16

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

# offset 0: of those compared one by one, not of all that match.
_MATCHED = """
with held as materialized (
  select c.id, c.sort_at {filtered} and c.id in (
    select content_id from content_words where content_words.words @@ %(query)s::tsquery)
  order by c.sort_at desc, c.id desc limit %(candidates)s)
select held.id
from held cross join lateral (
  select ts_rank(w.words, own.query::tsquery, 1) as likeness
  from content_words w join unnest(%(grammars)b::text[], %(queries)b::text[]) as own (grammar, query)
    on own.grammar = w.grammar and w.words @@ own.query::tsquery
  where w.content_id = held.id offset 0) as ranked
order by ranked.likeness desc, held.sort_at desc, held.id desc limit %(limit)s
"""

# In how many of the user's texts each word is: of one that is in many, how many hold it is told by a sample of them.
_COUNTED = """
select (select count(*) from (select from items where user_id = %(user_id)s limit %(most)s) as held) as holdings,
  array(select case when sampled.size >= %(sure)s then sampled.size * %(one_of)s else (
      select count(*) from (select {held} limit %(most)s) as held) end
    from unnest(%(queries)b::text[]) with ordinality as asked (query, place)
    cross join lateral (select count(*) as size from (
      select {sampled} limit %(most)s / %(one_of)s) as held) as sampled
    order by place) as found
"""
_HOLDING = """ and c.id <> all(%(exclude)b::uuid[]) and c.id in (
  select content_id from content_words where content_words.words @@ asked.query::tsquery"""
_IN_SAMPLE = " and right(content_id::text, 1) = '0'"  # as the index content_words_sample
_ONE_OF = 16
_SURE = 32

# What some of the words are in, by the share of them, of which a rare one is the more. No vector is read: the index
# answers for each word.
_SOME = """
with asked as materialized (
  select query::tsquery as query, share
  from unnest(%(queries)b::text[], %(shares)b::float8[]) as asked (query, share)),
best as (
  select c.id, c.sort_at, sum(found.share) as share {filtered} and c.id <> all(%(exclude)b::uuid[])
  group by c.id order by share desc, c.sort_at desc, c.id desc limit %(best)s)
select best.id, best.share
from best join content_words w on w.content_id = best.id
order by round(best.share::numeric, 4) desc, ts_rank(w.words, %(query)s::tsquery, 1) desc, best.sort_at desc,
  best.id desc limit %(limit)s
"""
_FOUND = """(select asked.share, w.content_id from asked join content_words w on w.words @@ asked.query) as found
  join items i on i.content_id = found.content_id"""

# Short words have many neighbours, and few trigrams to tell them by: each that is one letter off is found by the index.
# offset 0: one pattern after another.
_ONE_OFF = """
select word from (
  select distinct found.word from unnest(%(patterns)b::text[]) as asked (pattern)
  cross join lateral (select word from search_spellings where word like asked.pattern offset 0) as found) as near
order by similarity(word, %(word)s) desc, word
"""
_ALIKE = """
select word from search_spellings
where word %% %(word)s and length(word) between %(shortest)s and %(longest)s
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

    @property
    def any(self) -> str:
        """What holds any of the terms."""
        return _any(self.each)


@dataclass(frozen=True, slots=True)
class Counted:
    """About how many contents the user has, and how many of them hold each word; ``None`` for a word that is not asked.

    Neither is more than ``COUNTED_MAX``.
    """

    holdings: int
    found: Sequence[int | None]


@dataclass(frozen=True, slots=True)
class Partly:
    """A content that holds some of the words: which share of them, a rare one counting more."""

    id: UUID
    share: float


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
        return cursor.execute(_MATCHED.format(filtered=filtered(filters, terms.bounds)), values).fetchall()


def counted(
    connection: Connection,
    user_id: UUID,
    filters: Filters,
    terms: Terms,
    *,
    most: int = COUNTED_MAX,
    exclude: Collection[UUID] = (),
) -> Counted:
    """Return how many of the user's contents hold each term, ``most`` at most."""
    queries = [query for query in terms.each if query]
    values = {
        **values_of(filters, terms.bounds),
        "user_id": user_id,
        "queries": queries,
        "most": most,
        "exclude": list(exclude),
        "sure": _SURE,
        "one_of": _ONE_OF,
    }
    held = filtered(filters, terms.bounds) + _HOLDING
    with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        statement = _COUNTED.format(held=f"{held})", sampled=f"{held}{_IN_SAMPLE})")
        holdings, found = cursor.execute(statement, values).fetchall()[0]
    by_query = iter(found)
    return Counted(holdings, [next(by_query) if query else None for query in terms.each])


def partly(
    connection: Connection,
    user_id: UUID,
    filters: Filters,
    terms: Terms,
    shares: Sequence[float],
    *,
    least: float,
    limit: int,
    exclude: Collection[UUID] = (),
) -> list[Partly]:
    """Return contents of the user's that hold some of the terms, those with the greatest share of them first.

    ``shares``: by term. Those with a share of ``least`` or more are among them if others are found at all.
    """
    asked = [(query, share) for query, share in zip(terms.each, shares, strict=True) if query]
    if not asked:
        return []
    enough = telling([share for _, share in asked], least)
    bound = _any([_all(asked[place][0] for place in way) for way in enough])
    values = {
        **values_of(filters, terms.bounds),
        "user_id": user_id,
        "queries": [f"({query}) & ({bound})" if bound else query for query, _ in asked],
        "shares": [share for _, share in asked],
        "query": terms.any,
        "best": max(limit, _BEST),
        "exclude": list(exclude),
        "limit": limit,
    }
    with connection.cursor(row_factory=class_row(Partly), binary=True) as cursor:
        return cursor.execute(_SOME.format(filtered=filtered(filters, terms.bounds, items=_FOUND)), values).fetchall()


def spellings(connection: Connection, term: Term) -> list[str]:
    """Return words that are written much like a term, the most alike first. In a transaction.

    Of a word that one wrong letter leaves what it was, they are all that are one letter off.
    """
    word, slips = term.typed.casefold(), slips_of(term.typed)
    with connection.cursor(row_factory=scalar_row, binary=True) as cursor:
        if slips == 1:
            return cursor.execute(_ONE_OFF, {"word": word, "patterns": one_letter_off(word)}).fetchall()
        cursor.execute("select set_config('pg_trgm.similarity_threshold', %s, true)", [str(_SIMILAR_MIN)])
        lengths = {"shortest": len(word) - slips, "longest": len(word) + slips}
        return cursor.execute(_ALIKE, {"word": word, **lengths, "limit": _SPELLINGS_MAX}).fetchall()


def _common(query: Query) -> list[bool]:
    """Say of each term whether it is too common to count: in other grammars than its own it is a word like another."""
    common = [not term.phrase and term.typed.casefold() in STOP_WORDS for term in query.terms]
    return [False] * len(common) if all(common) else common


def _all(queries: Iterator[str]) -> str:
    return " & ".join(dict.fromkeys(f"({query})" for query in queries if query))


def _any(queries: Iterator[str] | Sequence[str]) -> str:
    return " | ".join(dict.fromkeys(f"({query})" for query in queries if query))
