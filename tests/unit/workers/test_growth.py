"""How far a worker of threads may grow, and what does not count."""

from workers.runtime.memory_growth import Growth

MEGABYTE = 1_000_000


def test_what_a_model_takes_is_no_growth_and_what_work_keeps_is():
    growth = Growth(50)
    growth.start()

    with growth.allow():
        model = b"m" * (100 * MEGABYTE)
    assert not growth.is_too_large()

    kept = b"k" * (100 * MEGABYTE)
    assert growth.is_too_large()
    assert len(model) == len(kept)
