"""MiniStack behind the guard, as hypercorn loads it in MiniStack's own environment; the working folder has the secret.

The guard stands in the same process, so there is no second port behind it that could be asked without.
"""

from pathlib import Path

from ministack.app import app as ministack  # type: ignore[import-not-found]  # in MiniStack's environment only

from infra.local.guard import asgi_guarded

SECRET = Path("secret")

app = asgi_guarded(ministack, secret=SECRET.read_text(encoding="ascii"))
