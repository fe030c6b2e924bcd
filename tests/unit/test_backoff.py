import random

from hypothesis import given
from hypothesis import strategies as st

from siftline.jobs.attempt import JITTER_RATIO, delay_s


@given(attempts=st.integers(0, 50), seed=st.integers())
def test_a_delay_is_its_step_jittered_downward_by_at_most_a_tenth(attempts: int, seed: int) -> None:
    steps = (60, 300, 900)
    step = steps[min(max(attempts, 1), 3) - 1]
    assert step * (1 - JITTER_RATIO) <= delay_s(attempts, steps, random.Random(seed)) <= step


def test_all_three_delays_are_reached_by_a_first_try_and_three_retries() -> None:
    steps = (60, 300, 900)
    rounded = [round(delay_s(tried, steps, random.Random(1)) / 0.9) for tried in (1, 2, 3)]
    assert [min(steps, key=lambda step: abs(step - value)) for value in rounded] == [60, 300, 900]
