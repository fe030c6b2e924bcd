"""Puts a page in order before its text is looked for: consent dialogs go, a text in pieces is joined, an article freed.

Consent texts are told by their words, in the languages below, because their markup has no common name. Nothing that
holds the page's heading or its ``article`` or ``main`` is taken out, so that a piece about cookies stays.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field

from lxml import html

from siftline.ingest.plain import beginning

_MARKED = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|gdpr|ccpa|cmp|onetrust|didomi|truste|usercentrics|cookiebot|klaro|borlabs|iubenda"
    r"|tarteaucitron|sp_message|qc-cmp2?|fc-consent|privacy)(?:$|[\s_-])",
    re.IGNORECASE,
)
_TERMS = re.compile(
    r"cookies?\b|クッキー|"
    r"\b(?:consent|privacy|partners?|vendors?|legitimate interests?|personal data|personali[sz]ed ad\w*|gdpr"
    r"|preferences|third[- ]part\w+|store and/or access|tracking)\b|"
    r"\b(?:einwilligung\w*|zustimm\w+|datenschutz\w*|berechtigte\w* interesse\w*|personenbezogen\w+)|"
    r"\b(?:consentement|confidentialité|partenaires|données personnelles|intérêts? légitimes?)\b|"
    r"\b(?:consentimiento|privacidad|socios|datos personales|consentimento|privacidade|parceiros|dados pessoais)\b|"
    r"\b(?:consenso|riservatezza|dati personali|toestemming|persoonsgegevens|zgod[aąęy]|prywatności)\b|"
    r"プライバシー|個人情報|隐私|隱私|个人信息",
    re.IGNORECASE,
)
_ACTIONS = re.compile(
    r"\b(?:accept|agree|allow|reject|decline|refuse|manage|opt out|akzeptieren|ablehnen|einverstanden|accepter|refuser"
    r"|aceptar|rechazar|accetta\w*|rifiuta\w*|accepteer|weiger\w*|akcept\w+|aceitar|rejeitar)\b|同意|拒否|拒绝|拒絕",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_BLOCKS = frozenset({"aside", "dialog", "div", "footer", "form", "header", "section"})
_KEPT = frozenset({"article", "body", "h1", "html", "main"})
_PARAGRAPH_CHARS = 80
# Names of what holds a text, and of what holds other people's or other articles' texts.
_PIECE = re.compile(r"article|body|content|entry|post|story|text", re.IGNORECASE)
_NO_PIECE = re.compile(
    r"comment|repl(?:y|ies)|related|recommend|teaser|card|promo|sidebar|footer|review|widget|newsletter", re.IGNORECASE
)


@dataclass(slots=True)
class _Facts:
    words: int = 0
    chars: int = 0
    hits: int = 0
    terms: set[str] = field(default_factory=set)
    acts: bool = False
    holds_page: bool = False
    paragraph_chars: int = 0
    paragraphs: int = 0

    def add(self, other: "_Facts") -> None:
        self.words += other.words
        self.chars += other.chars
        self.hits += other.hits
        self.terms |= other.terms
        self.acts |= other.acts
        self.holds_page |= other.holds_page
        self.paragraph_chars += other.paragraph_chars
        self.paragraphs += other.paragraphs

    def read(self, text: str | None) -> None:
        if text and not text.isspace():
            self.chars += len(text)
            self.words += len(_WORD.findall(text))
            found = [term.lower() for term in _TERMS.findall(text)]
            self.hits += len(found)
            self.terms.update(found)
            self.acts = self.acts or _ACTIONS.search(text) is not None


def clear(root: html.HtmlElement) -> None:
    """Drop consent blocks, join an article's pieces, and turn an aside that holds most of the text into an article.

    Works in place.
    """
    facts = _survey(root)
    total = facts[root].paragraph_chars
    for node in [node for node in root.iter(*_BLOCKS) if _is_consent(node, facts[node], total)]:
        node.clear(keep_tail=True)  # dropped, it would give its tail to the one before: the square of many such tails
    asides = [node for node in root.iter("aside") if facts[node].paragraphs >= 3]
    if asides:
        total = _survey(root)[root].paragraph_chars
        for node in asides:
            if facts[node].paragraph_chars * 2 > total:
                node.tag = "article"
    _join_pieces(root)


def _join_pieces(root: html.HtmlElement) -> None:
    """Move the paragraphs of a text that advertisements cut into several containers of one class into the first."""
    pieces: dict[tuple[str, html.HtmlElement], list[html.HtmlElement]] = defaultdict(list)
    for node in root.iter("div", "section"):
        name = node.get("class", "")
        if not _PIECE.search(name) or not any(map(_says_something, node.iterchildren("p"))):
            continue
        above = [parent for parent in node.iterancestors() if parent.tag not in {"html", "body"}]
        if not any(_NO_PIECE.search(f"{parent.get('class', '')} {parent.get('id', '')}") for parent in (node, *above)):
            home = next((parent for parent in above if parent.tag in {"article", "main"}), root)
            pieces[name, home].append(node)
    for nodes in pieces.values():
        if not set(nodes).intersection(parent for node in nodes for parent in node.iterancestors()):
            for node in nodes[1:]:
                nodes[0].extend(list(node))


def _says_something(paragraph: html.HtmlElement) -> bool:
    return len(beginning(paragraph, 10 * _PARAGRAPH_CHARS).strip()) >= _PARAGRAPH_CHARS


def _survey(root: html.HtmlElement) -> dict[html.HtmlElement, _Facts]:
    """Count bottom-up, so that each text is read once."""
    facts = {node: _Facts() for node in root.iter()}
    for node in reversed(list(facts)):
        mine = facts[node]
        if node.tag not in {"script", "style"}:
            mine.read(node.text)
        mine.holds_page = mine.holds_page or node.tag in _KEPT
        if node.tag == "p":
            mine.paragraph_chars += mine.chars
            mine.paragraphs += mine.chars >= _PARAGRAPH_CHARS
        parent = node.getparent()
        if parent is not None and parent in facts:
            facts[parent].add(mine)
            facts[parent].read(node.tail)
    return facts


def _is_consent(node: html.HtmlElement, facts: _Facts, page_chars: int) -> bool:
    if facts.holds_page or not facts.acts or len(facts.terms) < 2:
        return False
    if _MARKED.search(f"{node.get('class', '')} {node.get('id', '')} {node.get('aria-label', '')}"):
        return True
    left = page_chars - facts.paragraph_chars
    return len(facts.terms) >= 4 and facts.hits * 25 >= facts.words and left >= 5 * _PARAGRAPH_CHARS
