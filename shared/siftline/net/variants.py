"""Forms of an address that are known to show the same page: with tracking, AMP, mobile hosts, short and old addresses.

Only what a format's, a maker's or a site's own documentation says stands here: a form that is not known stays apart,
because two pages under one key lose one of them, and one page under two keys is found out once it has been read.
Whoever shows pages of others is named host by host, never by a pattern: it speaks for them.
Sources: the AMP cache's URL format (amp.dev), Google's list of its domains, WordPress's AMP plugin, Arc XP
(``outputType=amp``), YouTube's and Reddit's own share links.
A parameter is one of tracking only if its maker documents it as campaign or click data, or a browser strips it:
Mozilla's query-stripping list (Firefox, "Copy Clean Link"), Brave's query filter, WebKit's click-identifier list. Names
that some sites use to choose a page (``ref``, ``source``, ``from``, ``id``, ``s``, ``t``, ``cid``) are not, except on
the hosts that are known to use them for sharing alone.
"""

import re
from functools import lru_cache

from siftline.net.hosts import suffixes

# Query parameters that say how a reader arrived, or who they are, and never what is shown. In lower case.
PREFIXES = (
    "utm_",  # Google Analytics campaign URLs
    "mtm_",  # Matomo campaign tracking
    "hsa_",  # HubSpot ads
    "at_custom",  # Piano (AT Internet) campaigns
    "guce_",  # Yahoo consent hand-over
    "bsft_",  # Blueshift
    "iterable",  # Iterable: iterableEmailCampaignId and the like
    "mindbox-",  # Mindbox
    "aspsessionid",  # sessions of classic ASP
)

