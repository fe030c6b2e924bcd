"""Tells consent dialogs from texts: by their words, for their markup has no common name; and what one presses there.

Nothing that holds the page's heading or its ``article`` or ``main`` counts as one, so that a piece about cookies stays.

All patterns but those of voice are for text in lower case, and each alternative begins with a plain letter, its own or
one of a script without capitals: an assertion in front, or letters in both cases, would make a search try every
alternative at every character. What stands before a find is looked at afterwards.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property

from siftline.ingest.page.page_tree import Outline, written_before

_FEW_TERMS = (
    r"cookies?\b|クッキー|consent\b|privacy\b|partners?\b|vendors?\b|legitimate interests?\b|personal data\b"
    r"|personali[sz]ed ad\w*|gdpr\b|preferences\b|third[- ]part\w+|store and/or access\b|tracking\b"
    r"|einwilligung\w*|zustimm\w+|datenschutz\w*|berechtigte\w* interesse\w*|personenbezogen\w+"
    r"|consentement\b|confidentialité\b|partenaires\b|données personnelles\b|intérêts? légitimes?\b"
    r"|consentimiento\b|privacidad\b|socios\b|datos personales\b|consentimento\b|privacidade\b|parceiros\b"
    r"|dados pessoais\b|consenso\b|riservatezza\b|dati personali\b|toestemming\b|persoonsgegevens\b|zgod[aąęy]\b"
    r"|prywatności\b|プライバシー|個人情報|隐私|隱私|个人信息"
)
# What the purposes are called that publishers declare (IAB Europe, TCF Policies, Appendix A), and what else is said
# around them, by language: English, German, French, Spanish, Italian, Dutch, Portuguese, Polish, Japanese and Chinese.
_MORE_TERMS = (
    r"stor(?:e|ing)(?: and/or| and| or|/) ?access\w*|information on (?:a|your|the) device\b|personali[sz]ed content\b"
    r"|unique (?:ids|identifiers)\b|browsing data\b|geolocation data\b|device (?:scanning|characteristics)\b"
    r"|audience (?:research|insights?)\b|ad measurement\b|(?:advertising|content) measurement\b"
    r"|einwillig(?:en|e|st|t)\b|partnern\b|werbepartner\w*|drittanbieter\w*|nutzungsprofil\w*|standortdaten\b"
    r"|kennungen\b|zielgruppenforschung\b|personalisierte\w* (?:werbung|anzeigen|inhalte\w*)"
    r"|informationen auf (?:ihrem|einem|deinem) \w*gerät\b"
    r"|vie privée\b|données à caractère personnel\b|données de géolocalisation\b|traceurs?\b"
    r"|publicités? (?:et (?:du |de )?contenus? )?personnalisée?s?\b|contenus? personnalisés?\b"
    r"|mesures? d\Waudience\b|études? d\Waudience\b|informations sur (?:un|votre) (?:appareil|terminal)\b"
    r"|publicidad (?:y (?:el )?contenidos? )?personalizad\w+|anuncios personalizad\w+|contenidos? personalizad\w+"
    r"|investigación de (?:la )?audiencia\b|información en (?:un|tu|su|el) dispositivo\b|identificadores únicos\b"
    r"|intereses? legítimos?\b|geolocalización\b"
    r"|terze parti\b|interess[ei] legittim[io]\b|geolocalizzazione\b|pubblicità (?:e contenuti )?personalizzat\w+"
    r"|annunci (?:e contenuti )?personalizzati\b|informazioni su(?:l| un)? (?:tuo )?dispositivo\b"
    r"|identificatori univoci\b|ricerche sul pubblico\b"
    r"|privacybeleid\b|privacyverklaring\b|cookiebeleid\b|gerechtvaardigd\w* belang\w*|doelgroep\w*onderzoek\b"
    r"|gepersonaliseerde (?:advertenties|inhoud|content)\b|informatie op (?:een|je|uw) apparaat\b|derden\b"
    r"|surfgedrag\b|internetgedrag\b"
    r"|publicidade (?:e (?:os )?conteúdos? )?personalizad\w+|anúncios personalizados\b|conteúdos? personalizados?\b"
    r"|estudos? de audiências?\b|informações (?:num|em um|no seu|no) dispositivo\b|geolocalização\b"
    r"|partner(?:zy|ów|ami|om)\b|dan(?:e|ych|ymi) osobow\w+|uzasadnion\w+ interes\w*|pomiar\w* reklam\w*"
    r"|spersonalizowan\w+ (?:reklam\w*|treści)\b|informacj\w+ na (?:twoim )?urządzeniu\b"
    r"|パートナー|第三者|第三方|合作伙伴"
)
FEW_TERMS = re.compile(f"(?:{_FEW_TERMS})")
"""What to look for in all text of a page; the others take several times as long."""
ALL_TERMS = re.compile(f"(?:{_MORE_TERMS}|{_FEW_TERMS})")
ACTIONS = re.compile(
    r"(?:accept|agree|allow|reject|decline|refuse|manage|opt out|akzeptieren|ablehnen|einverstanden|accepter|refuser"
    r"|aceptar|rechazar|accetta\w*|rifiuta\w*|accepteer|weiger\w*|akcept\w+|aceitar|rejeitar)\b|同意|拒否|拒绝|拒絕"
)
"""Words for agreeing, refusing and choosing, in the text of a page."""
_REFUSING = (
    r"reject|decline|refuse|ablehnen|refuse[rz]?|rechaz(?:ar|o|a)|rifiut[aoi]|rifiutare|weiger(?:en)?"
    r"|rejeit(?:ar|o|a)|recus(?:ar|o|a)|odrzu(?:ć|cam)|odmawiam"
)
# German parts its verbs: "Ich stimme dem zu".
_PRESSED = re.compile(
    r"(?:accept(?:ing)?|agree(?:ing)?|allow|consent"
    r"|akzeptieren?|einverstanden|zustimmen?|stimmen? (?:\w+ ){0,3}zu|einwilligen|erlauben|zulassen"
    r"|accepte[rz]?|autoriser|consentir|acept(?:ar|o|a)|permitir|accett[aoi]|accettare|acconsent[oi]|consenti"
    r"|accepte(?:er|ren)|toestaan|akkoord|aceit(?:ar|o|a)|concord(?:ar|o|a)"
    rf"|(?:za)?akcept(?:uj|uję|ować)|zgadzam|wyrażam|{_REFUSING})\b|同意|受け入れ|許可|接受|拒否|拒绝|拒絕"
)
# At the foot of many a page there are links to refuse or to choose: "Reject cookies", "Cookie consent".
_AT_THE_FOOT = re.compile(f"{_REFUSING}|consent|拒否|拒绝|拒絕")
_WORD = re.compile(r"[^\W\d_]+")
# All that stands beside them on a link that agrees: that of a headline, say "How to reject cookies", says more.
_BESIDE = frozenset(
    _WORD.findall(
        """
        all and close continue cookie cookies do essential go i necessary no non not on only optional read save site the
        this to use visit website with without yes
        alle allen alles dem fortfahren ich ja mit nein nicht notwendige nur schließen und weiter weiterlesen werbung
        continuer d et fermer j je les lire non oui sans tous tout toutes
        cerrar continuar las los no sí todas todo todos y
        chiudi continua e i il la tutti tutto
        doorgaan en ga ik ja lezen niet noodzakelijke sluiten verder
        a as fechar o os prosseguir sim todas todos tudo
        dalej do i na nie przechodzę przejdź serwisu się tak wszystkie wszystko zamknij zgodę
        """
    )
)
# A text that asks speaks of itself and to its reader. What is a common word in another of these languages is left out,
# and the polite form of German is told by its capital within a sentence. Japanese leaves its reader unsaid.
_OURS = re.compile(
    r"\b(?:we|our|wir|unser\w{0,2}|nous|notre|nos partenaires|nosotros|nuestr[oa]s?|noi|nostr[oaie]|wij|ons|onze|nós"
    r"|noss[oa]s?|nasi|nasz\w{0,3}|my i|(?:utiliz|us|trat|almacen|armazen|process|proces|valor)amos|usiamo"
    r"|utilizziamo|trattiamo|archiviamo|używamy|przetwarzamy|szanujemy)\b|当サイト|当社|弊社|我们|我們|本网站|本網站",
    re.IGNORECASE,
)
_YOURS = re.compile(
    r"\b(?i:you|your|dein\w{0,2}|dir|dich|vous|votre|vos|usted|ustedes|tus?|puede"
    r"|sus? (?:consentimiento|privacidad|dispositivo|datos|preferencias|elecci\w+)|tuo|tua|tuoi|tue|puoi|vostr[oaie]"
    r"|je|jij|jouw|u|uw|você|seus?|suas?|teus?|twoj\w{1,3}|twój|możesz|państw\w+)\b"
    r"|(?<=[a-zäöüß,] )(?:Sie|Ihnen|Ihre?[mnrs]?)\b|当サイト|当社|弊社|您|你"
)

LABEL_CHARS = 60
_PRESSED_INPUTS = frozenset({"submit", "button", "image"})

_MARKED = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|gdpr|ccpa|cmp|onetrust|didomi|truste|usercentrics|cookiebot|klaro|borlabs|iubenda"
    r"|tarteaucitron|sp_message|qc-cmp2?|fc-consent|privacy)(?:$|[\s_-])",
    re.IGNORECASE,
)
_ANY_WORD = re.compile(r"\w+")
_BLOCKS = ("aside", "dialog", "div", "footer", "form", "header", "section")
_KEPT = ("article", "body", "h1", "html", "main")
_TERMS_KNOWN = 32
_LEFT_CHARS = 400
"""A dialog without a telling name is one only on a page that says as much besides."""


def lower(text: str) -> str:
    """Return a text in lower case, with everything at its place."""
    # The one letter whose lower case is longer would move all places behind it.
    return text.replace("\u0130", "i").lower()


def finds(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    """Yield where the words of a pattern stand in a text in lower case, and the words."""
    for match in pattern.finditer(text):
        start = match.start()
        if start == 0 or not (text[start - 1].isalnum() and text[start].isascii()):
            yield start, match[0]


def speaks_to_its_reader(text: str) -> bool:
    """Tell whether a text says "we" and "you", as one that asks does; who writes about such texts seldom does both."""
    return _OURS.search(text) is not None and _YOURS.search(text) is not None


def agrees(label: str, *, is_link: bool = False) -> bool:
    """Tell whether who presses what has this label agrees or refuses.

    ``is_link`` for what may as well lead to another text, or stand at the foot of any: its label must agree and say
    nothing else.
    """
    label = lower(label)
    said = [word for _, word in finds(_PRESSED, label)]
    if not said or not is_link:
        return bool(said)
    return not any(map(_AT_THE_FOOT.fullmatch, said)) and set(_WORD.findall(_PRESSED.sub(" ", label))) <= _BESIDE


def controls(page: Outline) -> Iterator[int]:
    """Yield the places of what can be pressed, name by name: some of them twice."""
    for name in ("button", "a", "input"):
        yield from page.named.get(name, ())
    for place, node in enumerate(page.nodes):
        if node.get("role") is not None and _is_button(page, place):
            yield place


def agreeing(page: Outline) -> Iterator[int]:
    """Yield the places of the buttons, inputs and links that agree or refuse: some of them twice."""
    for place in controls(page):
        label = _label(page, place)
        if not 0 < len(label) <= LABEL_CHARS:
            continue
        is_link = page.nodes[place].tag == "a" and not _is_button(page, place)
        if agrees(label, is_link=is_link) and not (is_link and _is_in_prose(page, place)):
            yield place


def _label(page: Outline, place: int) -> str:
    node = page.nodes[place]
    if node.tag == "input":
        said = node.get("value", "") if node.get("type", "").lower() in _PRESSED_INPUTS else ""
    else:
        said = page.text[page.begin[place] : page.end[place]]
    return (said or node.get("aria-label", "") or node.get("title", "")).strip()


def _is_button(page: Outline, place: int) -> bool:
    role: str = page.nodes[place].get("role", "")
    return role.strip().lower() == "button"


def _is_in_prose(page: Outline, place: int) -> bool:
    """Tell whether words stand right before or behind a link; by the outline, for the tree has changed since."""
    above = page.parents[place]
    before, behind = place - 1, page.last[place]
    while before != above and page.parents[before] != above:
        before = page.parents[before]
    begin = page.begin[above] if before == above else page.end[before]
    is_last = behind == len(page.nodes) or page.parents[behind] != above
    end = page.end[above] if is_last else page.begin[behind]
    return any(map(str.isalnum, page.text[begin : page.begin[place]] + page.text[page.end[place] : end]))


class ConsentDialogs:
    """The consent dialogs of a page; the time to find them grows with its text and with its number of blocks."""

    def __init__(self, page: Outline) -> None:
        self._page = page
        self._text = lower(page.text)
        self._terms: dict[str, list[int]] = {}
        for start, term in finds(FEW_TERMS, self._text):
            if term in self._terms or len(self._terms) < _TERMS_KNOWN:
                self._terms.setdefault(term, []).append(start)
        self._hits = sorted(place for places in self._terms.values() for place in places)

    def places(self) -> set[int]:
        """Return the places of the elements that are consent texts and nothing else, outer ones and those within."""
        if len(self._terms) < 2:
            return set()
        page = self._page
        kept = sorted(place for name in _KEPT for place in page.named.get(name, ()))
        return {
            place
            for name in _BLOCKS
            for place in page.named.get(name, ())
            if not _some(kept, place, page.last[place]) and self._is_consent(place) and self._asks(place)
        }

    def _is_consent(self, place: int) -> bool:
        if self._within(self._hits, place) < 2:
            return False
        node = self._page.nodes[place]
        terms = sum(1 for places in self._terms.values() if self._within(places, place))
        if terms < 2:
            return False
        if _MARKED.search(f"{node.get('class', '')} {node.get('id', '')} {node.get('aria-label', '')}"):
            return True
        if terms < 4 or self._within(self._hits, place) * 25 < self._within(self._words, place):
            return False
        written = self._written
        left = written[-1] - (written[self._page.last[place]] - written[place])
        return left >= _LEFT_CHARS

    def _asks(self, place: int) -> bool:
        """Tell whether an element agrees or refuses: in its text, or with what it offers to press."""
        return bool(self._within(self._acts, place)) or _some(self._controls, place, self._page.last[place])

    def _within(self, places: list[int], place: int) -> int:
        """Return how many of these places in the text an element holds."""
        return bisect_left(places, self._page.end[place]) - bisect_left(places, self._page.begin[place])

    @cached_property
    def _acts(self) -> list[int]:
        return [start for start, _ in finds(ACTIONS, self._text)]

    @cached_property
    def _controls(self) -> list[int]:
        return sorted(agreeing(self._page))

    @cached_property
    def _words(self) -> list[int]:
        return [match.start() for match in _ANY_WORD.finditer(self._text)]

    @cached_property
    def _written(self) -> list[int]:
        return written_before(self._page)


def _some(places: list[int], start: int, end: int) -> bool:
    at = bisect_left(places, start)
    return at < len(places) and places[at] < end
