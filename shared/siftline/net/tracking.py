"""Query parameters that say how a reader arrived, or who they are, and never what is shown. Data, in lower case.

A name stands here only if its maker documents it as campaign or click data, or a browser strips it: Mozilla's
query-stripping list (Firefox, "Copy Clean Link"), Brave's query filter, WebKit's click-identifier list. Names that some
sites use to choose a page (``ref``, ``source``, ``from``, ``id``, ``s``, ``t``, ``cid``) do not, except on the hosts
that are known to use them for sharing alone.
"""

from functools import lru_cache

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

_HOSTS_KEPT = 512


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
