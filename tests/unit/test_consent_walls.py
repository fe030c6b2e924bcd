"""Walls of consent whose words of agreeing stand in what one presses, and articles with the same words and buttons."""

import pytest

from siftline.ingest.page.consent import agrees
from siftline.ingest.page.page import read_page
from siftline.ingest.page_model import Page
from siftline.kit.errors import PermanentError
from siftline.net.blocks import is_consent_address
from tests.consent_pages import ARTICLES, WALLS

URL = "https://news.example/politics/7"
HEADER = "<header><a href=/>The Herald</a><nav><a href=/n>News</a><a href=/s>Sport</a></nav></header>"
FOOTER = "<footer><p>Herald Ltd. All rights reserved. <a href=/p>Privacy policy</a> <a href=/c>Cookies</a></p></footer>"
STORY = "".join(
    f"<p>Part {word}. The harbour council met on Tuesday evening and agreed, after a long debate, to dredge.</p>"
    for word in ("one", "two", "three", "four", "five")
)
FRAMES = [
    "{body}",
    f"{HEADER}{{body}}{FOOTER}",
    f"<div id=root><div class=modal>{{body}}</div></div>{FOOTER}",
    "<form method=post>{body}</form>",
]
BANNERS = {
    "en": "<div class=bottom><p>We use cookies for your convenience.</p><button>Accept all</button></div>",
    "en-links": "<div><div>We use cookies.</div><div><a href='#'>I agree</a> <a href='#'>Reject all</a></div></div>",
    "en-dialog": (
        "<div><p>We value your privacy. We and our 812 partners store and/or access information on a device, such as"
        " cookies, and process personal data with your consent.</p><button>Accept all</button></div>"
    ),
    "de": "<section><span>Wir verwenden Cookies, um zu dienen.</span><span role=button>Zustimmen</span></section>",
    "fr": "<div><p>Avec votre consentement, nous utilisons des cookies.</p><a role=button>J'accepte</a></div>",
    "es": "<div>Utilizamos cookies propias y de terceros.<input type=submit value='Aceptar todo'></div>",
    "it": "<div><p>Usiamo i cookie con il tuo consenso.</p><button>Accetta tutto</button></div>",
    "nl": "<div><p>Wij gebruiken cookies op onze website.</p><button>Alles accepteren</button></div>",
    "pt": "<div><p>Usamos cookies.</p><div><button>Aceitar tudo</button></div></div>",
    "pl": "<div><p>Używamy plików cookies.</p><input type=button value='Zaakceptuj wszystko'></div>",
}


def read(body: str, url: str = URL) -> Page:
    markup = f"<html><head><title>T</title></head><body>{body}</body></html>"
    return read_page(markup.encode(), "text/html; charset=utf-8", url)


@pytest.mark.parametrize("frame", FRAMES, ids=["bare", "framed", "modal", "form"])
@pytest.mark.parametrize("name", WALLS)
def test_a_wall_is_known_by_what_it_offers_to_press(name: str, frame: str) -> None:
    with pytest.raises(PermanentError) as caught:
        read(frame.format(body=WALLS[name]))
    assert caught.value.error_code == "consent_wall"


@pytest.mark.parametrize("name", ARTICLES)
def test_an_article_with_the_words_of_a_wall_is_one(name: str) -> None:
    page = read(ARTICLES[name])
    assert page.text
    assert page.notice_code is None


def test_a_text_that_speaks_of_nobody_here_is_no_wall_whatever_stands_below_it() -> None:
    text = (
        "The regulator fined a publisher on Monday for storing cookies without consent. Vendors had access to personal"
        " data, and tracking began before anybody could refuse."
    )
    assert read(f"<div><p>{text}</p><div><button>Accept</button></div></div>").text == text


@pytest.mark.parametrize("banner", ["en", "en-links", "en-dialog", "de", "fr"])
@pytest.mark.parametrize("name", ARTICLES)
def test_an_article_with_the_words_of_a_wall_is_one_with_a_banner_beside_it(name: str, banner: str) -> None:
    assert read(f"<div id=page>{HEADER}{BANNERS[banner]}{ARTICLES[name]}{FOOTER}</div>").notice_code is None


