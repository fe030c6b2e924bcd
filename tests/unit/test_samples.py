"""The samples hold what is promised of them: their number, lengths and languages, pages, feeds and queries."""

import calendar
import html
import json
import re
import tomllib
import unicodedata
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import feedparser
import pytest
import trafilatura
import yaml
from pypdfium2 import PdfDocument

from infra.local.sample_library import SAMPLES_DIR, SampleArticle
from infra.local.sample_site import TROUBLE, SampleSite

NOW = datetime(2026, 11, 27, 9, 41, tzinfo=UTC)
BASE_URL = "http://127.0.0.1:8099"
SITE = SampleSite(BASE_URL, NOW)
ARTICLES = {article.slug: article for feed in SITE.feeds for article in feed.articles}
QUERIES = yaml.safe_load((SAMPLES_DIR / "queries.yaml").read_text(encoding="utf-8"))["queries"]
PHRASES = yaml.safe_load((SAMPLES_DIR / "phrases.yaml").read_text(encoding="utf-8"))
TOPICS = Path(__file__).parents[2] / "shared" / "siftline" / "analyze" / "topics" / "data" / "topics.toml"


def body(path: str) -> str:
    answer = SITE.answer(path, {})
    assert answer.status == 200
    return answer.body.decode()


def stems(text: str) -> set[str]:
    """The words of three letters and more, so cut that inflected forms of one word meet (and some strangers too)."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
    words = re.findall(r"[^\W\d_]{3,}", plain.replace("ß", "ss"))
    return {word[:4].removesuffix("s").removesuffix("e") for word in words}


def length(article: SampleArticle) -> float:
    """Words; for Japanese, which has no spaces, characters by the usual measure of two and a half a word."""
    return len(article.text) / 2.5 if article.language == "ja" else len(article.text.split())


def test_five_feeds_of_twelve_articles_in_three_formats():
    assert [len(feed.articles) for feed in SITE.feeds] == [12] * 5
    assert {feed.format for feed in SITE.feeds} == {"rss", "atom", "jsonfeed"}
    assert len({feed.layout for feed in SITE.feeds}) == 3


def test_slugs_and_titles_are_unique():
    articles = [article for feed in SITE.feeds for article in feed.articles]
    assert len({a.slug for a in articles}) == len({a.title for a in articles}) == len(articles) == 60


def test_seven_languages_and_every_one_has_its_phrases():
    counts = Counter(article.language for article in ARTICLES.values())
    assert set(counts) == set(PHRASES) == {"en", "de", "fr", "es", "it", "pt", "ja"}
    assert min(counts[language] for language in ("en", "de", "fr", "es")) >= 12


@pytest.mark.parametrize("article", ARTICLES.values(), ids=ARTICLES)
def test_article_is_as_long_as_news_and_a_full_one_needs_no_page(article: SampleArticle):
    assert 180 <= length(article) <= 450
    assert 4 <= len(article.paragraphs) <= 8
    assert article.full == (len(article.text) >= 2_000)


def test_each_feed_has_one_full_article():
    assert [sum(article.full for article in feed.articles) for feed in SITE.feeds] == [1] * 5


def test_events_are_told_in_two_to_four_feeds_and_languages():
    stories: dict[str, list[SampleArticle]] = {}
    for article in ARTICLES.values():
        if article.story:
            stories.setdefault(article.story, []).append(article)
    assert len(stories) == 8
    for told in stories.values():
        assert 2 <= len(told) <= 4
        assert len({a.feed for a in told}) == len({a.language for a in told}) == len(told)
        assert max(a.published for a in told) - min(a.published for a in told) < timedelta(days=1)


def test_expected_topics_are_those_that_are_shipped():
    shipped = {topic["id"] for topic in tomllib.loads(TOPICS.read_text(encoding="utf-8"))["topics"]}
    assert {topic for article in ARTICLES.values() for topic in article.topics} <= shipped
    assert all(1 <= len(article.topics) <= 3 for article in ARTICLES.values())


def test_articles_are_of_the_last_three_days():
    ages = [NOW - article.published for article in ARTICLES.values()]
    assert timedelta(0) < min(ages)
    assert max(ages) < timedelta(days=3)


@pytest.mark.parametrize("article", ARTICLES.values(), ids=ARTICLES)
def test_page_shows_every_paragraph_amid_boilerplate(article: SampleArticle):
    page = body(article.path)
    text = html.unescape(page)
    assert all(f"<p>{paragraph}</p>" in text for paragraph in article.paragraphs)
    assert f'<html lang="{article.language}">' in page
    assert f'<link rel="canonical" href="{BASE_URL}{article.path}">' in page
    assert f'<meta property="og:title" content="{html.escape(article.title)}">' in page
    for key in ("consent", "footer", "share", "most_read", "comments"):
        assert PHRASES[article.language][key] in text
    assert page.count(f'href="{BASE_URL}/{article.feed}/') >= 10


@pytest.mark.parametrize("article", ARTICLES.values(), ids=ARTICLES)
def test_page_describes_itself_as_linked_data(article: SampleArticle):
    script = re.search(r'<script type="application/ld\+json">(.*?)</script>', body(article.path))
    assert script
    data = json.loads(script[1])
    assert data["headline"] == article.title
    assert data["author"]["name"] == article.author
    assert datetime.fromisoformat(data["datePublished"]) == article.published


@pytest.mark.parametrize("article", ARTICLES.values(), ids=ARTICLES)
def test_an_extractor_finds_the_text_and_leaves_the_rest(article: SampleArticle):
    text = trafilatura.extract(body(article.path), include_comments=False)
    assert text
    assert all(paragraph in text for paragraph in article.paragraphs)
    assert len(text) <= len(article.title) + len(article.text) + 10


@pytest.mark.parametrize("feed", [f for f in SITE.feeds if f.format != "jsonfeed"], ids=lambda feed: feed.name)
def test_xml_feed_parses_with_a_page_to_fetch_for_all_but_the_full(feed):
    parsed = feedparser.parse(SITE.answer(feed.path, {}).body)
    assert not parsed.bozo
    assert parsed.version == {"rss": "rss20", "atom": "atom10"}[feed.format]
    assert [entry.link for entry in parsed.entries] == [f"{BASE_URL}{article.path}" for article in feed.articles]
    assert [entry.title for entry in parsed.entries] == [article.title for article in feed.articles]
    for entry, article in zip(parsed.entries, feed.articles, strict=True):
        assert entry.id == article.identity
        assert datetime.fromtimestamp(calendar.timegm(entry.published_parsed), UTC) == article.published
        assert entry.summary == article.summary or article.full
        assert ("content" in entry) == article.full
        if article.full:
            assert re.findall("<p>(.*?)</p>", entry.content[0].value) == list(article.paragraphs)


@pytest.mark.parametrize("feed", [f for f in SITE.feeds if f.format == "jsonfeed"], ids=lambda feed: feed.name)
def test_json_feed_parses_with_a_page_to_fetch_for_all_but_the_full(feed):
    document = json.loads(SITE.answer(feed.path, {}).body)
    assert document["version"] == "https://jsonfeed.org/version/1.1"
    assert [item["url"] for item in document["items"]] == [f"{BASE_URL}{article.path}" for article in feed.articles]
    for item, article in zip(document["items"], feed.articles, strict=True):
        assert item.get("content_text") == (None if article.full else article.summary)
        assert ("content_html" in item) == article.full


def test_every_link_of_the_site_leads_somewhere():
    seen, todo = set(), ["/"]
    while todo:
        path = todo.pop()
        if path in seen or path in TROUBLE:
            continue
        seen.add(path)
        answer = SITE.answer(path, {})
        assert answer.status == 200, path
        if answer.content_type.startswith("text/html"):
            todo += re.findall(rf'(?:href|src|content)="{BASE_URL}(/[^"]*)"', answer.body.decode())
    assert {article.path for article in ARTICLES.values()} <= seen
    assert {feed.path for feed in SITE.feeds} <= seen


def test_the_readme_follows_a_site_that_nobody_follows_yet_and_that_names_its_feed():
    readme = (SAMPLES_DIR.parents[1] / "README.md").read_text(encoding="utf-8")
    [path] = re.findall(r"/v1/sources -H .*\n.*\"http://127\.0\.0\.1:8099(/[^\"]*)\"", readme)
    assert path not in {f"/{feed.name}/" for feed in SITE.feeds}
    [found] = re.findall(rf'<link rel="alternate" type="[^"]+" href="{BASE_URL}([^"]+)"', body(path))
    entries = feedparser.parse(SITE.answer(found, {}).body).entries
    assert [entry.title for entry in entries if entry.summary in body(entry.link.removeprefix(BASE_URL))]
    assert not {entry.title for entry in entries} & {article.title for article in ARTICLES.values()}


def test_the_report_is_a_pdf_that_says_every_paragraph():
    paragraphs = (SAMPLES_DIR / "media" / "report.txt").read_text(encoding="utf-8").strip().split("\n\n")
    with closing(PdfDocument(SITE.answer("/media/report.pdf", {}).body)) as document:
        assert document.get_metadata_dict()["Title"] == paragraphs[0]
        text = " ".join(page.get_textpage().get_text_bounded() for page in document)
    assert all(paragraph in " ".join(text.split()) for paragraph in paragraphs)


def test_the_talk_says_nothing_but_in_its_captions():
    page = body("/media/talk")
    assert f'<track kind="captions" srclang="en" label="English" src="{BASE_URL}/media/talk.vtt">' in page
    assert body("/media/talk.vtt").startswith("WEBVTT\n")
    assert "owls" in body("/media/talk.vtt")
    assert "owls" not in page


def test_ten_queries_six_of_them_across_languages_with_ten_targets():
    across = [query for query in QUERIES if query["language"] != ARTICLES[query["slug"]].language]
    assert len(QUERIES) == len({query["slug"] for query in QUERIES}) == 10
    assert len(across) == 6
    assert {query["language"] for query in QUERIES} == set(PHRASES)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query["slug"])
def test_query_shares_no_word_with_its_article(query):
    article = ARTICLES[query["slug"]]
    assert not stems(query["query"]) & stems(f"{article.title} {article.text}")


def test_stems_of_one_word_meet():
    assert stems("Dentists") == stems("dentist's") == stems("DENTIST")
    assert stems("Mädchen, seas") == {"madc", "sea"}
    assert stems("taxes saved") == stems("tax save")
