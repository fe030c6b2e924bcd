"""Word lists that reading needs beside the stop words: abbreviations, numbers, links between nouns."""
# ruff: noqa: RUF001 - Cyrillic words are meant

_ABBREVIATIONS = """
mr mrs ms dr prof st sr jr rev gen col lt sgt capt gov sen rep hon no nos vol ed eds fig inc ltd corp co vs approx dept
est jan feb mar apr jun jul aug sept sep oct nov dec mon tue wed thu fri etc al cf e.g i.e a.m p.m u.s u.k
bzw ca evtl ggf inkl usw vgl z.b d.h u.a o.ä nr hr fr bd abs art abb zzgl mio mrd tel str
m mm mme mlle mgr p pp env av apr. chap éd sra srta ud uds pág págs núm excmo aprox admón avda
sig sigg dott ing avv prof.ssa sig.ra pag ecc exmo dra n.º dhr mw drs ir bijv enz t.a.v o.a
г гг ул им тыс млн млрд руб т.е т.д т.п
"""
_NUMBERS = """
three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty hundred hundreds thousand
thousands million millions billion dozen half third quarter
drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig hundert tausend tausende million millionen
milliarde milliarden dutzend hälfte drittel viertel
quatre cinq sept huit neuf dix onze douze vingt trente quarante cinquante soixante cent cents mille millions milliard
milliards tiers quart moitié
cuatro cinco seis siete ocho nueve diez once doce veinte treinta cuarenta cincuenta sesenta ochenta cien ciento mil
millón millones tercio cuarto mitad
quattro cinque sei sette otto nove dieci undici dodici venti trenta cento mila milione milioni metà
quatro sete oito dez onze doze vinte trinta quarenta cem cento milhão milhões metade terço quinto quatorze quinze seize
vijf zes zeven negen tien twaalf twintig honderd duizend miljoen miljard
"""
_ORDINAL_LANGUAGES = "de da nb nn no fi cs sk sl hr bs sr hu pl et lv tr is lb"
_LINKS = "de du des del della dei di da do dos das d' of"

ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
"""Words followed by a full stop inside a sentence; without the stop, in lower case."""
NUMBERS = frozenset(_NUMBERS.split())
"""Numbers written out, in the languages of the stop words; what they count is the tag."""
ORDINAL_LANGUAGES = frozenset(_ORDINAL_LANGUAGES.split())
"""Languages that write the day of a month, a king's number or a century as a number with a full stop."""
LINKS = frozenset(_LINKS.split())
"""What may stand between the nouns of one phrase."""
