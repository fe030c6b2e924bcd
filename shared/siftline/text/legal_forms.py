"""Legal forms of companies and associations, as they end a name, with the countries (ISO 3166) they point to.

Written as ``siftline.text.names`` writes names: no dots inside abbreviations, no case. A form that several countries
know stands in each one's line.
"""
# ruff: noqa: RUF001 - Cyrillic words are meant

from collections.abc import Mapping

_BY_COUNTRY = """
us: inc | incorporated | corp | corporation | llc | l l c | lp | pbc
gb: ltd | limited | plc | llp | cic | public limited company
ie: ltd | limited | plc | dac
au: pty ltd | pty limited | ltd | limited
za: pty ltd | ltd
ca: inc | ltd | ltée | corp
de: gmbh | gmbh co kg | gmbh co ohg | gmbh co kgaa | ggmbh | ag | ag co kg | ag co kgaa | kgaa | se co kgaa | kg | ohg
 | ug | se | ev | eg | gbr | partg
at: gmbh | gesmbh | gesmbh co kg | gmbh co kg | ag | kg | og | gen mbh
ch: ag | gmbh | sa | sàrl | sarl
fr: sa | sas | sasu | sarl | sàrl | eurl | snc | scop | sca | scs | sci | société anonyme
be: sa | nv | sa nv | srl | bv | bvba | sprl | asbl | vzw
lu: sa | sàrl | sarl | sca
es: sa | sl | slu | sau | sll | sad | s coop | sociedad anónima
mx: sa de cv | sab de cv | s de rl de cv
ar: sa | srl
co: sas | sa
it: spa | srl | srls | snc | sas | scarl | sapa
pt: sa | lda | sgps | sgps sa | unipessoal lda
br: sa | ltda | eireli
nl: bv | nv | cv | vof
dk: as | aps | ks
no: as | asa
se: ab | ab publ | hb
fi: oy | oyj | ab | ky
is: hf | ehf
ee: oü | as
lv: sia | as
lt: uab | ab
pl: sp z oo | sa | spółka akcyjna | sp k | sp j
cz: sro | as | vos | spol s ro
sk: sro | as
hu: kft | zrt | nyrt | bt | rt
ro: srl | sa
si: doo | dd
hr: doo | dd
rs: doo | ad
bg: ood | eood | ad | ead
gr: ae | epe | sa
tr: aş | a ş | ltd şti
ru: ооо | оао | пао | зао | ао | нко
ua: тов | пат | прат | тзов
il: ltd
in: pvt ltd | private limited | ltd | limited
my: sdn bhd | bhd | berhad
sg: pte ltd | pte limited
id: tbk
th: pcl | public company limited
jp: kk | co ltd | gk | kabushiki kaisha | 株式会社 | 有限会社 | 合同会社 | (株) | (有)
cn: co ltd | 有限公司 | 有限责任公司 | 股份有限公司 | 集团有限公司
tw: co ltd | 股份有限公司 | 有限公司
kr: co ltd | 주식회사 | 유한회사
: co | company | cie | & co | and company | se
"""


def _read(text: str) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    country = ""
    for line in text.strip().splitlines():
        head, colon, rest = line.partition(":")
        country, forms = (head.strip(), rest) if colon else (country, line)
        for form in forms.split("|"):
            if form.strip():
                found.setdefault(form.strip(), set()).update({country} - {""})
    return {form: frozenset(countries) for form, countries in found.items()}


COUNTRIES_OF: Mapping[str, frozenset[str]] = _read(_BY_COUNTRY)
"""Countries by legal form; none where a form says nothing of the country."""
UNSPACED = tuple(
    sorted((form for form in COUNTRIES_OF if any(char > "\u2fff" for char in form)), key=len, reverse=True)
)
"""The forms of writings without spaces, longest first: they touch the name, in front of it or behind."""
