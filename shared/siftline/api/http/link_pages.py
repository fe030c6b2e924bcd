"""Small pages for who follows a link from a mail: no script, nothing loaded, one button at most."""

from collections.abc import Sequence
from html import escape

from aws_lambda_powertools.event_handler import Response

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 0; padding: 2rem 1.25rem; font: 1.0625rem/1.55 system-ui, sans-serif; color: CanvasText;
  background: Canvas; }}
main {{ max-width: 34rem; margin: 0 auto; overflow-wrap: anywhere; }}
h1 {{ font-size: 1.5rem; line-height: 1.25; }}
button {{ font: inherit; padding: .65rem 1.25rem; border: 2px solid #0b57a4; border-radius: .375rem;
  background: #0b57a4; color: #fff; cursor: pointer; }}
button:focus-visible {{ outline: 3px solid CanvasText; outline-offset: 2px; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{rest}
</main>
</body>
</html>
"""


def page(title: str, paragraphs: Sequence[str], *, button: str | None = None, status: int = 200) -> Response[str]:
    """Return a page; its ``button`` posts to the page's own address. All is text: nothing in it is taken for HTML."""
    rest = [f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs]
    if button is not None:
        rest.append(
            '<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click">'
            f'<button type="submit">{escape(button)}</button></form>'
        )
    return Response(
        status_code=status,
        content_type="text/html; charset=utf-8",
        body=_PAGE.format(title=escape(title), rest="\n".join(rest)),
        # The address of the page is the secret: it goes to nobody else.
        headers={"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer"},
    )


def unknown_link() -> Response[str]:
    """Return the page for a token that nobody has, any more or ever."""
    return page("This link does not work", ["It is incomplete or no longer valid."], status=404)
