"""Where the parts of resolving are put together."""

from collections.abc import Callable, Mapping
from pathlib import Path

from siftline.jobs.jobs_wiring import Producer
from siftline.kit.aws import secret
from siftline.net.http import HttpClient
from siftline.resolve.budget import RequestBudget
from siftline.resolve.gleif import Gleif
from siftline.resolve.providers import Asking, CsvNames, GleifRefusedError, Provider, WikidataRefusedError
from siftline.resolve.resolve_service import ResolveEntity
from siftline.resolve.wikidata import Wikidata
from siftline.settings.functions import ResolveSettings


def open_resolution(settings: ResolveSettings, parts: Producer) -> ResolveEntity:
    """Return the work of ``resolve_entity`` with the providers that the settings name, in their order."""
    client = HttpClient.of(settings)
    budget = RequestBudget(
        parts.database,
        parts.clock,
        per_run=settings.provider_requests_per_run,
        per_day=settings.provider_requests_per_day,
    )
    makers: Mapping[str, Callable[[], Provider]] = {
        "csv": lambda: CsvNames(Path(settings.entity_csv)),
        "gleif": lambda: Gleif(Asking(client, budget, "gleif", GleifRefusedError), settings.gleif_url),
        "wikidata": lambda: Wikidata(Asking(client, budget, "wikidata", WikidataRefusedError), settings.wikidata_url),
    }
    return ResolveEntity(
        parts.database,
        [makers[name]() for name in settings.providers()],
        salt=secret(settings.entity_salt.get_secret_value()),
    )
