"""Where the language model that settings name is put together with what it may cost."""

from siftline.kit.aws import secret
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.models.llm import LanguageModel
from siftline.models.llm_prices import price_of
from siftline.models.priced_llm import AskingRule, PricedModel
from siftline.models.spending_store import Caps
from siftline.settings.functions import AnalyzeSettings

_MICRO = 1_000_000


def open_priced_model(settings: AnalyzeSettings, database: Database) -> PricedModel | None:
    """Return the language model that the settings name; ``None`` where they name none.

    Raises ``LlmPriceUnknownError``. The client is opened, and its key asked for, at the first call.
    """
    if not settings.llm_model:
        return None
    clock = SystemClock()
    model = LanguageModel(
        model=settings.llm_model,
        base_url=settings.llm_base_url,
        api_key=lambda: secret(settings.llm_api_key.get_secret_value()),
        timeout_s=settings.llm_timeout_s,
        clock=clock,
        reply_format=settings.llm_format,
        tokens_field=settings.llm_tokens_field,
    )
    price = price_of(settings.llm_model, settings.llm_usd_per_million_in, settings.llm_usd_per_million_out)
    caps = Caps(round(settings.llm_usd_per_day * _MICRO), round(settings.llm_usd_per_user_per_day * _MICRO))
    rule = AskingRule(caps, output_tokens=settings.llm_output_tokens)
    return PricedModel(database, model, price, rule, clock)
