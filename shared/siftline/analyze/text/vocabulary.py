"""Word lists that reading needs beside the stop words: abbreviations, links between nouns, what stands before them."""
# ruff: noqa: RUF001 - Cyrillic words are meant

_ABBREVIATIONS = """
mr mrs ms dr prof st sr jr rev gen col lt sgt capt gov sen rep hon no nos vol ed eds fig inc ltd corp co vs approx dept
est jan feb mar apr jun jul aug sept sep oct nov dec mon tue wed thu fri etc al cf e.g i.e a.m p.m u.s u.k
bzw ca evtl ggf inkl usw vgl z.b d.h u.a o.ä nr hr fr bd abs art abb zzgl mio mrd tel str
m mm mme mlle mgr p pp env av apr. chap éd sra srta ud uds pág págs núm excmo aprox admón avda
sig sigg dott ing avv prof.ssa sig.ra pag ecc exmo dra n.º dhr mw drs ir bijv enz t.a.v o.a
г гг ул им тыс млн млрд руб т.е т.д т.п
"""
_ORDINAL_LANGUAGES = "de da nb nn no fi cs sk sl hr bs sr hu pl et lv tr is lb"
_LINKS = "de du des del della dei di da do dos das d' of"

ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
"""Words followed by a full stop inside a sentence; without the stop, in lower case."""
ORDINAL_LANGUAGES = frozenset(_ORDINAL_LANGUAGES.split())
"""Languages that write the day of a month, a king's number or a century as a number with a full stop."""
LINKS = frozenset(_LINKS.split())
"""What may stand between the nouns of one phrase."""
_PARTICLES = "de van von der den ten ter di da del della dos du la le"
_DETERMINERS = {
    "en": """
the a an this that these those my your his her its our their some any no each every many several few more of in on at
for with by from into over under between against about
""",
    "fr": """
le la les l un une des du de d au aux ce cet cette ces son sa ses leur leurs notre nos votre vos mon ma mes chaque
quelques plusieurs sur dans par pour sans contre entre
""",
    "es": """
el la de los las lo unos unas un una del al este esta estos estas su sus mi cada varios varias en con sin por para
""",
    "it": """
il lo la i gli le un uno una di del dello della dei degli delle al alla ai alle dal dalla nel nella sul sulla suo sua
loro con per
""",
    "pt": """
o a os as um uma uns umas de do da dos das em no na nos nas ao à seu sua seus suas com sem por para
""",
    "nl": """
het een de die dat deze dit zijn haar hun onze geen van in op met voor bij uit tegen
""",
}
DETERMINERS = {language: frozenset(words.split()) for language, words in _DETERMINERS.items()}
"""What stands in front of nouns and hardly ever in front of verbs: articles, possessives, most prepositions."""
PARTICLES = frozenset(_PARTICLES.split())
"""What belongs to the family name behind it."""
HEAD_LAST = frozenset({"en", "nl"})
"""Languages whose noun ends a run of words, adjectives in front."""
HEAD_FIRST = frozenset({"fr", "es", "it", "pt"})
"""Languages whose noun begins it."""
