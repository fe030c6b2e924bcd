"""Why a page cannot be taken in. All are permanent: the same page fails the same way every time."""

from siftline.kit.errors import PermanentError


class PageTooLargeError(PermanentError):
    """More bytes than a page of text has."""

    code = "page_too_large"


class PageTooComplexError(PermanentError):
    """Markup that no page for people has: too many elements, too deep, too many attributes."""

    code = "page_too_complex"


class UnsupportedContentTypeError(PermanentError):
    """Neither HTML nor plain text."""

    code = "unsupported_content_type"


class EmptyContentError(PermanentError):
    """A page without any text."""

    code = "empty_content"


class CaptionsUnreadableError(PermanentError):
    """A caption track in a form that we cannot read."""

    code = "captions_unreadable"


class ContentGoneError(PermanentError):
    """The row was deleted before its work began."""

    code = "content_deleted"
