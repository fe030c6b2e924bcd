"""Walls of consent, paywalls and checks for robots: told apart from pages that only speak of such things."""

import json

import pytest

from siftline.ingest.page.page import read_page
from siftline.ingest.page_model import Page
from siftline.kit.errors import PermanentError
from siftline.net.blocks import PaywalledError, is_block, is_consent_address, named_refusal
from siftline.net.http_model import Refusal, StatusRefusedError, StatusTransientError

URL = "https://news.example/politics/7"
SENTENCE = "The harbour council met on Tuesday evening and agreed, after a long debate, to dredge the northern channel."
STORY = "".join(f"<p>Part {word}. {SENTENCE} {SENTENCE}</p>" for word in ("one", "two", "three", "four"))
CONSENT = (
    "<p>We value your privacy. We and our 812 partners store and/or access information on a device, such as cookies,"
    " and process personal data.</p><p>With your consent we and our partners may use precise geolocation data. You may"
    " accept or reject our processing, including legitimate interest, or manage your preferences at any time.</p>"
)
GERMAN = (
    "<p>Mit Werbung weiterlesen: Wir und unsere Partner benötigen Ihre Zustimmung, um Cookies und personenbezogene"
    " Daten zu verarbeiten, zum Teil aus berechtigtem Interesse oder mit Ihrer Einwilligung. Näheres steht in der"
    " Datenschutzerklärung.</p>"
)


def read(body: str, head: str = "", url: str = URL) -> Page:
    markup = f"<html lang=en><head><title>T</title>{head}</head><body>{body}</body></html>"
    return read_page(markup.encode(), "text/html; charset=utf-8", url)


def failure(markup: str, url: str = URL) -> str:
    with pytest.raises(PermanentError) as caught:
        read_page(markup.encode(), "text/html; charset=utf-8", url)
    assert caught.value.detail.endswith(".")
    return caught.value.error_code


def linked(**data: object) -> str:
    return (
        f'<script type="application/ld+json">{json.dumps({"@type": "NewsArticle", "headline": "H", **data})}</script>'
    )


# --- Consent


@pytest.mark.parametrize(
    ("body", "url"),
    [
        (f"<div id=cmp><h2>Before you continue</h2>{CONSENT}<button>Accept all</button></div>", URL),
        (f"<main><h1>Before you continue</h1>{CONSENT}<form><input type=submit value='Reject all'></form></main>", URL),
        (f"<main>{CONSENT}</main>", "https://consent.news.example/m?continue=x"),
        (f"<main>{CONSENT}</main>", "https://guce.news.example/consent?brandType=x"),
        (f"<main>{CONSENT}</main>", "https://news.example/cookiewall?next=/politics/7"),
        (f"<div><h1>Weiterlesen</h1>{GERMAN}<a href=/ja>Akzeptieren und weiter</a></div>", URL),
        (f"<div class='onetrust-banner consent'>{CONSENT}<button>Accept</button></div><div id=root></div>", URL),
    ],
)
def test_a_wall_of_consent_is_no_article(body: str, url: str) -> None:
    assert failure(f"<html><head><title>T</title></head><body>{body}</body></html>", url) == "consent_wall"


def test_a_wall_of_consent_before_an_article_keeps_what_is_known_of_it() -> None:
    head = f'{linked(description="What it is about.")}<meta property="og:title" content="Dredging agreed">'
    page = read(f"<div class=consent>{CONSENT}<button>Accept all</button></div><div id=root></div>", head)
    assert (page.title, page.text, page.notice_code) == ("Dredging agreed", "What it is about.", "consent_wall")


@pytest.mark.parametrize("url", [URL, "https://consent.news.example/politics/7"])
@pytest.mark.parametrize(
    "body",
    [
        f"<div class=cookie-banner>{CONSENT}<button>Accept all</button></div><article><h1>T</h1>{STORY}</article>",
        f"<article><h1>T</h1>{STORY}</article><div role=dialog id=didomi>{CONSENT * 3}<button>Agree</button></div>",
        f"<div id=usercentrics-root>{GERMAN}<button>Akzeptieren</button></div><main>{STORY}</main>",
        f"<div><div>{CONSENT}<a href=#>Accept</a></div></div><p>{SENTENCE}</p><div>{STORY}</div>",
    ],
)
def test_a_page_with_a_consent_dialog_is_read_as_it_is(body: str, url: str) -> None:
    page = read(body, url=url)
    assert (page.kind, page.notice_code) == ("article", None)
    assert "812 partners" not in page.text
    assert page.text.endswith(f"Part four. {SENTENCE} {SENTENCE}")


def test_a_short_page_with_a_consent_dialog_is_read_as_it_is() -> None:
    page = read(f"<div class=cookie-banner>{CONSENT}<button>Accept all</button></div><p>Back soon.</p>")
    assert (page.text, page.notice_code) == ("Back soon.", None)


