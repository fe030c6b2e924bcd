"""An edition of the sample articles as people see it: in Chromium, narrow and wide, light and dark."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from infra.local.sample_library import load_feeds
from siftline.api.briefings import mail_addresses
from siftline.brief.rendering import HTML_MAX_BYTES
from tests.briefing import Desk
from tests.simulated_time import simulated_time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
QUIET += ["--disable-component-update", "--disable-sync"]
VIEWS = [(600, "light"), (600, "dark"), (360, "light"), (360, "dark")]
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here: apt-get install chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def edition(make_database) -> Iterator[dict[str, Any]]:
    """An edition of ten out of all sample articles."""
    with simulated_time(make_database) as (clock, database):
        desk = Desk(database, clock)
        briefing = desk.brief(name="Morning briefing")
        for feed in load_feeds(clock.now()):
            for article in feed.articles:
                desk.item(
                    article.title,
                    summary=article.summary,
                    lang=article.language,
                    site_name=feed.title,
                    url=f"https://samples.example{article.path}",
                    published_at=article.published,
                )
        desk.run(briefing)
        [made] = desk.editions(briefing)
        yield made


@pytest.fixture(scope="module", params=VIEWS, ids=lambda view: f"{view[0]}-{view[1]}")
def page(browser: Browser, edition: dict[str, Any], request: pytest.FixtureRequest) -> Iterator[Page]:
    width, scheme = request.param
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    asked: list[str] = []
    page.on("request", lambda sent: asked.append(sent.url))
    page.set_content(edition["html"])
    yield page
    assert asked == [], "a page of an edition loads nothing"
    page.close()


def test_ten_stories_with_their_sources_and_none_twice(edition):
    stories = edition["document"]["stories"]
    assert len(stories) == 10
    assert len({story["title"] for story in stories}) == 10
    assert all(story["site"] and story["url"].startswith("http") for story in stories)
    assert len(edition["html"].encode()) <= HTML_MAX_BYTES


def test_nothing_scrolls_sideways(page):
    wide, seen = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= seen


def test_all_ten_are_seen_and_can_be_followed(page):
    links = page.locator("h2 a")
    assert links.count() == 10
    for place in range(10):
        assert links.nth(place).is_visible()
        box = links.nth(place).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= page.viewport_size["width"]


def test_axe_finds_nothing_to_say(page):
    found = Axe().run(page).response["violations"]
    assert [(one["id"], [node["target"] for node in one["nodes"]]) for one in found] == []


def test_dark_is_dark_and_light_is_light(browser, edition):
    brightness = {}
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.set_content(edition["html"])
        color = page.evaluate("getComputedStyle(document.querySelector('td.body')).backgroundColor")
        brightness[scheme] = sum(int(part) for part in color.removeprefix("rgb(").rstrip(")").split(","))
        page.close()
    assert brightness["light"] > 3 * 200
    assert brightness["dark"] < 3 * 50


def test_what_is_long_or_written_the_other_way_stays_on_the_page(browser, make_database):
    with simulated_time(make_database) as (clock, database):
        desk = Desk(database, clock)
        briefing = desk.brief(name="W" * 150)
        desk.item("x" * 900, summary="y" * 900, site_name="z" * 300, url="https://news.example/" + "p" * 2_000)
        desk.item("مجلس المدينة يوافق على خطة المياه الجديدة", lang="ar", summary="وافق المجلس على الخطة.")
        desk.run(briefing)
        [made] = desk.editions(briefing)
    page = browser.new_page(viewport={"width": 360, "height": 900})
    page.set_content(made["html"])
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    arabic = page.locator("h2[lang=ar]")
    assert arabic.evaluate("node => getComputedStyle(node).direction") == "rtl"
    page.close()


def test_fifty_stories_of_many_sources_are_light_enough_for_a_mail(make_database):
    with simulated_time(make_database) as (clock, database):
        desk = Desk(database, clock)
        briefing = desk.brief(stories_max=50)
        for number in range(50):
            url = f"https://news.example/{number}/" + "p" * 1_500
            desk.item(f"Story {number} " + "t" * 200, summary="s" * 900, url=url)
        desk.run(briefing)
        [made] = desk.editions(briefing)
    assert made["stories"] == 50
    assert len(made["html"].encode()) <= HTML_MAX_BYTES
    shown = made["html"].count("<h2")
    assert 5 <= shown < 50
    assert f"{50 - shown} stories more left out to keep this short enough for an email." in made["html"]
    assert f"{50 - shown} stories more" in made["plain"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_behind_a_mails_link_is_one_button_that_everybody_can_press(browser, scheme):
    shown = mail_addresses.page(
        "Stop this briefing?", ["“Morning <b>”" + " will no longer be sent" * 9], button="Stop it"
    )
    page = browser.new_page(viewport={"width": 360, "height": 700}, color_scheme=scheme)
    page.set_content(str(shown.body))
    wide, seen = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= seen
    assert page.get_by_role("button", name="Stop it").count() == 1
    assert [one["id"] for one in Axe().run(page).response["violations"]] == []
    page.close()
