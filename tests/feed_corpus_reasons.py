"""Why a case of feedparser's corpus is none that our parser passes: what we do not keep, or keep otherwise.

The reasons are of expectations that cannot be met as they are written. What is kept of such a case is compared all the
same (``tests.feed_corpus_kept``); the cases where that differs are named one by one.
"""

# What is searched for in a case's id and expectation, and the reason.
REASONS = (
    (
        r"\['source'\]|\.source\.",
        "what is said of the feed an entry was taken from is not kept",
    ),
    (
        r"contributors|publisher|copyright|rights|generator|\['info|textinput|cloud|guidislink|'license'|\['where'\]",
        "the field is not kept",
    ),
    (
        r"validity|itunes_(?:block|explicit)|psc_|thr_|wfw_|media_player|madeup|'Example subtitle'|\[0\]\['language'",
        "the field of an extension is not kept",
    ),
    (
        r"\bencoding ==|\bversion ==|bozo$|status|headers",
        "the alphabet, the version and the soundness are not kept",
    ),
    (
        r"email'\]|'href'\] == .*authors|\['url'\]|author'\] == '[^']* \(|\['homepage'\]",
        "of a person only the name is kept",
    ),
    (
        r"\['(?:created|published|updated)'\]|feed\['(?:updated|published|created)_parsed",
        "moments of entries are kept, not their spelling, and none of feeds",
    ),
    (
        r"scheme|'label'\]|tags'\]\[0\]\['term'\] == 'Freir|feed\['(?:tags|category)'",
        "a tag is one word: its label, else its term; feeds have none",
    ),
    (
        r"links'\]\[0\]\['(?:rel|title|hreflang|length|type)|links'\]\[0\] == \{|links'\] ==",
        "one page is kept of an entry's links, and its files",
    ),
    (
        r"feed\['(?:id|guid)'",
        "a feed's own id is not kept",
    ),
    (
        r"_detail'\]\['(?:language|base|type)'\]|content'\]\[0\]\['(?:language|base|type)'\]",
        "texts are sanitised, resolved and HTML: the marks that led there are not kept",
    ),
    (
        r"title'\]|title_detail|feed\['(?:description|tagline|subtitle)|description_detail|tagline_detail",
        "titles and feeds' descriptions are plain text",
    ),
    (
        r"INVALID|TEST|www\.\\u",
        "hosts are lower case and ASCII",
    ),
    (
        r"cdf/",
        "CDF is no format of ours",
    ),
    (
        r"image'\]\['(?:description|height|width|title)",
        "of a picture the address is kept",
    ),
    (
        r"sanitize/|/atomsvg|mathml|svg|xlink",
        "nh3 allows less than feedparser's own sanitiser, and writes it otherwise",
    ),
    (
        r"content_language",
        "the header's language is not handed to the parser",
    ),
    (
        r"emsp|nbsp",
        "spaces of any kind are one",
    ),
    (
        r"entities/(?:lrm|zwj)",
        "of a title what nobody sees is left out",
    ),
    (
        r"inline_markup_2",
        "a body without any element is handed back as plain text",
    ),
    (
        r"not_a_doctype|rel_uri_with|charref_upper|demoronize|br_shorttag",
        "HTML is written as nh3 writes it: references resolved, addresses encoded",
    ),
)

# The cases of which other is kept, and why.
OTHERWISE = {
    **dict.fromkeys(
        (
            "wellformed/cdf/channel_abstract_map_description.xml",
            "wellformed/cdf/channel_abstract_map_tagline.xml",
            "wellformed/cdf/channel_href_map_links.xml",
            "wellformed/cdf/channel_lastmod.xml",
            "wellformed/cdf/item_lastmod.xml",
        ),
        "CDF is no format of ours: without entries of a title or a link it is no feed",
    ),
    **dict.fromkeys(
        (
            "wellformed/atom/entry_link_no_href_link_priority.xml",
            "wellformed/atom/entry_link_rel_enclosure_no_href.xml",
            "wellformed/atom10/entry_link_no_href_link_priority.xml",
            "wellformed/atom10/entry_link_rel_enclosure_no_href.xml",
        ),
        "a file's address is no entry's page: as the corpus expects, and feedparser fails to tell",
    ),
    **dict.fromkeys(
        (
            "entities/lrm.xml",
            "entities/zwj.xml",
            "illformed/chardet/euckr.xml",
            "illformed/chardet/gb2312.xml",
        ),
        "of a title what nobody sees is left out",
    ),
    "illformed/chardet/shiftjis.xml": "without a claim it is Windows-1252; feedparser takes it for ISO 8859-2",
    "illformed/chardet/windows1255.xml": "of a long text without a title the beginning is one",
    "illformed/rss_empty_document.xml": "what is empty is no feed",
    "encoding/bozo_invalid-bytes-with-bom.xml": "a stray byte costs itself, not the alphabet of all others",
    "wellformed/base/rel_uri_with_unicode_character.xml": "addresses are written in ASCII",
    "wellformed/itunes/itunes_channel_summary.xml": "a summary describes a feed that has no subtitle",
    "wellformed/rss/item_category_image.xml": "an entry's picture has a title, the entry has none",
    "wellformed/rss/item_description_not_a_doctype.xml": "from <! to > it is a comment, by the standard of HTML",
    "wellformed/sanitize/acceptable_element_br.xml": "a closing br is a br, by the standard of HTML",
}
