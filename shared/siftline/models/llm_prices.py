"""What a model's tokens cost: ``data/prices.toml``, or what the settings say instead."""

import math
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from siftline.kit.errors import ConfigurationError
from siftline.models.llm import PROVIDER

_DATE = re.compile(r"-\d{4}-\d\d-\d\d$")
_TOKENS_BESIDES = 64
"""What a server may add to each message: roles, separators."""


class LlmPriceUnknownError(ConfigurationError):
    """Nobody says what the model costs, so it is not asked."""

    code = "llm_price_unknown"
    provider = PROVIDER


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens, which is as many millionths of a dollar for one: of what is sent, of what comes."""

    usd_per_million_in: float
    usd_per_million_out: float

    def micro_usd(self, tokens_in: int, tokens_out: int) -> int:
        """Return what so many tokens cost, in millionths of a dollar, rounded up.

        >>> Price(0.15, 0.6).micro_usd(1_000, 100)
        210
        """
        cost = tokens_in * self.usd_per_million_in + tokens_out * self.usd_per_million_out
        return math.ceil(round(cost, 6))


def most_tokens(texts: Iterable[str]) -> int:
    """Return the most tokens that texts can be when they are sent: no tokeniser makes more of one than it has bytes."""
    return sum(len(text.encode("utf-8", "replace")) + _TOKENS_BESIDES for text in texts)


def price_of(model: str, usd_per_million_in: float | None, usd_per_million_out: float | None) -> Price:
    """Return a model's price: what is set, else what the table says. Raises ``LlmPriceUnknownError``."""
    if usd_per_million_in is not None and usd_per_million_out is not None:
        return Price(usd_per_million_in, usd_per_million_out)
    known = _table().get(_DATE.sub("", model))
    if known is None:
        raise LlmPriceUnknownError(
            f"The price of the language model {model} is unknown. Set LLM_USD_PER_MILLION_IN and "
            "LLM_USD_PER_MILLION_OUT (0 for your own model)."
        )
    return known


@cache
def _table() -> dict[str, Price]:
    text = (files("siftline.models") / "data" / "prices.toml").read_text(encoding="utf-8")
    return {
        name: Price(float(price["in"]), float(price["out"])) for name, price in tomllib.loads(text)["models"].items()
    }
