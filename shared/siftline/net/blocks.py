"""Recognises what a site answers in a page's place: a check for robots, a refusal, a wall of consent.

By the marks that the makers of such walls leave in headers, addresses and markup; a phrase in a page's text is never
enough. No HTML is read here, so that who fetches pages or feeds can ask as well.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from siftline.kit.errors import PermanentError, SiftlineError
from siftline.net.http_model import StatusRefusedError, StatusTransientError

BLOCKED = "The site blocks automated access to this page: it shows a bot check instead."
_SCAN_CHARS = 200_000
_HEADERS = {
    "cf-mitigated": re.compile("challenge"),
    "x-vercel-mitigated": re.compile("challenge|deny"),
    "x-amzn-waf-action": re.compile("challenge|captcha"),
}
# Of the checks themselves, not of the watching scripts that the same makers put on every page.
_MARKUP = re.compile(
    r"_cf_chl_opt\b|/cdn-cgi/challenge-platform/h/\w/orchestrate"  # Cloudflare
    r"|class=[\"']cf-error-details|id=[\"']cf-wrapper"
    r"|errors\.edgesuite\.net|sec-if-cpt-container|/_sec/cp_challenge|bm-verify"  # Akamai
    r"|px-captcha|captcha\.px-c(?:dn|loud)\.net|_pxCaptcha"  # PerimeterX
    r"|(?:geo|ct)\.captcha-delivery\.com"  # DataDome
    r"|Incapsula incident ID|distil_r_captcha|/distil_identification"  # Imperva
    r"|sucuri_cloudproxy_js|/cdn-cgi/sucuri|Sucuri Website Firewall"
    r"|gokuProps|\.captcha-sdk\.awswaf\.com"
    r"|vercel/security/|/149e9513-01fa-4fb0-aad4-566afd725d1b/|ddos-guard/js-challenge|__qrator|/_guard/html\.js"
)
_CAPTCHA = re.compile(
    r"class=[\"'][^\"']*\b(?:g-recaptcha|h-captcha|cf-turnstile|frc-captcha)\b|hcaptcha\.com/1/api\.js"
    r"|google\.com/recaptcha/(?:api|enterprise)\.js|challenges\.cloudflare\.com/turnstile"
)
_TITLE = re.compile(r"<title[^<>]*>([^<]{0,300})", re.IGNORECASE)
_TITLES = re.compile(
    r"\s*(?:(?:access to this page has been denied|are you (?:a robot|human)|checking your browser"
    r"|verify(?:ing)? (?:that )?you are (?:a )?human|please verify)\b"
    # A headline may begin with any of these: they are the whole title, or its beginning before the site's name.
    r"|(?:just a moment|attention required|access denied|robot check|bot (?:check|verification)|human verification"
    r"|security (?:check|checkpoint|verification)|vercel security checkpoint|pardon our interruption"
    r"|you have been blocked|request (?:blocked|rejected|unsuccessful)|please wait|one more step"
    r"|ddos-guard|captcha|un momento|einen moment|un instant|nur einen moment)[\s.!\u2026]*(?:[|\u2013\u2014-]|$))",
    re.IGNORECASE,
)
_CONSENT_HOST = re.compile(
    r"(?:consent|guce|cmp|myprivacy|privacy-gate|cookiewall|cookie-consent|privacymanager)\.|.*\.privacy-mgmt\.com$"
)
_CONSENT_PATH = re.compile(
    r"/(?:consent|cookie-?wall|cookie-?consent|privacy-?gate|consent-?redirect|collectConsent)(?:[/._-]|$)|/zustimmung(?:/|$)",
    re.IGNORECASE,
)
_NOT_FREE = re.compile(r'"isAccessibleForFree"\s*:\s*"?(?:https?://schema\.org/)?false', re.IGNORECASE)


class PageWithheldError(PermanentError):
    """The site keeps the page from us. ``status`` is that of a refusing answer, ``None`` for a page in its place."""

    def __init__(self, detail: str, *, status: int | None = None) -> None:
        super().__init__(detail)
        self.status = status


class BlockedBySiteError(PageWithheldError):
    """The site answered with a check for robots or a refusal in the page's place."""

    code = "blocked_by_site"


class PaywalledError(PageWithheldError):
    """The site shows the page to who pays, and nothing of it to others."""

    code = "paywalled"


def is_block(markup: str, headers: Mapping[str, str] | None = None, *, by_title: bool = True) -> bool:
    """Tell whether an answer of little text is a check for robots or a refusal, and no page.

    Only for an answer of little text: an article may well hold such a mark, and a comment form its captcha. Without
    ``by_title``, a title that such checks have proves nothing.
    """
    if headers is not None and any(
        name in headers and value.search(headers[name].lower()) for name, value in _HEADERS.items()
    ):
        return True
    start = markup[:_SCAN_CHARS]
    if _MARKUP.search(start):
        return True
    title = _TITLE.search(start) if by_title else None
    return title is not None and _TITLES.match(title[1]) is not None and _CAPTCHA.search(start) is not None


def is_consent_address(url: str) -> bool:
    """Tell whether an address that a page's one redirected to is where its site asks for consent."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(_CONSENT_HOST.match(parts.hostname or "") or _CONSENT_PATH.search(parts.path))


def named_refusal(error: StatusRefusedError | StatusTransientError) -> SiftlineError:
    """Return what a refusing answer means: ``BlockedBySiteError``, ``PaywalledError``, or the error itself.

    A check for robots is permanent, for asking again is what it is about; but who answers 429 is to be asked later,
    and stays as it is.
    """
    answer = error.answer
    markup = answer.body_start.decode("utf-8", "replace")
    if answer.status == 402 or (answer.status in {401, 403} and _NOT_FREE.search(markup)):
        return PaywalledError("The site shows this page only to its subscribers.", status=answer.status)
    refuses = answer.status in {401, 403, 405, 406, 503}
    if refuses and (is_block(markup, answer.headers) or (answer.status == 403 and _says_blocked(markup))):
        return BlockedBySiteError(BLOCKED, status=answer.status)
    return error


def _says_blocked(markup: str) -> bool:
    title = _TITLE.search(markup)
    return _CAPTCHA.search(markup) is not None or (title is not None and _TITLES.match(title[1]) is not None)
