"""HTML of the sample pages: the article in one of three layouts, with all that stands around one in real life.

Menu, consent box, share bar, teasers, sidebar, comments and footer come in the article's language, and the metadata as
Open Graph, JSON-LD and a canonical link, so that an extractor has something to do.
"""

import html
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

import yaml

from infra.local.sample_library import SAMPLES_DIR, SampleArticle, SampleFeed

_START_PARAGRAPHS = 2  # after these a layout may interrupt the text
_NETWORKS = ("Chirper", "Facewall", "Mail")


@cache
def _phrases(directory: Path) -> dict[str, dict[str, Any]]:
    phrases: dict[str, dict[str, Any]] = yaml.safe_load((directory / "phrases.yaml").read_text(encoding="utf-8"))
    return phrases


@cache
def _layout(directory: Path, name: str) -> Template:
    return Template((directory / "layouts" / f"{name}.html").read_text(encoding="utf-8"))


def render_article(
    article: SampleArticle, feed: SampleFeed, base_url: str, around: Iterable[SampleArticle] = ()
) -> str:
    """Return the article's page; ``around`` are the articles that teasers and the sidebar link to."""
    phrases = _phrases(SAMPLES_DIR)[article.language]
    texts = {key: html.escape(value) for key, value in phrases.items() if isinstance(value, str)}
    home = f"{base_url}/{feed.name}/"
    links = [f'<li><a href="{base_url}{other.path}">{html.escape(other.title)}</a></li>' for other in around]
    menu = [f'<a href="{home}">{html.escape(section)}</a>' for section in phrases["sections"]]
    paragraphs = article_html(article).splitlines()
    return _layout(SAMPLES_DIR, feed.layout).substitute(
        texts,
        language=article.language,
        head=_head(article, feed, base_url),
        home=home,
        site=html.escape(feed.title),
        title=html.escape(article.title),
        author=html.escape(article.author),
        published=article.published.isoformat(),
        day=article.published.date().isoformat(),
        image=_image(article, base_url),
        menu="".join(f"<li>{entry}</li>" for entry in menu),
        menu_inline=" ".join(menu),
        share_links=" ".join(f'<a href="{home}">{network}</a>' for network in _NETWORKS),
        related_links="".join(links[:3]),
        most_read_links="".join(links[3:]),
        remarks="".join(f'<div class="comment"><p>{html.escape(remark)}</p></div>' for remark in phrases["remarks"]),
        body_start="\n".join(paragraphs[:_START_PARAGRAPHS]),
        body_rest="\n".join(paragraphs[_START_PARAGRAPHS:]),
    )


def article_html(article: SampleArticle) -> str:
    """Return the article's text as HTML, one ``<p>`` a line."""
    return "\n".join(f"<p>{html.escape(paragraph, quote=False)}</p>" for paragraph in article.paragraphs)


def render_list(title: str, links: Iterable[tuple[str, str]], feed: tuple[str, str] | None = None) -> str:
    """Return a plain page of links ``(address, text)``; ``feed`` is the ``(media type, address)`` it announces."""
    entries = "\n".join(f'<li><a href="{address}">{html.escape(text)}</a></li>' for address, text in links)
    alternate = f'\n<link rel="alternate" type="{feed[0]}" href="{feed[1]}">' if feed else ""
    heading = html.escape(title)
    return (
        f'<!doctype html>\n<html><head><meta charset="utf-8"><title>{heading}</title>{alternate}</head>\n'
        f"<body><h1>{heading}</h1>\n<ul>\n{entries}\n</ul></body></html>\n"
    )


def _image(article: SampleArticle, base_url: str) -> str:
    return f"{base_url}{article.path}.png"


def _head(article: SampleArticle, feed: SampleFeed, base_url: str) -> str:
    address, image = f"{base_url}{article.path}", _image(article, base_url)
    published = article.published.isoformat()
    linked_data = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": article.title,
        "inLanguage": article.language,
        "datePublished": published,
        "author": {"@type": "Person", "name": article.author},
        "publisher": {"@type": "Organization", "name": feed.title},
        "image": image,
        "mainEntityOfPage": address,
    }
    properties = {
        "og:type": "article",
        "og:title": article.title,
        "og:description": article.summary,
        "og:site_name": feed.title,
        "og:url": address,
        "og:image": image,
        "article:published_time": published,
    }
    script = json.dumps(linked_data, ensure_ascii=False).replace("</", "<\\/")
    return "\n".join(
        [
            '<meta charset="utf-8">',
            f"<title>{html.escape(article.title)} | {html.escape(feed.title)}</title>",
            f'<meta name="author" content="{html.escape(article.author)}">',
            f'<meta name="description" content="{html.escape(article.summary)}">',
            *(f'<meta property="{name}" content="{html.escape(value)}">' for name, value in properties.items()),
            f'<link rel="canonical" href="{address}">',
            f'<script type="application/ld+json">{script}</script>',
        ]
    )
