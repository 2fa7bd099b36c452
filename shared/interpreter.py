"""How Python runs a process that many wait for: short turns, and no rubbish twice."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# What an engine has answered waits for its thread's turn: by Python's own 5 ms a step
# of 1 ms took 6.2 while another thread worked, by this one 2.2.
TURN_SECONDS = 0.001


def take_short_turns() -> None:
    """Let a thread that waits in sooner, in a process that many wait for."""
    sys.setswitchinterval(TURN_SECONDS)


@contextmanager
def collecting_nothing() -> Iterator[None]:
    """Look for no rubbish while modules are imported, of which nearly all stays.

    Looking through it again and again is a fifth of the start of an API process.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def freeze_what_stands() -> None:
    """Collect once, then leave all that stands by now out of every collection.

    Looking through it would hold up every thread for 40 ms and more, amid whatever
    they are answering; and in a forked child it would write to all of it, and so copy.
    """
    gc.collect()
    gc.freeze()
