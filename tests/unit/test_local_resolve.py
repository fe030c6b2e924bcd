"""What `make resolve` refuses before it opens anything."""

import pytest

from infra.local.resolve import main


@pytest.mark.parametrize("limit", ["0", "-5", "many"])
def test_a_limit_that_hands_nothing_out_is_refused(capsys, limit):
    with pytest.raises(SystemExit) as ended:
        main(["--limit", limit])
    assert ended.value.code == 2
    assert "LIMIT=" in capsys.readouterr().err


def test_a_provider_that_is_none_is_named(monkeypatch, capsys):
    monkeypatch.setenv("ENTITY_PROVIDERS", "csv,bogus")
    assert main([]) == 1
    assert "ENTITY_PROVIDERS: there is no bogus; there are csv, gleif, wikidata" in capsys.readouterr().err
