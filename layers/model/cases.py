"""Questions that a right model answers rightly, whatever the processor: across languages, no word in common."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cases:
    """Passages, and for each query the place of the passage that answers it."""

    passages: Sequence[str]
    queries: Sequence[tuple[str, int]]


CASES = Cases(
    passages=(
        "The central bank raised interest rates by a quarter point on Thursday.",
        "The striker scored twice as the home side won the derby.",
        "A new vaccine against malaria showed 75 percent efficacy in trials.",
        "Am Wochenende ziehen Regen und Sturm an die Küste.",
        "How do I bake sourdough bread without a starter?",
        "El museo abre una exposición de pintura del siglo XVII.",
        "Le tribunal a condamné l'ancien directeur pour fraude.",
        "新しい望遠鏡が遠い銀河を撮影した。",
    ),
    queries=(
        ("Leitzins der Zentralbank erhöht", 0),
        ("résultat du match de football", 1),
        ("Impfstoff gegen Malaria", 2),
        ("storm warning for the seaside", 3),
        ("recette de pain au levain", 4),
        ("art gallery with old paintings", 5),
        ("manager sentenced for embezzlement", 6),
        ("astronomers photograph a galaxy", 7),
    ),
)
