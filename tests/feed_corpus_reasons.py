"""Why a case of feedparser's corpus is none that our parser passes: what we do not keep, or keep otherwise."""

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
        r"inline_markup_2",
        "a body without any element is handed back as plain text",
    ),
    (
        r"not_a_doctype|rel_uri_with|charref_upper|demoronize|br_shorttag",
        "HTML is written as nh3 writes it: references resolved, addresses encoded",
    ),
)
