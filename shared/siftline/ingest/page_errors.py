"""Why a page cannot be taken in. All are permanent: the same page fails the same way every time."""

from siftline.kit.errors import PermanentError
from siftline.net.blocks import PageWithheldError

A_FEED = "The address is a feed, not a page. Follow it instead: POST /v1/sources."


class PageTooLargeError(PermanentError):
    """More bytes than a page of text has."""

    code = "page_too_large"


class PageTooComplexError(PermanentError):
    """Markup that no page for people has: too many elements, too deep, too many attributes."""

    code = "page_too_complex"


class UnsupportedContentTypeError(PermanentError):
    """Neither HTML, plain text, PDF, audio nor video."""

    code = "unsupported_content_type"


class OnlyRedirectsError(PermanentError):
    """A page whose markup sends its visitors elsewhere and that says nothing itself."""

    code = "page_only_redirects"


class EmptyContentError(PermanentError):
    """A page without any text."""

    code = "empty_content"


class CaptionsUnreadableError(PermanentError):
    """A caption track in a form that we cannot read."""

    code = "captions_unreadable"


class VideoUnavailableError(PermanentError):
    """A video that is private, removed or never was, and of which nothing is known."""

    code = "video_unavailable"


class PdfEncryptedError(PermanentError):
    """A PDF that only a password opens."""

    code = "pdf_encrypted"


class PdfUnreadableError(PermanentError):
    """A PDF that is damaged, or only calls itself one."""

    code = "pdf_unreadable"


class ConsentWallError(PageWithheldError):
    """The site shows nothing of the page until its visitor agreed to be tracked."""

    code = "consent_wall"


class ContentGoneError(PermanentError):
    """The row was deleted before its work began."""

    code = "content_deleted"
