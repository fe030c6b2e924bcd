"""The settings of what the clock starts: each schedule's switch in a worker, and the work that nobody waits for.

A field's environment variable is its name in capitals; the template sets what a stage may choose.
"""

from pydantic import Field

from siftline.contracts import Tick
from siftline.settings.shared import Settings


class SwitchSettings(Settings):
    """The switches of the schedules; on AWS they are parameters of the template."""

    siftline_due_sources_enabled: bool = Field(default=True, description="off: no poll is due by itself")
    siftline_sweep_enabled: bool = Field(default=True, description="off: nothing heals")
    siftline_resolutions_enabled: bool = Field(default=True, description="off: nobody is asked who organisations are")
    siftline_clusterings_enabled: bool = Field(default=True, description="off: no nightly clustering")
    siftline_due_briefings_enabled: bool = Field(default=True, description="off: no edition is made by itself")
    siftline_clean_up_enabled: bool = Field(default=True, description="off: finished jobs stay")
    siftline_extra_run_enabled: bool = Field(
        default=False, description="on: every five minutes a deep queue is handed more than its cap"
    )
    siftline_background_enabled: bool = Field(
        default=True, description="off: runs that read texts again rest, and own topics wait for the next analysis"
    )

    def switches(self) -> dict[str, str]:
        """Return the schedules' switches as the template's parameters."""
        return {
            f"{''.join(word.title() for word in tick.split('_'))}Enabled": str(
                getattr(self, f"siftline_{tick}_enabled")
            ).lower()
            for tick in Tick
        }


class ReprocessSettings(Settings):
    """How fast texts are read again that another version read, and what that may cost a day."""

    reprocess_live_max: int = Field(
        default=40, ge=1, le=1_000, description="texts that are on their way to be read again at a time"
    )
    reprocess_usd_per_day: float = Field(
        default=0.5,
        ge=0,
        description="dollars of LLM_USD_PER_DAY that reading again may cost in a day; then it rests until the next",
    )
