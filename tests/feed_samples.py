"""Pieces of feeds, common and odd, that tests put together at random."""

NAMESPACES = (
    "xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:dcterms='http://purl.org/dc/terms/'"
    " xmlns:content='http://purl.org/rss/1.0/modules/content/'"
    " xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd' xmlns:media='http://search.yahoo.com/mrss/'"
    " xmlns:podcast='https://podcastindex.org/namespace/1.0'"
    " xmlns:slash='http://purl.org/rss/1.0/modules/slash/' xmlns:thr='http://purl.org/syndication/thread/1.0'"
    " xmlns:georss='http://www.georss.org/georss' xmlns:x='http://unknown.example/'"
    " xmlns:xhtml='http://www.w3.org/1999/xhtml' xmlns:fb='http://rssnamespace.org/feedburner/ext/1.0'"
    " xmlns:cc='http://web.resource.org/cc/' xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'"
)

TEXTS = (
    "", " ", "Plain", "a &lt;b&gt;bold&lt;/b&gt; word", "AT&amp;amp;T", "AT&amp;T",
    "<![CDATA[<p>One</p><p>Two</p>]]>", "Gr\u00fc\u00dfe", "Gr\u00c3\u00bc\u00c3\u009fe", "\u65e5\u672c",
    "don&#146;t", "&lt;unknown&gt;x&lt;/unknown&gt;", "1 &lt; 2\n\n3", "&lt;a href='x'&gt;l&lt;/a&gt;",
    "&lt;img src='/i.png'&gt;", "<!-- c -->after", "a<!-- c -->b", "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<![CDATA[a]]>b<![CDATA[c]]>", "&amp;nbsp;&amp;copy;", "x" * 600,
)  # fmt: skip
ADDRESSES = (
    "", "/a", "a b", "https://site.example/a", "https://site.example/a?b=1&amp;c=2", "HTTP://Site.Example", "x;y?z",
    "javascript:alert(1)", "mailto:a@site.example", "//cdn.example/x", "https://site.example/a?",
    "http:///x.example/y", "https://b\u00fccher.example/", "tag:site.example,2024:1", "urn:uuid:1", "http://[",
    " https://site.example/p ", "https://site.example/a;b", "https://site.example/%zz", "https://site.example/a/../b",
    "?q=1", "#f",
)  # fmt: skip
MOMENTS = (
    "", "2024-01-01T00:30:00+02:00", "2024-01-01T00:30:00Z", "2024-01-01", "2024-01-01T00:30:00.123Z", "2024-13-01",
    "Mon, 01 Jan 2024 10:00:00 GMT", "Mon, 1 Jan 2024 10:00 +0530", "1 January 2024 10:00:00 EST", "soon", "2024",
    "Mon, 01 Jan 24 10:00:00 GMT", "2024-01-01 10:00:00", "9999-12-31T23:59:59-02:00", "2024-01-01T10:00:00+0530",
    "2024-02-30T00:00:00Z", "Mon, 01 Jan 2024 24:00:00 GMT", " Mon, 01 Jan 2024 10:00:00 PDT ", "2024-01-01T10:00",
)  # fmt: skip
PEOPLE = (
    "Ann", "ann@site.example (Ann)", "ann@site.example", "<name>Ann</name>",
    "<name>Ann</name><email>a@b.example</email>", "<email>a@b.example</email>", "<uri>https://a.example/</uri>", "",
    "Ann, Bob", "Ann &lt;ann@b.technology&gt;", "mailto:ann@b.example",
    "<name/>",
)  # fmt: skip
WITH_TEXT = (
    "title", "dc:title", "media:title", "summary", "itunes:summary", "itunes:subtitle", "description",
    "media:description", "content:encoded", "dc:description", "category", "dc:subject", "itunes:keywords",
    "media:keywords", "rights", "x:thing", "itunes:duration", "subtitle", "slash:comments", "dc:publisher",
    "generator", "language", "dc:language", "ttl", "title type='html'", "title type='text'", "summary type='html'",
    "content type='html'", "content", "content type='text'", "category domain='d'", "category term='t' label='L'",
    "media:description type='html'", "description type='text'", "content type='text/x-other'", "title mode='escaped'",
    "copyright", "source url='https://o.example/'", "fullitem", "tagline",
)  # fmt: skip
WITH_ADDRESS = (
    "link", "guid", "id", "guid isPermaLink='false'", "guid isPermaLink='true'", "comments", "fb:origLink", "icon",
    "logo", "docs", "media:thumbnail", "itunes:new-feed-url",
)  # fmt: skip
AS_ATTRIBUTE = (
    "<link href='{}'/>", "<link rel='alternate' type='text/html' href='{}'/>", "<link rel='replies' href='{}'/>",
    "<link rel='enclosure' type='audio/mpeg' length='5' href='{}'/>",
    "<enclosure url='{}' type='audio/mpeg' length='12'/>", "<media:content url='{}' type='image/jpeg' width='20'/>",
    "<media:content url='{}' medium='video' duration='61'/>", "<media:thumbnail url='{}'/>",
    "<itunes:image href='{}'/>", "<podcast:transcript url='{}' type='text/vtt' language='en'/>",
    "<link rel='self' href='{}'/>", "<link href='{}' type='application/pdf'/>",
    "<link REL='ALTERNATE' HREF='{}' x:y='z'/>",
    ("<media:group><media:title>M</media:title><media:thumbnail url='{}'/>"
     "<media:description>D</media:description></media:group>"),
    "<media:content url='{}'><media:title>N</media:title><media:credit role='a'>c</media:credit></media:content>",
    "<cc:license rdf:resource='{}'/>", "<image><url>{}</url><title>I</title><link>/l</link></image>",
    "<source><id>{}</id></source>", "<category term='{}' scheme='s'/>", "<x:y href='{}'><x:z>1</x:z></x:y>",
    "<source><title>S</title><link href='{}'/></source>",
)  # fmt: skip
DATED = (
    "pubDate", "published", "updated", "dc:date", "dcterms:created", "dcterms:modified", "issued", "modified",
    "created", "lastBuildDate",
)  # fmt: skip
PERSONAL = (
    "author", "dc:creator", "itunes:author", "contributor", "managingEditor", "webMaster", "dc:contributor",
)  # fmt: skip
WHOLE = (
    ("<content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>a"
     "<br/>b &lt; <b class='q'>c</b></div></content>"),
    "<title type='xhtml'><xhtml:div>T <xhtml:i>i</xhtml:i></xhtml:div></title>",
    ("<content type='xhtml' xml:base='https://base.example/d/'><xhtml:div>"
     "<xhtml:a href='r'>x</xhtml:a></xhtml:div></content>"),
    "<content type='html' xml:base='sub/'>&lt;a href='r'&gt;x&lt;/a&gt;</content>",
    "<summary type='xhtml'>only text</summary>", "<content type='xhtml'><div>no namespace</div></content>",
    "<description><p>naked <b>x</b></p></description>", "<xhtml:body><xhtml:p>Body</xhtml:p></xhtml:body>",
    "<georss:point>45</georss:point>", "<x:box><x:title>inner</x:title></x:box>", "<itunes:category text='Arts'/>",
    "<itunes:owner><itunes:name>Owner</itunes:name><itunes:email>o@o.example</itunes:email></itunes:owner>",
    "<skipHours><hour>1</hour><hour>24</hour></skipHours>", "<skipDays><day>Monday</day><day>nope</day></skipDays>",
    "<thr:total>3</thr:total>",
    "<dc:format>text</dc:format>", "<media:rating scheme='x'>adult</media:rating>", "<!-- comment -->", "<?pi x?>",
    "text between", "<title/>", "<link/>", "<title>First</title><title>Second</title>",
    "<description>One</description><description>Two</description>", "<category/>", "<enclosure/>", "<media:content/>",
    "<guid/>", "<image>text</image>",
)  # fmt: skip
