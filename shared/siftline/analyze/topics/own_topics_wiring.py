"""Where the comparing of contents with users' own topics is put together."""

from siftline.analyze.analyze_wiring import Desks
from siftline.analyze.topics.labelling import LabelUser
from siftline.analyze.topics.own_topics import OwnTopics
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.settings.functions import AnalyzeSettings


def open_labelling(settings: AnalyzeSettings, database: Database) -> LabelUser:
    """Return the work of ``label_user``; which model's vectors count is asked before each run."""
    desks = Desks(settings, database)
    desks.open()

    def open_own() -> OwnTopics:
        return desks.open().reader.own_topics()

    return LabelUser(database, open_own, SystemClock())
