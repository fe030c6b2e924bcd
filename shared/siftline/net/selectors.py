"""CSS selectors, judged as far as they can be without a page."""

from siftline.kit.errors import PermanentError

INVALID = "The CSS selector is invalid or not supported."


class BadSelectorError(PermanentError):
    """The CSS selector is none."""

    code = "invalid_selector"


def check_selector(selector: str) -> None:
    """Raise ``BadSelectorError`` for what is no CSS selector, or none for a page at rest (``a::before``).

    Namespaces (``ns|a``) are let through: that a page has none is seen when it is read.
    """
    from cssselect import HTMLTranslator, SelectorError  # noqa: PLC0415 - few requests have a selector

    try:
        HTMLTranslator().css_to_xpath(selector)
    # It asserts what it takes for granted: that ``:lang('')`` names a language.
    except (SelectorError, RecursionError, AssertionError) as error:
        raise BadSelectorError(INVALID) from error