def test_an_article_about_consent_is_one_even_with_a_dialog_beside_it() -> None:
    dialog = f"<div class=cookie-banner>{CONSENT}<button>Accept all</button></div>"
    page = read(f"{dialog}<div class=story><h1>The cookie law</h1><div class=copy>{CONSENT * 3}</div></div>")
    assert "812 partners" in page.text


@pytest.mark.parametrize("url", ["https://consent.example/", "https://myprivacy.dpgmedia.example/consent?x=1"])
def test_an_address_where_consent_is_asked_is_known(url: str) -> None:
    assert is_consent_address(url)


@pytest.mark.parametrize(
    "url", ["https://news.example/the-consent-of-the-governed", "https://cmpx.example/", "http://["]
)
def test_an_address_about_consent_is_another(url: str) -> None:
    assert not is_consent_address(url)


# --- Paywalls


@pytest.mark.parametrize(
    "body",
    [
        f"<article><h1>T</h1>{STORY}</article><footer>Subscribe to read. Already a subscriber? Sign in.</footer>",
        f"<article><h1>T</h1>{STORY}<p>Subscribe to read more of our reporting.</p></article>",
        f"<article><h1>T</h1><p>{SENTENCE}</p></article><footer>Subscribe to read this article.</footer>",
        f"<div class=paywall-promo>Continue reading with a subscription for 1 EUR</div><article>{STORY}</article>",
        f"<article>{STORY}</article><footer>Jetzt abonnieren, um weiterzulesen. Abonnez-vous pour lire.</footer>",
    ],
)
@pytest.mark.parametrize(
    "head",
    [
        "",
        linked(isAccessibleForFree=True),
        linked(isAccessibleForFree="True"),
        linked(),
        '<meta property="article:content_tier" content="free">',
        '<meta property="article:content_tier" content="metered">',
    ],
    ids=["silent", "free", "free-text", "linked", "tier-free", "tier-metered"],
)
def test_a_phrase_about_subscribing_makes_no_paywall(body: str, head: str) -> None:
    """Case X09: a free article whose footer says "Subscribe to read" is free; status and structured hints count."""
    page = read(body, head)
    assert page.notice_code is None
    assert SENTENCE in page.text


def not_free(selector: str | list[str] | None = None, value: object = False) -> str:
    parts = {"@type": "WebPageElement", "isAccessibleForFree": value, "cssSelector": selector}
    return linked(isAccessibleForFree=value, **({} if selector is None else {"hasPart": parts}))


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (not_free(), f"<article><h1>T</h1><p>{SENTENCE}</p></article>"),
        (not_free(value="False"), f"<article><h1>T</h1><p>{SENTENCE}</p></article>"),
        (not_free(value="http://schema.org/False"), f"<article><h1>T</h1><p>{SENTENCE}</p></article>"),
        (not_free(".locked"), f"<article><h1>T</h1><p>{SENTENCE}</p><div class=locked></div></article>"),
        (not_free(".locked"), f"<article><h1>T</h1><p>{SENTENCE}</p></article>"),
        (not_free([".locked", "#rest"]), f"<article><h1>T</h1><p>{SENTENCE}</p><div id=rest>Sign in</div></article>"),
        (not_free("div.locked, p.more"), f"<article><h1>T</h1><p>{SENTENCE}</p><p class='more x'>M</p></article>"),
        (not_free("::bad["), f"<article><h1>T</h1><p>{SENTENCE}</p></article>"),
        (
            '<meta property="article:content_tier" content="locked"><meta property="og:type" content="article">',
            f"<article><h1>T</h1><p>{SENTENCE}</p></article>",
        ),
    ],
)
def test_a_teaser_of_what_its_site_says_is_not_free_says_so(head: str, body: str) -> None:
    page = read(body, head)
    assert (page.text.partition("\n")[0], page.notice_code) == (SENTENCE, "paywalled")


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (not_free(".locked"), f"<article><h1>T</h1><p>{SENTENCE}</p><div class=locked>{STORY}</div></article>"),
        (not_free(), f"<article><h1>T</h1>{STORY * 3}</article>"),
        (not_free(".gone"), f"<article><h1>T</h1>{STORY * 6}</article>"),
    ],
)
def test_an_article_that_is_not_free_and_is_all_there_is_read_as_it_comes(head: str, body: str) -> None:
    assert read(body, head).notice_code is None


# --- Checks for robots

