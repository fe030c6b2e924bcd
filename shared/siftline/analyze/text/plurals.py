"""The singular of a common noun by its ending, where the ending tells: English, French, Spanish, Portuguese.

German plurals and cases are told by the shorter form where the same text has it. Elsewhere (Italian, Russian, …)
plurals change the word in ways that an ending does not tell; words stay as they are. Rules are tried in order, the
first ending that fits decides.
"""

from collections.abc import Iterable, Mapping, Sequence

_Rules = Sequence[tuple[str, str]]

_KEPT_EN = "news series species politics economics physics athletics gas bus plus lens chaos bias always less"
_KEPT_FR = """
temps pays corps gaz bus mois bois fois repas bras cas pas gros frais français anglais avis devis permis tapis discours
cours recours concours parcours secours velours fonds poids puits os dos héros virus campus bas ras
"""
_KEPT_ES = "lunes martes miércoles jueves viernes gas mes país crisis dosis tesis virus bus campus menos más"
_KEPT_PT = "lápis pais mais menos ônibus vírus campus gás mês país três simples atrás depois"
_KEPT = {
    "en": frozenset(_KEPT_EN.split()),
    "fr": frozenset(_KEPT_FR.split()),
    "es": frozenset(_KEPT_ES.split()),
    "pt": frozenset(_KEPT_PT.split()),
}
_IRREGULAR = {
    "en": {"children": "child", "women": "woman", "men": "man", "mice": "mouse", "feet": "foot", "teeth": "tooth"},
    "es": {"meses": "mes", "países": "país"},
    "pt": {"países": "país", "meses": "mês", "mulheres": "mulher", "leis": "lei", "reis": "rei"},
    "fr": {
        "animaux": "animal",
        "journaux": "journal",
        "chevaux": "cheval",
        "travaux": "travail",
        "hôpitaux": "hôpital",
    },
}
_ENDINGS: dict[str, _Rules] = {
    "en": (
        ("ss", "ss"),
        ("us", "us"),
        ("is", "is"),
        ("ies", "y"),
        ("sses", "ss"),
        ("shes", "sh"),
        ("ches", "ch"),
        ("xes", "x"),
        ("zes", "ze"),
        ("toes", "to"),
        ("roes", "ro"),
        ("lves", "lf"),
        ("s", ""),
    ),
    "fr": (("ès", "ès"), ("us", "us"), ("ss", "ss"), ("eaux", "eau"), ("s", "")),
    "es": (
        ("iones", "ión"),
        ("ones", "ón"),
        ("ces", "z"),
        ("ales", "al"),
        ("iles", "il"),
        ("eles", "el"),
        ("ores", "or"),
        ("eres", "er"),
        ("ares", "ar"),
        ("ades", "ad"),
        ("udes", "ud"),
        ("is", "is"),
        ("ís", "ís"),
        ("us", "us"),
        ("ss", "ss"),
        ("as", "a"),
        ("es", "e"),
        ("os", "o"),
    ),
    "pt": (
        ("ções", "ção"),
        ("sões", "são"),
        ("ões", "ão"),
        ("ais", "al"),
        ("éis", "el"),
        ("óis", "ol"),
        ("ens", "em"),
        ("ores", "or"),
        ("eres", "er"),
        ("ares", "ar"),
        ("zes", "z"),
        ("ês", "ês"),
        ("us", "us"),
        ("is", "is"),
        ("as", "a"),
        ("es", "e"),
        ("os", "o"),
        ("ãs", "ã"),
        ("ãos", "ão"),
    ),
}
_LETTERS_MIN = 4
_GERMAN_ENDINGS = ("e", "n", "en", "s", "es", "se", "sen", "nen", "ern", "ns")
# Elsewhere -er makes a Berliner of Berlin.
_GERMAN_ER_WORDS = "kind bild feld kleid licht geist nest lied glied mitglied brett rind schild geld gesicht"
_GERMAN_ER = frozenset(_GERMAN_ER_WORDS.split())
_UMLAUTS = str.maketrans("äöü", "aou")


def singular(word: str, language: str | None) -> str:
    """Return the singular of a lower-case common noun; the word itself where its ending does not tell.

    >>> singular("elecciones", "es"), singular("cities", "en"), singular("Häuser", "de")
    ('elección', 'city', 'Häuser')
    """
    if language not in _ENDINGS or len(word) < _LETTERS_MIN or word in _KEPT[language]:
        return word
    irregular = _IRREGULAR[language].get(word)
    if irregular is not None:
        return irregular
    for ending, instead in _ENDINGS[language]:
        if word.endswith(ending):
            return word.removesuffix(ending) + instead
    return word


def german_forms(words: Iterable[str]) -> Mapping[str, str]:
    """Return the shortest form of each lower-case German noun that has a shorter one among them.

    >>> german_forms(["pilz", "pilze", "pilzen", "häuser", "haus", "berlin", "berliner"])
    {'häuser': 'haus', 'pilze': 'pilz', 'pilzen': 'pilz'}
    """
    known = set(words)
    shorter: dict[str, str] = {}
    for word in sorted(known):
        found = [stem for stem in _german_stems(word) if stem in known]
        if found:
            shorter[word] = min(found, key=len)
    return shorter


def _german_stems(word: str) -> Iterable[str]:
    for ending in (*_GERMAN_ENDINGS, "er"):
        stem = word.removesuffix(ending)
        if len(stem) < _LETTERS_MIN or stem == word:
            continue
        bare = stem.translate(_UMLAUTS)
        if ending != "er" or stem in _GERMAN_ER:
            yield stem
        if bare != stem and ending in {"e", "er", "en", "ern"}:
            yield bare
