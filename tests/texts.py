"""Texts to compare: as long as asked for, the same for the same seed, and edited as much as asked for."""

import random


def prose(seed: int, words: int = 200) -> str:
    """Return a text of so many words that shares no run of words with that of another seed."""
    rng = random.Random(seed)
    return " ".join(f"{rng.choice('bcdfgklmnprst')}{rng.choice('aeiou')}{rng.randrange(10_000)}" for _ in range(words))


def retold(text: str, changed: int, seed: int = 0) -> str:
    """Return a text with so many of its words replaced."""
    rng = random.Random(f"{seed} {changed}")
    words = text.split()
    for at in rng.sample(range(len(words)), changed):
        words[at] = f"new{rng.randrange(1_000_000)}"
    return " ".join(words)