@pytest.mark.parametrize("banner", BANNERS)
@pytest.mark.parametrize("story", [STORY, "<p>The ministers agreed on Tuesday to dredge the northern channel.</p>"])
def test_an_article_is_one_whatever_banner_stands_beside_it(story: str, banner: str) -> None:
    page = read(f"{BANNERS[banner]}<div class=story><h1>Dredging</h1>{story}</div>")
    assert "dredge" in page.text
    assert page.notice_code is None


@pytest.mark.parametrize(
    "control",
    [
        "<input type=submit value='Accept all'>",
        "<button>J'accepte</button>",
        "<a role=button>Zustimmen</a>",
        "<button aria-label='Zaakceptuj wszystko'></button>",
    ],
)
def test_a_dialog_that_asks_only_by_what_it_offers_to_press_is_left_out(control: str) -> None:
    dialog = f"<div class='cookie-banner'><p>Cookies of our partners are used here.</p>{control}</div>"
    assert "partners" not in read(f"{dialog}<div class=story><h1>Dredging</h1>{STORY}</div>").text


def test_a_button_keeps_its_label_where_words_stand_behind_it() -> None:
    wall = WALLS["en_submit"].replace("<input type=submit value='Reject all'>", "")
    with pytest.raises(PermanentError) as caught:
        read(wall.replace("value='Accept all'>", "value='Accept all'> and go on reading"))
    assert caught.value.error_code == "consent_wall"


@pytest.mark.parametrize(
    "label",
    [
        *("Accept all", "I agree", "Agree & close", "Yes, I accept", "Allow all cookies", "Continue without accepting"),
        *("Alle akzeptieren", "Ich stimme zu", "Ich stimme dem zu", "Zustimmen und weiter", "Einverstanden"),
        *("J'accepte", "Tout accepter", "Accepter et fermer", "Continuer sans accepter"),
        *("Aceptar todo", "Acepto", "Aceptar y continuar", "Accetta tutto", "Accetto", "Accetta tutti i cookie"),
        *("Alles accepteren", "Akkoord", "Ja, ik ga akkoord", "Aceitar tudo", "Aceito", "Sim, concordo"),
        *("Zaakceptuj wszystko", "Akceptuję i przechodzę do serwisu", "Zgadzam się"),
    ],
)
def test_a_label_that_agrees_is_known_on_buttons_and_links(label: str) -> None:
    assert agrees(label)
    assert agrees(label, is_link=True)


@pytest.mark.parametrize(
    "label",
    [
        *("How to accept cookies", "Why I agree", "Cookie consent", "Reject cookies", "Ministers agree on dredging"),
        *("Cookies ablehnen", "So stimmen Sie über den Rat ab", "Refuser les cookies", "Cómo aceptar cookies"),
        *("Manage your subscription", "Unacceptable", "Disagree"),
    ],
)
def test_a_link_to_another_text_does_not_agree(label: str) -> None:
    assert not agrees(label, is_link=True)


def test_an_address_where_consent_is_asked_in_german_is_known() -> None:
    assert is_consent_address("https://news.example/zustimmung?url=x")
    assert not is_consent_address("https://news.example/zustimmung-zum-haushalt")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "more",
    [
        "<div><nav>We use cookies <button>Accept</button></nav>" * 200,
        "<div><button>Accept</button></div>" * 9_000,
        f"<nav>{'<button>Ich stimme a b c </button>' * 9_000}</nav>",
        f"<nav>{'Our partners and your cookies. <i role=button>Accept</i>' * 5_000}</nav>",
    ],
    ids=["nested", "many", "parted", "frame"],
)
def test_however_many_controls_a_wall_has_it_is_read_in_little_time(more: str) -> None:
    with pytest.raises(PermanentError) as caught:
        read(f"{WALLS['en_buttons']}{more}")
    assert caught.value.error_code == "consent_wall"