NAMES = frozenset(
    {
        # Google Ads, Analytics and Merchant Center
        *("gclid", "gclsrc", "dclid", "gbraid", "wbraid", "gad_source", "gad_campaignid", "srsltid", "_ga", "_gl"),
        # Meta, Instagram
        *("fbclid", "fb_action_ids", "fb_action_types", "fb_ref", "fb_source", "igshid", "igsh"),
        # Microsoft, Yandex, X, TikTok, LinkedIn, Pinterest, Snap, Reddit, Openstat, Impact
        *("msclkid", "yclid", "ysclid", "ymclid", "_openstat", "twclid", "__twitter_impression", "ttclid"),
        *("li_fat_id", "epik", "sccid", "rdt_cid", "irclickid", "rb_clickid"),
        # Mailchimp, HubSpot, Marketo, Omeda, Vero, MailerLite, Drip, Bronto, Wicked Reports, Klaviyo
        *("mc_cid", "mc_eid", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsctatracking", "mkt_tok"),
        *("oly_anon_id", "oly_enc_id", "vero_id", "vero_conv", "ml_subscriber", "ml_subscriber_hash", "__s"),
        *("bbeml", "_bta_c", "_bta_tid", "wickedid", "_kx"),
        # Matomo and Piwik, Piano (AT Internet), Mapp (Webtrekk), Adobe Analytics
        *("pk_campaign", "pk_kwd", "pk_keyword", "pk_source", "pk_medium", "pk_content", "pk_cid"),
        *("piwik_campaign", "piwik_keyword", "piwik_kwd", "matomo_campaign", "matomo_keyword"),
        *("at_campaign", "at_medium", "at_link_id", "at_link_type", "at_link_origin", "at_format", "at_ptr_name"),
        *("at_bbc_team", "wt_mc", "wt_zmc", "ns_campaign", "ns_mchannel", "ns_source", "s_cid", "ef_id"),
        # ConvertKit (Kit), ActiveCampaign, Klaviyo's older links, beehiiv, Omnisend, Sailthru, Customer.io, EveryAction
        *("ck_subscriber_id", "vgo_ee", "_ke", "_bhlid", "omnisendcontactid", "sailthru_id", "cio_id"),
        *("emci", "emdi", "ceid"),
        # Oracle Eloqua, Salesforce Marketing Cloud, Emarsys, Dotdigital, Listrak, Cordial, Adestra
        *("elqtrackid", "elqtrack", "elqcontactid", "sfmc_id", "sfmc_sub", "sfmcsubscriberid", "sc_uid", "sc_eh"),
        *("sc_lid", "sc_llid", "sc_customer", "sc_src", "dm_i", "dm_t", "trk_contact", "trk_msg", "trk_module"),
        *("trk_sid", "crdl_id", "adestra_id"),
        # Branch, Singular, Sailthru's and Condé Nast's newsletters
        *("_branch_match_id", "_branch_referrer", "s_kwcid", "sailthru", "bxid", "cndid", "hasha", "hashb", "hashc"),
        # Sessions of PHP, Java, ColdFusion
        *("phpsessid", "jsessionid", "cfid", "cftoken"),
        # AMP's viewers
        *("amp_js_v", "amp_gsa", "usqp"),
        # Yahoo and AOL, Bloomberg, Le Monde
        *("guccounter", "soc_src", "soc_trk", "ncid", "cmpid", "xtor"),
    }
)

# Names that are for sharing alone on these hosts and their sub-domains.
NAMES_BY_HOST = {
    "youtube.com": frozenset({"feature", "pp", "si", "ab_channel"}),
    "youtu.be": frozenset({"feature", "si"}),
    "spotify.com": frozenset({"si", "nd"}),
    "twitter.com": frozenset({"s", "t", "ref_src", "ref_url"}),
    "x.com": frozenset({"s", "t", "ref_src", "ref_url"}),
    "reddit.com": frozenset({"share_id", "ref", "ref_source", "rdt"}),
    "medium.com": frozenset({"source"}),
    "substack.com": frozenset({"r", "showwelcome", "triedredirect"}),
    "nytimes.com": frozenset({"smid", "smtyp"}),
    "msn.com": frozenset({"ocid"}),
    "tiktok.com": frozenset({"_r", "_t", "is_copy_url", "is_from_webapp", "sender_device", "sender_web_id"}),
    "linkedin.com": frozenset({"trk", "trackingid", "refid", "lipi"}),
}

# What an AMP cache or a viewer holds: c and v are documents; s says https.
_CACHE = re.compile(r"(?:[a-z0-9-]+\.)*cdn\.ampproject\.org")
_CACHED = re.compile(r"/(?:c|v|wp)/(?:(s)/)?([^/]+\.[^/]+(?:/.*)?)", re.DOTALL)
# Google's own domains (google.com/supported_domains), below google. and www.google.: whoever has another name under
# google. (google.icu, google.com.example) is somebody else, who would speak for every page there is.
_GOOGLE = frozenset(
    f"google.{domain}"
    for domains in (
        "com cat ad ae al am as at az ba be bf bg bi bj bs bt by ca cd cf cg ch ci cl cm cn cv cz de dj dk dm dz ee es",
        "fi fm fr ga ge gg gl gm gr gy hn hr ht hu ie im iq is it je jo kg ki kz la li lk lt lu lv md me mg mk ml mn",
        "mu mv mw ne nl no nr nu pl pn ps pt ro rs ru rw sc se sh si sk sm sn so sr st td tg tl tm tn to tt vu ws",
        "co.ao co.bw co.ck co.cr co.id co.il co.in co.jp co.ke co.kr co.ls co.ma co.mz co.nz co.th co.tz co.ug co.uk",
        "co.uz co.ve co.vi co.za co.zm co.zw com.af com.ag com.ar com.au com.bd com.bh com.bn com.bo com.br com.bz",
        "com.co com.cu com.cy com.do com.ec com.eg com.et com.fj com.gh com.gi com.gt com.hk com.jm com.kh com.kw",
        "com.lb com.ly com.mm com.mt com.mx com.my com.na com.ng com.ni com.np com.om com.pa com.pe com.pg com.ph",
        "com.pk com.pr com.py com.qa com.sa com.sb com.sg com.sl com.sv com.tj com.tr com.tw com.ua com.uy com.vc",
        "com.vn",
    )
    for domain in domains.split()
)
_VIEWERS = _GOOGLE | {"bing.com"}
_VIEWED = re.compile(r"/amp/(?:(s)/)?([^/]+\.[^/]+(?:/.*)?)", re.DOTALL)

_FILE = re.compile(r"[A-Za-z0-9_-]")
_AMP_VALUES = {"amp": ("", "1", "true"), "outputtype": ("amp",), "noamp": ("mobile", "available")}
# Where "amp" may be the name of a thing: what stands before it names a collection, or the site's pages are names.
_COLLECTIONS = frozenset(
    {
        *("wiki", "tag", "tags", "category", "categories", "topic", "topics", "search", "label", "labels", "c", "u"),
        *("r", "user", "users", "author", "package", "packages", "project", "projects", "crate", "crates", "gem"),
        *("gems", "dictionary", "word", "words", "define", "definition", "browse", "product", "products", "shop"),
        "store",
    }
)
_NAMED_SITES = re.compile(
    r"(?:.+\.)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org|npmjs\.com|docker\.com|twitter\.com|x\.com|"
    r"youtube\.com|reddit\.com|instagram\.com|facebook\.com|pkg\.go\.dev|amp\.dev)"
)

_MOBILE = re.compile(r"(?:m|mobile|amp)\.((?:[^.]+\.)(?:(?:ac|co|com|edu|gov|ne|net|or|org)\.[a-z]{2}|[^.]+))")
_WITHOUT_WWW = frozenset({"twitter.com", "x.com"})
_WIKI = re.compile(
    r"(?:(?!m\.)([a-z0-9-]+)\.)?m\."
    r"(wiki(?:pedia|data|news|quote|source|books|versity|voyage|media)\.org|wiktionary\.org|mediawiki\.org)"
)

_YOUTUBE = frozenset({"youtube.com", "www.youtube.com", "m.youtube.com", "www.youtube-nocookie.com"})
_VIDEO = re.compile(r"/(?:shorts|live|embed|v)/(?!videoseries$|live_stream$)([A-Za-z0-9_-]{1,64})")
_SHORT_VIDEO = re.compile(r"/([A-Za-z0-9_-]{1,64})")
_WATCHED = re.compile(r"(?:.*&)?v=([A-Za-z0-9_-]{1,64})(?:&.*)?", re.DOTALL)
_REDDIT = frozenset(f"{name}reddit.com" for name in ("", "www.", "old.", "new.", "np.", "m.", "i.", "amp."))
_POST = re.compile(r"(?:/(?:r|u|user)/[^/]+)?/comments/([a-z0-9]+)(?:/[^/]*)?")
_SHORT_POST = re.compile(r"/([a-z0-9]+)")

_HOSTS_KEPT = 512


@lru_cache(maxsize=_HOSTS_KEPT)
def wraps(host: str) -> bool:
    """Return whether a host is an AMP cache or a viewer, of which ``unwrapped`` may know more."""
    return _CACHE.fullmatch(host) is not None or host.removeprefix("www.") in _VIEWERS


def unwrapped(host: str, path: str) -> str | None:
    """Return the address, without its query, that an AMP cache or viewer shows at ``path``; ``None`` if none is known.

    >>> unwrapped("www.google.com", "/amp/s/news.example/story")
    'https://news.example/story'
    """
    if not wraps(host):
        return None
    match = (_CACHED if _CACHE.fullmatch(host) else _VIEWED).fullmatch(path)
    return match and f"{'https' if match[1] else 'http'}://{match[2]}"


def plain_path(host: str, path: str) -> str:
    """Return the path of the page behind an AMP page of a site's own: without ``/amp`` or ``.amp`` at its end."""
    if "amp" not in path or _NAMED_SITES.fullmatch(host):
        return path
    segments = path.split("/")
    first = next((place for place, segment in enumerate(segments) if segment), len(segments))
    while True:
        last = segments[-1]
        if last == "amp" and len(segments) - 1 > first and segments[-2].lower() not in _COLLECTIONS:
            del segments[-1]
            while not segments[-1]:
                del segments[-1]
        elif (file := _plain_file(last)) != last:
            segments[-1] = file
        else:
            return "/".join(segments)


def _plain_file(name: str) -> str:
    """Return a file's name without every ``.amp`` at its end, or before ``.html`` there."""
    end = ".html" if name.endswith(".html") else ""
    at = len(name) - len(end)
    # No slice for each: an address may be nothing but these.
    while name.endswith(".amp", 0, at) and _FILE.match(name, at - 5):
        at -= 4
    return name[:at] + end


def is_variant(name: str, value: str) -> bool:
    """Return whether a query parameter only chooses a page's AMP form, or leaves it."""
    return value.lower() in _AMP_VALUES.get(name.lower(), ())


def known_site(host: str, path: str, query: str) -> tuple[str, str, str]:
    """Return host, path and query of the one form that stands for all of a large site's forms of a page."""
    if host in _YOUTUBE or host == "youtu.be":
        video = (_SHORT_VIDEO if host == "youtu.be" else _VIDEO).fullmatch(path)
        video = video or (_WATCHED.fullmatch(query) if path == "/watch" else None)
        if video:
            return "www.youtube.com", "/watch", f"v={video[1]}"
        return ("www.youtube.com" if host in _YOUTUBE else host), path, query
    if host in _REDDIT or host == "redd.it":
        post = (_SHORT_POST if host == "redd.it" else _POST).fullmatch(path)
        if post:
            return "www.reddit.com", f"/comments/{post[1]}", query
        return ("www.reddit.com" if host in _REDDIT else host), path, query
    if wiki := _WIKI.fullmatch(host):
        return f"{wiki[1] or 'www'}.{wiki[2]}", path, query
    return host, path, query


@lru_cache(maxsize=_HOSTS_KEPT)
def desktop_host(host: str) -> str:
    """Return the host of the site whose mobile or AMP host this is: ``m.``, ``mobile.``, ``amp.`` of a whole domain.

    Directly below a public suffix these are an owner's name: ``m.github.io`` and ``www.github.io`` are two people's.
    """
    match = _MOBILE.fullmatch(host)
    if match is None or suffixes().privatesuffix(host) == host:
        return host
    desktop = match[1] if match[1] in _WITHOUT_WWW else f"www.{match[1]}"
    return host if desktop in _YOUTUBE or desktop in _REDDIT else desktop


def is_tracking(host: str, name: str) -> bool:
    """Return whether the query parameter ``name`` on ``host`` (lower case) is known to carry tracking alone."""
    name = name.lower().removeprefix("amp;")  # "&amp;" that an HTML page failed to unescape
    if name in NAMES or name.startswith(PREFIXES):
        return True
    return name in _names_on(host)


@lru_cache(maxsize=_HOSTS_KEPT)
def _names_on(host: str) -> frozenset[str]:
    """Return what is for sharing alone on a host: looked up once, not for every parameter of an address."""
    labels = host.split(".")
    sites = (".".join(labels[place:]) for place in range(len(labels) - 1))
    return frozenset[str]().union(*(NAMES_BY_HOST.get(site, ()) for site in sites))
