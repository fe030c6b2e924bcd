"""What rate-limit headers say."""

from datetime import UTC, datetime

import pytest

from siftline.net.pacing import reset_s, used_up

NOW = datetime(2024, 6, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds", "nothing_left"),
    [
        ({}, None, False),
        ({"x-ratelimit-remaining": "12.0", "x-ratelimit-used": "3", "x-ratelimit-reset": "323"}, 323, False),
        ({"x-ratelimit-remaining": "0.0", "x-ratelimit-reset": "323"}, 323, True),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1717243260"}, 60, True),
        (
            {
                "x-ratelimit-remaining": "0",
                "x-ratelimit-reset": "1717243260",
                "date": "Sat, 01 Jun 2024 12:00:30 GMT",
            },
            30,
            True,
        ),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "50"}, 50, True),
        ({"ratelimit": "limit=10, remaining=0, reset=30"}, 30, True),
        ({"ratelimit": '"default";r=0;t=30'}, 30, True),
        ({"ratelimit": '"default";r=5;t=30'}, 30, False),
        ({"x-ratelimit-remaining": "soon", "x-ratelimit-reset": "-5"}, None, False),
        ({"x-ratelimit-reset": "999999999"}, 172_800, False),
    ],
)
def test_headers_of_every_form_are_read(headers: dict[str, str], seconds: float | None, nothing_left: bool) -> None:
    assert (reset_s(headers, NOW), used_up(headers)) == (seconds, nothing_left)