CHECKS = {
    "cloudflare": "<title>Just a moment...</title><body><script>window._cf_chl_opt={cvId:'3'};</script>"
    "<h1>news.example</h1><p>Verify you are human by completing the action below.</p>",
    "cloudflare-refusal": "<title>Attention Required! | Cloudflare</title><body><div id='cf-wrapper'>"
    "<div class='cf-error-details'><h1>Sorry, you have been blocked</h1><p>You are unable to access this.</p></div>",
    "akamai": "<title>Access Denied</title><body><h1>Access Denied</h1>You don't have permission to access this."
    "<p>Reference&#32;&#35;18&#46;1<p>https&#58;&#47;&#47;errors.edgesuite.net&#47;18",
    "perimeterx": "<title>Access to this page has been denied</title><body><div id='px-captcha'></div>"
    "<p>Press & Hold</p>",
    "datadome": "<title>news.example</title><body><script>var dd={'host':'geo.captcha-delivery.com'}</script>"
    "<p>Wait</p>",
    "imperva": "<title></title><body><iframe src='/_I'>Request unsuccessful. Incapsula incident ID: 1-2</iframe><p>x",
    "captcha": "<title>Are you a robot?</title><body><p>Please prove it.</p><div class='g-recaptcha'></div>",
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_for_robots_is_no_article(name: str) -> None:
    assert failure(f"<html>{CHECKS[name]}</body></html>") == "blocked_by_site"


@pytest.mark.parametrize(
    "extra",
    [
        "<script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>",
        "<script>window._pxAppId='PX1'</script><script src=/_Incapsula_Resource?x></script>",
        "<form><textarea></textarea><div class='g-recaptcha'></div></form>",
        "<pre>&lt;script&gt;window._cf_chl_opt={}&lt;/script&gt; px-captcha</pre>",
    ],
)
@pytest.mark.parametrize("title", ["Access denied: how walls work", "Just a moment in history", "Captcha artists"])
def test_an_article_with_a_watching_script_a_captcha_or_code_is_one(extra: str, title: str) -> None:
    markup = f"<html><title>{title}</title><body><article>{STORY * 2}</article>{extra}</body></html>"
    assert SENTENCE in read_page(markup.encode(), "text/html", URL).text


@pytest.mark.parametrize("title", ["Access denied: how walls work", "Just a moment in history", "Captcha artists"])
def test_a_short_article_is_no_check_for_what_its_headline_begins_with(title: str) -> None:
    form = "<form><textarea></textarea><div class='g-recaptcha'></div></form>"
    markup = f"<html><title>{title}</title><body><article><h1>{title}</h1><p>{SENTENCE}</p></article>{form}</html>"
    assert SENTENCE in read_page(markup.encode(), "text/html", URL).text


def test_a_short_article_that_says_it_is_one_is_no_check() -> None:
    head = f"{linked()}<script>captcha.px-cdn.net</script>"
    assert read(f"<article><p>{SENTENCE}</p></article>", head).text == SENTENCE


def refusal(status: int, body: str = "", **headers: str) -> str:
    answer = Refusal(status, URL, {name.replace("_", "-"): value for name, value in headers.items()}, body.encode())
    if status == 429 or status >= 500:
        return named_refusal(
            StatusTransientError("D.", code=f"http_{status}", answer=answer, retry_after_s=None)
        ).error_code
    return named_refusal(StatusRefusedError("D.", code=f"http_{status}", answer=answer)).error_code


@pytest.mark.parametrize("status", [401, 403, 405, 503])
@pytest.mark.parametrize("name", CHECKS)
def test_a_refusing_answer_that_is_a_check_says_so(status: int, name: str) -> None:
    assert refusal(status, CHECKS[name]) == "blocked_by_site"


def test_an_answer_that_is_named_keeps_its_status() -> None:
    named = named_refusal(StatusRefusedError("D.", code="http_402", answer=Refusal(402, URL)))
    assert isinstance(named, PaywalledError)
    assert (named.error_code, named.status) == ("paywalled", 402)


def test_a_header_of_the_check_is_enough() -> None:
    assert refusal(403, "", cf_mitigated="challenge") == "blocked_by_site"
    assert refusal(403, "", x_vercel_mitigated="deny") == "blocked_by_site"
    assert refusal(403, "", server="cloudflare") == "http_403"


def test_who_is_told_that_they_ask_too_often_is_not_told_that_they_are_blocked() -> None:
    assert refusal(429, CHECKS["cloudflare"], cf_mitigated="challenge") == "http_429"


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (402, "", "paywalled"),
        (403, linked(isAccessibleForFree=False), "paywalled"),
        (401, linked(isAccessibleForFree="False"), "paywalled"),
        (403, "<title>403 Forbidden</title><h1>Subscribe to read</h1>", "http_403"),
        (404, CHECKS["cloudflare"], "http_404"),
        (500, "<title>Access Denied</title>", "http_500"),
    ],
)
def test_a_refusing_answer_is_named_by_its_status_and_structured_hints(status: int, body: str, code: str) -> None:
    """Case X09: no phrase in a refusal makes a paywall of it."""
    assert refusal(status, body) == code


@pytest.mark.parametrize(
    "markup", ["<title" * 100_000, "<title>" + "x" * 1_000_000, 'class="' * 200_000, "google.com/" * 99_999]
)
@pytest.mark.timeout(20)
def test_any_markup_is_looked_at_in_little_time(markup: str) -> None:
    assert not is_block(markup)
