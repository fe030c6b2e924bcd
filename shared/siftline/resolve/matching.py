"""A name with a temporary id, and whether one of those that a provider offers is who it names. Pure.

The same normal form is the same name; several of them are told apart by legal form, by the countries it points to, and
by those of the languages in which it was found. Another spelling counts where it is alike enough and nobody else is
nearly as alike. Whoever cannot be told apart stays temporary.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from siftline.text.names import normalise, parsed

UNKNOWN = "unknown_to_providers"
AMBIGUOUS = "ambiguous"
_COUNTRIES = """
en: us gb ie au ca nz | de: de at ch li lu | fr: fr be ch ca lu | es: es mx ar co cl pe uy | it: it ch | pt: pt br
nl: nl be | sv: se fi | da: dk | no: no | fi: fi | is: is | et: ee | lv: lv | lt: lt | pl: pl | cs: cz | sk: sk | hu: hu
ro: ro md | bg: bg | el: gr cy | sl: si | hr: hr ba | sr: rs | tr: tr | ru: ru by kz | uk: ua | he: il | ar: ae sa eg
hi: in | id: id | ms: my | th: th | vi: vn | ja: jp | zh: cn tw hk sg | ko: kr
"""
_OF_LANGUAGE = {
    language.strip(): frozenset(countries.split())
    for language, _, countries in (entry.partition(":") for entry in _COUNTRIES.replace("\n", "|").split("|"))
}


@dataclass(frozen=True, slots=True)
class Temporary:
    """An organisation that nobody has told who it is; ``languages`` are those of the texts that name it."""

    id: UUID
    name: str
    canonical_id: str | None
    languages: tuple[str, ...] = ()

    @property
    def countries(self) -> frozenset[str]:
        """Where it may be from, by the languages in which it is named."""
        return frozenset().union(*(_OF_LANGUAGE.get(language, ()) for language in self.languages))


@dataclass(frozen=True, slots=True)
class OrganisationCandidate:
    """Whom a provider offers. ``id`` is canonical and says whose it is; ``country`` is ISO 3166 in small letters."""

    id: str
    name: str
    aliases: tuple[str, ...] = ()
    country: str | None = None
    kept: tuple[str, ...] = ()
    """Further names that are theirs for sure, and are kept as such."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names that may have been meant."""
        return (self.name, *self.aliases)


@dataclass(frozen=True, slots=True)
class MatchRule:
    """When another spelling is the same name: both likeness and lead are in [0, 1]."""

    likeness_min: float = 0.92
    lead_min: float = 0.08


@dataclass(frozen=True, slots=True)
class Resolution:
    """Who it is, or why that cannot be told."""

    candidate: OrganisationCandidate | None
    reason: str | None = field(default=None)


def judge(wanted: Temporary, candidates: Sequence[OrganisationCandidate], rule: MatchRule = MatchRule()) -> Resolution:
    """Return who of the candidates is named."""
    own = parsed(wanted.name)
    fitting = [
        candidate
        for candidate in {candidate.id: candidate for candidate in candidates}.values()
        if not (own.countries and candidate.country and candidate.country not in own.countries)
    ]
    exact = [one for one in fitting if own.name in {normalise(name) for name in one.names}]
    if exact:
        return _only(_told_apart(wanted, exact))
    ranked = sorted(
        ((max(likeness(own.name, normalise(name)) for name in one.names), one) for one in fitting),
        key=lambda pair: -pair[0],
    )
    if not ranked or ranked[0][0] < rule.likeness_min:
        return Resolution(None, UNKNOWN)
    if len(ranked) > 1 and ranked[0][0] - ranked[1][0] < rule.lead_min:
        return Resolution(None, AMBIGUOUS)
    return Resolution(ranked[0][1])


def likeness(one: str, other: str) -> float:
    """Return how alike two normal forms are, in [0, 1]: Dice's coefficient of their runs of three characters.

    Dice 1945, "Measures of the Amount of Ecologic Association Between Species"; on trigrams, Angell et al. 1983.
    """
    left, right = _trigrams(one), _trigrams(other)
    both = sum((left & right).values())
    return 2 * both / max(sum(left.values()) + sum(right.values()), 1)


def _trigrams(name: str) -> Counter[str]:
    padded = f"  {name} "
    return Counter(padded[place : place + 3] for place in range(len(padded) - 2))


def _told_apart(wanted: Temporary, exact: Sequence[OrganisationCandidate]) -> Sequence[OrganisationCandidate]:
    own = parsed(wanted.name)
    hints: list[Callable[[OrganisationCandidate], bool]] = [
        lambda one: bool(own.legal_form) and parsed(one.name).legal_form == own.legal_form,
        lambda one: one.country in own.countries,
        lambda one: normalise(one.name) == own.name,
        lambda one: one.country in wanted.countries,
    ]
    left = exact
    for hint in hints:
        if len(left) > 1:
            left = [one for one in left if hint(one)] or left
    return left


def _only(left: Sequence[OrganisationCandidate]) -> Resolution:
    return Resolution(left[0]) if len(left) == 1 else Resolution(None, AMBIGUOUS)
