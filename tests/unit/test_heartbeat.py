"""What is held while long work goes on is renewed, and no longer than that."""

import threading

from siftline.kit.errors import TransientError
from siftline.kit.heartbeat import Heartbeat


def test_a_held_block_is_beaten_for_until_it_ends():
    heartbeat = Heartbeat()
    beats: list[int] = []
    thrice = threading.Event()

    def beat() -> None:
        beats.append(1)
        if len(beats) == 3:
            thrice.set()

    with heartbeat.hold(beat, every_s=0.01):
        assert thrice.wait(60)
    seen = len(beats)
    heartbeat.close()
    assert len(beats) <= seen + 1


def test_a_short_period_is_not_late_because_a_long_one_was_held_first():
    heartbeat = Heartbeat()
    asked = threading.Event()
    with heartbeat.hold(lambda: None, every_s=3_600), heartbeat.hold(asked.set, every_s=0.01):
        assert asked.wait(60)
    heartbeat.close()


def test_a_failed_beat_is_beaten_again_and_harms_no_other():
    heartbeat = Heartbeat()
    tries: list[int] = []
    again, other = threading.Event(), threading.Event()

    def fail() -> None:
        tries.append(1)
        if len(tries) > 1:
            again.set()
        raise TransientError("The database is away.")

    with heartbeat.hold(fail, every_s=0.01), heartbeat.hold(other.set, every_s=0.01):
        assert again.wait(60)
        assert other.wait(60)
    heartbeat.close()
