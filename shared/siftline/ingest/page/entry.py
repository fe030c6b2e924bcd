"""What a feed brings of an article itself."""

from siftline.ingest.page.page_tree import parse
from siftline.ingest.page.plain import clean_text, count_words, paragraphs
from siftline.ingest.readings import EntryText
from siftline.kit.errors import PermanentError


def read_entry(entry_html: str | None) -> EntryText:
    """Return the text of a feed entry's HTML (or plain text); markup that no entry has counts as no text."""
    text = ""
    if entry_html:
        try:
            text = clean_text("\n\n".join(paragraphs(parse(f"<html><body><div>{entry_html}</div></body></html>").root)))
        except PermanentError:
            text = ""
    return EntryText(text, count_words(text))
