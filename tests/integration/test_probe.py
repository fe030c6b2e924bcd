"""Asking whether a server answers."""

import pytest

from siftline.net.probe import NoAnswerError, check_answers
from tests.servers import Answer, serving


def test_any_answer_below_500_is_a_sign_of_life() -> None:
    with serving() as server:
        server.answers["/ok"] = Answer(b"fine")
        check_answers(server.url("/ok"))
        check_answers(server.url("/unknown"))


def test_a_server_that_is_unwell_or_away_is_said_to_be() -> None:
    with serving() as server:
        server.answers["/sick"] = Answer(status=503)
        with pytest.raises(NoAnswerError, match="503"):
            check_answers(server.url("/sick"))
    for url in ("http://127.0.0.1:1/", "http://[", "nonsense"):
        with pytest.raises(NoAnswerError, match="reached"):
            check_answers(url, timeout_s=2)
