"""Full text in PostgreSQL: what a query's words are in the texts' grammars, and who of the caller's hold them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, scalar_row, tuple_row

from siftline.kit.db import Connection
from siftline.rank.held_store import Bounds, Filters, filtered, values_of
from siftline.rank.query import Query, Term, one_letter_off, slips_of, telling
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

# Queries with the grammars that read the same, so that the index answers once for them. A text answers to its own.
_OWN = """
own as materialized (
  select query::tsquery as query, string_to_array(grammars, ' ') as grammars, place, share
  from unnest(%(queries)b::text[], %(grammars)b::text[], %(places)b::int[], %(shares)b::float8[])
    as own (query, grammars, place, share))
"""
_BY_OWN = "from own join content_words w on w.words @@ own.query and w.grammar = any(own.grammars)"

# offset 0: of those compared one by one, not of all that match.
_MATCHED = f"""
with {_OWN}, held as materialized (
  select c.id, c.sort_at {{filtered}} and c.id in ({{matching}})
  order by c.sort_at desc, c.id desc limit %(candidates)s)
select held.id
from held cross join lateral (
  select ts_rank(w.words, own.query, 1) as likeness
  from content_words w join own on w.grammar = any(own.grammars) where w.content_id = held.id offset 0) as ranked
order by ranked.likeness desc, held.sort_at desc, held.id desc limit %(limit)s
"""  # noqa: S608 - made of constants only
# One by one, not joined: PostgreSQL plans by how many match.
_MATCHING = """select content_id from content_words
  where words @@ %(query_{place})s::tsquery and grammar = any(string_to_array(%(grammars_{place})s, ' '))"""

# In how many of the user's texts each word is: of one that is in many, how many hold it is told by a sample of them.
_COUNTED = f"""
with {_OWN}
select (select count(*) from (select from items where user_id = %(user_id)s limit %(most)s) as held) as holdings,
  array(select case when sampled.size >= %(sure)s then sampled.size * %(one_of)s else (
      select count(*) from (select {{held}} limit %(most)s) as held) end
    from generate_series(0, %(last)s) as asked (place)
    cross join lateral (select count(*) as size from (
      select {{sampled}} limit %(most)s / %(one_of)s) as held) as sampled
    order by place) as found
