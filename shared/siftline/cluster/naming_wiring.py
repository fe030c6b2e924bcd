"""Where the naming of clusters by a language model is put together, without the packages that grouping needs."""

from siftline.cluster.naming import NameClusters
from siftline.kit.db import Database
from siftline.models.llm_wiring import open_priced_model
from siftline.settings.functions import AnalyzeSettings


def open_naming(settings: AnalyzeSettings, database: Database) -> NameClusters:
    """Return the work of ``name_clusters``. Raises ``LlmPriceUnknownError``."""
    return NameClusters(database, open_priced_model(settings, database))
