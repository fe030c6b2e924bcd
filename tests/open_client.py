"""An HTTP client to which every address is one that a person typed: what tests have in place of the internet."""

from typing import Any

from siftline.net.http import HttpClient


class OpenClient(HttpClient):
    """Reaches loopback whoever named the address, a redirect too: the strangers of a test are on this machine."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_loopback=True, **options)
        self._pool = self._typed_pool