"""  # noqa: S608 - made of constants only
_HOLDING = f""" and c.id <> all(%(exclude)b::uuid[]) and c.id in (
  select w.content_id {_BY_OWN} where own.place = asked.place"""
_IN_SAMPLE = " and right(w.content_id::text, 1) = '0'"  # as the index content_words_sample
_ONE_OF = 16
_SURE = 32

# What some of the words are in, by the share of them, of which a rare one is the more. No vector is read: the index
# answers for each word.
_SOME = f"""
with {_OWN}, best as (
  select c.id, c.sort_at, sum(found.share) as share {{filtered}} and c.id <> all(%(exclude)b::uuid[])
  group by c.id order by share desc, c.sort_at desc, c.id desc limit %(best)s)
select best.id, best.share
from best join content_words w on w.content_id = best.id
  join unnest(%(all_grammars)b::text[], %(any)b::text[]) as whole (grammar, query) on whole.grammar = w.grammar
order by round(best.share::numeric, 4) desc, ts_rank(w.words, whole.query::tsquery, 1) desc, best.sort_at desc,
  best.id desc limit %(limit)s
"""  # noqa: S608 - made of constants only
_FOUND = f"""(select own.share, w.content_id {_BY_OWN}) as found
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
    """A query in the grammars of the texts. Each text in it is a ``tsquery``'s, empty for stop words.

    A text answers to the one of its own grammar: in another a word may become what it never meant ("reserv").
    """

    grammars: Sequence[str] = ()
    whole: Sequence[str] = ()
    """By grammar: the query, without what is to be left out."""
    terms: Sequence[Sequence[str]] = ()
    """By term, and in it by grammar."""
    each: Sequence[Sequence[str]] = ()
    """The same, with nothing of what is too common to count."""
    bounds: Bounds = field(default_factory=Bounds)
    lexemes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By grammar: what words are reduced to, to be marked in a text."""

    @property
    def any(self) -> str:
        """What may hold any of the terms, by whichever grammar."""
        return _any(query for queries in self.each for query in queries)


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
    grammars = [row.grammar for row in rows]
    never = {row.grammar: unwanted for row in rows if (unwanted := _any(row.terms[size:]))}
    must = {row.grammar: wanted for row in rows if (wanted := _all(row.terms[place] for place in query.phrases))}
    terms = [[row.terms[place] for row in rows] for place in range(size)]
    return Terms(
        grammars=grammars,
        whole=whole_of(query.alternatives, terms, len(rows)),
        terms=terms,
        each=[[""] * len(rows) if common else own for common, own in zip(_common(query), terms, strict=True)],
        bounds=Bounds(must or None, never or None),
        lexemes={row.grammar: row.lexemes for row in rows},
    )


def whole_of(ways: Sequence[Sequence[int]], terms: Sequence[Sequence[str]], grammars: int) -> list[str]:
    """Return by grammar what holds all terms of one of the ways."""
    return [_any(_all(terms[place][at] for place in way) for way in ways) for at in range(grammars)]


def matched(connection: Connection, user_id: UUID, filters: Filters, terms: Terms, *, limit: int) -> list[UUID]:
    """Return contents of the user's that hold all that is looked for, the best first."""
    if not any(terms.whole):
        return []
    own = _owned(terms.grammars, [terms.whole])
    values = {
        **values_of(filters, terms.bounds),
        **own,
        **{f"query_{place}": query for place, query in enumerate(own["queries"])},
        **{f"grammars_{place}": grammars for place, grammars in enumerate(own["grammars"])},
        "user_id": user_id,
        "candidates": CANDIDATES_MAX,
        "limit": limit,
    }
    matching = " union all ".join(_MATCHING.format(place=place) for place in range(len(own["queries"])))
    with connection.cursor(row_factory=scalar_row, binary=True) as cursor:
        statement = _MATCHED.format(filtered=filtered(filters, terms.bounds), matching=matching)
        return cursor.execute(statement, values).fetchall()


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
    queries = [queries for queries in terms.each if any(queries)]
    values = {
        **values_of(filters, terms.bounds),
        **_owned(terms.grammars, queries),
        "user_id": user_id,
        "last": len(queries) - 1,
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
    return Counted(holdings, [next(by_query) if any(queries) else None for queries in terms.each])


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
    asked = [(queries, share) for queries, share in zip(terms.each, shares, strict=True) if any(queries)]
    if not asked:
        return []
    each, shares = [queries for queries, _ in asked], [share for _, share in asked]
    if enough := telling(shares, least):
        bound = whole_of(enough, each, len(terms.grammars))
        each = [
            [_all([query, most]) if query and most else "" for query, most in zip(queries, bound, strict=True)]
            for queries in each
        ]
    values = {
        **values_of(filters, terms.bounds),
        **_owned(terms.grammars, each, shares),
        "user_id": user_id,
        "all_grammars": list(terms.grammars),
        "any": [_any(queries) for queries in zip(*terms.each, strict=True)],
        "best": max(limit, _BEST),
        "exclude": list(exclude),
        "limit": limit,
    }
    with connection.cursor(row_factory=class_row(Partly), binary=True) as cursor:
        return cursor.execute(_SOME.format(filtered=filtered(filters, terms.bounds, items=_FOUND)), values).fetchall()


def spellings(connection: Connection, term: Term) -> list[str]:
    """Return words that are written much like a term, the most alike first. In a transaction.

    They are all that are one letter off, and of a long word others besides.
    """
    word, slips = term.typed.casefold(), slips_of(term.typed)
    with connection.cursor(row_factory=scalar_row, binary=True) as cursor:
        near = cursor.execute(_ONE_OFF, {"word": word, "patterns": one_letter_off(word)}).fetchall()
        if slips == 1:
            return near
        cursor.execute("select set_config('pg_trgm.similarity_threshold', %s, true)", [str(_SIMILAR_MIN)])
        lengths = {"shortest": len(word) - slips, "longest": len(word) + slips}
        alike = cursor.execute(_ALIKE, {"word": word, **lengths, "limit": _SPELLINGS_MAX}).fetchall()
        return list(dict.fromkeys([*near, *alike]))


def _common(query: Query) -> list[bool]:
    """Say of each term whether it is too common to count: in other grammars than its own it is a word like another."""
    common = [not term.phrase and term.typed.casefold() in STOP_WORDS for term in query.terms]
    return [False] * len(common) if all(common) else common


def _owned(grammars: Sequence[str], queries: Sequence[Sequence[str]], shares: Sequence[float] = ()) -> dict[str, Any]:
    """Return the parameters of ``own``: each query of each place once, with the grammars in which it reads so."""
    own: dict[tuple[int, str], list[str]] = {}
    for place, by_grammar in enumerate(queries):
        for grammar, query in zip(grammars, by_grammar, strict=True):
            if query:
                own.setdefault((place, query), []).append(grammar)
    return {
        "queries": [query for _, query in own],
        "grammars": [" ".join(named) for named in own.values()],
        "places": [place for place, _ in own],
        "shares": [shares[place] if shares else 1.0 for place, _ in own],
    }


def _all(queries: Iterator[str] | Sequence[str]) -> str:
    return " & ".join(dict.fromkeys(f"({query})" for query in queries if query))


def _any(queries: Iterator[str] | Sequence[str]) -> str:
    return " | ".join(dict.fromkeys(f"({query})" for query in queries if query))
